/** What was verified, with which keys, and where the first of them came from. */
import { element } from "../ui/elements.ts";
import { BASE, type PublicCampaign } from "./collector.ts";

const grouped = (digits: string): string => digits.replace(/(.{8})(?=.)/g, "$1 ");

/** The section; `verifyWith` starts again from a key that the person knows. */
export function signatures(known: PublicCampaign, verifyWith: (key: string) => void): HTMLElement {
  const { documents, trust, isKeyKnown, manifest, campaign } = known;
  const newest = trust.at(-1)![0];
  const row = (name: string, sha256: string, by: string): HTMLElement =>
    element(
      "tr",
      {},
      element(
        "th",
        { scope: "row" },
        `${name[0]!.toUpperCase()}${name.slice(1)}`,
        element("br"),
        element("span", { class: "quiet" }, by),
      ),
      element("td", {}, element("code", {}, sha256)),
    );
  const rows = documents.map(({ name, sha256, signers }) => row(name, sha256, `by ${signers.map(({ id }) => id).join(", ")}`));
  if (manifest) rows.splice(2, 0, row("list", manifest.list_sha256, "named by the manifest"));
  return element(
    "section",
    { "aria-labelledby": "signatures" },
    element("h2", { id: "signatures" }, "Signatures"),
    element("p", {}, "This browser checked the Ed25519 signature of each document before it showed anything of it."),
    element(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "Verified documents" },
      element(
        "table",
        { class: "hashes" },
        element("caption", {}, "Verified documents"),
        element(
          "thead",
          {},
          element(
            "tr",
            {},
            ["Signed document", "SHA-256"].map((name) => element("th", { scope: "col" }, name)),
          ),
        ),
        element("tbody", {}, rows),
      ),
    ),
    element(
      "div",
      { class: "card" },
      element("h3", {}, trust.length > 1 ? "The keys" : "The key"),
      trust.map(([{ id, text }, until]) =>
        element(
          "p",
          {},
          "Fingerprint ",
          element("strong", {}, element("code", {}, id)),
          until ? `, until ${until}` : "",
          element("br"),
          element("code", {}, grouped(text)),
        ),
      ),
      trust.length > 1 ? element("p", {}, "Each key is vouched for by the one before it.") : null,
      isKeyKnown
        ? element("p", { class: "good" }, "All of it follows from the key that you gave.")
        : [
            element(
              "p",
              {},
              "This key came from this collector, and so did this page. A collector that lies can show you a key of its own: the " +
                "check then only shows that all documents come from one hand. Compare the fingerprint with the one that the " +
                "organisation gives elsewhere: on its own site, on paper, or by the contact above. Or paste the whole key that you " +
                "know from there:",
            ),
            keyForm(verifyWith),
          ],
    ),
    element(
      "details",
      {},
      element("summary", {}, "Check it without this page"),
      element("p", {}, "The command line of blendp does the same checks with code that does not come from this collector:"),
      element(
        "pre",
        { tabindex: 0, "aria-label": "Command" },
        `blendp client look ${campaign} --server ${BASE} --key ${newest.text}`,
      ),
    ),
  );
}

function keyForm(verifyWith: (key: string) => void): HTMLElement {
  const error = element("p", { class: "bad", role: "alert", hidden: true, id: "key-error" });
  const input = element("input", {
    id: "key",
    class: "digits",
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    maxlength: 200,
    "aria-describedby": "key-error",
  });
  const verify = (): void => {
    const digits = input.value.replace(/[\s:]/g, "").toLowerCase();
    if (/^[0-9a-f]{64}$/.test(digits)) return verifyWith(digits);
    error.textContent = "A key has 64 hexadecimal digits.";
    error.hidden = false;
    input.setAttribute("aria-invalid", "true");
    input.focus();
  };
  return element(
    "div",
    { onkeydown: (event: KeyboardEvent) => event.key === "Enter" && event.target === input && verify() },
    element("label", { for: "key" }, "The key that you know"),
    element("div", { class: "row" }, input, element("button", { type: "button", onclick: verify }, "Verify with this key")),
    error,
  );
}

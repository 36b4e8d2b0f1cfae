/** Files: what was released as it is exported, and the signed documents in the bytes that this browser verified. */
import { type Child, element } from "../../ui/elements.ts";
import { count } from "../../ui/texts.ts";
import { BASE } from "../../pages/collector.ts";
import { save } from "../files.ts";
import type { Panel } from "./panel.ts";

const EXPORTED: readonly (readonly [string, string, string])[] = [
  ["report.html", "text/html", "the page of the result, to read and to send on"],
  ["estimates.csv", "text/csv", "shares of records, with errors and weights"],
  ["trends.csv", "text/csv", "the same by query"],
  ["head_list.json", "application/json", "the list"],
  ["release.json", "application/json", "the promise and the result, for programs"],
];

/** `fetched` gets a file of the campaign, and says on the screen if it cannot. */
export const files = (fetched: (name: string, type: string) => void, screenFile: () => void): Panel => ({
  id: "files",
  title: "Files",
  key: ({ status, documents, documentsProblem }) => [
    status.state,
    documents?.documents.map(({ sha256 }) => sha256),
    documentsProblem,
  ],
  draw({ status, documents, documentsProblem }) {
    const signed = (documents?.documents ?? []).map(({ name, bytes }) => ({ name: `${name}.dsse.json`, bytes }));
    if (documents?.listBytes) signed.push({ name: "list.json", bytes: documents.listBytes });
    const line = (name: string, act: () => void, about: string): HTMLElement =>
      element(
        "li",
        {},
        element("button", { type: "button", class: "link", id: `file-${name}`, onclick: act }, name),
        ` ${about}`,
      );
    return [
      documentsProblem &&
        element("p", { class: "bad", role: "alert" }, "The signed documents are not believed: ", documentsProblem),
      status.state === "released" && [
        element("h3", {}, "The result"),
        element(
          "ul",
          {},
          EXPORTED.map(([name, type, about]) => line(name, () => fetched(name, type), about)),
        ),
      ],
      signed.length > 0 && [
        element("h3", {}, "Signed documents"),
        element(
          "p",
          { class: "quiet" },
          "✓ The bytes that this browser verified, with their signatures, by key ",
          element("code", {}, documents!.trust.at(-1)![0].id),
          ".",
        ),
        element(
          "ul",
          {},
          signed.map(({ name, bytes }) =>
            line(name, () => save(`${status.campaign}-${name}`, bytes, "application/json"), `${count(bytes.length)} bytes`),
          ),
        ),
      ],
      element("h3", {}, "This screen"),
      element("ul", {}, line("status.json", screenFile, "the numbers of this screen, as the collector told them")),
      links(status.campaign, status.state),
    ];
  },
});

const links = (campaign: string, state: string): Child =>
  element(
    "p",
    { class: "row" },
    pageLink(`${BASE}/campaigns/${campaign}`, "The public page"),
    state === "released" && pageLink(`${BASE}/campaigns/${campaign}/search`, "Search the result"),
  );

/** In a tab of its own: leaving this one would forget the token. */
const pageLink = (href: string, label: string): HTMLElement =>
  element("a", { href, target: "_blank", rel: "noopener" }, `${label} (in a new tab)`);

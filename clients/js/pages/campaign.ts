/** The public page of a campaign: everything that everybody may know, and nothing of the person who looks. */
import { trustedOn } from "../src/keys.ts";
import type { HeadList } from "../src/list.ts";
import type { Terms } from "../src/terms.ts";
import { type Child, element, fill } from "../ui/elements.ts";
import { searchBox } from "../ui/search_box.ts";
import { count, visible } from "../ui/texts.ts";
import { browsed } from "./browse.ts";
import { BASE, campaignOfAddress, publicCampaign, type PublicCampaign, stateOf, today } from "./collector.ts";
import { crossCheck, listedName, results, trends } from "./estimates.ts";
import { failure } from "./outcome.ts";
import { promise } from "./promise.ts";
import { rehearsal } from "./rehearsal.ts";
import { fetchIndex, verifiedIndex } from "./released_index.ts";
import { signatures } from "./signatures.ts";
import { stateName, stateSentence } from "./states.ts";

/** Devices draw no reports about longer lists, and a page would be busy for too long. */
const MAX_DRAWN = 20_000;

const main = document.querySelector("main")!;
const campaign = campaignOfAddress();

/** Loads and shows the campaign, believing these keys; without any, those that the collector names. */
async function show(keys: readonly string[] = []): Promise<void> {
  main.setAttribute("aria-busy", "true");
  try {
    const known = await publicCampaign(campaign, await stateOf(campaign), keys);
    document.title = `${visible(known.terms.title)} · blendp`;
    fill(main, page(known));
    if (keys.length) main.querySelector("#signatures")?.scrollIntoView();
  } catch (error) {
    const label = keys.length ? "Start again without the key that you gave" : "Try again";
    fill(main, ...failure(error, { label, go: () => show() }));
    scrollTo(0, 0);
  }
  main.removeAttribute("aria-busy");
}

function page(known: PublicCampaign): Child[] {
  const { terms, manifest, list, release } = known;
  const drawn = list && list.records <= MAX_DRAWN ? list : null;
  const sections = [
    release && search(known),
    release && list && [results(release, list), list.levels === 2 && trends(release), crossCheck(release, list)],
    promise(terms, manifest, drawn),
    manifest && drawn && drawn.records > 0 && rehearsal(manifest, drawn),
    list && listed(list),
    termsTable(terms),
    signatures(known, (key) => show([key])),
    downloads(known),
    about(),
  ]
    .flat()
    .filter((section) => section instanceof HTMLElement);
  return [heading(known), contents(sections), sections];
}

function heading({ terms, state, manifest, release }: PublicCampaign): HTMLElement {
  const fact = (name: string, value: Child): Child => element("div", {}, element("dt", {}, name), element("dd", {}, value));
  const number = (value: unknown): Child => (typeof value === "number" ? count(value) : null);
  return element(
    "div",
    {},
    element("h1", {}, element("bdi", {}, visible(terms.title))),
    element(
      "p",
      { class: "lead" },
      element("bdi", {}, visible(terms.organisation)),
      " asks. The purpose: ",
      element("bdi", {}, visible(terms.purpose)),
    ),
    element(
      "p",
      {},
      element("span", { class: "state" }, stateName(state)),
      " ",
      stateSentence(state, terms, release?.released),
    ),
    element(
      "p",
      { class: "good" },
      "✓ Verified in this browser: ",
      release ? "terms, manifest, list and result are" : manifest ? "terms, manifest and list are" : "the terms are",
      " signed. ",
      element("a", { href: "#signatures" }, "By whom?"),
    ),
    element(
      "dl",
      { class: "facts" },
      fact("Opt-in until", terms.opt_in_until),
      fact("Reports until", terms.reports_until),
      manifest && fact("Records on the list", count(manifest.records)),
      manifest && fact("Opt-in people", count(manifest.opt_in_people)),
      release && fact("Clients", number(release.card.users?.client)),
      release && fact("Released", release.released),
    ),
  );
}

/** Links to the sections. */
function contents(sections: readonly HTMLElement[]): HTMLElement {
  const headings = sections.map((section) => section.querySelector("h2")!);
  return element(
    "nav",
    { class: "contents", "aria-label": "On this page" },
    element(
      "ul",
      {},
      headings.map(({ id, textContent }) => element("li", {}, element("a", { href: `#${id}` }, textContent))),
    ),
  );
}

/** The search box; if the index cannot be had or believed, what is wrong with it. */
function search({ trust, release }: PublicCampaign): HTMLElement {
  const box = element("div", { "aria-live": "polite" }, element("p", { class: "quiet" }, "The index is being loaded."));
  const keys = trustedOn(trust, today());
  fetchIndex(campaign, keys)
    .then(async (documents) => {
      const index = await verifiedIndex(campaign, documents, keys);
      if (index.releaseHash !== release!.sha256) throw new Error("The index is about another result than the one above.");
      const hint = "Searched here, in this page: what you type is sent to nobody.";
      fill(
        box,
        searchBox({ search: (text) => index.search(text), released: index.released, label: "Search the result", hint }).box,
      );
    })
    .catch((error: Error) =>
      fill(box, element("p", { class: "bad", role: "alert" }, "There is no search here: ", visible(error.message))),
    );
  return element(
    "section",
    { class: "card", "aria-labelledby": "search" },
    element("h2", { id: "search" }, "Search"),
    box,
    element(
      "p",
      { class: "beneath" },
      element("a", { href: `${BASE}/campaigns/${campaign}/search` }, "A search page that works offline"),
    ),
  );
}

function listed(list: HeadList): HTMLElement {
  const noun = list.levels === 2 ? "records" : "queries";
  return element(
    "section",
    { "aria-labelledby": "list" },
    element("h2", { id: "list" }, "The list"),
    element(
      "p",
      {},
      "What devices are asked about. It was made from opt-in people's records, under the promise above: only what many of them " +
        "have in common is on it.",
    ),
    list.records
      ? browsed({
          rows: list.listed,
          noun: `listed ${noun}`,
          caption: `All listed ${noun}, in the order of the list`,
          head: ["No.", noun === "records" ? "Record" : "Query"],
          text: ([query, url]) => `${query ?? ""} ${url ?? ""}`,
          line: (label, number) =>
            element(
              "tr",
              {},
              element("td", { class: "number rank" }, count(number)),
              element("th", { scope: "row" }, listedName(label, list.levels === 2)),
            ),
          first: 20,
        })
      : element("p", { class: "card" }, "The list is empty: no record was popular enough to be published."),
  );
}

const TERMS: readonly (readonly [keyof Terms, string])[] = [
  ["campaign", "Name of the campaign"],
  ["organisation", "Organisation"],
  ["purpose", "Purpose"],
  ["contact", "Contact"],
  ["opens", "Opens"],
  ["opt_in_until", "Last day to opt in"],
  ["reports_until", "Last day of reports"],
  ["grace_days", "Days after which the collector acts by itself"],
  ["records_kept_until", "Opt-in records are deleted by"],
  ["reports_kept_until", "Reports are deleted by"],
  ["method", "Method"],
  ["epsilon", "Epsilon: the privacy loss each person is promised at most"],
  ["delta", "Delta: by how much probability may exceed that"],
  ["levels", "Levels: 2 for queries with addresses, 1 for queries alone"],
  ["normalise", "Rule of normal text"],
  ["size", "Largest list"],
  ["opt_in_records", "Records taken of each opt-in person, at most"],
  ["records_per_person", "Records that a person has on average, as was said"],
  ["objective", "What is to be best"],
  ["min_opt_in", "Fewest opt-in people"],
  ["min_clients", "Fewest clients"],
  ["expected_clients", "Expected clients"],
  ["participation", "Share of the devices that are asked"],
];

function termsTable(terms: Terms): HTMLElement {
  const value = (name: keyof Terms): string => {
    const content = terms[name];
    if (name === "participation") return `${100 * terms.participation} %`;
    return content === null
      ? name === "size"
        ? "no limit"
        : "not said"
      : typeof content === "number" && content >= 10_000
        ? count(content)
        : visible(String(content));
  };
  return element(
    "section",
    { "aria-labelledby": "terms" },
    element("h2", { id: "terms" }, "The terms"),
    element("p", {}, "Signed, and never changed: another promise would be another campaign."),
    element(
      "div",
      { class: "scroll whole" },
      element(
        "table",
        {},
        element("caption", { class: "visually-hidden" }, "The terms of this campaign"),
        element(
          "tbody",
          {},
          TERMS.map(([name, label]) =>
            element("tr", {}, element("th", { scope: "row" }, label), element("td", {}, element("bdi", {}, value(name)))),
          ),
        ),
      ),
    ),
  );
}

/** The very bytes that were verified. */
function downloads({ documents, listBytes }: PublicCampaign): HTMLElement {
  const files = [...documents, ...(listBytes ? [{ name: "list", bytes: listBytes }] : [])];
  return element(
    "section",
    { "aria-labelledby": "downloads" },
    element("h2", { id: "downloads" }, "Downloads"),
    element("p", {}, "The bytes that this browser verified, with their signatures."),
    element(
      "ul",
      {},
      files.map(({ name, bytes }) => {
        const href = URL.createObjectURL(new Blob([bytes], { type: "application/json" }));
        return element(
          "li",
          {},
          element("a", { href, download: `${campaign}-${name}.json` }, `${name}.json`),
          ` (${count(bytes.length)} bytes)`,
        );
      }),
    ),
  );
}

function about(): HTMLElement {
  return element(
    "section",
    { "aria-labelledby": "about" },
    element("h2", { id: "about" }, "What this page knows about you"),
    element(
      "p",
      {},
      "Nothing. It never sees your records: they are on your device, in the program with which you take part, and this page cannot " +
        "ask for them. It sets no cookie. What you type or choose here stays here.",
    ),
    element(
      "p",
      {},
      "It comes from the collector, who could send you another page tomorrow. So never enter your own searches into a page like " +
        "this one to take part: use a program that does not come from the collector.",
    ),
  );
}

await show();

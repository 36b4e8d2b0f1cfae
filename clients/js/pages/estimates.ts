/** Released estimates: every share with its error, as a number and as a bar. */
import type { HeadList, Label } from "../src/list.ts";
import type { Release } from "../src/release.ts";
import { type Child, drawing, element } from "../ui/elements.ts";
import { ANY_ADDRESS, decimals, percent, visible, WILDCARD, withError } from "../ui/texts.ts";
import { browsed } from "./browse.ts";

const FIRST = 20;

/** A line of a release. */
interface Estimate {
  readonly query: string | null;
  readonly url: string | null;
  readonly probability: number;
  readonly std_error: number;
  readonly low: number;
  readonly high: number;
}

/** Numbers that a release does not know are null. */
const estimate = ({ query, url, ...numbers }: any): Estimate => ({
  query,
  url,
  probability: numbers.probability ?? NaN,
  std_error: numbers.std_error ?? NaN,
  low: numbers.low ?? NaN,
  high: numbers.high ?? NaN,
});

/** A record as people read it, each part isolated from the other's direction of writing; `rest` stands for no address. */
export const recordName = ([query, url]: Label, rest = ""): Child[] => [
  element("bdi", { class: "query" }, query === null ? WILDCARD : visible(query)),
  url !== null ? element("bdi", { class: "url" }, visible(url)) : query !== null && rest && element("span", { class: "url" }, rest),
];

/** A listed record; in a list of queries with addresses one without is about any. */
export const listedName = (label: Label, isPair: boolean): Child[] => recordName(label, isPair ? ANY_ADDRESS : "");

/** What reports can be about: listed records, every query with any other address, and everything else. */
export const cellNames = ({ queries, levels }: HeadList): Child[][] => [
  ...queries.flatMap(({ query, urls }) => [
    ...urls.map((url) => recordName([query, url])),
    urls.length ? recordName([query, null], "✱ (any other address)") : listedName([query, null], levels === 2),
  ]),
  recordName([null, null]),
];

export function results(release: Release, list: HeadList): HTMLElement {
  const rows = release.estimates.map(estimate);
  const noun = list.levels === 2 ? "records" : "queries";
  const confidence = Math.round(100 * release.card.confidence);
  return element(
    "section",
    { "aria-labelledby": "results" },
    element("h2", { id: "results" }, "Results"),
    cautions(release),
    element(
      "p",
      {},
      `Share of all searches, estimated from randomised reports, with its standard error. The line is the range that holds the ` +
        `true share in about ${confidence} of 100 cases.`,
    ),
    table(rows.slice(0, list.records), noun, `The most popular ${noun}`, rows.at(-1)),
  );
}

export function trends(release: Release): HTMLElement {
  const rows = release.trends.map(estimate);
  return element(
    "section",
    { "aria-labelledby": "trends" },
    element("h2", { id: "trends" }, "Trends"),
    element("p", {}, "The same by query, whatever address people chose, listed or not."),
    table(
      rows.filter(({ query }) => query !== null),
      "queries",
      "The most popular queries",
      rows.at(-1),
    ),
  );
}

function table(rows: readonly Estimate[], noun: string, caption: string, rest: Estimate | undefined): HTMLElement {
  const digits = decimals(
    rows.map((row) => row.std_error),
    rows.map((row) => row.probability),
  );
  // the widest of the bars that are seen at first; a few records with long tails must not make all others small
  const highs = rows.slice(0, FIRST).map(({ high, probability }) => (isFinite(high) ? high : probability));
  const scale = Math.max(...highs.filter(isFinite), 0) || 1;
  const line = (row: Estimate, number: number | null): HTMLTableRowElement =>
    element(
      "tr",
      {},
      element("td", { class: "number rank" }, number),
      element("th", { scope: "row" }, listedName([row.query, row.url], noun === "records")),
      element("td", { class: "share" }, withError(row.probability, row.std_error, digits), number !== null && bar(row, scale)),
    );
  return browsed({
    rows,
    noun,
    caption,
    head: ["Rank", noun === "records" ? "Record" : "Query", "Share"],
    text: ({ query, url }) => `${query ?? ""} ${url ?? ""}`,
    line,
    first: FIRST,
    foot: rest ? line(rest, null) : null,
  });
}

/** A dot and the range around it; the numbers are beside it in text. */
function bar({ probability, low, high }: Estimate, scale: number): SVGElement {
  const at = (share: number): string => `${(100 * Math.min(Math.max(share, 0), scale)) / scale}%`;
  return drawing(
    "svg",
    { class: "bar", "aria-hidden": "true" },
    drawing("line", { class: "axis", x1: "0", x2: "100%", y1: 7, y2: 7 }),
    isFinite(low) && isFinite(high) && drawing("line", { class: "range", x1: at(low), x2: at(high), y1: 7, y2: 7 }),
    isFinite(probability) && drawing("circle", { class: "dot", cx: at(probability), cy: 7, r: 4 }),
  );
}

function cautions({ card }: Release): HTMLElement | null {
  const sentences: string[] = Array.isArray(card.cautions) ? card.cautions.map(String) : [];
  if (!sentences.length) return null;
  return element(
    "div",
    { class: "bad", role: "note" },
    element("h3", {}, "Be careful"),
    element(
      "ul",
      {},
      sentences.map((sentence) => element("li", {}, visible(sentence))),
    ),
  );
}

/** Whether both groups say the same, and what lying clients could do. */
export function crossCheck(release: Release, list: HeadList): HTMLElement {
  const { cross_check: check, influence, parameters } = release.card;
  const names = cellNames(list);
  const flagged: number[] = check?.flagged_cells ?? [];
  const points = (share: number): string => percent(share, decimals([share / 2]));
  return element(
    "section",
    { "aria-labelledby": "agreement" },
    element("h2", { id: "agreement" }, "Do the two groups agree?"),
    element("p", {}, check ? visible(String(check.statement)) : "This campaign's method does not compare the groups."),
    flagged.length
      ? [
          element("p", {}, "They differ by more than chance allows about:"),
          element(
            "ul",
            {},
            flagged.slice(0, FIRST).map((cell) => element("li", {}, names[cell] ?? null)),
          ),
        ]
      : null,
    influence.length
      ? element(
          "p",
          {},
          "Clients who lie together, and choose what they answer, could raise a record or query of this result by so many percentage points: " +
            influence
              .map((one: any) => `${points(one.capped)} (${+(100 * one.share).toFixed(2)} % of the clients)`)
              .join(", ") +
            (parameters.influence_cap ? ". The opt-in group holds them back." : "."),
        )
      : null,
  );
}

/** What a report would look like: drawn here, about an invented person. Nothing is sent. */
import { explain } from "../src/explain.ts";
import { hex } from "../src/bytes.ts";
import type { HeadList, Label } from "../src/list.ts";
import { namedItems, reportNumber } from "../src/likelihood.ts";
import type { Manifest } from "../src/manifest.ts";
import { systemChooser } from "../src/random.ts";
import { itemOf, schemeOf } from "../src/scheme.ts";
import { dots } from "../ui/dots.ts";
import { type Child, element, fill } from "../ui/elements.ts";
import { hundred } from "../ui/odds.ts";
import { ANY_ADDRESS, count, visible, WILDCARD } from "../ui/texts.ts";
import { cellNames, recordName } from "./estimates.ts";

const OFFERED = 20;
const NAMED = 12;
const RARE: Label = ["something that is not on the list", null];

const plainName = ([query, url]: Label, isPair: boolean): string => {
  if (query === null) return WILDCARD;
  return url === null && !isPair ? visible(query) : `${visible(query)} · ${url === null ? ANY_ADDRESS : visible(url)}`;
};

export function rehearsal(manifest: Manifest, list: HeadList): HTMLElement {
  const offered = list.listed.slice(0, OFFERED);
  const choice = element(
    "select",
    { id: "invented", onchange: draw },
    offered.map((label, i) => element("option", { value: i }, plainName(label, list.levels === 2))),
    element("option", { value: -1 }, "something that is not on the list"),
  );
  const report = element("div", { class: "card", "aria-live": "polite" });

  function draw(): void {
    fill(report, drawn(offered[+choice.value] ?? RARE, manifest, list));
  }
  draw();
  return element(
    "section",
    { "aria-labelledby": "rehearsal" },
    element("h2", { id: "rehearsal" }, "What a report would look like"),
    element(
      "p",
      { class: "good", role: "note" },
      "Everything here is invented: choose what an invented person searched for. The report is drawn in this page, as a device " +
        "would draw it, and is sent to nobody.",
    ),
    element("label", { for: "invented" }, "An invented person searched for"),
    element("div", { class: "row" }, choice, element("button", { type: "button", onclick: draw }, "Draw another report")),
    report,
  );
}

/** One report of a person who has this record, taken apart. */
function drawn(record: Label, manifest: Manifest, list: HeadList): Child {
  const scheme = schemeOf(manifest, list);
  const { question, data } = scheme.randomise([record as [string, string | null]], systemChooser());
  const randomiser = scheme.asked.get(question)![1];
  const { items, coins, count: reports } = randomiser;
  const last = items - 1;
  const own = itemOf(question, list.cellOf(...record), list);
  const named = namedItems(randomiser, reportNumber(data, reports));
  const isNamed = named.includes(own);
  const isNothing = named[0] === last;
  const names =
    question === "query"
      ? [...list.queries.map(({ query }) => recordName([query, null])), recordName([null, null])]
      : cellNames(list);
  const shown = [...named.filter((item) => item === own), ...named.filter((item) => item !== own)].slice(0, NAMED);
  const noun = question === "query" ? "queries" : "records";
  return [
    element("h3", {}, "The report"),
    element(
      "p",
      {},
      question === "query"
        ? "Drawn: the question which query the person searched for."
        : "Drawn: the question which record the person has, a query with the address that was chosen.",
      ` The report has ${data.length} ${data.length === 1 ? "byte" : "bytes"}, and is one of ${large(reports)} that the person could have sent:`,
    ),
    element("pre", { tabindex: 0, "aria-label": "Bytes of the report" }, hex(data).replace(/(.{8})(?=.)/g, "$1 ")),
    isNothing
      ? element(
          "p",
          {},
          `It says that the person searched for nothing on the list, ${isNamed ? "and so it is" : "which is not so"}.`,
        )
      : [
          element(
            "p",
            {},
            `It names ${count(named.length)} of ${count(coins.length > 1 ? last : items)} ${noun}, ${isNamed ? "this person's among them" : "and not this person's"}:`,
          ),
          element(
            "ul",
            { class: "named" },
            shown.map((item) =>
              element("li", { class: item === own ? "own" : null }, names[item]!, item === own && " (this person's)"),
            ),
            named.length > shown.length && element("li", {}, `and ${count(named.length - shown.length)} more`),
          ),
        ],
    element("h3", {}, "What it tells"),
    element("figure", {}, dots(hundred(manifest, list, question, own))),
    element("p", {}, "The device would tell its owner:"),
    element(
      "blockquote",
      {},
      explain({ manifest, list, question, data }).sentences.map((sentence) => element("p", {}, sentence)),
    ),
  ];
}

/** A number of any length, short. */
const large = (number: bigint): string =>
  number < 10n ** 9n ? count(Number(number)) : `about 10^${number.toString().length - 1}`;

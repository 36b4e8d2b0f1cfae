/** The list, and which records came and went since the campaign before. */
import { type Child, element } from "../../ui/elements.ts";
import { count } from "../../ui/texts.ts";
import { linkTo } from "../address.ts";
import type { Changes, Churn } from "../api.ts";
import { saveButtons } from "../files.ts";
import { matching } from "../records.ts";
import { type Cell, labelColumn, type Sheet, table } from "../sheet.ts";
import type { Panel } from "./panel.ts";

const MAX_ROWS = 1000;
const ORDER = ["added", "removed", "kept", ""];

type Row = readonly [query: string | null, url: string | null, change: string];

export const list: Panel = {
  id: "list",
  title: "List",
  key: ({ documents, changes }, { find }) => documents?.list && [documents.list.sha256, changes?.previous, find],
  draw({ status, documents, changes }, { find }) {
    const { listed, records, queries, levels } = documents!.list!;
    const rows = matching(changed(listed, changes), find);
    const sheet = sheetOf(status.campaign, rows, levels === 2, changes);
    return [
      element(
        "p",
        {},
        `${count(records)} records of ${count(queries.length)} queries. `,
        churn(status.list?.churn ?? null, changes),
      ),
      !records &&
        element("p", { class: "bad" }, "The list is empty: no record was popular enough, so nobody can report about it."),
      records > 0 && !rows.length && element("p", { class: "quiet" }, "No record matches the filter."),
      rows.length > 0 && [
        element("div", { class: "tools" }, saveButtons(sheet)),
        table({ ...sheet, rows: sheet.rows.slice(0, MAX_ROWS) }),
      ],
      rows.length > MAX_ROWS &&
        element(
          "p",
          { class: "quiet" },
          `The first ${count(MAX_ROWS)} of ${count(rows.length)} are shown; the files have them all.`,
        ),
    ];
  },
};

/** All records of this list, and those of the one before that are gone; what is new comes first. */
function changed(listed: readonly (readonly [string | null, string | null])[], changes: Changes | null): Row[] {
  const label = (query: string | null, url: string | null): string => JSON.stringify([query, url]);
  const added = new Set(changes?.previous ? changes.added.map(({ query, url }) => label(query, url)) : []);
  const others = changes?.left_out ? "" : "kept"; // not all that were added are named
  const rows: Row[] = listed.map(([query, url]) => [query, url, added.has(label(query, url)) ? "added" : others]);
  const removed = changes?.removed.map(({ query, url }): Row => [query, url, "removed"]) ?? [];
  return [...rows, ...removed].sort((one, other) => ORDER.indexOf(one[2]) - ORDER.indexOf(other[2]));
}

function churn(counts: Churn | null, changes: Changes | null): Child {
  if (!counts) return "No campaign before it had a list to compare with.";
  const { previous, added, removed, kept } = counts;
  return [
    "Since ",
    element("a", { href: linkTo({ campaign: previous }) }, previous),
    ": ",
    element("strong", { class: "added" }, `${count(added)} added`),
    ", ",
    element("strong", { class: "removed" }, `${count(removed)} removed`),
    `, ${count(kept)} kept.`,
    changes && changes.left_out > 0 && ` ${count(changes.left_out)} of these changes are not named below.`,
  ];
}

function sheetOf(campaign: string, rows: readonly Row[], isPair: boolean, changes: Changes | null): Sheet {
  const change = {
    name: "change",
    label: "Change",
    shown: (cell: Cell): Child => element("span", { class: String(cell) }, cell),
  };
  const columns = [labelColumn("query", "Query"), labelColumn("url", "Address"), change];
  const keep = [true, isPair, !!changes?.previous];
  return {
    name: `${campaign}-listed`,
    caption: `Records on the list of ${campaign}${changes?.previous ? `, and those that left it since ${changes.previous}` : ""}`,
    columns: columns.filter((_, i) => keep[i]),
    rows: rows.map((row) => row.filter((_, i) => keep[i])),
  };
}

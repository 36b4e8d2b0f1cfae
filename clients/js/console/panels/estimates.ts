/** The released estimates: each share with its error bar, and how much of it comes from each group. */
import type { HeadList } from "../../src/list.ts";
import type { Release } from "../../src/release.ts";
import { listedName } from "../../pages/estimates.ts";
import { type Child, drawing, element } from "../../ui/elements.ts";
import { count, decimals, percent, withError } from "../../ui/texts.ts";
import { figure } from "../figure.ts";
import { percentOf } from "../plot.ts";
import { matching } from "../records.ts";
import { type Cell, type Column, labelColumn, type Sheet } from "../sheet.ts";
import type { Panel } from "./panel.ts";

const MAX_DRAWN = 20;
const MAX_ROWS = 1000;

/** Query, URL, share, error, low, high, weight of the opt-in group, what opt-in people say, what clients say. */
type Row = readonly [string | null, string | null, ...(number | null)[]];

export const estimates: Panel = {
  id: "estimates",
  title: "Estimates",
  key: ({ documents }, { find, tables }) => documents?.release && [documents.release.sha256, find, tables],
  draw({ documents }, { find }) {
    const { release, list } = documents as { release: Release; list: HeadList };
    const { campaign } = release;
    const records = rowsOf(release, list);
    const isPair = list.levels === 2;
    const one = (title: string, figure: HTMLElement): HTMLElement =>
      element("div", {}, isPair && element("h3", {}, title), figure);
    return element(
      "div",
      { class: "pair" },
      one("Records", shares(`${campaign}-shares`, "records", matching(records, find), isPair)),
      isPair &&
        one(
          "Queries, whatever address people chose",
          shares(`${campaign}-shares-by-query`, "queries", matching(trendsOf(release), find), false),
        ),
    );
  },
};

const known = (value: unknown): number | null => (typeof value === "number" && isFinite(value) ? value : null);
const numbers = (one: any): (number | null)[] =>
  [one.probability, one.std_error, one.low, one.high, one.weight_opt_in].map(known);

/** Listed records, the most popular first, and everything else at the end. */
function rowsOf({ estimates, groups }: Release, list: HeadList): Row[] {
  return [...estimates.slice(0, list.records), ...estimates.slice(-1)].map((one) => {
    const cell = list.cellOf(one.query, one.url);
    return [one.query, one.url, ...numbers(one), known(groups.opt_in.cells[cell]), known(groups.client.cells[cell])];
  });
}

const trendsOf = ({ trends }: Release): Row[] => trends.map((one) => [one.query, null, ...numbers(one)]);

function shares(name: string, noun: string, rows: readonly Row[], isPair: boolean): HTMLElement {
  if (!rows.length) return element("p", { class: "quiet" }, `No ${noun} match.`);
  const digits = decimals(
    rows.map((row) => row[3] ?? NaN),
    rows.map((row) => row[2] ?? NaN),
  );
  const share = (cell: Cell): Child => (typeof cell === "number" ? `${percent(cell, digits)} %` : "unknown");
  const column = (name: string, label: string, shown: Column["shown"] = share): Column => ({ name, label, shown });
  const groups = rows[0]!.length > 7;
  const columns: Column[] = [
    labelColumn("query", "Query"),
    ...(isPair ? [labelColumn("url", "Address")] : []),
    column("probability", "Share"),
    column("std_error", "Std error"),
    column("low", "Low"),
    column("high", "High"),
    column("weight_opt_in", "Weight of opt-in people", weight),
    ...(groups ? [column("opt_in", "Opt-in people say"), column("client", "Clients say")] : []),
  ];
  const shownRows = rows.slice(0, MAX_ROWS).map((row) => (isPair ? row : [row[0], ...row.slice(2)]) as readonly Cell[]);
  const sheet: Sheet = {
    name,
    caption: `Shares of ${count(shownRows.length)} ${noun}, with error and weight`,
    columns,
    rows: shownRows,
  };
  return figure({ id: noun, sheet, plot: forest(rows.slice(0, MAX_DRAWN), digits, noun, isPair), note: noteOn(rows.length) });
}

const weight = (cell: Cell): Child => (typeof cell === "number" ? `${(100 * cell).toFixed(0)} %` : "unknown");

function noteOn(length: number): Child {
  return [
    "Behind ± is the standard error. The line begins at 0 %; its thick part holds the true share in about 95 of 100 cases. Under it, the weight of each group: ",
    element("span", { class: "key opt-in" }, "opt-in people"),
    element("span", { class: "key client" }, "clients"),
    length > MAX_DRAWN &&
      `The first ${count(MAX_DRAWN)} are drawn; the table has ${length > MAX_ROWS ? `the first ${count(MAX_ROWS)}` : `all ${count(length)}`}.`,
  ];
}

/** A line for every row: its name, its range, its number. */
function forest(rows: readonly Row[], digits: number, noun: string, isPair: boolean): HTMLElement {
  const listed = rows.filter(([query]) => query !== null);
  const scale = Math.max(...(listed.length ? listed : rows).map((row) => row[5] ?? row[2] ?? 0), 0) || 1;
  const at = (value: number): string => percentOf(Math.min(Math.max(value, 0), scale) / scale);
  const bar = (row: Row): SVGElement => {
    const [, , share, , low, high, weight] = row as [unknown, unknown, ...(number | null)[]];
    return drawing(
      "svg",
      { class: "range", "aria-hidden": "true" },
      drawing("line", { class: "axis", x1: "0", x2: "100%", y1: "40%", y2: "40%" }),
      low != null && high != null && drawing("line", { class: "error", x1: at(low), x2: at(high), y1: "40%", y2: "40%" }),
      share != null && drawing("circle", { class: "dot", cx: at(share), cy: "40%" }),
      weight != null && [
        drawing("rect", { class: "opt-in", x: "0", y: "85%", height: "15%", width: percentOf(weight) }),
        drawing("rect", { class: "client", x: percentOf(weight), y: "85%", height: "15%", width: percentOf(1 - weight) }),
      ],
    );
  };
  return element(
    "ol",
    { class: "forest", "aria-label": `The most popular ${noun}` },
    rows.map((row) =>
      element(
        "li",
        {},
        element("span", { class: "name" }, listedName([row[0], row[1]], isPair)),
        bar(row),
        element(
          "span",
          { class: "figures" },
          withError(row[2] ?? NaN, row[3] ?? NaN, digits),
          row[6] != null && element("small", {}, `${(100 * row[6]).toFixed(0)} % opt-in`),
        ),
      ),
    ),
  );
}

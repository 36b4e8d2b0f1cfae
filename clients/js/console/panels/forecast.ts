/** What the planner forecasts for the list and the errors, beside what is there. */
import type { Release } from "../../src/release.ts";
import { type Child, element } from "../../ui/elements.ts";
import { count } from "../../ui/texts.ts";
import type { Plan, Status } from "../api.ts";
import { figure } from "../figure.ts";
import { plot, points, roundUp } from "../plot.ts";
import type { Cell, Sheet } from "../sheet.ts";
import type { Panel } from "./panel.ts";

export const forecast: Panel = {
  id: "forecast",
  title: "Forecast",
  key: ({ plan, planProblem, status, documents }, { tables }) => [
    plan,
    planProblem,
    status.list,
    documents?.release?.sha256,
    tables,
  ],
  draw({ plan, planProblem, status, documents }) {
    if (!plan) return element("p", { class: "quiet" }, planProblem ?? "The forecast is being made.");
    return [
      listFacts(plan, status),
      plan.list.caution && !status.list && element("p", { class: "bad" }, plan.list.caution),
      element("p", {}, plan.list.sentence, plan.sentence && ` With ${count(plan.clients)} clients ${plan.sentence}`),
      element("p", {}, plan.statement),
      errors(plan, status, documents?.release ?? null),
      element("p", { class: "quiet" }, assumption(plan, status)),
    ];
  },
};

/** What the forecast rests on, and what it means if the list is another. */
function assumption({ like, list }: Plan, status: Status): string {
  const known = `It assumes records spread like those of the invented population ${like}, and never looks at people's own.`;
  const records = status.list?.records ?? list.low;
  if (records > list.high) return `${known} The list is longer: these people's records are more alike.`;
  return records < list.low ? `${known} The list is shorter: these people's records are less alike.` : known;
}

function listFacts({ list }: Plan, status: Status): HTMLElement {
  const fact = (name: string, value: string, more: string): Child =>
    element("div", {}, element("dt", {}, name), element("dd", {}, value, element("small", {}, more)));
  const range =
    list.low === list.high ? "" : `${count(list.low)} to ${count(list.high)} in ${Math.round(100 * list.range)} % of cases`;
  return element(
    "dl",
    { class: "facts" },
    fact("Records forecast", list.expected < 10 ? list.expected.toFixed(1) : count(Math.round(list.expected)), range),
    fact(
      "Records on the list",
      status.list ? count(status.list.records) : "none yet",
      status.list ? `of ${count(status.list.queries)} queries` : "no list is published",
    ),
  );
}

/** The standard errors of the listed records by rank: forecast, and as released. */
function errors({ errors }: Plan, { campaign }: Status, release: Release | null): Child {
  if (!errors.length) return null;
  const actual = (release?.estimates ?? []).slice(0, release?.card.head_list?.records);
  const real = errors.map(({ rank }): number | null => actual[rank - 1]?.std_error ?? null);
  const planned = errors.map(({ std_error }) => std_error);
  const max = roundUp(100 * Math.max(...planned, ...real.map((one) => one ?? 0))) / 100;
  const points100 = (value: number): string => String(+(100 * value).toPrecision(2));
  const shown = (cell: Cell): Child => (typeof cell === "number" ? `± ${points100(cell)}` : "–");
  const sheet: Sheet = {
    name: `${campaign}-forecast`,
    caption: "Standard errors by rank, in percentage points: forecast, and as released",
    columns: [
      { name: "rank", label: "Rank" },
      { name: "forecast_std_error", label: "Forecast", shown },
      { name: "released_std_error", label: "Released", shown },
    ],
    rows: errors.map(({ rank }, i) => [rank, planned[i]!, real[i]!]),
  };
  const label = `Standard errors of the ${errors.length} most popular records: forecast${release ? " and as released" : ""}`;
  const drawn = plot(
    { label, ticks: errors.map(({ rank }) => String(rank)), max, format: points100 },
    points(planned, max, "planned"),
    points(real, max, "client"),
  );
  const note = [
    "Standard error by rank of the record, in percentage points. ",
    element("span", { class: "key planned" }, "forecast"),
    release && element("span", { class: "key client" }, "released"),
  ];
  return figure({ id: "errors", sheet, plot: drawn, note });
}

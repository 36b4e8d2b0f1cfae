/** What became of the reports, by day and by reason, with a sentence and a remedy for each reason. */
import { type Child, element } from "../../ui/elements.ts";
import { count, visible } from "../../ui/texts.ts";
import { go, type View } from "../address.ts";
import type { Reason, Status } from "../api.ts";
import { daysShown, eventOf, isWithin, marksOf } from "../days.ts";
import { figure } from "../figure.ts";
import { saveButtons } from "../files.ts";
import { columns, markKey, markLines, plot, roundUp, shortDay } from "../plot.ts";
import type { Sheet } from "../sheet.ts";
import type { Panel } from "./panel.ts";

export const intake: Panel = {
  id: "intake",
  title: "Intake",
  key: ({ status, reasons }, { reason, from, to, tables }) =>
    status.published && [status.intake_by_day, status.today, marksOf(status), reasons.length, reason, from, to, tables],
  draw({ status, reasons }, view) {
    if (!status.intake_by_day.length) return element("p", { class: "quiet" }, "No report has come yet.");
    const inDays = status.intake_by_day.filter(({ day }) => isWithin(day, view));
    const seen = inDays.filter(({ outcome }) => !view.reason || outcome === view.reason);
    return [
      element("p", {}, totalSentence(inDays)),
      seen.length
        ? figure({
            id: "intake-by-day",
            sheet: daySheet(status, seen, view),
            plot: dayPlot(status, seen, view),
            note: noteOn(status, seen, view),
          })
        : element("p", { class: "quiet" }, "No report matches the filter."),
      reasonList(status, reasons, inDays, view),
    ];
  },
};

type Counts = Status["intake_by_day"];

const sum = (counts: Counts): number => counts.reduce((before, { count }) => before + count, 0);
const kindOf = (outcome: string): string => (outcome === "accepted" || outcome === "duplicate" ? outcome : "refused");

function totalSentence(counts: Counts): string {
  const all = sum(counts);
  const refused = sum(counts.filter(({ outcome }) => kindOf(outcome) === "refused"));
  const share = all ? ` (${((100 * refused) / all).toFixed(1)} %)` : "";
  return `${count(all)} reports came, ${count(refused)} of them were refused${share}.`;
}

const daysOf = (status: Status, seen: Counts, view: View): string[] =>
  daysShown(
    seen.map(({ day }) => day),
    status.released ?? status.today,
    view,
  );

function dayPlot(status: Status, seen: Counts, view: View): SVGElement {
  const days = daysOf(status, seen, view);
  const of = (day: string, kind: string): number => sum(seen.filter((one) => one.day === day && kindOf(one.outcome) === kind));
  const series = ["accepted", "duplicate", "refused"].map((kind) => ({ kind, values: days.map((day) => of(day, kind)) }));
  const max = roundUp(Math.max(...days.map((_, i) => series.reduce((total, { values }) => total + values[i]!, 0))));
  const title = (i: number): string =>
    `${days[i]}: ${series.map(({ kind, values }) => `${count(values[i]!)} ${kind}`).join(", ")}`;
  const onlyDay = (i: number): void => go({ from: days[i]!, to: days[i]! });
  const label = `Reports by day and outcome: ${count(sum(seen))} in ${days.length} days, at most ${count(max)} a day`;
  return plot(
    { label, ticks: days.map(shortDay), max },
    columns(max, series, title, onlyDay),
    markLines(marksOf(status), days),
  );
}

/** A row for every day on which something came or happened. */
function daySheet(status: Status, seen: Counts, view: View): Sheet {
  const outcomes = [...new Set(seen.map(({ outcome }) => outcome))];
  const rows = daysOf(status, seen, view).map((day) => [
    day,
    ...outcomes.map((outcome) => sum(seen.filter((one) => one.day === day && one.outcome === outcome))),
    eventOf(status, day),
  ]);
  return {
    name: `${status.campaign}-intake`,
    caption: "Reports by day (UTC) and outcome",
    columns: [
      { name: "day", label: "Day (UTC)" },
      ...outcomes.map((outcome) => ({ name: outcome, label: outcome })),
      { name: "event", label: "Event" },
    ],
    rows,
  };
}

const noteOn = (status: Status, seen: Counts, view: View): Child => [
  "Days are UTC. ",
  ["accepted", "duplicate", "refused"].map((kind) => element("span", { class: `key ${kind}` }, kind)),
  markKey(marksOf(status), daysOf(status, seen, view)),
];

function reasonList({ campaign }: Status, reasons: readonly Reason[], counts: Counts, { reason }: View): Child {
  const all = sum(counts);
  const outcomes = [...new Set(counts.map(({ outcome }) => outcome))]
    .map((outcome) => [outcome, sum(counts.filter((one) => one.outcome === outcome))] as const)
    .sort(([, one], [, other]) => other - one);
  const textOf = (outcome: string): Reason =>
    reasons.find((one) => one.outcome === outcome) ?? { outcome, meaning: "", remedy: "" };
  const sheet: Sheet = {
    name: `${campaign}-reasons`,
    caption: "Reports by outcome, with what each means and what to do",
    columns: ["outcome", "count", "meaning", "remedy"].map((name) => ({ name, label: name })),
    rows: outcomes.map(([outcome, number]) => [outcome, number, textOf(outcome).meaning, textOf(outcome).remedy]),
  };
  return [
    element("h3", {}, "By outcome"),
    element("div", { class: "tools" }, saveButtons(sheet)),
    element(
      "ul",
      { class: "reasons" },
      outcomes.map(([outcome, number]) => reasonLine(textOf(outcome), number, all, reason === outcome)),
    ),
  ];
}

function reasonLine({ outcome, meaning, remedy }: Reason, number: number, all: number, isChosen: boolean): HTMLElement {
  const choose = (): void => go({ reason: isChosen ? "" : outcome });
  return element(
    "li",
    { class: kindOf(outcome) },
    element(
      "button",
      { type: "button", class: "small", id: `reason-${outcome}`, "aria-pressed": String(isChosen), onclick: choose },
      visible(outcome),
    ),
    element("span", { class: "number" }, `${count(number)} · ${((100 * number) / all).toFixed(1)} %`),
    element("p", {}, meaning, " ", element("span", { class: "quiet" }, remedy)),
  );
}

/** How far each group is from its minimum, and when it gets there at today's pace. */
import { afterDays, dayNumber } from "../../src/days.ts";
import { type Child, element } from "../../ui/elements.ts";
import { count } from "../../ui/texts.ts";
import type { Pace, Status } from "../api.ts";
import { eventOf, marksOf } from "../days.ts";
import { figure } from "../figure.ts";
import { daysBetween, line, markKey, markLines, plot, roundUp, shortDay } from "../plot.ts";
import type { Sheet } from "../sheet.ts";
import type { Panel } from "./panel.ts";

/** How many days ahead a plot goes at most. */
const MAX_AHEAD = 60;

/** One of the two groups. */
interface Group {
  readonly id: string;
  readonly name: string;
  readonly people: number;
  readonly minimum: number;
  readonly until: string;
  readonly pace: Pace;
  /** The day on which it was over, if it is. */
  readonly ended: string | null;
  /** How many came on each day. */
  readonly arrivals: ReadonlyMap<string, number>;
  readonly extra: Child;
}

export const progress: Panel = {
  id: "progress",
  title: "Progress",
  key: ({ status }, { tables }) => [
    status.opt_in,
    status.clients,
    status.today,
    status.opt_in_by_day,
    status.intake_by_day,
    marksOf(status),
    tables,
  ],
  draw: ({ status }) =>
    element(
      "div",
      { class: "pair" },
      groupsOf(status).map((group) => groupPart(status, group)),
    ),
};

function groupsOf({ opt_in, clients, opt_in_by_day, intake_by_day, published, released }: Status): Group[] {
  const accepted = intake_by_day.filter(({ outcome }) => outcome === "accepted");
  return [
    {
      ...opt_in,
      id: "opt-in",
      name: "opt-in people",
      ended: published,
      arrivals: new Map(opt_in_by_day.map(({ day, people }) => [day, people])),
      extra: opt_in.enrolments > 0 && tokensSentence(opt_in, published !== null),
    },
    {
      ...clients,
      id: "clients",
      name: "clients",
      ended: released,
      people: clients.reports,
      arrivals: new Map(accepted.map((one) => [one.day, one.count])),
      extra: `${count(clients.expected)} ${released ? "were" : "are"} expected.`,
    },
  ];
}

function tokensSentence({ enrolments, unused }: Status["opt_in"], isOver: boolean): string {
  const left = `${count(unused)} of them ${unused === 1 ? "is" : "are"} ${isOver ? "left over" : "not used yet"}`;
  return `${count(enrolments)} tokens were made, ${unused ? left : "all are used"}.`;
}

function groupPart(status: Status, group: Group): HTMLElement {
  const { id, name, people, minimum, until, pace, ended, extra, arrivals } = group;
  const isEnough = people >= minimum;
  return element(
    "div",
    { class: `group ${id}` },
    element("h3", { id: `progress-${id}` }, id === "clients" ? "Clients" : "Opt-in people"),
    element(
      "p",
      { class: "large" },
      element("strong", {}, count(people)),
      ` of at least ${count(minimum)} ${isEnough ? "✓" : ""}`,
    ),
    meter(people, minimum, `progress-${id}`),
    element("p", {}, pace.sentence),
    element("p", { class: "quiet" }, ended ? `It ended on ${ended}. ` : `The last day is ${until}. `, extra),
    arrivals.size > 0 &&
      figure({
        id: `${id}-by-day`,
        sheet: sheetOf(status, group),
        plot: arrivalPlot(status, group),
        note: noteOf(status, group, name),
      }),
  );
}

/** A bar that is full when the minimum is reached. */
export const meter = (people: number, minimum: number, labelledBy: string): HTMLElement =>
  element("progress", { max: minimum, value: Math.min(people, minimum), "aria-labelledby": labelledBy });

/** Days from the first arrival to today or the end, and on to the day on which the minimum is reached, if that is near. */
function daysOf({ today }: Status, { arrivals, pace, ended }: Group): string[] {
  const known = [...arrivals.keys()].sort();
  const last = [known.at(-1)!, ended ?? today].sort()[1]!;
  const end = pace.reached && dayNumber(pace.reached) - dayNumber(last) <= MAX_AHEAD ? pace.reached : last;
  return daysBetween([known[0]!, afterDays(end, -6)].sort()[0]!, end);
}

/** How many there were at the end of each day. */
function totals({ arrivals }: Group, days: readonly string[]): number[] {
  let sum = [...arrivals].reduce((before, [day, people]) => before + (day < days[0]! ? people : 0), 0);
  return days.map((day) => (sum += arrivals.get(day) ?? 0));
}

function arrivalPlot(status: Status, group: Group): SVGElement {
  const { minimum, pace, name, id } = group;
  const days = daysOf(status, group);
  const all = totals(group, days);
  const now = days.indexOf(status.today);
  const there = all.map((sum, i) => (now >= 0 && i > now ? null : sum));
  const top = roundUp(Math.max(minimum, ...all));
  const coming = days.map((_, i) =>
    pace.reached && now >= 0 && i >= now ? Math.min(all[now]! + pace.per_day * (i - now), top) : null,
  );
  const limit = days.map(() => minimum);
  const label = `${name} by day, with the minimum of ${count(minimum)}. ${pace.sentence}`;
  return plot(
    { label, ticks: days.map(shortDay), max: top },
    line(limit, top, "limit"),
    line(coming, top, `line ${id} coming`),
    line(there, top, `line ${id}`),
    markLines(marksOf(status), days),
  );
}

function sheetOf(status: Status, group: Group): Sheet {
  const days = daysOf(status, group).filter((day) => day <= status.today);
  const all = totals(group, days);
  return {
    name: `${status.campaign}-${group.id}-by-day`,
    caption: `${group.name === "clients" ? "Clients" : "Opt-in people"} by day (UTC)`,
    columns: [
      { name: "day", label: "Day (UTC)" },
      { name: "new", label: "New" },
      { name: "total", label: "In all" },
      { name: "event", label: "Event" },
    ],
    rows: days.map((day, i) => [day, group.arrivals.get(day) ?? 0, all[i]!, eventOf(status, day)]),
  };
}

function noteOf(status: Status, group: Group, name: string): Child {
  const days = daysOf(status, group);
  return [
    `All ${name} at the end of each day (UTC), those who left later among them. `,
    element("span", { class: "key limit" }, `minimum ${count(group.minimum)}`),
    group.pace.reached && element("span", { class: `key coming ${group.id}` }, "at today's pace"),
    markKey(marksOf(status), days),
  ];
}

/** The days that count, and what will happen by itself. */
import type { Terms } from "../../src/terms.ts";
import { dayNumber } from "../../src/days.ts";
import { type Child, element } from "../../ui/elements.ts";
import { visible } from "../../ui/texts.ts";
import type { ByItself, Pace, Status } from "../api.ts";
import type { Panel } from "./panel.ts";

const HAPPENS = {
  publish: "the list is published",
  release: "the result is released",
  delete: "everything of this campaign is deleted, since people are missing",
};

export const deadlines: Panel = {
  id: "deadlines",
  title: "Deadlines",
  key: ({ status, documents }) => [
    status.state,
    status.today,
    status.by_itself,
    status.opt_in.pace.outlook,
    status.clients.pace.outlook,
    status.published,
    status.released,
    documents?.terms.sha256,
  ],
  draw: ({ status, documents }) => [byItself(status), timeline(status, documents?.terms ?? null)],
};

/** Whether a group is enough in time, as far as its pace says. */
export const comesInTime = ({ outlook }: Pace): boolean => outlook === "reached" || outlook === "on-course";

function byItself({ by_itself, state, opt_in, clients }: Status): Child {
  if (!by_itself)
    return element(
      "p",
      {},
      state === "released" ? "Nothing more happens by itself: the result is public." : "A step is being taken right now.",
    );
  const { act, after, would_be, last } = by_itself;
  const isAtRisk = would_be === "delete" && !comesInTime((act === "publish" ? opt_in : clients).pace);
  return [
    element(
      "p",
      { class: isAtRisk ? "bad" : null },
      element("strong", {}, "If you do nothing: "),
      `after ${after} ${HAPPENS[would_be]}${would_be === "delete" ? ". That changes if they come in time." : ", if there are still enough people."}`,
    ),
    last && last.outcome !== "done" && failedTry(last),
  ];
}

const failedTry = ({ time, act, outcome, detail }: NonNullable<ByItself["last"]>): Child =>
  element("p", { class: "bad" }, `The collector tried at ${time}, and could not ${act}: ${outcome}. ${visible(detail)}`);

/** Days and what happens on them, with today between them. */
function timeline(status: Status, terms: Terms | null): HTMLElement {
  const { today, opens, published, released, opt_in, clients } = status;
  const days: [string, string][] = [
    [opens, "Opt-in opens"],
    ...(published && published < opt_in.until ? [] : [[opt_in.until, "Last day to opt in"] as [string, string]]),
    ...(published
      ? [[published, "The list was published"] as [string, string]]
      : terms
        ? [[terms.records_kept_until, "Last day to publish the list yourself"] as [string, string]]
        : []),
    ...(released && released < clients.until ? [] : [[clients.until, "Last day of reports"] as [string, string]]),
    ...(released
      ? [[released, "The result was released"] as [string, string]]
      : terms
        ? [[terms.reports_kept_until, "Last day to release the result yourself"] as [string, string]]
        : []),
  ];
  if (!released) days.push([today, "Today"]);
  const ordered = days.sort(([one, a], [other, b]) =>
    one < other ? -1 : one > other ? 1 : a === "Today" ? -1 : b === "Today" ? 1 : 0,
  );
  return element(
    "ol",
    { class: "timeline" },
    ordered.map(([day, label]) =>
      element(
        "li",
        { class: label === "Today" ? "now" : day < today ? "past" : null },
        element("time", { datetime: day }, day),
        " ",
        element("span", {}, label, day > today && element("span", { class: "quiet" }, `, ${inDays(day, today)}`)),
      ),
    ),
  );
}

function inDays(day: string, today: string): string {
  const days = dayNumber(day) - dayNumber(today);
  return days === 1 ? "tomorrow" : `in ${days} days`;
}

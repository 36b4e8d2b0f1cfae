/** The days of a campaign: those that the plots show, and those on which something happened. */
import { afterDays } from "../src/days.ts";
import type { View } from "./address.ts";
import type { Status } from "./api.ts";
import { daysBetween, type Mark } from "./plot.ts";

/** When the list was published and the result released. */
export const marksOf = ({ published, released }: Status): Mark[] => [
  ...(published ? [{ day: published, label: "list published" }] : []),
  ...(released ? [{ day: released, label: "result released" }] : []),
];

/** What happened on a day, if anything. */
export const eventOf = (status: Status, day: string): string | null =>
  marksOf(status)
    .filter((mark) => mark.day === day)
    .map(({ label }) => label)
    .join(", ") || null;

/** The days of these that the filter lets through; a week at least, so that few days do not look like all there is. */
export function daysShown(days: readonly string[], last: string, { from, to }: View): string[] {
  const sorted = [...days].sort();
  const first = from || sorted[0] || last;
  const end = to || [sorted.at(-1) ?? last, last].sort()[1]!;
  return daysBetween(from || to ? first : [first, afterDays(end, -6)].sort()[0]!, end < first ? first : end);
}

export const isWithin = (day: string, { from, to }: View): boolean => (!from || day >= from) && (!to || day <= to);

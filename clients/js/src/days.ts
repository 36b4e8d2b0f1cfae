import { ParameterError } from "./errors.ts";

/** The value, if it is a day such as 2026-11-30. Days are texts: their order is that of time. */
export function requireDay(parameter: string, value: any): string {
  if (typeof value === "string" && /^(?!0000)\d{4}(-\d\d){2}$/.test(value) && afterDays(value, 0) === value) return value;
  throw new ParameterError(parameter, value, "a day, YYYY-MM-DD");
}

/** Days since 1970-01-01. */
export const dayNumber = (day: string): number => Date.parse(day) / 864e5;

/** The day after so many; the texts of years above 9999 come before all others. */
export const afterDays = (day: string, count: number): string => dayOf((dayNumber(day) + count) * 86_400);

/** The day of a moment in seconds; empty if there is none. */
export const dayOf = (seconds: number): string => (new Date(seconds * 1000).toJSON() ?? "").slice(0, 10);

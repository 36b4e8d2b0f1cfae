/** What the person searched and clicked, kept on the device until it counts: few, for a while, and each can be deleted. */
import { afterDays } from "../../src/days.ts";

/** How many records are kept at most; the oldest go first. */
export const MAX_RECORDS = 500;
/** For how many days a record is kept at most. */
export const MAX_DAYS = 90;
/** A query or an address of more characters is not kept. */
export const MAX_LENGTH = 2000;

export interface KeptRecord {
  readonly id: number;
  readonly query: string;
  readonly url: string;
  readonly engine: string;
  /** The day, and no more of the time. */
  readonly day: string;
}

/** The records that may still be kept today. A day that is yet to come is a clock's error, and counts as today. */
export function current(records: readonly KeptRecord[], today: string): KeptRecord[] {
  const first = afterDays(today, 1 - MAX_DAYS);
  return records
    .map((record) => (record.day > today ? { ...record, day: today } : record))
    .filter(({ day }) => day >= first)
    .slice(-MAX_RECORDS);
}

/** With one more, if it is neither empty nor too long. */
export function withRecord(records: readonly KeptRecord[], record: Omit<KeptRecord, "id">, id: number): KeptRecord[] {
  const { query, url, day } = record;
  const isFine = [query, url].every((text) => text && text.length <= MAX_LENGTH);
  return current(isFine ? [...records, { id, ...record }] : records, day);
}

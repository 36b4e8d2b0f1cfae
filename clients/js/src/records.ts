/** A person's own records, brought to the form of a campaign. */
import { utf8 } from "./bytes.ts";
import { ParameterError } from "./errors.ts";
import { normalQuery, normalUrl } from "./normal.ts";
import type { TermsFields } from "./terms.ts";

/** A query and its URL; the URL is null where a campaign asks for queries alone. */
export type Record = [string, string | null];

/**
 * The records as the campaign spells them, without those that it cannot use. No record makes this fail: whether a device
 * takes part must not depend on them.
 */
export function campaignRecords(records: any, { levels, normalise }: Pick<TermsFields, "levels" | "normalise">): Record[] {
  if (typeof records !== "object" || !records?.[Symbol.iterator]) {
    throw new ParameterError("records", records, "a list of [query, url]");
  }
  return [...records].flatMap((record): Record[] => {
    if (!Array.isArray(record) || record.length !== 2) return [];
    const query = isUsable(record[0]) && normalQuery(normalise, record[0]);
    const url = levels < 2 ? null : isUsable(record[1]) && normalUrl(normalise, record[1]);
    return isUsable(query) && (url === null || isUsable(url)) ? [[query, url]] : [];
  });
}

/** Whether this is a text that a collector takes; what is empty never becomes one. */
const isUsable = (text: unknown): text is string =>
  typeof text === "string" && /^[^\0\p{Cs}]+$/u.test(text) && utf8(text).length <= 8192;

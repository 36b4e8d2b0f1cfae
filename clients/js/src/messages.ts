/** What a device sends, in canonical JSON: members in the order of their names. */
import { type Bytes, hex, utf8 } from "./bytes.ts";
import { addDrawn, type Chooser } from "./random.ts";
import type { Record } from "./records.ts";
import type { Terms } from "./terms.ts";

const body = (value: unknown): Bytes => utf8(JSON.stringify(value));

/** A report; its id goes into the address. */
export const reportBody = (manifest: string, pseudonym: string, question: string, data: Uint8Array, scheme: string): Bytes =>
  body({ data: hex(data), manifest, pseudonym, question, scheme });

/** The wish to have a report deleted. */
export const deletionBody = (deletion_key: string): Bytes => body({ deletion_key });

/**
 * An enrolment: at most `opt_in_records` of the records, drawn at random, as many as fit into what a collector takes, and
 * what a retry is known by.
 */
export function enrolmentBody(
  terms: Terms,
  records: readonly Record[],
  chooser: Chooser,
  nonce: Uint8Array,
  maxBytes = 1 << 20,
): Bytes {
  const count = records.length;
  const chosen = addDrawn(new Set(), Math.max(0, count - terms.opt_in_records), count, chooser);
  const message = { nonce: hex(nonce), records: [] as object[], terms: terms.sha256 };
  let room = maxBytes - body(message).length;
  for (const index of [...chosen].sort((a, b) => a - b)) {
    const [query, url] = records[index]!;
    const size = body({ query, url }).length + 1;
    if (size > room) continue;
    room -= size;
    message.records.push({ query, url });
  }
  return body(message);
}

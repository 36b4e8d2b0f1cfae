/** Whom to believe: keys that follow one another, each vouched for by the one before. */
import { unhex } from "./bytes.ts";
import { type Fields, readDocument } from "./canonical.ts";
import { requireDay } from "./days.ts";
import { type Envelope, mediaType, readKey, requireKey, type VerifyKey, verified } from "./envelope.ts";
import { ParameterError } from "./errors.ts";

/** Keys that are believed, each until a day (null: until further notice). */
export type Trust = readonly (readonly [VerifyKey, string | null])[];

/** A new key, and until when the one before it counts. */
export interface KeyStatement {
  readonly key: string;
  readonly since: string;
  readonly replaces: string;
  readonly replaced_until: string;
}

const FIELDS: Fields = {
  key: requireKey,
  replaces(name, value) {
    unhex(value, name, 8);
    return value;
  },
  replaced_until: requireDay,
  since(name, value, { replaced_until }) {
    if (requireDay(name, value) > replaced_until) throw new ParameterError("replaced_until", replaced_until, `from ${value} on`);
    return value;
  },
};

export function readKeyStatement(bytes: Uint8Array): Promise<KeyStatement> {
  return readDocument(bytes, "key statement", { "blendp/key/1": FIELDS });
}

/**
 * The trust with the keys that these statements lead to, in their order. Statements of strangers change nothing, nor does
 * a second successor of a key that was replaced.
 */
export async function following(trust: Trust, envelopes: readonly Envelope[]): Promise<Trust> {
  const trusted = new Map(trust.map((one) => [one[0].id, one]));
  for (const envelope of envelopes) {
    try {
      const { key, replaces, replaced_until } = await readKeyStatement(envelope.payload);
      const [old, until] = trusted.get(replaces)!;
      const successor = await readKey(key);
      if (until && !trusted.has(successor.id)) continue;
      for (const one of [old, successor]) await verified(envelope, mediaType("key"), [one]);
      trusted.set(replaces, [old, until && until < replaced_until ? until : replaced_until]);
      if (!trusted.has(successor.id)) trusted.set(successor.id, [successor, null]);
    } catch {
      // a stranger's word
    }
  }
  return [...trusted.values()];
}

/** The keys that are believed on this day. */
export const trustedOn = (trust: Trust, day: string): VerifyKey[] =>
  trust.filter(([, until]) => !until || day <= until).map(([key]) => key);

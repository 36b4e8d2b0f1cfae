/**
 * Which records a typed text finds, and in which order: exact, beginning, words, typing errors; then by share.
 */
import { ParameterError } from "./errors.ts";
import { normalQuery } from "./normal.ts";
import { Lexicon, where } from "./search_lexicon.ts";

export type Match = "exact" | "prefix" | "word" | "typo" | "nearest";

export interface Result {
  readonly query: string;
  readonly url: string | null;
  /** The share of all searches that this is estimated to have, and its standard error. */
  readonly share: number;
  readonly error: number;
  readonly match: Match;
}

export interface Answer {
  readonly results: Result[];
  /** Whether nothing matched, and these are the nearest. */
  readonly nearest: boolean;
}

/** The records of an index in their order; shares and errors are counted in parts of the unit. */
export interface Columns {
  readonly queries: readonly string[];
  /** Those of each query, of which a query that is a record by itself has none; empty where all are. */
  readonly urls: readonly (readonly string[])[];
  readonly shares: readonly number[];
  readonly errors: readonly number[];
  readonly unit: number;
}

const MAX_TYPED = 256;
const MAX_RESULTS = 1000;

const normal = (text: string): string => normalQuery("blendp-1", text);

/** The normal forms of queries. If they are their own ones, as in most campaigns, all of them together are, too. */
function normalForms(queries: readonly string[]): readonly string[] {
  const joined = queries.join(" ");
  return normal(joined) === joined ? queries : queries.map(normal);
}

/** So many words count of a typed text, and of a query: their product bounds what one keystroke can cost. */
const MAX_TYPED_WORDS = 8;
const MAX_WORDS = 16;

/** The first words of a text in normal form: what stands between spaces and the marks of ASCII. */
const wordsOf = (text: string, maxWords: number): string[] => (text.match(/[^ -/:-@[-`{-~]+/g) ?? []).slice(0, maxWords);

/** The words of many texts, and the numbers of the texts that have each. */
class Vocabulary extends Lexicon {
  private constructor(private readonly holders: ReadonlyMap<string, readonly number[]>) {
    super([...holders.keys()].sort());
  }

  static of(texts: readonly string[]): Vocabulary {
    const holders = new Map<string, number[]>();
    texts.forEach((text, number) => {
      for (const word of wordsOf(text, MAX_WORDS)) {
        const some = holders.get(word);
        if (!some) holders.set(word, [number]);
        else if (some.at(-1) !== number) some.push(number);
      }
    });
    return new Vocabulary(holders);
  }

  /** The numbers of the texts, of so many, that have a fitting word for every part; none if there are no parts. */
  having(parts: readonly string[], fitting: (part: string) => number[], size: number): number[] {
    const counts = new Uint8Array(size);
    parts.forEach((part, count) => {
      for (const fit of fitting(part)) {
        for (const number of this.holders.get(this.texts[fit]!)!) if (counts[number] === count) counts[number]!++;
      }
    });
    return parts.length ? where(counts, parts.length) : [];
  }
}

/** A search in these records. What only some texts need is made when it is needed first. */
export function matcher({ queries, urls, shares, errors, unit }: Columns): (text: string, limit?: number) => Answer {
  // the queries sorted by their normal forms, and the records of each
  const forms = normalForms(queries);
  const numbers = [...forms.keys()];
  if (forms.some((form, number) => form < forms[number - 1]!)) {
    numbers.sort((one, other) => (forms[one]! < forms[other]! ? -1 : forms[one]! > forms[other]! ? 1 : 0));
  }
  const entries = new Lexicon(numbers.map((number) => forms[number]!));
  let vocabulary: Vocabulary | undefined;
  const firsts = new Uint32Array(queries.length);
  const queryOf = new Uint32Array(shares.length);
  let record = 0;
  queries.forEach((_, number) => {
    firsts[number] = record;
    queryOf.fill(number, record, (record += urls[number]?.length || 1));
  });

  /** The best records of these entries, by share, then in their order. */
  function bestOf(some: readonly number[], limit: number): number[] {
    const best: number[] = [];
    const isBetter = (one: number, other: number): boolean => (shares[one]! - shares[other]! || other - one) > 0;
    for (const entry of some) {
      const number = numbers[entry]!;
      for (let record = firsts[number]!; queryOf[record] === number; record++) {
        let rank = best.length;
        while (rank && isBetter(record, best[rank - 1]!)) rank--;
        if (rank < limit) best.splice(rank, 0, record);
        if (best.length > limit) best.pop();
      }
    }
    return best;
  }

  /** The entries that a text in normal form matches, by how they do; those of one match may have those of others. */
  function* matching(typed: string): Generator<[Match, number[]]> {
    const starting = entries.beginning(typed);
    yield ["exact", starting.filter((entry) => entries.texts[entry] === typed)];
    yield ["prefix", starting];
    const lexicon = (vocabulary ??= Vocabulary.of(entries.texts));
    const parts = [...new Set(wordsOf(typed, MAX_TYPED_WORDS))];
    const byWord = lexicon.having(parts, (part) => lexicon.beginning(part), numbers.length);
    yield ["word", byWord];
    const reaches = entries.reaches(typed);
    const byTypo = lexicon.having(parts, (part) => lexicon.reached(part), numbers.length);
    byTypo.push(...where(reaches, [...typed].length));
    yield ["typo", byTypo];
    if (!starting.length && !byWord.length && !byTypo.length) yield ["nearest", where(reaches, Math.max(0, ...reaches))];
  }

  return (text, limit = 10) => {
    if (!Number.isInteger(limit) || limit < 1 || limit > MAX_RESULTS) {
      throw new ParameterError("limit", limit, `a whole number from 1 to ${MAX_RESULTS}`);
    }
    const typed = normal([...text.slice(0, 2 * MAX_TYPED)].slice(0, MAX_TYPED).join(""));
    const results: Result[] = [];
    const isSeen = new Uint8Array(numbers.length);
    for (const [match, some] of matching(typed)) {
      const unseen = some.filter((entry) => !isSeen[entry] && (isSeen[entry] = 1));
      for (const record of bestOf(unseen, limit - results.length)) {
        const number = queryOf[record]!;
        const [query, url] = [queries[number]!, urls[number]?.[record - firsts[number]!] ?? null];
        results.push({ query, url, share: shares[record]! / unit, error: errors[record]! / unit, match });
      }
      if (results.length >= limit) break;
    }
    return { results, nearest: results[0]?.match === "nearest" };
  };
}

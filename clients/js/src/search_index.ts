/**
 * The offline index of a release: its records in columns, sorted by query, with shares and errors as whole numbers. It
 * is made of the release's bytes alone, so everybody makes the same bytes.
 */
import { type Bytes, isBefore, LONE, sha256, text, unhex, utf8 } from "./bytes.ts";
import { requireDay } from "./days.ts";
import { ParameterError, RefusedError } from "./errors.ts";
import { readRelease } from "./release.ts";
import { type Answer, type Columns, matcher } from "./search_match.ts";
import { requireCampaign } from "./terms.ts";

const FORMAT = "blendp/search-index/1";
const MAX_BYTES = 8 << 20;
const MAX_RECORDS = 20_000;

/** Without these, the order of code points is that of 16-bit units. */
const BEHIND = /[\ud800-\uffff]/;

/** Shares and errors are counted in parts of this. */
const UNIT = 1e9;

export interface SearchIndex {
  /** The campaign's name; empty if the release is of none. */
  readonly campaign: string;
  /** The day of the release. */
  readonly released: string;
  readonly releaseHash: string;
  readonly sha256: string;
  readonly records: number;
  /** What is found for a text, the best first; an empty text finds what is most popular. */
  search(text: string, limit?: number): Answer;
}

interface Row {
  readonly query: string;
  readonly url: string | null;
  readonly share: number;
  readonly error: number;
}

/** The index of a release, from the bytes that were signed; verify them first. */
export async function buildIndex(release: Bytes): Promise<Bytes> {
  const { campaign, released, estimates, sha256: hash } = await readRelease(release);
  const refuse = (legal: string): never => {
    throw new ParameterError("release", campaign, legal);
  };
  if (!isNamed(campaign, released)) refuse("of a campaign and a day");
  if (!Array.isArray(estimates)) refuse("with estimates");
  const rows = kept(estimates, refuse);
  const queries: string[] = [];
  const urls: string[][] = [];
  rows.forEach(({ query, url }, i) => {
    const isSame = query === rows[i - 1]?.query;
    if (isSame && url === rows[i - 1]!.url) refuse("with each record once");
    if (!isSame) urls[queries.push(query) - 1] = [];
    if (url !== null) urls.at(-1)!.push(url);
  });
  const index = utf8(
    written({
      campaign,
      queries,
      released,
      release_sha256: hash,
      urls: urls.some((some) => some.length) ? urls : [],
      shares: rows.map(({ share }) => share),
      errors: rows.map(({ error }) => error),
    }),
  );
  return index.length > MAX_BYTES ? refuse(`of an index of at most ${MAX_BYTES} bytes`) : index;
}

/** The listed records of a release in order: the most popular, if they are too many; none whose numbers are unknown. */
function kept(estimates: readonly any[], refuse: (legal: string) => never): Row[] {
  const isText = (value: unknown): boolean => value === null || typeof value === "string";
  const isNumber = (value: unknown): boolean => value === null || typeof value === "number";
  for (const row of estimates) {
    const isFine = Object(row) === row && isText(row.query) && isText(row.url);
    if (!isFine || !isNumber(row.probability) || !isNumber(row.std_error)) refuse("with queries, URLs and numbers");
  }
  const haveUrls = new Set(estimates.map(({ query, url }) => url !== null && query));
  const rows = estimates
    .filter(({ query, url }) => query !== null && (url !== null || !haveUrls.has(query)))
    .filter(({ probability, std_error }) => probability !== null && std_error !== null)
    .map(({ query, url, probability, std_error }) => {
      const [share, error] = [units(probability), units(std_error)];
      if (!Number.isSafeInteger(share) || !Number.isSafeInteger(error)) refuse("of numbers that can be shares");
      return { query, url, share, error };
    })
    .sort((one, other) => ordered(one.query, other.query) || ordered(one.url ?? "", other.url ?? ""));
  if (rows.length <= MAX_RECORDS) return rows;
  const numbers = rows.map((_, i) => i).sort((i, j) => rows[j]!.share - rows[i]!.share || i - j);
  return numbers
    .slice(0, MAX_RECORDS)
    .sort((i, j) => i - j)
    .map((i) => rows[i]!);
}

/** The index as it is searched; throws a RefusedError at bytes that are none. */
export async function readIndex(index: Bytes): Promise<SearchIndex> {
  const hash = sha256(index);
  const value = parsed(index);
  const { campaign, released, release_sha256: releaseHash } = value;
  const columns: Columns = { ...value, unit: UNIT };
  return {
    campaign,
    released,
    releaseHash,
    sha256: await hash,
    records: value.shares.length,
    search: matcher(columns),
  };
}

/** The members of an index, each checked. */
function parsed(index: Bytes): any {
  try {
    const source = index.length > MAX_BYTES ? "" : text(index);
    const value = JSON.parse(source);
    const { campaign, released, release_sha256, queries, urls, shares, errors } = value;
    const precedes = source.length < index.length && BEHIND.test(source) ? isBefore : (one: string, other: string) => one < other;
    const isSorted = (texts: any): boolean => {
      for (let i = 0; i < texts.length; i++) {
        if (typeof texts[i] !== "string" || (i && !precedes(texts[i - 1], texts[i]))) return false;
      }
      return Array.isArray(texts);
    };
    const isFine =
      isNamed(campaign, released) &&
      unhex(release_sha256, "", 32) &&
      isSorted(queries) &&
      Array.isArray(urls) &&
      (!urls.length || (urls.length === queries.length && urls.every(isSorted) && urls.some((some: any) => some.length))) &&
      !(source.includes("\\ud") && LONE.test(queries.join() + urls.join())) &&
      shares.length === (urls.length ? urls.reduce((sum: number, some: any) => sum + (some.length || 1), 0) : queries.length) &&
      shares.length === errors.length &&
      shares.length <= MAX_RECORDS &&
      [shares, errors].every((column) => column.every(Number.isSafeInteger));
    // the same text again: so it is canonical, and has nothing else
    if (isFine && written(value) === source) return value;
  } catch {
    // as below
  }
  throw new RefusedError("index", `These ${index.length} bytes are no search index.`);
}

/** The canonical text of an index: names in order, and whole numbers alone, so that JSON has one spelling. */
function written({ campaign, errors, queries, release_sha256, released, shares, urls }: any): string {
  return JSON.stringify({ campaign, errors, format: FORMAT, queries, release_sha256, released, shares, urls });
}

/** Whether these can be the campaign of a release, if it has one, and its day. */
function isNamed(campaign: any, released: any): boolean {
  try {
    return (campaign === "" || !!requireCampaign("", campaign)) && !!requireDay("", released);
  } catch {
    return false;
  }
}

/** A number in units, rounded to the nearest whole one; ties go to the even one. */
function units(number: number): number {
  const scaled = number * UNIT;
  const near = Math.round(scaled);
  return (near - scaled === 0.5 && near % 2 ? near - 1 : near) + 0;
}

/** The order of code points. */
const ordered = (one: string, other: string): number =>
  one === other ? 0 : (BEHIND.test(one) ? isBefore(one, other) : one < other) ? -1 : 1;

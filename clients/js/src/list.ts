/**
 * The head list. Its cells are, in this order, <q_1,u_1> ... <q_1,*> <q_2,u_1> ... <q_2,*> ... <*,*>. The wildcard is a
 * position, never a text. A query may be listed without a URL: then <q,*> is its only cell, and a listed record.
 */
import { isBefore } from "./bytes.ts";
import { checked, type Fields, readDocument } from "./canonical.ts";
import { ParameterError } from "./errors.ts";
import { whole } from "./terms.ts";

/** A query and a URL; null is the wildcard. */
export type Label = readonly [string | null, string | null];

export interface HeadList {
  readonly levels: number;
  readonly queries: readonly { readonly query: string; readonly urls: readonly string[] }[];
  readonly sha256: string;
  /** How many cells there are, and how many records are listed. */
  readonly cells: number;
  readonly records: number;
  /** The labels of all cells, and of the listed records. */
  readonly labels: readonly Label[];
  readonly listed: readonly Label[];
  /** The row of the query of every cell; the wildcard's comes last. */
  readonly rows: readonly number[];
  /** The cell of a record: itself, <q,*> when only its query is listed, else <*,*>. */
  cellOf(query: string | null, url: string | null): number;
}

const FIELDS: Fields = {
  levels: (_, value) => whole(1, 2)("list", value),
  queries: (_, entries, { levels }) => {
    const fields: Fields = {
      query: (_, value) => value,
      urls: (_, urls) => requireSorted(levels < 2 && urls?.length ? 0 : urls),
    };
    requireSorted(Array.isArray(entries) && entries.map((entry) => checked(entry, "list", fields).query));
    return entries;
  },
};

export async function readList(bytes: Uint8Array): Promise<HeadList> {
  const document = await readDocument(bytes, "list", { "blendp/head-list/1": FIELDS });
  const rows: number[] = [];
  const labels: Label[] = [];
  const listed: Label[] = [];
  const starts = new Map<string | null, number>();
  [...document.queries, { query: null, urls: [] }].forEach(({ query, urls }, row) => {
    starts.set(query, labels.length);
    for (const url of [...urls, null]) {
      const label: Label = [query, url];
      rows.push(row);
      labels.push(label);
      if ((urls.length ? url : query) !== null) listed.push(label);
    }
  });
  return {
    ...document,
    cells: labels.length,
    records: listed.length,
    labels,
    listed,
    rows,
    cellOf(query, url) {
      let cell = starts.get(query) ?? labels.length - 1;
      while (labels[cell]![1] !== null && labels[cell]![1] !== url) cell++;
      return cell;
    },
  };
}

/** Throws unless these are distinct texts in the order of code points. */
function requireSorted(texts: unknown): void {
  const isSorted = (one: unknown, i: number, all: string[]): boolean =>
    typeof one === "string" && (!i || isBefore(all[i - 1]!, one));
  if (!Array.isArray(texts) || !texts.every(isSorted)) throw new ParameterError("list", "order", "sorted");
}

/** How clients report about a list: what is asked, and how it is randomised. */
import { wildcardApart } from "./apart.ts";
import { type Bytes, hex, sha256 as sha256Of, unhex, utf8 } from "./bytes.ts";
import { ParameterError } from "./errors.ts";
import { ONE, shareCoin } from "./exact.ts";
import type { HeadList } from "./list.ts";
import type { Manifest } from "./manifest.ts";
import { type Chooser, wordChooser } from "./random.ts";
import type { Record } from "./records.ts";
import { type Randomiser, subsetSelection } from "./subset.ts";
import { twoStage } from "./two_stage.ts";

/** What answers a question; the coins of URLs are there where it is the published randomiser. */
export type Asked = Randomiser & { readonly urlCoins?: readonly bigint[] };

export interface Scheme {
  /** The one report of a person with these records. Call it once, keep the result, and resend that. */
  randomise(records: readonly Record[], chooser: Chooser): { question: string; data: Bytes };
  /** 16 digits that differ for clients who draw, order or rank in another way. */
  id(): Promise<string>;
  /** Questions, each with the probability of being asked, times 2^53, and what answers it. */
  readonly asked: ReadonlyMap<string, readonly [bigint, Asked]>;
}

/** A number in the bytes that all numbers below `count` take, at least 1. */
export function bigEndian(number: bigint, count: bigint): Bytes {
  const { length } = (count - 1n).toString(16);
  return unhex(number.toString(16).padStart(length + (length % 2), "0"), "");
}

/** What a question is about: the row of a cell, or the cell itself. */
export const itemOf = (question: string, cell: number, { rows }: HeadList): number => (question === "query" ? rows[cell]! : cell);

export function schemeOf({ sha256, terms, records, list_sha256, query_share, randomiser }: Manifest, list: HeadList): Scheme {
  if (list.sha256 !== list_sha256 || list.records !== records || list.levels !== terms.levels) {
    throw new ParameterError("head list", list.sha256, "that of the manifest");
  }
  const { cells, queries, listed } = list;
  const share = shareCoin(query_share);
  const asked = new Map<string, [bigint, Randomiser]>();
  let urls = "";
  if (terms.method === "published") {
    const published = twoStage(terms.client_budget, query_share, [...queries.map((entry) => entry.urls.length + 1), 1]);
    asked.set("cell", [ONE, published]);
    urls = `urls ${published.urlCoins.join(" ")}\n`;
  } else {
    const oracle = randomiser ? wildcardApart : subsetSelection;
    asked.set("query", [share, oracle(terms.epsilon, queries.length + 1)]);
    asked.set("record", [ONE - share, oracle(terms.epsilon, cells)]);
  }
  const randomise: Scheme["randomise"] = (holding, chooser) => {
    const question = urls ? "cell" : chooser.coin(share) ? "query" : "record";
    const { draw, count } = asked.get(question)![1];
    const [query, url] = holding.length ? holding[chooser.below(holding.length)]! : [null, null];
    return { question, data: bigEndian(draw(itemOf(question, list.cellOf(query, url), list), chooser), count) };
  };
  return {
    asked,
    randomise,
    async id() {
      let text = `blendp/scheme/1 ${sha256}\n`;
      for (const [name, [chance, { items, size, coins }]] of asked)
        text += `${[name, chance, items, size, ...coins].join(" ")}\n`;
      text += urls;
      const chooser = wordChooser(splitMix(BigInt(`0x${sha256.slice(0, 16)}`)));
      for (let probe = 0; probe < 8; probe++) {
        // six people with a listed record, one with the query of the first alone, one without records
        const [query, url] = listed[Math.floor(((probe % 6) * records) / 6)] ?? [];
        const { question, data } = randomise(records && probe < 7 ? [[query!, probe < 6 ? url! : null]] : [], chooser);
        text += `${question} ${hex(data)}\n`;
      }
      return (await sha256Of(utf8(text))).slice(0, 16);
    },
  };
}

/** The numbers of SplitMix64 from a state. */
export function splitMix(state: bigint): () => bigint {
  const mixed = (bits: bigint, shift: bigint, factor: bigint): bigint => BigInt.asUintN(64, (bits ^ (bits >> shift)) * factor);
  return () => {
    state = BigInt.asUintN(64, state + 0x9e3779b97f4a7c15n);
    const bits = mixed(mixed(state, 30n, 0xbf58476d1ce4e5b9n), 27n, 0x94d049bb133111ebn);
    return bits ^ (bits >> 31n);
  };
}

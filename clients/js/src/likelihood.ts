/** How likely a report is, exactly, for everything that a person may hold. */
import { hex } from "./bytes.ts";
import { ParameterError } from "./errors.ts";
import { type Fraction, fraction, isAbove, ONE } from "./exact.ts";
import type { HeadList } from "./list.ts";
import type { Manifest } from "./manifest.ts";
import { binomial, unrank } from "./ranks.ts";
import { type Asked, bigEndian, itemOf, type Scheme, schemeOf } from "./scheme.ts";
import type { Randomiser } from "./subset.ts";
import type { TwoStage } from "./two_stage.ts";

/** Cells for which a report is equally likely. */
export interface Likelihood {
  readonly description: string;
  readonly cells: readonly number[];
  readonly probability: Fraction;
}

/** The number of a report's bytes; throws unless there is such a report. */
export function reportNumber(data: Uint8Array, count: bigint): bigint {
  const number = BigInt(`0x0${hex(data)}`);
  if (number >= count || bigEndian(number, count).length !== data.length) {
    throw new ParameterError("report", hex(data), "bytes that the randomiser can draw");
  }
  return number;
}

/** The items that a report names, in ascending order. */
export function namedItems({ items, size, coins, count, urlCoins }: Asked, number: bigint): number[] {
  const last = items - 1;
  if (urlCoins) return [Number(number)];
  if (coins.length < 2) return unrank(number, items, size);
  return number < count - 1n ? unrank(number, last, size) : [last];
}

/** The probabilities of a set: for whoever holds one of its items, and for all others; 0 for none. */
export const subsetLaw = ({ items, size, coins }: Pick<Randomiser, "items" | "size" | "coins">): Fraction[] => [
  fraction(coins[0]!, ONE * binomial(items - 1, size - 1)),
  fraction(ONE - coins[0]!, ONE * (binomial(items - 1, size) || 1n)),
];

/**
 * With the wildcard apart, the probabilities of the wildcard alone: for whoever holds it, and for all others; and those of a
 * set: for whoever holds one of its items, another listed one, or the wildcard.
 */
export function apartLaws({ items, size, coins: [own, other, among] }: Randomiser): Fraction[][] {
  const listed = items - 1;
  if (!listed) return [[fraction(own!, ONE)]];
  const sets = subsetLaw({ items: listed, size, coins: [among!] });
  return [
    [fraction(own!, ONE), fraction(other!, ONE)],
    [
      ...sets.map(([numerator, denominator]) => fraction((ONE - other!) * numerator, ONE * denominator)),
      fraction(ONE - own!, ONE * binomial(listed, size)),
    ],
  ];
}

/** The probabilities of a cell of this row: for whoever holds it, another cell of the row, a cell of another row. */
export function cellLaw({ coins, urlCoins }: Pick<TwoStage, "coins" | "urlCoins">, row: number, cells: number): Fraction[] {
  const coin = coins[0]!;
  const url = urlCoins[row]!;
  const own = BigInt(cells);
  return [
    fraction(coin * url, ONE * ONE),
    fraction(coin * (ONE - url), ONE * ONE * (own - 1n || 1n)),
    fraction(ONE - coin, ONE * BigInt(urlCoins.length - 1 || 1) * own),
  ];
}

/** The largest of these over the smallest, those that cannot be left aside. */
export function ratioOf(probabilities: readonly Fraction[]): Fraction {
  const possible = probabilities.filter(([numerator]) => numerator);
  const most = possible.reduce((a, b) => (isAbove(b, a) ? b : a));
  const least = possible.reduce((a, b) => (isAbove(a, b) ? b : a));
  return fraction(most[0] * least[1], most[1] * least[0]);
}

/** How many cells the row has that is written so in a list. */
const cellsOf = (list: HeadList, row: number): number => (list.queries[row]?.urls.length ?? 0) + 1;

/** How likely this very report was, for every cell: groups of cells, the likeliest first. */
export function likelihoods(manifest: Manifest, list: HeadList, question: string, data: Uint8Array): Likelihood[] {
  const { asked } = schemeOf(manifest, list);
  const [chance, randomiser] = asked.get(question) ?? [];
  if (!randomiser) throw new ParameterError("question", question, [...asked.keys()].join(" or "));
  if (!chance) throw new ParameterError("report", question, "about a question that is asked");
  const number = reportNumber(data, randomiser.count);
  const { items, coins, urlCoins } = randomiser;
  const named = new Set(namedItems(randomiser, number));
  const inside = `one of the ${question === "query" ? "queries" : "records"} that it names`;
  const outside = `a ${question} that it does not name`;
  const nothing = "no listed query";
  let [descriptions, law, group]: [string[], Fraction[], (item: number) => number] = [[], [], () => 0];
  if (urlCoins) {
    const row = list.rows[Number(number)]!;
    descriptions = ["the record that it names", "another URL of the query that it names", "another query"];
    law = cellLaw({ coins, urlCoins }, row, cellsOf(list, row));
    group = (cell) => (named.has(cell) ? 0 : list.rows[cell] === row ? 1 : 2);
  } else if (coins.length < 2) {
    descriptions = [inside, outside];
    law = subsetLaw(randomiser);
    group = (item) => +!named.has(item);
  } else {
    const last = items - 1;
    const isAlone = named.has(last);
    descriptions = isAlone ? [nothing, "a listed query"] : [inside, outside, nothing];
    law = apartLaws(randomiser)[+!isAlone]!;
    group = (item) => (named.has(item) ? 0 : isAlone || item !== last ? 1 : 2);
  }
  return law
    .map((one, i) => ({
      description: descriptions[i]!,
      cells: [...list.rows.keys()].filter((cell) => group(itemOf(question, cell, list)) === i),
      probability: fraction(one[0] * chance, one[1] * ONE),
    }))
    .filter((one) => one.cells.length)
    .sort((a, b) => +isAbove(b.probability, a.probability) - +isAbove(a.probability, b.probability));
}

/** The largest ratio of two probabilities of one report: what any report changes anybody's odds by. */
export function largestRatio(manifest: Manifest, list: HeadList): Fraction {
  const laws = (randomiser: ReturnType<Scheme["asked"]["get"]> & {}): Fraction[][] => {
    const [chance, one] = randomiser;
    const { coins, urlCoins } = one;
    if (!chance) return [];
    if (urlCoins) return urlCoins.map((_, row) => cellLaw({ coins, urlCoins }, row, cellsOf(list, row)));
    return coins.length < 2 ? [subsetLaw(one)] : apartLaws(one);
  };
  const ratios = [...schemeOf(manifest, list).asked.values()].flatMap(laws).map(ratioOf);
  return ratios.reduce((a, b) => (isAbove(b, a) ? b : a));
}

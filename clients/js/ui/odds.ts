/** How many of 100 people send a report that names something they hold, or do not hold: among those who are asked the same. */
import { type Fraction, nearest, ONE } from "../src/exact.ts";
import { cellLaw } from "../src/likelihood.ts";
import type { HeadList } from "../src/list.ts";
import type { Manifest } from "../src/manifest.ts";
import { schemeOf } from "../src/scheme.ts";
import type { DotGroup } from "./dots.ts";

const group = (label: string, [numerator, denominator]: Fraction): DotGroup => ({
  label,
  count: nearest([100n * numerator, denominator]),
});

/**
 * A set names an item with the probability of the coin for whoever holds it, and else with its share of the other places.
 * Where the wildcard is apart, the first coin decides that it is named alone, and whoever holds it and is to name others draws
 * them all alike. A report of one cell has the law of that cell, which depends on the row of its query.
 */
export function hundred(manifest: Manifest, list: HeadList, question: string, item: number): DotGroup[] {
  const { items, size, coins, urlCoins } = schemeOf(manifest, list).asked.get(question)![1];
  const listed = items - 1;
  if (!listed) return [];
  const [first, other, among] = coins as [bigint, bigint?, bigint?];
  const isAlone = item === listed && (size === 1 || other !== undefined);
  const own = isAlone
    ? "Of 100 people who searched for nothing on the list, so many send a report that says so"
    : "Of 100 people who searched for it, so many send a report that names it";
  const strangers = (label: string): string => (isAlone ? "Of 100 people who searched for something on the list" : label);
  if (urlCoins) {
    const row = list.rows[item]!;
    const cells = (list.queries[row]?.urls.length ?? 0) + 1;
    const [same, sibling, stranger] = cellLaw({ coins, urlCoins }, row, cells) as [Fraction, Fraction, Fraction];
    return [
      group(own, same),
      ...(cells > 1 ? [group("Of 100 people who searched for it and chose another address", sibling)] : []),
      ...(urlCoins.length > 1 ? [group(strangers("Of 100 people who never searched for it"), stranger)] : []),
    ];
  }
  const stray = (coin: bigint, others: number): Fraction => [BigInt(size) * ONE - coin, BigInt(others) * ONE];
  if (other === undefined || among === undefined)
    return [group(own, [first, ONE]), group(strangers("Of 100 people who never did"), stray(first, listed))];
  if (isAlone) return [group(own, [first, ONE]), group(strangers(""), [other, ONE])];
  const named = ([numerator, denominator]: Fraction): Fraction => [(ONE - other) * numerator, ONE * denominator];
  return [
    group(own, named([among, ONE])),
    ...(listed > 1 ? [group("Of 100 people who searched for something else on the list", named(stray(among, listed - 1)))] : []),
    group("Of 100 people who searched for nothing on the list", [(ONE - first) * BigInt(size), ONE * BigInt(listed)]),
  ];
}

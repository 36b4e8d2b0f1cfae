/** How many of 100 people send a report that names something they hold, or do not hold: among those who are asked the same. */
import { type Fraction, fraction, nearest, ONE } from "../src/exact.ts";
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
 * A set names an item with the probability of the coin for whoever holds it, and else with its share of the other places; a
 * report of one cell has the law of that cell, which depends on the row
 * of its query.
 */
export function hundred(manifest: Manifest, list: HeadList, question: string, rowOf: () => number): DotGroup[] {
  const { items, size, coin, urlCoins } = schemeOf(manifest, list).asked.get(question)![1];
  const own = "Of 100 people who searched for it, so many send a report that names it";
  if (items === 1) return [];
  if (!urlCoins) {
    const others = fraction(BigInt(size) * ONE - coin, BigInt(items - 1) * ONE);
    return [group(own, fraction(coin, ONE)), group("Of 100 people who never did", others)];
  }
  const row = rowOf();
  const cells = (list.queries[row]?.urls.length ?? 0) + 1;
  const [same, sibling, stranger] = cellLaw({ coin, urlCoins }, row, cells) as [Fraction, Fraction, Fraction];
  return [
    group(own, same),
    ...(cells > 1 ? [group("Of 100 people who searched for it and chose another address", sibling)] : []),
    ...(urlCoins.length > 1 ? [group("Of 100 people who never searched for it", stranger)] : []),
  ];
}

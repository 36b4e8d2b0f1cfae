/** What a report names, and how many of 100 people send a report that names something they hold, or do not hold. */
import { type Fraction, fraction, nearest, ONE } from "../../src/exact.ts";
import type { DrawnReport } from "../../src/explanation.ts";
import { cellLaw, likelihoods } from "../../src/likelihood.ts";
import type { HeadList, Label } from "../../src/list.ts";
import { schemeOf } from "../../src/scheme.ts";
import type { DotGroup } from "../../ui/dots.ts";

const group = (label: string, [numerator, denominator]: Fraction): DotGroup => ({
  label,
  count: nearest([100n * numerator, denominator]),
});

/**
 * Among those who are asked the same question. A set names an item with the probability of the coin for whoever holds it,
 * and else with its share of the other places; a report of one cell has the law of that cell.
 */
export function hundred(report: DrawnReport): DotGroup[] {
  const { manifest, list, question } = report;
  const { items, size, coin, urlCoins } = schemeOf(manifest, list).asked.get(question)![1];
  const own = "Of 100 people who searched for it, so many send a report that names it";
  if (items === 1) return [];
  if (!urlCoins) {
    const others = fraction(BigInt(size) * ONE - coin, BigInt(items - 1) * ONE);
    return [group(own, fraction(coin, ONE)), group("Of 100 people who never did", others)];
  }
  const [query] = named(report)[0]!;
  const row = query === null ? list.queries.length : list.queries.findIndex((entry) => entry.query === query);
  const cells = (list.queries[row]?.urls.length ?? 0) + 1;
  const [same, sibling, stranger] = cellLaw({ coin, urlCoins }, row, cells) as [Fraction, Fraction, Fraction];
  return [
    group(own, same),
    ...(cells > 1 ? [group("Of 100 people who searched for it and chose another address", sibling)] : []),
    ...(urlCoins.length > 1 ? [group("Of 100 people who never searched for it", stranger)] : []),
  ];
}

/** The labels of all cells, in their order. */
const labels = ({ queries }: HeadList): Label[] => [
  ...queries.flatMap(({ query, urls }) => [...urls, null].map((url): Label => [query, url])),
  [null, null],
];

/** What the report names: queries, or records. */
export function named({ manifest, list, question, data }: DrawnReport): Label[] {
  const groups = likelihoods(manifest, list, question, data);
  const { cells } = groups.find(({ description }) => /\bthat it names$/.test(description) && !/^another/.test(description))!;
  const all = labels(list);
  if (question !== "query") return cells.map((cell) => all[cell]!);
  const rows = new Set(cells.map((cell) => list.rows[cell]!));
  return [...rows].map((row): Label => [list.queries[row]?.query ?? null, null]);
}

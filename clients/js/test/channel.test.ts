// The channel of every randomiser, cell by cell: every choice enumerated, compared with the closed forms, exactly.
import { describe, expect, test } from "vitest";
import { wildcardApart } from "../src/apart.ts";
import { type Fraction, fraction, isAbove, ONE, power } from "../src/exact.ts";
import { apartLaws, cellLaw, namedItems, ratioOf, subsetLaw } from "../src/likelihood.ts";
import { binomial, unrank } from "../src/ranks.ts";
import { subsetSelection } from "../src/subset.ts";
import { twoStage } from "../src/two_stage.ts";
import { lawOf, ofFraction } from "./enumerator.ts";

const sum = (law: Map<string, Fraction>): Fraction =>
  [...law.values()].reduce((a, b) => fraction(a[0] * b[1] + b[0] * a[1], a[1] * b[1]));

/** All lists of whole numbers from 1 on with this sum. */
const shapes = (cells: number): number[][] =>
  cells ? Array.from({ length: cells }, (_, i) => i + 1).flatMap((first) => shapes(cells - first).map((rest) => [first, ...rest])) : [[]];

describe("subset selection", () => {
  for (const epsilon of [0.1, 0.5, 1, Math.log(3), 2, 4, 10])
    test.each([1, 2, 3, 4, 5, 6, 7])(`epsilon ${epsilon}, %i items`, (items) => {
      const randomiser = subsetSelection(epsilon, items);
      const { size, coins, count, draw } = randomiser;
      const [inside, outside] = subsetLaw(randomiser) as [Fraction, Fraction];
      expect(count).toBe(binomial(items, size));
      for (let item = 0; item < items; item++) {
        const law = lawOf((chooser) => String(draw(item, chooser)));
        expect(BigInt(law.size)).toBe(count);
        for (const [number, probability] of law)
          expect(probability).toEqual(unrank(BigInt(number), items, size).includes(item) ? inside : outside);
        expect(sum(law)).toEqual([1n, 1n]);
      }
      if (items === 1) return;
      expect(ofFraction(inside)).toBe(ofFraction(fraction(coins[0]!, ONE * binomial(items - 1, size - 1))));
      const ratio = fraction(inside[0] * outside[1], inside[1] * outside[0]);
      expect(isAbove(ratio, [power(epsilon, 200), 1n << 200n])).toBe(false);
    });
});

describe("wildcard apart", () => {
  for (const epsilon of [2 ** -40, 0.1, 0.5, 1, Math.log(3), 2, 4, 10, 50])
    test.each([1, 2, 3, 4, 5, 6, 7])(`epsilon ${epsilon}, %i items`, (items) => {
      const randomiser = wildcardApart(epsilon, items);
      const { size, count, draw } = randomiser;
      const last = items - 1;
      const laws = apartLaws(randomiser);
      expect(count).toBe(last ? binomial(last, size) + 1n : 1n);
      for (let item = 0; item < items; item++) {
        const law = lawOf((chooser) => String(draw(item, chooser)));
        for (let number = 0n; number < count; number++) {
          const named = namedItems(randomiser, number);
          const [inside, outside, unlisted] = laws[named[0] === last ? 0 : 1]!;
          expect(named.length).toBe(named[0] === last ? 1 : size);
          const wanted = named.includes(item) ? inside : item === last ? unlisted : outside;
          expect(law.get(String(number)) ?? [0n, 1n]).toEqual(wanted);
        }
        expect(sum(law)).toEqual([1n, 1n]);
      }
      for (const law of laws) expect(isAbove(ratioOf(law), [power(epsilon, 200), 1n << 200n])).toBe(false);
    });

  test("the size is that of the least noise, by whole numbers", () => {
    for (const epsilon of [0.01, 0.5, 1, 2, 4, 8])
      for (const items of [4, 5, 9, 40, 257]) {
        const listed = BigInt(items - 1);
        // e^-epsilon from below, to 53 bits
        const x = (1n << 253n) / (power(epsilon, 200) + 1n);
        const noise = (w: bigint): Fraction => [(w * ONE + listed * x) * (10n * listed * x + w * (ONE - x)), w * (listed - w)];
        const sizes = Array.from({ length: items - 2 }, (_, i) => BigInt(i + 1));
        const best = sizes.reduce((one, other) => (isAbove(noise(one), noise(other)) ? other : one));
        expect(BigInt(wildcardApart(epsilon, items).size)).toBe(best);
      }
  });
});

describe("two-stage", () => {
  for (const [epsilon, delta, share] of [
    [1, 0, 0.85],
    [4, 1e-5, 0.85],
    [0.2, 0.01, 0.3],
  ] as const)
    test.each([1, 2, 3, 4, 5, 6, 7])(`epsilon ${epsilon}, delta ${delta}, all shapes of %i cells`, (cells) => {
      // the wildcard query has one cell, so a list of one query has one
      for (const shape of shapes(cells).filter((one) => one.length > 1 || cells === 1)) {
        const randomiser = twoStage({ epsilon, delta }, share, shape);
        const rows = shape.flatMap((length, row) => Array<number>(length).fill(row));
        for (const [cell, row] of rows.entries()) {
          const law = lawOf((chooser) => String(randomiser.draw(cell, chooser)));
          expect(sum(law)).toEqual([1n, 1n]);
          for (const [report, other] of rows.entries()) {
            const [own, sibling, stranger] = cellLaw(randomiser, other, shape[other]!);
            const wanted = report === cell ? own : row === other ? sibling : stranger;
            expect(law.get(String(report)) ?? [0n, 1n]).toEqual(wanted);
          }
        }
      }
    });
});

test("every set has one rank, in both forms of ranks", () => {
  for (const [items, size] of [
    [7, 3],
    [6, 6],
    [9, 1],
  ] as const) {
    const sets = Array.from({ length: Number(binomial(items, size)) }, (_, number) => unrank(BigInt(number), items, size));
    expect(new Set(sets.map(String)).size).toBe(sets.length);
    const last = sets.map((set) => [...set].reverse().map((item) => item.toString().padStart(2, "0")).join());
    expect(last).toEqual([...last].sort());
  }
});

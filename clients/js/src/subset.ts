/** Subset selection: a report names a set of w of k items that may hold the person's own; pure epsilon-LDP. */
import { ParameterError, requireCount, requireEpsilon } from "./errors.ts";
import { coin, ONE } from "./exact.ts";
import { addDrawn, type Chooser } from "./random.ts";
import { binomial, rank } from "./ranks.ts";

/** What all ways to report have in common. */
export interface Randomiser {
  readonly items: number;
  /** How many items a report names, but for one that names the wildcard alone. */
  readonly size: number;
  /** The coins of a report: their probabilities, times 2^53. */
  readonly coins: readonly bigint[];
  /** How many different reports there are. */
  readonly count: bigint;
  /** The number of a report about this item. */
  draw(item: number, chooser: Chooser): bigint;
}

export function subsetSelection(epsilon: number, items: number, width?: number): Randomiser {
  requireEpsilon("epsilon", epsilon);
  requireCount("items", items, 1, 1e6);
  const last = items - 1;
  const ideal = width ?? items / (Math.exp(epsilon) + 1);
  let [size, hit, top, bottom] = [1, ONE, 1n, 0n];
  for (const about of last ? [Math.floor(ideal), Math.ceil(ideal)] : []) {
    const width = Math.min(Math.max(about, 1), last);
    const chance = coin(epsilon, width, [0n, 1n], items - width);
    const rest = BigInt(width) * ONE - chance;
    // the noise of a report is over/under
    const over = rest * (BigInt(last) * ONE - rest);
    const contrast = chance * BigInt(last) - rest;
    if (contrast > 0n && over * bottom < top * contrast ** 2n) [size, hit, top, bottom] = [width, chance, over, contrast ** 2n];
  }
  if (last && !bottom) throw new ParameterError("epsilon", epsilon, "above 1e-14");

  return {
    items,
    size,
    coins: [hit],
    count: binomial(items, size),
    // drawn as for the last item; then the names of the two are swapped
    draw(item, chooser) {
      const first = chooser.coin(hit) ? last : chooser.below(items - size);
      const chosen = addDrawn(new Set([first]), items - size, last, chooser);
      const members = Array.from(chosen, (one) => (one === item ? last : one === last ? item : one));
      return rank(members.sort((a, b) => a - b), items);
    },
  };
}

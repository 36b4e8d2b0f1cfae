/** Wildcard apart: a report names the last item alone, or a set of w others that may hold the person's own; pure epsilon-LDP. */
import { requireCount, requireNumber } from "./errors.ts";
import { coin, ONE } from "./exact.ts";
import { type Randomiser, subsetSelection } from "./subset.ts";

/** The coins are those of the last item, for whoever holds it and for all others, and that of a set. */
export function wildcardApart(epsilon: number, items: number): Randomiser {
  requireNumber("epsilon", epsilon, 2 ** -40, 50);
  requireCount("items", items, 1, 1e6);
  const last = items - 1;
  const listed = BigInt(last);
  // e^-epsilon is irrational, so it and the rest of 1 add up to one unit less
  const rest = coin(epsilon, 1, [-1n, 1n], 0) + 1n;
  const inverse = (ONE - rest) * listed;
  /** How noisy sets of this size are, times size (listed - size). */
  const noise = (size: bigint): bigint => (size * ONE + inverse) * (10n * inverse + size * rest);
  let size = 1;
  for (let high = last - 1; size < high; ) {
    const middle = (size + high) >> 1;
    const one = BigInt(middle);
    const next = one + 1n;
    if (noise(one) * next * (listed - next) <= noise(next) * one * (listed - one)) high = middle;
    else size = middle + 1;
  }
  const own = coin(epsilon, size, [0n, 1n], last);
  const other = last ? ONE - coin(epsilon, size, [listed - BigInt(size), 1n], last) : 0n;
  const among = subsetSelection(epsilon, last || 1, size);
  const sets = last ? among.count : 0n;
  return {
    items,
    size,
    coins: [own, other, last ? among.coins[0]! : 0n],
    count: sets + 1n,
    draw(item, chooser) {
      const isLast = item === last;
      if (chooser.coin(isLast ? own : other)) return sets;
      return among.draw(isLast ? chooser.below(last) : item, chooser);
    },
  };
}

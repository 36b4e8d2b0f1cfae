/** The few ways in which random 64-bit numbers become choices. */

export interface Chooser {
  /** True with a probability of numerator / 2^53. */
  coin(numerator: bigint): boolean;
  /** Uniform on 0 .. bound - 1, for bounds from 1 to 2^32. */
  below(bound: number): number;
}

/** Choices from uniform 64-bit numbers, one for a coin; `below` draws again what would favour small values. */
export function wordChooser(next: () => bigint): Chooser {
  return {
    coin: (numerator) => next() >> 11n < numerator,
    below(bound) {
      const limit = BigInt(bound);
      for (;;) {
        const product = BigInt.asUintN(32, next()) * limit;
        if (BigInt.asUintN(32, product) >= 2n ** 32n % limit) return Number(product >> 32n);
      }
    },
  };
}

/** Choices from the system's randomness. */
export const systemChooser = (): Chooser => wordChooser(() => crypto.getRandomValues(new BigUint64Array(1))[0]!);

/** Adds a number for every one from `start` on below `stop`: not above it, and new to the set (Floyd's algorithm). */
export function addDrawn(chosen: Set<number>, start: number, stop: number, chooser: Chooser): Set<number> {
  for (let last = start; last < stop; last++) {
    const drawn = chooser.below(last + 1);
    chosen.add(chosen.has(drawn) ? last : drawn);
  }
  return chosen;
}

/**
 * The number of a set among all sets of its size. With fewer than 2^64 sets it is that of the combinatorial number
 * system; with more, the items are cut in the middle, the number of items behind the cut is coded first, the likeliest
 * number first, and each part is ranked in the same way.
 */

/** C(items, size). */
export function binomial(items: number, size: number): bigint {
  const fewer = Math.min(size, items - size);
  return fewer < 0 ? 0n : product(items - fewer, items) / product(0, fewer);
}

/** The product of the whole numbers above one, up to another. */
function product(first: number, last: number): bigint {
  const middle = (first + last) >> 1;
  return last <= first ? 1n : last - first < 2 ? BigInt(last) : product(first, middle) * product(middle, last);
}

/**
 * How many items are behind the cut: goes through all such numbers in the order of the ranks until `isIt`, told how many
 * sets have so many.
 */
function cut(items: number, size: number, isIt: (behind: number, share: bigint) => boolean): number {
  const first = items >> 1;
  const second = items - first;
  let high = Math.floor((size * second) / items);
  let low = high;
  let more = binomial(first, size - high) * binomial(second, high);
  let fewer = more;
  // C(n, k + 1) = C(n, k)(n - k)/(k + 1); from the first impossible number on there are 0 sets
  const stepped = (share: bigint, one: number, other: number, n: number): bigint =>
    (share * BigInt(one) * BigInt(other)) / (BigInt(n - one + 1) * BigInt(items - n - other + 1));
  for (let isNext = isIt(high, more); !isNext; isNext = isIt(low, fewer)) {
    more = stepped(more, size - high, second - high, first);
    if (isIt(++high, more)) return high;
    fewer = stepped(fewer, low, first - size + low, second);
    low--;
  }
  return low;
}

/** The rank of a set of 0 .. items - 1 in ascending order. */
export function rank(chosen: readonly number[], items: number): bigint {
  if (binomial(items, chosen.length) < 1n << 64n) return chosen.reduce((sum, item, i) => sum + binomial(item, i + 1), 0n);
  let before = 0n;
  const first = items >> 1;
  const front = chosen.filter((item) => item < first);
  const back = chosen.slice(front.length).map((item) => item - first);
  cut(items, chosen.length, (behind, share) => {
    const isIt = behind === back.length;
    if (!isIt) before += share;
    return isIt;
  });
  return before + rank(front, first) * binomial(items - first, back.length) + rank(back, items - first);
}

/** The set of a rank below C(items, size), in ascending order. */
export function unrank(number: bigint, items: number, size: number): number[] {
  let sets = binomial(items, size);
  if (sets < 1n << 64n) {
    const chosen: number[] = [];
    // from the last item down: as many sets are without it as come before those with it
    for (let item = items; size; item--) {
      const without = (sets * BigInt(item - size)) / BigInt(item);
      if (number < without) sets = without;
      else {
        number -= without;
        sets -= without;
        size--;
        chosen.unshift(item - 1);
      }
    }
    return chosen;
  }
  const first = items >> 1;
  const behind = cut(items, size, (_, share) => {
    if (number < share) return true;
    number -= share;
    return false;
  });
  const seconds = binomial(items - first, behind);
  const back = unrank(number % seconds, items - first, behind);
  return [...unrank(number / seconds, first, size - behind), ...back.map((item) => item + first)];
}

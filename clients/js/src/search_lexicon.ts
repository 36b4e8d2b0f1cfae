/**
 * Sorted texts: which of them begin with what is typed, and how far it leads into each in spite of typing errors.
 * Lengths and distances are counted in code points. Neighbours share their beginnings, and so the work on them.
 */
import { utf8 } from "./bytes.ts";

const pointsOf = (text: string): number[] => Array.from(text, (character) => character.codePointAt(0)!);

/** How many typing errors are forgiven in so many code points. */
const forgiven = (length: number): number => (length < 3 ? 0 : length < 6 ? 1 : 2);

/** The code points of texts one after the other, where each text starts, and how many it shares with the one before. */
interface Tables {
  readonly points: Uint8Array | Uint32Array;
  readonly starts: Uint32Array;
  readonly shared: Uint32Array;
}

function tablesOf(texts: readonly string[]): Tables {
  const joined = texts.join("");
  const bytes = utf8(joined);
  const isAscii = bytes.length === joined.length;
  const points = isAscii ? bytes : new Uint32Array(joined.length);
  const starts = new Uint32Array(texts.length + 1);
  const shared = new Uint32Array(texts.length);
  let [before, end] = [0, 0];
  for (let number = 0; number < texts.length; number++) {
    const text = texts[number]!;
    const start = end;
    if (isAscii) end += text.length;
    else {
      for (let unit = 0; unit < text.length; unit++) {
        const point = text.codePointAt(unit)!;
        points[end++] = point;
        if (point > 0xffff) unit++;
      }
    }
    let same = 0;
    while (before + same < start && start + same < end && points[before + same] === points[start + same]) same++;
    starts[number + 1] = end;
    shared[number] = same;
    before = start;
  }
  return { points, starts, shared };
}

/** Texts in the order of 16-bit units; one may stand there several times. */
export class Lexicon {
  private tables?: Tables;

  constructor(readonly texts: readonly string[]) {}

  /** The numbers of the texts that begin with another one. */
  beginning(start: string): number[] {
    const { texts } = this;
    let [low, high] = [0, texts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (texts[middle]! < start) low = middle + 1;
      else high = middle;
    }
    const numbers = [];
    while (texts[low]?.startsWith(start)) numbers.push(low++);
    return numbers;
  }

  /** The numbers of the texts that the whole typed text leads to. */
  reached(typed: string): number[] {
    return where(this.reaches(typed), pointsOf(typed).length);
  }

  /**
   * How far the typed text leads into every text: the largest i for which its first i code points are at most
   * forgiven(i) edits away from a beginning of the text. An edit leaves out, puts in or replaces a code point, or
   * exchanges two neighbours (optimal string alignment). Row j has the distances of the first j code points of a text
   * from all beginnings of the typed one, in a band around the diagonal; texts that share j code points share the rows up
   * to j. Where a row has nothing within the bound, no later row has.
   */
  reaches(typed: string): Uint16Array {
    const { points, starts, shared } = (this.tables ??= tablesOf(this.texts));
    const wanted = pointsOf(typed);
    const length = wanted.length;
    const bound = forgiven(length);
    const width = length + 2;
    const depths = length + bound + 1;
    const rows = new Uint8Array((depths + 1) * width).fill(bound + 1);
    for (let i = 0; i <= bound && i <= length; i++) rows[i] = i;
    const allowed = Uint8Array.from({ length: length + 1 }, (_, i) => forgiven(i));
    const reach = new Uint16Array(depths + 1);
    const result = new Uint16Array(shared.length);
    // how deep the rows are those of the text before, and whether no deeper row leads further
    let depth = 0;
    let isOver = false;
    for (let number = 0; number < result.length; number++) {
      const start = starts[number]!;
      const size = starts[number + 1]! - start;
      if (!isOver || shared[number]! < depth) {
        depth = Math.min(depth, shared[number]!);
        isOver = false;
      }
      while (!isOver && depth < size) {
        const point = points[start + depth];
        const before = points[start + depth - 1];
        depth++;
        const row = depth * width;
        const low = Math.max(0, depth - bound);
        const high = Math.min(length, depth + bound);
        let smallest = bound + 1;
        let furthest = reach[depth - 1]!;
        if (low) rows[row + low - 1] = bound + 1;
        for (let i = low; i <= high; i++) {
          let distance = depth;
          if (i) {
            const above = row - width + i;
            distance = Math.min(rows[above - 1]! + +(wanted[i - 1] !== point), rows[above]! + 1, rows[row + i - 1]! + 1);
            if (i > 1 && depth > 1 && wanted[i - 1] === before && wanted[i - 2] === point) {
              distance = Math.min(distance, rows[above - width - 2]! + 1);
            }
          }
          rows[row + i] = distance;
          if (distance < smallest) smallest = distance;
          if (distance <= allowed[i]! && i > furthest) furthest = i;
        }
        rows[row + high + 1] = bound + 1;
        reach[depth] = furthest;
        isOver = furthest === length || smallest > bound;
      }
      result[number] = reach[depth]!;
    }
    return result;
  }
}

/** The numbers at which a value stands. */
export function where(values: Uint8Array | Uint16Array, value: number): number[] {
  const numbers: number[] = [];
  for (let number = 0; number < values.length; number++) if (values[number] === value) numbers.push(number);
  return numbers;
}

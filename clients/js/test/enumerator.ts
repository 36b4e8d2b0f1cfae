// A randomiser run through all its choices: every coin and every number forks, with exact fractions.
import { type Fraction, fraction, ONE } from "../src/exact.ts";
import type { Chooser } from "../src/random.ts";

export const ofFraction = ([numerator, denominator]: Fraction): string => `${numerator}/${denominator}`;

const plus = (a: Fraction, b: Fraction): Fraction => fraction(a[0] * b[1] + b[0] * a[1], a[1] * b[1]);

/** The probability of every output of a drawing. */
export function lawOf(draw: (chooser: Chooser) => string): Map<string, Fraction> {
  const law = new Map<string, Fraction>();
  const open: number[][] = [[]];
  for (let path = open.pop(); path; path = open.pop()) {
    const taken = path;
    let at = 0;
    let probability: Fraction = [1n, 1n];
    // takes the choice of the path, or the first one, and leaves the others open
    const choose = (weights: readonly bigint[], total: bigint): number => {
      if (at === taken.length) {
        const possible = [...weights.keys()].filter((option) => weights[option]);
        open.push(...possible.slice(1).map((option) => [...taken, option]));
        taken.push(possible[0]!);
      }
      const option = taken[at++]!;
      probability = fraction(probability[0] * weights[option]!, probability[1] * total);
      return option;
    };
    const output = draw({
      coin: (numerator) => choose([ONE - numerator, numerator], ONE) === 1,
      below: (bound) => choose(Array<bigint>(bound).fill(1n), BigInt(bound)),
    });
    law.set(output, plus(law.get(output) ?? [0n, 1n], probability));
  }
  return law;
}

/** For every output, in the order in which they come, its probability for every input. */
export function channelOf(inputs: number, draw: (input: number, chooser: Chooser) => string): Record<string, string[]> {
  const channel: Record<string, string[]> = {};
  for (let input = 0; input < inputs; input++) {
    for (const [output, probability] of lawOf((chooser) => draw(input, chooser))) {
      (channel[output] ??= Array<string>(inputs).fill("0/1"))[input] = ofFraction(probability);
    }
  }
  return channel;
}

/** What one report tells about the person who sent it: its exact probability for everything they may hold. */
import type { Budget } from "./errors.ts";
import { type Fraction, general, isAbove, nearest, power } from "./exact.ts";
import type { HeadList } from "./list.ts";
import type { Manifest } from "./manifest.ts";
import { largestRatio, type Likelihood, likelihoods as likelihoodsOf, ratioOf } from "./likelihood.ts";
import type { TermsFields } from "./terms.ts";

export interface Explanation {
  /** Groups of cells for which this very report was equally likely, the likeliest first. */
  readonly likelihoods: readonly Likelihood[];
  /** The largest probability over the smallest: the most that the report changes anybody's odds. */
  readonly ratio: Fraction;
  /** The same in words for the person who sent it. */
  readonly sentences: readonly string[];
}

/** A report, with what it was drawn for: what a device gives back for a campaign (`device.report`). */
export interface DrawnReport {
  readonly manifest: Manifest;
  readonly list: HeadList;
  readonly question: string;
  readonly data: Uint8Array;
}

/** What a report tells about its sender. */
export function explain({ manifest, list, question, data }: DrawnReport): Explanation {
  const likelihoods = likelihoodsOf(manifest, list, question, data);
  const { epsilon, delta } = manifest.terms.client_budget;
  const ratio = ratioOf(likelihoods.map(({ probability }) => probability));
  const odds = likelihoods.map(
    ({ description, cells, probability }) =>
      `Who holds ${description} (${cells.length} of the ${list.cells} possibilities) sends exactly this report with a probability of ${general(nearest(probability), 4)}.`,
  );
  const promise = isAbove(ratio, exponential(epsilon))
    ? `e^${general(epsilon)}, but for a probability of ${general(delta)} (delta)`
    : `at most e^${general(epsilon)}`;
  const sentences = [
    `This report is an answer about ${question === "query" ? "the query of " : ""}one of your records, drawn at random on your device.`,
  ];
  if (!odds[1]) sentences.push("Everybody sends the same one, so it tells nothing about you.");
  else {
    sentences.push(
      odds.join(" "),
      `So no possibility is more than ${general(nearest(ratio), 4)} times as likely to have made it as another; the promise is ${promise}.`,
      belief(ratio, "this report"),
    );
  }
  return { likelihoods, ratio, sentences };
}

/** What a client's report about a list can tell at most, whichever it will be. */
export const oddsSentence = (manifest: Manifest, list: HeadList): string => belief(largestRatio(manifest, list), "your report");

/** What a client's report can tell at most, by the terms alone: while there is no list. */
export const promiseSentence = ({ epsilon, client_budget }: TermsFields): string =>
  belief(exponential(epsilon), "your part in this") + slack(client_budget);

/** What an opt-in person's records can tell whom. */
export const optInSentence = (terms: TermsFields): string =>
  `The curator sees the records that you send. For everybody else: ${belief(exponential(terms.epsilon), "what is published")}${slack(terms)}`;

const belief = ([numerator, denominator]: Fraction, what: string): string =>
  `If somebody thought something about you was true with a probability of 1 %, ${what} can bring them to ${general(nearest([100n * numerator, numerator + 99n * denominator]), 3)} % at most; it never proves anything.`;

const slack = ({ delta }: Budget): string => (delta ? ` All that up to a slack of δ = ${general(delta)}.` : "");

/** e^epsilon from below, to 100 digits. */
const exponential = (epsilon: number): Fraction => [power(epsilon, 400), 1n << 400n];

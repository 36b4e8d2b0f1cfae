/** What went wrong, in a sentence for the person, by the names that the client gives for programs. */
import { NetworkError, ParameterError, RefusedError } from "../../src/errors.ts";
import { OverspentError } from "../../src/ledger.ts";

const REFUSED: Readonly<Record<string, string>> = {
  signature: "No key that you trust signed what the collector shows. Ask whoever runs it for the key, or leave it.",
  document: "The collector's answer is not what it should be, so it is not used.",
  terms: "The collector does not keep the terms that it signed.",
  list: "The list is not the one that was signed.",
  policy: "The list is too short or too long, or too few people made it, to hide you well enough.",
  "not-published": "There is no list yet, so it asks nobody now.",
  released: "The result is released: it asks nobody any more.",
  equivocation: "The collector signed two different versions. Nothing more is drawn for it; both are kept as evidence.",
  witness: "Somebody who should have been shown the same was shown something else.",
  index: "The search index is not the one that was signed, so it is not used.",
};

const PARAMETERS: Readonly<Record<string, string>> = {
  server: "This is no address of a collector: it begins with https:// and has no ? or #.",
  key: "This is no key: it has 64 digits from 0 to 9 and a to f.",
  token: "This is no token: it begins with blendp-in- and is copied whole.",
  consent: "You have not agreed to this.",
  device: "A later blendp wrote what is stored: update this one.",
};

const days = (count: number): string => (count === 1 ? "1 day" : `${count} days`);

function overspent({ yearly, days: wait }: OverspentError): string {
  if (!yearly) return "It costs more than your cap for life leaves.";
  return `It costs more than this year's budget leaves${wait === null ? "" : `; there is room again in ${days(wait)}`}.`;
}

/** Whatever was thrown, in one sentence or two. */
export function sentenceOf(error: unknown): string {
  if (error instanceof OverspentError) return overspent(error);
  if (error instanceof RefusedError) return REFUSED[error.reason] ?? error.message;
  if (error instanceof ParameterError) return PARAMETERS[error.parameter] ?? error.message;
  if (error instanceof NetworkError) return "The collector does not answer now. It is asked again later.";
  return `Something went wrong: ${(error as Error)?.message ?? error}`;
}

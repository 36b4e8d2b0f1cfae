// What a report tells about the person who sent it, in exact fractions and in sentences; a separate import.
export { explain, oddsSentence, optInSentence, promiseSentence, type DrawnReport, type Explanation } from "./explanation.ts";
export { ParameterError } from "./errors.ts";
export type { Fraction } from "./exact.ts";
export { largestRatio, likelihoods, type Likelihood } from "./likelihood.ts";

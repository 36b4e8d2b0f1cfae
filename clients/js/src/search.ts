// Offline search in a release: the index, a pure function of the release, and answers to what somebody types.
export { ParameterError, RefusedError } from "./errors.ts";
export { buildIndex, readIndex, type SearchIndex } from "./search_index.ts";
export type { Answer, Match, Result } from "./search_match.ts";

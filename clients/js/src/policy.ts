/** What a person is content with, whatever a collector signs. */
import { ParameterError, RefusedError } from "./errors.ts";
import type { Manifest } from "./manifest.ts";
import { HIDDEN, type TermsFields } from "./terms.ts";

export interface Policy {
  /** On a shorter list a report hides among too few things. */
  readonly minRecords: number;
  /** Making a report takes the longer the longer the list. */
  readonly maxRecords: number;
  /** A list that fewer people drew up may show single ones of them. */
  readonly minOptIn: number;
  /** The largest epsilon of one campaign; null leaves it to the caps of the ledger. */
  readonly maxEpsilon: number | null;
}

/** Throws unless these terms are within the bounds; if there is a manifest, its list too. */
export function requireTerms(
  { minRecords = 10, maxRecords = 20_000, minOptIn = 100, maxEpsilon = null }: Partial<Policy> = {},
  { campaign, epsilon, min_opt_in }: TermsFields,
  { opt_in_people, records }: Partial<Manifest> = {},
): void {
  const people = opt_in_people ?? min_opt_in;
  // a bound that is no number allows nothing
  const isFine =
    (maxEpsilon === null || epsilon <= maxEpsilon) &&
    people >= minOptIn &&
    (records === undefined || (records >= minRecords && records <= maxRecords));
  if (!isFine) throw new RefusedError("policy", `${campaign}: epsilon ${epsilon}, ${people} people, ${records} records.`);
}

/** The address of a collector without a slash at the end; throws at what would leak or mislead. */
export function serverUrl(parameter: string, url: string, allowHttp: boolean): string {
  const [, scheme, host, port = ""] = /^(https?):\/\/(\[[\da-f:.]+\]|[^\s:/?#@[\]\\]+)(:\d*)?(\/[^?#]*)?$/i.exec(url) ?? [];
  const isPrivate = scheme?.[4] || allowHttp || /^(localhost|127\.0\.0\.1|\[::1\])$/i.test(host!);
  if (!scheme || HIDDEN.test(url) || +port.slice(1) > 65_535 || !isPrivate) {
    throw new ParameterError(parameter, url, "https://..., or local");
  }
  return url.replace(/\/+$/, "");
}

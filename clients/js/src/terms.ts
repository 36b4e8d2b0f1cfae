/** The terms of a campaign: what is asked, what is promised and until when. */
import { checked, type Fields, readDocument } from "./canonical.ts";
import { afterDays, requireDay } from "./days.ts";
import { type Budget, ParameterError, requireDelta, requireEpsilon, requireNumber } from "./errors.ts";

/** Characters that no text for people may have: controls, marks of direction, invisible ones. */
export const HIDDEN =
  /[\p{Cc}\p{Cs}\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/u;

/** The fields of terms, as the document names them. */
export interface TermsFields extends Budget {
  readonly campaign: string;
  readonly title: string;
  readonly organisation: string;
  readonly purpose: string;
  readonly contact: string;
  readonly opens: string;
  readonly opt_in_until: string;
  readonly reports_until: string;
  readonly grace_days: number;
  readonly method: string;
  readonly levels: number;
  readonly normalise: string;
  readonly size: number | null;
  readonly opt_in_records: number;
  readonly min_opt_in: number;
  readonly min_clients: number;
  readonly expected_clients: number;
  readonly participation: number;
  readonly objective: string;
  readonly records_per_person: number | null;
  /** The last days on which opt-in people's records, and clients' reports, may still be kept. */
  readonly records_kept_until: string;
  readonly reports_kept_until: string;
  /** What a client's report costs: delta is spent by the published method alone. */
  readonly client_budget: Budget;
}

export interface Terms extends TermsFields {
  readonly sha256: string;
}

const text = (max: number) => (name: string, value: any) => {
  // the white space that trim leaves, U+0085, is hidden
  if (typeof value === "string" && [...value].length <= max && !HIDDEN.test(value) && value.trim()) return value;
  throw new ParameterError(name, value, `1 to ${max} visible characters`);
};

/** A whole number of a document: 4.0 is none. */
export const whole = (min: number, max = Infinity) => (name: string, value: unknown) =>
  requireNumber(name, typeof value === "bigint" ? value : NaN, min, max);

export const choice = (...choices: string[]) => (name: string, value: any): string => {
  if (choices.includes(value)) return value;
  throw new ParameterError(name, value, choices.join(" or "));
};

const people = whole(1, 1e9);

/** In the order in which they are checked; three more that follow from them are added on the way. */
const FIELDS: Fields = {
  campaign: requireCampaign,
  title: text(200),
  organisation: text(200),
  purpose: text(1000),
  contact: text(200),
  grace_days: whole(3, 90),
  size: (name, value) => (value === null ? value : people(name, value)),
  opt_in_records: people,
  min_opt_in: people,
  min_clients: people,
  expected_clients: people,
  opens: requireDay,
  opt_in_until: requireDay,
  reports_until(name, value, terms) {
    const { opens, opt_in_until, grace_days } = terms;
    const kept = (terms.records_kept_until = afterDays(opt_in_until, grace_days));
    terms.reports_kept_until = afterDays(requireDay(name, value), grace_days);
    if (opens > opt_in_until || opt_in_until > kept || kept >= value || value > terms.reports_kept_until) {
      throw new ParameterError(name, value, `${grace_days} days after opt_in_until`);
    }
    return value;
  },
  method: choice("blendp", "published"),
  epsilon: requireEpsilon,
  delta(name, value, terms) {
    const { epsilon, method } = terms;
    const delta = requireDelta(name, value);
    terms.client_budget = { epsilon, delta: method === "published" ? delta : 0 };
    return delta;
  },
  levels: whole(1, 2),
  normalise: choice("blendp-1", "none"),
  participation: (name, value) => requireNumber(name, value, 0, 1, 0),
  objective: choice("long-list", "trends"),
  records_per_person: (name, value) => requireNumber(name, value, 0, 1e9, 0),
};

/** What terms leave out where it is so, which the checks above therefore refuse: one value has one spelling. */
const USUAL = { objective: "balanced", records_per_person: null };

export const readTerms = (bytes: Uint8Array): Promise<Terms> => readDocument(bytes, "terms", { "blendp/terms/1": FIELDS }, USUAL);

/** Terms from the members of an object, checked. */
export const termsOf = (value: unknown): TermsFields => checked(value, "terms", FIELDS, USUAL);

/** Whether two terms say the same. */
export const isSameTerms = (one: any, other: any): boolean => Object.keys(FIELDS).every((name) => one[name] === other[name]);

/** The value, if it can name a campaign. */
export function requireCampaign(name: string, value: any): string {
  if (typeof value === "string" && /^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$/.test(value)) return value;
  throw new ParameterError(name, value, "1 to 64 of a-z, 0-9 and inner -");
}

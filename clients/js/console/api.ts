/** What the collector answers operators: messages as src/blendp/wire/ defines them, asked for with the operator's token. */
import { retryAfter } from "../src/backoff.ts";
import { type Bytes, text, utf8 } from "../src/bytes.ts";
import { NetworkError } from "../src/errors.ts";
import { MAX_LIST_BYTES, request } from "../src/http.ts";
import { BASE } from "../pages/collector.ts";
import { token } from "./session.ts";

export type Scope = "read" | "manage" | "release";

export interface TokenHolder {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
}

export interface Clock {
  readonly day: string;
  readonly system: string;
  readonly doubt: string | null;
}

export interface AuditEntry {
  readonly number: number;
  readonly time: string;
  readonly actor: string;
  readonly token: string | null;
  readonly name: string | null;
  readonly act: string;
  readonly campaign: string | null;
  readonly outcome: string;
  readonly detail: string;
}

export interface Pace {
  readonly outlook: "reached" | "on-course" | "too-late" | "nothing" | "not-open" | "closed";
  readonly per_day: number;
  readonly reached: string | null;
  readonly by_deadline: number | null;
  readonly sentence: string;
}

interface Progress {
  readonly minimum: number;
  readonly missing: number;
  readonly until: string;
  readonly pace: Pace;
}
export interface OptInProgress extends Progress {
  readonly people: number;
  readonly enrolments: number;
  readonly unused: number;
}
export interface ClientProgress extends Progress {
  readonly reports: number;
  readonly expected: number;
}

export interface ByItself {
  readonly act: "publish" | "release";
  readonly after: string;
  readonly would_be: "publish" | "release" | "delete";
  readonly last: AuditEntry | null;
}

export type Act = "enrol" | "publish" | "release" | "accept-clock" | "export" | "create";

export interface NextStep {
  readonly sentence: string;
  readonly act: Act | null;
  readonly urgent: boolean;
}

/** Where a campaign stands, in short. */
export interface Summary {
  readonly campaign: string;
  readonly title: string;
  readonly state: string;
  readonly opens: string;
  readonly published: string | null;
  readonly released: string | null;
  readonly by_itself: ByItself | null;
  readonly opt_in: OptInProgress;
  readonly clients: ClientProgress;
  readonly next: NextStep;
}

export interface Overview {
  readonly today: string;
  readonly clock: Clock;
  readonly left_out: number;
  readonly campaigns: readonly Summary[];
}

export interface Churn {
  readonly previous: string;
  readonly added: number;
  readonly removed: number;
  readonly kept: number;
}

export interface Status extends Summary {
  readonly today: string;
  readonly clock: Clock;
  readonly intake: Readonly<Record<string, number>>;
  readonly intake_by_day: readonly { readonly day: string; readonly outcome: string; readonly count: number }[];
  readonly opt_in_by_day: readonly { readonly day: string; readonly people: number }[];
  readonly list: {
    readonly sha256: string;
    readonly records: number;
    readonly queries: number;
    readonly churn: Churn | null;
  } | null;
  readonly budget: {
    readonly epsilon: number;
    readonly delta: number;
    readonly opt_in_spent: boolean;
    readonly clients_spent: number;
  };
}

export interface Forecast {
  readonly people: number;
  readonly like: string;
  readonly expected: number;
  readonly low: number;
  readonly high: number;
  readonly range: number;
  readonly min_records: number;
  readonly below: number;
  readonly too_short: boolean;
  readonly people_needed: number | null;
  readonly sentence: string;
  readonly caution: string | null;
}

export interface Plan {
  readonly people: number;
  readonly clients: number;
  readonly like: string;
  readonly list: Forecast;
  readonly errors: readonly { readonly rank: number; readonly probability: number; readonly std_error: number }[];
  readonly sentence: string | null;
  readonly statement: string;
}

export interface Draft {
  readonly terms: Readonly<Record<string, unknown>>;
  readonly cautions: readonly string[];
  readonly forecast: Forecast;
  readonly sentence: string | null;
  readonly statements: readonly string[];
}

export interface FlaggedRecord {
  readonly query: string | null;
  readonly url: string | null;
  readonly opt_in: number | null;
  readonly client: number | null;
  readonly z: number | null;
}

export interface Influence {
  readonly share: number;
  readonly clients: number;
  readonly blended: number;
  readonly capped: number;
}

export interface Checks {
  readonly opt_in_people: number;
  readonly clients: number;
  readonly records: number;
  readonly agreement: {
    readonly statement: string;
    readonly flagged_records: number;
    readonly flagged: readonly FlaggedRecord[];
  } | null;
  readonly influence: readonly Influence[];
  readonly cautions: readonly string[];
}

export interface ListPublished {
  readonly manifest_sha256: string;
  readonly list_sha256: string;
  readonly records: number;
  readonly opt_in_people: number;
  readonly cautions: readonly string[];
}

export interface ChangedRecord {
  readonly query: string;
  readonly url: string | null;
}
export interface Changes {
  readonly previous: string | null;
  readonly added: readonly ChangedRecord[];
  readonly removed: readonly ChangedRecord[];
  readonly kept: number;
  readonly left_out: number;
}

export interface Reason {
  readonly outcome: string;
  readonly meaning: string;
  readonly remedy: string;
}

/** A request that the collector refused, in its own words. */
export class OperatorError extends Error {
  constructor(
    sentence: string,
    /** The last part of the problem's type. */
    readonly problem: string,
    readonly status: number,
    /** Seconds for which not to ask again. */
    readonly retryAfter: number,
  ) {
    super(sentence);
  }
}

/** How many acts are asked for at a time. */
export const AUDIT_PAGE = 100;

const fetched = globalThis.fetch?.bind(globalThis);

/** The body of an answer to a request with a token; a refusal with the collector's words if there is none. */
async function bytes(method: string, path: string, message?: unknown, given = token()): Promise<Bytes> {
  const body = message === undefined ? null : utf8(JSON.stringify(message));
  const mediaType = body && "application/json";
  const answer = await request(fetched, {
    url: `${BASE}/v1/${path}`,
    method,
    body,
    mediaType,
    token: given,
    maxBytes: MAX_LIST_BYTES,
  });
  if (answer.status < 300) return answer.body;
  throw refusal(answer.status, answer.body, retryAfter(answer.retryAfter, Date.now() / 1000));
}

function refusal(status: number, body: Bytes, seconds: number): Error {
  try {
    const { type, detail } = JSON.parse(text(body));
    return new OperatorError(String(detail).slice(0, 1000), String(type).replace(/^.*:/, ""), status, seconds);
  } catch {
    return new NetworkError(`The collector answers ${status}, without a reason.`); // a proxy's page
  }
}

const answered = async <T>(method: string, path: string, message?: unknown, given?: string): Promise<T> =>
  JSON.parse(text(await bytes(method, path, message, given)));
const get = <T>(path: string): Promise<T> => answered("GET", path);
const of = (campaign: string, part: string): string => `campaigns/${encodeURIComponent(campaign)}/${part}`;

export const api = {
  holder: (given?: string) => answered<TokenHolder>("GET", "token", undefined, given),
  overview: () => get<Overview>("overview"),
  status: (campaign: string) => get<Status>(of(campaign, "status")),
  plan: (campaign: string) => get<Plan>(of(campaign, "plan")),
  forecast: (campaign: string) => get<Forecast>(of(campaign, "forecast")),
  changes: (campaign: string) => get<Changes>(of(campaign, "changes")),
  reasons: async () => (await get<{ reasons: Reason[] }>("reasons")).reasons,
  file: (campaign: string, name: string) => bytes("GET", of(campaign, `files/${name}`)),
  /** The latest acts; what is asked for narrows them. */
  async audit(
    asked: Readonly<Partial<Record<"campaign" | "before" | "since" | "until" | "act" | "outcome", string>>>,
  ): Promise<AuditEntry[]> {
    const values = new URLSearchParams({ max_entries: String(AUDIT_PAGE) });
    for (const [name, value] of Object.entries(asked)) if (value) values.set(name, value);
    return (await get<{ entries: AuditEntry[] }>(`audit?${values}`)).entries;
  },
  schema: () => get<any>("openapi.json"),
  draft: (terms: unknown) => answered<Draft>("POST", "drafts", terms),
  create: (terms: unknown) => answered<{ campaign: string; terms_sha256: string }>("POST", "campaigns", terms),
  enrol: (campaign: string, count: number) => answered<{ tokens: string[] }>("POST", of(campaign, "enrolments"), { count }),
  publish: (campaign: string) => answered<ListPublished>("POST", of(campaign, "publish")),
  preview: (campaign: string) => get<Checks>(of(campaign, "preview")),
  release: (campaign: string) => answered<Checks & { release_sha256: string }>("POST", of(campaign, "release")),
  acceptClock: (day: string) => answered<Clock>("POST", "clock", { day }),
};

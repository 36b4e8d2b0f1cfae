// A collector in the same process, a clock that only tests move, and devices that use both.
import { type Bytes, hex, joined, sha256, unhex, utf8 } from "../src/bytes.ts";
import { mediaType } from "../src/envelope.ts";
import { pseudonym } from "../src/install.ts";
import { wordChooser } from "../src/random.ts";
import { Device, type CollectorOptions, type Consent, type DeviceOptions } from "../src/index.ts";

export const URL_ = "https://collector.example";
export const MIRROR = "https://mirror.example";
/** 2026-11-06. */
export const NOW = 1_794_000_000;
/** The end of the last day for reports, and for opt-in records. */
export const REPORTS_END = Date.parse("2026-12-01") / 1000;
export const OPT_IN_END = Date.parse("2026-11-11") / 1000;
export const DAY = 86_400;
export const CAMPAIGN = "trends";
export const RECORDS = [
  ["Query  3", "http://site-0.org/"],
  ["other", "http://else.org"],
];
export const TOKEN = `blendp-in-${"7".padStart(64, "0")}`;

/** A number as Python writes a float. */
export class Float {
  constructor(readonly text: string) {}
}

/** Canonical JSON of what tests sign; all names here are ASCII. */
export function canonical(value: unknown): string {
  if (value instanceof Float) return value.text;
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical((value as Fields)[name])}`).join(",")}}`;
}

export type Fields = Record<string, unknown>;

export const TERMS: Fields = {
  campaign: CAMPAIGN,
  title: "What is searched for",
  organisation: "Example Search",
  purpose: "A list of popular searches",
  contact: "privacy@example.org",
  opens: "2026-11-01",
  opt_in_until: "2026-11-10",
  reports_until: "2026-11-30",
  grace_days: 7,
  method: "blendp",
  epsilon: new Float("4.0"),
  delta: new Float("1e-06"),
  levels: 2,
  normalise: "blendp-1",
  size: 50,
  opt_in_records: 1,
  min_opt_in: 100,
  min_clients: 1000,
  expected_clients: 10_000,
  participation: new Float("1.0"),
};

export const LIST: Fields = {
  format: "blendp/head-list/1",
  levels: 2,
  queries: Array.from({ length: 12 }, (_, i) => ({ query: `query ${i}`, urls: [`http://site-${i % 3}.org`] })).sort(
    (one, other) => (one.query < other.query ? -1 : 1),
  ),
};

/** What a manifest says whose clients report with the wildcard apart. */
export const APART: Fields = { format: "blendp/manifest/2", randomiser: "apart" };

export class Clock {
  now = NOW;
  readonly read = () => this.now;
}

export class SigningKey {
  private constructor(
    readonly text: string,
    readonly id: string,
    private readonly key: CryptoKey,
  ) {}

  static async new(): Promise<SigningKey> {
    const { privateKey, publicKey } = (await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"])) as CryptoKeyPair;
    const raw = new Uint8Array(await crypto.subtle.exportKey("raw", publicKey));
    return new SigningKey(hex(raw), (await sha256(raw)).slice(0, 16), privateKey);
  }

  async sign(type: string, payload: Bytes): Promise<Fields> {
    const covered = joined([utf8(`DSSEv1 ${type.length} ${type} ${payload.length} `), payload]);
    const value = await crypto.subtle.sign("Ed25519", this.key, covered);
    return { keyid: this.id, sig: encoded(new Uint8Array(value)) };
  }
}

const encoded = (bytes: Uint8Array) => btoa(String.fromCharCode(...bytes));

export async function sealed(type: string, payload: Bytes, ...keys: SigningKey[]): Promise<Fields> {
  const signatures = await Promise.all(keys.map((key) => key.sign(mediaType(type), payload)));
  return { payload: encoded(payload), payloadType: mediaType(type), signatures };
}

export interface Sent {
  method: string;
  url: string;
  headers: Headers;
  body: string;
  init: RequestInit;
}

export const json = (value: unknown, status = 200, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify(value), { status, headers });

const STATUS: Record<string, number> = {
  malformed: 400, unauthorised: 401, forbidden: 403, "not-found": 404, "method-not-allowed": 405, "wrong-state": 409,
  "too-few": 409, conflict: 409, "over-quota": 409, deleted: 410, late: 410, "over-size": 413,
  "unsupported-media-type": 415, impossible: 422, "wrong-scheme": 422, "wrong-list": 422, "invalid-parameter": 422,
  "rate-limited": 429, internal: 500, busy: 503, "storage-full": 507,
}; // prettier-ignore

export const FINAL = Object.keys(STATUS).filter((slug) => STATUS[slug]! < 429);

export const problem = (slug: string, headers: Record<string, string> = {}) =>
  json({ type: `urn:blendp:problem:${slug}`, title: "t", status: STATUS[slug], detail: "d" }, STATUS[slug], headers);

export const away = () => {
  throw new TypeError("fetch failed");
};

/** Serves signed documents and takes reports as the contract says; tests may put anything in their place. */
export class FakeCollector {
  served = new Map<string, Bytes | null>();
  requests: Sent[] = [];
  reports = new Map<string, string>();
  optIn = new Map<string, string>();
  deleted = new Set<string>();
  /** What the next sending requests get instead of an answer. */
  failures: (() => Response | Promise<Response>)[] = [];
  /** Runs before a request is answered. */
  before: (sent: Sent) => Promise<void> | void = () => {};
  keysDocument: Fields;

  private constructor(
    public key: SigningKey,
    public terms: Fields,
    public list: Fields,
    public manifest: Fields,
  ) {
    this.keysDocument = { keys: [{ key: key.text, since: "2026-01-01", until: null }], statements: [] };
  }

  static async new(terms: Fields = {}, list: Fields = LIST, manifest: Fields = {}): Promise<FakeCollector> {
    const levels = list["levels"] as number;
    const queries = list["queries"] as { urls: string[] }[];
    const records = queries.reduce((sum, { urls }) => sum + (urls.length || 1), 0);
    const fake = new FakeCollector(await SigningKey.new(), { ...TERMS, levels, ...terms }, list, {
      list_sha256: await sha256(utf8(canonical(list))),
      records,
      opt_in_people: 200,
      query_share: new Float("0.5"),
      published: "2026-11-05",
      ...manifest,
    });
    await fake.publish();
    return fake;
  }

  get campaign(): string {
    return this.terms["campaign"] as string;
  }

  path(name: string, server = URL_): string {
    return `${server}/v1/campaigns/${this.campaign}/${name}`;
  }

  get manifestBytes(): Bytes {
    const { format, ...terms } = { format: "", ...this.terms, ...(this.manifest["terms"] as Fields | undefined) };
    return utf8(canonical({ format: "blendp/manifest/1", ...this.manifest, terms }));
  }

  /** Signs and serves the documents as they are now. */
  async publish(...keys: SigningKey[]): Promise<void> {
    const signers = keys.length ? keys : [this.key];
    const terms = utf8(canonical({ format: "blendp/terms/1", ...this.terms }));
    this.serve("terms", await sealed("terms", terms, ...signers));
    const manifest = await sealed("manifest", this.manifestBytes, ...signers);
    this.serve("manifest", manifest);
    this.serve("manifest", manifest, MIRROR);
    this.served.set(this.path("list"), utf8(canonical(this.list)));
  }

  serve(name: string, value: unknown, server = URL_): void {
    this.served.set(this.path(name, server), utf8(JSON.stringify(value)));
  }

  /** Signs another manifest. */
  async changeManifest(fields: Fields): Promise<void> {
    Object.assign(this.manifest, fields);
    await this.publish();
  }

  get writes(): Sent[] {
    return this.requests.filter(({ method }) => method !== "GET");
  }

  /** Every different request that ever carried records or a report. */
  get distinctPuts(): Set<string> {
    return new Set(this.writes.filter(({ method }) => method === "PUT").map(({ url, body }) => `${url} ${body}`));
  }

  readonly fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const body = init.body ? new TextDecoder().decode(init.body as Bytes) : "";
    const sent = { method: init.method!, url, headers: new Headers(init.headers), body, init };
    this.requests.push(sent);
    await this.before(sent);
    if (init.method === "GET") {
      const { pathname } = new URL(url);
      if (pathname === "/v1/keys") return json(this.keysDocument);
      const document = this.served.get(url);
      return document ? new Response(document) : problem("not-found");
    }
    const failure = this.failures.shift();
    return failure ? failure() : this.take(sent);
  };

  async take({ method, url, headers, body }: Sent): Promise<Response> {
    const [what, id] = url.slice(this.path("").length).split("/");
    const token = headers.get("authorization")?.replace("Bearer ", "") ?? "";
    if (what === "opt-in" && method === "DELETE") {
      this.deleted.add(token);
      return json({ deleted: this.optIn.delete(token) });
    }
    if (what === "opt-in") return this.deleted.has(token) ? problem("deleted") : keep(this.optIn, token, body);
    if (what === "deletions") {
      const name = hex(await pseudonym(unhex(JSON.parse(body).deletion_key, "key", 32)));
      const ids = [...this.reports].filter(([, report]) => JSON.parse(report).pseudonym === name).map(([one]) => one);
      for (const one of ids) this.reports.delete(one);
      this.deleted.add(name);
      return json({ deleted: ids.length > 0 });
    }
    const report = JSON.parse(body);
    if (report.manifest !== (await sha256(this.manifestBytes))) return problem("wrong-list");
    return this.deleted.has(report.pseudonym) ? problem("deleted") : keep(this.reports, id!, body);
  }

  collector(options: Partial<CollectorOptions> = {}): CollectorOptions {
    return { url: URL_, keys: [this.key.text], ...options };
  }

  async device(clock: Clock, options: DeviceOptions = {}, consent: Consent | null = "local"): Promise<Device> {
    const device = await Device.open({
      collector: this.collector(),
      name: newName(),
      acceptVolatileStorage: true,
      clock: clock.read,
      jitter: () => 0.5,
      chooser: seeded(7n),
      fetch: this.fetch,
      ...options,
    });
    if (consent !== null && (await device.consent()) !== consent) await device.setConsent(consent);
    return device;
  }
}

function keep(kept: Map<string, string>, name: string, body: string): Response {
  const before = kept.get(name);
  if (before !== undefined) return before === body ? json({ outcome: "duplicate" }) : problem("conflict");
  kept.set(name, body);
  return json({ outcome: "accepted" }, 201);
}

let count = 0;

/** A database that no other test uses. */
export const newName = () => `test-${Date.now()}-${crypto.randomUUID()}-${count++}`;

/** A chooser with a seed. */
export function seeded(state: bigint) {
  const mask = (1n << 64n) - 1n;
  return wordChooser(() => {
    state = (state + 0x9e3779b97f4a7c15n) & mask;
    let z = state;
    z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & mask;
    z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & mask;
    return z ^ (z >> 31n);
  });
}

/** The reason for programs of what an act throws. */
export async function reasonOf(act: Promise<unknown>): Promise<string> {
  try {
    await act;
  } catch (error) {
    const { reason, parameter, name } = error as { reason?: string; parameter?: string; name: string };
    return reason ?? parameter ?? (error as Error).constructor.name ?? name;
  }
  return "nothing";
}

/** Sends again and again until nothing waits, as time passes, or so many seconds have. */
export async function sendAll(device: Device, clock: Clock, patience = 3600): Promise<number[]> {
  const giveUp = clock.now + patience;
  const waits: number[] = [];
  for (let summary = await device.send(); summary.nextDue !== null && summary.nextDue <= giveUp; ) {
    waits.push(Math.max(0, summary.nextDue - clock.now));
    clock.now = Math.max(clock.now, summary.nextDue);
    summary = await device.send();
  }
  return waits;
}

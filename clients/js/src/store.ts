// A device's memory: one IndexedDB database, in which every step is whole or did not happen.
import type { Bytes } from "./bytes.ts";
import { type Budget, ParameterError } from "./errors.ts";
import type { Trust } from "./keys.ts";
import type { Entry } from "./ledger.ts";

/** Off unless the person says otherwise; each choice covers the ones before it. */
export type Consent = "off" | "local" | "opt-in";

/** What this device did in a campaign, once and for all. A client without a report was not drawn, and is silent. */
export interface Participation {
  campaign: string;
  group: "client" | "opt-in";
  day: string;
  server: string;
  reportId: string | null;
  question: string | null;
  data: Bytes | null;
}

/** What is kept of it beside: the deletion key of its report, or the enrolment token. */
export interface KeptParticipation extends Participation {
  secret: string | null;
}

export type Kind = "report" | "opt-in" | "deletion" | "opt-in-deletion";

/** Something to be sent, or that was, and its fate. Moments are seconds of the clock. */
export interface Item {
  id: number;
  campaign: string;
  kind: Kind;
  method: string;
  url: string;
  mediaType: string | null;
  /** Exactly what is sent; that of opt-in records is wiped once it is settled. */
  body: Bytes | null;
  /** The end of the last day on which the campaign takes it; 0 for deletions. */
  end: number;
  created: number;
  due: number;
  attempts: number;
  state: "waiting" | "sent" | "refused" | "dropped";
  /** What the collector answered, or why it was dropped. */
  reason: string;
  /** When it was tried last, or queued: if the clock shows less, it was set back, and no wait counts. */
  tried: number;
  /** When it was first found too old; null while it is not. */
  overdue: number | null;
}

export interface Install {
  secret: Bytes;
  consent: Consent;
  cap: Budget;
  yearly: Budget;
  lastDay: string | null;
  counted: number;
}

export interface Server {
  url: string;
  keys: Trust;
}

export interface SeenCampaign {
  campaign: string;
  server: string;
  terms: Bytes;
  manifest: Bytes | null;
  list: Bytes | null;
}

/** The contradicting envelopes of a campaign, and where each came from. */
export interface Evidence {
  campaign: string;
  envelopes: readonly (readonly [source: string, envelope: Bytes])[];
}

/** Rows of the tables whose numbers the database gives. */
export type Row<T> = T & { id?: number };

export interface Tables {
  install: Row<Install>;
  servers: Server;
  campaigns: SeenCampaign;
  evidence: Evidence;
  ledger: Row<Entry>;
  participations: KeptParticipation;
  queue: Item;
}

type Table = keyof Tables;

/** Step i leads from version i to version i + 1. A step is never changed once it was released. */
export const STEPS: ((database: IDBDatabase) => void)[] = [
  (database) => {
    const make = (name: Table, keyPath = "id") => database.createObjectStore(name, { keyPath, autoIncrement: true });
    for (const name of ["install", "queue", "ledger"] as const) make(name);
    for (const name of ["campaigns", "evidence", "participations"] as const) make(name, "campaign");
    make("servers", "url");
  },
];

/** How long another tab may keep an earlier version open before this one gives up, in milliseconds. */
const PATIENCE = 10_000;

/** One transaction. Nothing but its own promises may be awaited while it is open. */
export interface Work {
  get<T extends Table>(table: T, key: IDBValidKey): Promise<Tables[T] | undefined>;
  all<T extends Table>(table: T): Promise<Tables[T][]>;
  /** Adds a row, or replaces that of the same key; if the database cannot, the whole transaction fails. */
  put<T extends Table>(table: T, row: T extends "queue" ? Omit<Item, "id"> : Tables[T]): void;
  install(): Promise<Row<Install>>;
}

export interface Store {
  /** All that is written inside becomes true in one step, on the disk, or not at all. */
  whole<T>(body: (work: Work) => Promise<T>, mode?: IDBTransactionMode): Promise<T>;
  read<T>(body: (work: Work) => Promise<T>): Promise<T>;
  close(): void;
}

/** Opens this database, or makes it; refuses one that a later version has written, and leaves it as it is. */
export function openStore(name: string): Promise<Store> {
  return new Promise((resolve, reject) => {
    let late = false;
    const refuse = (reason: string) => {
      late = true;
      reject(new ParameterError(reason === "VersionError" ? "device" : "storage", reason, "usable"));
    };
    const request = indexedDB.open(name, STEPS.length);
    request.onupgradeneeded = ({ oldVersion }) => STEPS.slice(oldVersion).forEach((step) => step(request.result));
    request.onblocked = () => setTimeout(refuse, PATIENCE, "open in another tab");
    request.onsuccess = () => (late ? request.result.close() : resolve(storeOf(request.result)));
    request.onerror = () => refuse(request.error!.name);
  });
}

function storeOf(database: IDBDatabase): Store {
  // Another tab wants to bring the tables up: it must not wait for this one, whose code is older.
  const close = (database.onversionchange = () => database.close());
  const whole: Store["whole"] = (body, mode = "readwrite") =>
    new Promise((resolve, reject) => {
      let failure: unknown, transaction: IDBTransaction;
      try {
        transaction = database.transaction([...database.objectStoreNames], mode, { durability: "strict" });
      } catch {
        throw new ParameterError("storage", "closed", "usable");
      }
      const outcome = body(workOf((table) => transaction.objectStore(table)));
      transaction.oncomplete = () => resolve(outcome);
      transaction.onabort = () =>
        reject(transaction.error ? new ParameterError("storage", transaction.error.name, "usable") : failure);
      outcome.catch((error: unknown) => {
        failure = error;
        try {
          transaction.abort();
        } catch {
          // it was aborted before
        }
      });
    });
  return { whole, close, read: (body) => whole(body, "readonly") };
}

function workOf(table: (name: Table) => IDBObjectStore): Work {
  const work: Work = {
    get: (name, key) => asked(table(name).get(key)),
    all: (name) => asked(table(name).getAll()),
    put: (name, row) => void table(name).put(row),
    install: () => work.get("install", 1) as Promise<Row<Install>>,
  };
  return work;
}

function asked<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

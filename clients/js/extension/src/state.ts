/**
 * What the extension remembers beside the device's own memory: one value in `storage.local`, changed in one step at a time.
 * Nothing is written before the person does something, so that a new install leaves no trace.
 */
import type { Budget } from "../../src/errors.ts";
import { ParameterError, RefusedError } from "../../src/errors.ts";
import type { Entry } from "../../src/ledger.ts";
import type { Consent, Participation } from "../../src/store.ts";
import shipped from "../engines.json";
import { api } from "./api.ts";
import { DAY } from "./clock.ts";
import type { SwitchedEngine } from "./engines.ts";
import type { KeptRecord } from "./kept.ts";

/** Whom the person agreed with: address, key known from elsewhere, and one campaign, or null for all that ask. */
export interface Chosen {
  readonly url: string;
  readonly key: string;
  readonly campaign: string | null;
}

/** When the device takes part in a campaign, and what was in the way. */
export interface Plan {
  readonly campaign: string;
  /** Seconds since 1970, drawn when the campaign was first seen; null while it is refused. */
  readonly due: number | null;
  /** When that was drawn: if the clock shows less, it was set back since, and the moment does not count. */
  readonly drawn: number;
  /** The last day on which it takes reports, if it was seen verified. */
  readonly until: string | null;
  readonly skipped: boolean;
  readonly problem: string | null;
}

/** What the device's memory must still know, or it was lost. */
export interface Copy {
  readonly secret: string;
  readonly cap: Budget;
  readonly yearly: Budget;
  readonly spent: readonly Entry[];
  readonly participations: readonly (Pick<Participation, "campaign" | "group" | "day" | "server"> & {
    secret: string | null;
  })[];
}

/** A release's index that is kept; its text has a place of its own. */
export interface KeptIndex {
  readonly server: string;
  readonly campaign: string;
  readonly title: string;
  readonly released: string;
  readonly sha256: string;
}

export interface State {
  version: number;
  consent: Consent;
  /** Seconds since 1970; 0 if not. */
  pausedUntil: number;
  engines: SwitchedEngine[];
  collector: Chosen | null;
  /** What one campaign may cost at most: the most that was shown when the person agreed. What costs more waits for a click. */
  maxCost: Budget;
  /** Hosts of collectors that were asked something: what is sent there carries no mark of the browser. */
  hosts: string[];
  records: KeptRecord[];
  nextRecord: number;
  plans: Plan[];
  /** When the collector is asked next what it asks, how often it did not answer, and why it was not believed. */
  visit: { due: number; failures: number; problem: string | null };
  copy: Copy | null;
  indexes: KeptIndex[];
  leaving: boolean;
}

const KEY = "state";
/** Where the text of an index is kept: two collectors may have campaigns of one name. */
export const indexKey = ({ server, campaign }: Pick<KeptIndex, "server" | "campaign">): string => `index ${server} ${campaign}`;

/** Step i leads from version i + 1 to version i + 2. A step is never changed once it was released. */
export const STEPS: ((state: any) => any)[] = [];

/** What one campaign may cost at most if nothing was shown when the person agreed. */
export const MAX_COST: Budget = { epsilon: 4, delta: 1e-5 };

/** The state of a new install. */
export const newState = (): State => ({
  version: 1 + STEPS.length,
  consent: "off",
  pausedUntil: 0,
  engines: shipped.map((engine) => ({ ...engine, on: false })),
  collector: null,
  maxCost: MAX_COST,
  hosts: [],
  records: [],
  nextRecord: 1,
  plans: [],
  visit: { due: 0, failures: 0, problem: null },
  copy: null,
  indexes: [],
  leaving: false,
});

/** What was stored, brought to today's version; refuses what a later version has written. */
export function upgraded(stored: any): State {
  if (stored === undefined) return newState();
  const version: unknown = stored?.version;
  const latest = 1 + STEPS.length;
  if (typeof version !== "number" || !Number.isInteger(version) || version < 1 || version > latest)
    throw new ParameterError(
      "version",
      version,
      `from 1 to ${latest}: a later blendp wrote what is stored, so update this one`,
    );
  let state = structuredClone(stored);
  for (const step of STEPS.slice(version - 1)) state = { ...step(state), version: state.version + 1 };
  return state;
}

export async function readState(): Promise<State> {
  return upgraded((await api.storage.local.get(KEY))[KEY]);
}

const locked = <T>(act: () => Promise<T>): Promise<T> => navigator.locks.request(`blendp ${KEY}`, act);

/** The records that were kept when the state was last written; null if this worker never wrote it. */
let keptIds: ReadonlySet<number> | null = null;

/** Whether nobody has deleted this record since it was read. */
export const isStillKept = (id: number): boolean => keptIds?.has(id) ?? true;

async function requireStored(): Promise<void> {
  if (!(await api.storage.local.get(KEY))[KEY]) throw new RefusedError("wiped", "Everything was wiped meanwhile.");
}

/** Does something short that nobody may do once everything is wiped. */
export const whileStored = <T>(act: () => Promise<T>): Promise<T> =>
  locked(async () => {
    await requireStored();
    return act();
  });

const write = <T>(change: (state: State) => T, mayBegin: boolean, also: Record<string, unknown>): Promise<T> =>
  locked(async () => {
    if (!mayBegin) await requireStored();
    const state = await readState();
    const result = change(state);
    await api.storage.local.set({ ...also, [KEY]: state });
    keptIds = new Set(state.records.map(({ id }) => id));
    return result;
  });

/** Changes the state, one caller after the other, and stores something beside it; what `change` throws leaves all as it was. */
export const changeState = <T>(change: (state: State) => T, also: Record<string, unknown> = {}): Promise<T> =>
  write(change, false, also);

/** The same for what a person does: this alone may begin a state where none is, so what was wiped is not written back. */
export const beginState = <T>(change: (state: State) => T): Promise<T> => write(change, true, {});

/** Forgets everything that is stored. */
export const clearState = (): Promise<void> =>
  locked(async () => {
    await api.storage.local.clear();
    keptIds = null;
  });

/** Whether the person paused. No pause is longer than a day: one that seems so is of a clock that was set back since. */
export const isPaused = ({ pausedUntil }: State, now: number): boolean => now < pausedUntil && pausedUntil <= now + DAY;

/** Whether the person still agrees with this collector, just so. */
export const isWith = (state: State, chosen: Chosen): boolean => JSON.stringify(state.collector) === JSON.stringify(chosen);

/** Whether anything may be noted or sent at this moment, in seconds. */
export const isActive = (state: State, now: number): boolean =>
  state.consent !== "off" && !state.leaving && !isPaused(state, now);

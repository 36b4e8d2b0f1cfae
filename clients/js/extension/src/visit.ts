/** What happens by itself, while the person agrees: asking what is asked, taking part when it is time, sending. */
import { delay } from "../../src/backoff.ts";
import { text } from "../../src/bytes.ts";
import { dayOf } from "../../src/days.ts";
import type { Device } from "../../src/device.ts";
import { type Budget, NetworkError, RefusedError } from "../../src/errors.ts";
import { type Fetch, request } from "../../src/http.ts";
import { OverspentError } from "../../src/ledger.ts";
import type { Store } from "../../src/store.ts";
import { requireCampaign } from "../../src/terms.ts";
import { jitter } from "../../ui/jitter.ts";
import { api } from "./api.ts";
import { DAY, HOUR, seconds } from "./clock.ts";
import { plainFetch } from "./headers.ts";
import { keepIndex, MAX_INDEXES } from "./indexes.ts";
import { condition } from "./condition.ts";
import { keepConsent } from "./consent.ts";
import { costOf, requireCost } from "./cost.ts";
import { current } from "./kept.ts";
import { leaveOn, type LeaveView } from "./leave.ts";
import { isThere, spending, withDevice } from "./memory.ts";
import { hasRoom, setPlan } from "./plans.ts";
import { sentenceOf } from "./sentences.ts";
import { changeState, type Chosen, isActive, isPaused, isStillKept, isWith, readState, type State } from "./state.ts";
import { fetchUntil, stoppedAfter } from "./stop.ts";

/** Browsers ring no alarm earlier. */
const SHORTEST_WAIT = 30;
/** No visit is planned for later: what seems so is of a clock that was set back since. */
const LONGEST_WAIT = 2 * DAY;
/** A worker that dies while it works is woken after this time. */
const PATIENCE = 60;
/** How many campaigns of a collector are looked at: the latest. */
export const MAX_LISTED = 50;
/** How many seconds a visit, and taking part in what is due, may take together. */
const MAX_TIME = 240;

/** A campaign and its state, as the collector says without a signature. */
export interface Line {
  readonly campaign: string;
  readonly phase: string;
}

/** The latest campaigns of a collector. */
export async function listed(url: string, fetch: Fetch = plainFetch): Promise<Line[]> {
  const { status, body } = await request(fetch, { url: `${url}/v1/campaigns` });
  if (status >= 500 || status === 429) throw new NetworkError(`${url} answers ${status}.`);
  try {
    const { campaigns } = JSON.parse(text(body));
    return campaigns.slice(-MAX_LISTED).map((line: any) => ({
      campaign: requireCampaign("campaign", line.campaign),
      phase: String(line.state).slice(0, 20),
    }));
  } catch {
    throw new RefusedError("document", `${url} shows no list of campaigns.`);
  }
}

/**
 * When to take part: at a moment that nothing about the person decides, drawn uniformly between a day from now, so that the
 * person can see what is planned, and a day before the end; at once where there is no such time.
 */
export function plannedFor(now: number, lastDay: string, u: number): number {
  const [first, last] = [now + DAY, Date.parse(lastDay) / 1000];
  return first < last ? first + u * (last - first) : now;
}

/** The state, while the person still wants what runs by itself with this collector; null if not, or if it takes too long. */
async function stillWith(chosen: Chosen, signal: AbortSignal): Promise<State | null> {
  const state = await readState();
  return !signal.aborted && isActive(state, seconds()) && isWith(state, chosen) ? state : null;
}

/**
 * Asks the collector what it asks, once, and plans what is new. What is in the way of one campaign is written down there, and
 * the others are asked about; if somebody did not answer, that is thrown in the end.
 */
async function visit(device: Device, chosen: Chosen, signal: AbortSignal): Promise<void> {
  const fetch = fetchUntil(signal);
  const lines = await listed(chosen.url, fetch);
  let silence: NetworkError | null = null;
  const forEach = async (names: Line[], act: (line: Line, state: State) => Promise<unknown>): Promise<void> => {
    for (const line of names) {
      const state = await stillWith(chosen, signal);
      if (!state) return;
      await act(line, state).catch((error) => {
        if (error instanceof NetworkError) silence = error;
        return setPlan({ campaign: line.campaign, problem: sentenceOf(error) }, chosen);
      });
    }
  };
  await forEach(
    lines.filter((line) => isMeant(chosen, line.campaign)),
    (line, state) => plan(device, chosen, line, state),
  );
  await forEach(lines.filter(({ phase }) => phase === "released").slice(-MAX_INDEXES), ({ campaign }) =>
    keepIndex(device, chosen.url, campaign, fetch),
  );
  if (silence) throw silence;
}

/** Looks at a campaign that asks something, and draws when to take part. */
async function plan(device: Device, chosen: Chosen, { campaign, phase }: Line, { plans, maxCost }: State): Promise<void> {
  const now = seconds();
  const before = plans.find((one) => one.campaign === campaign);
  if (!/^(opt-in|reporting)$/.test(phase) || (!before?.until && !hasRoom(plans, now))) return;
  if (phase === "opt-in") {
    const { terms } = await device.terms(campaign);
    return setPlan({ campaign, until: terms.reports_until }, chosen);
  }
  if ((before?.due && before.drawn <= now) || (await device.participation(campaign))) return;
  const { terms } = await device.look(campaign);
  const seen = { campaign, until: terms.reports_until, drawn: now };
  await setPlan({ ...seen, due: null }, chosen);
  requireCost(terms.client_budget, maxCost);
  await setPlan({ ...seen, due: plannedFor(now, terms.reports_until, jitter()), problem: null }, chosen);
}

/** Whether the person agreed to take part in this campaign, among others. */
export const isMeant = ({ campaign }: Chosen, name: string): boolean => campaign === null || campaign === name;

/** The records that are kept now; whoever reads them later reads none that was deleted since. */
export function usableRecords({ records }: State): Iterable<[string, string]> {
  const usable = current(records, dayOf(seconds()));
  return {
    *[Symbol.iterator]() {
      for (const { id, query, url } of usable) if (isStillKept(id)) yield [query, url];
    },
  };
}

/** Takes part in a campaign with what is kept now, whatever that is, if it costs no more than `max`. */
export async function takePart(device: Device, store: Store, campaign: string, max: Budget | null): Promise<void> {
  const records = usableRecords(await readState());
  try {
    if (max) requireCost(await costOf(store, campaign), max);
    await spending(store, () => device.takePart(campaign, records));
    await setPlan({ campaign, problem: null });
  } catch (error) {
    // it is tried again if nobody answered, or once there may be room; else it is looked at anew with the next visit
    const wait = error instanceof NetworkError ? HOUR * (0.25 + jitter() / 4) : error instanceof OverspentError ? DAY : null;
    const now = seconds();
    await setPlan({ campaign, problem: sentenceOf(error), due: wait && now + wait, drawn: now });
    throw error;
  }
}

/** The campaigns whose time has come, and which this device has done nothing in. */
async function dueCampaigns(device: Device, { plans }: State, chosen: Chosen, now: number): Promise<string[]> {
  const due: string[] = [];
  for (const { campaign, due: moment, skipped } of plans)
    if (moment && moment <= now && !skipped && isMeant(chosen, campaign) && !(await device.participation(campaign)))
      due.push(campaign);
  return due;
}

/** Does what is due, one caller after the other, and sets the alarm for what comes next. */
export const tick = (): Promise<void> =>
  navigator.locks.request("blendp tick", async () => {
    const state = await readState();
    if (!state.leaving && !state.copy && !(await isThere())) return;
    await ringAt(seconds() + PATIENCE);
    await setAlarm(state.leaving ? (await leaveOn()).nextDue : await workOff(state));
  });

/** Goes on leaving, without the pauses between attempts if the person wants that now; how that stands. */
export const leaveNow = (isWantedNow: boolean): Promise<LeaveView> =>
  navigator.locks.request("blendp tick", async () => {
    const { nextDue, ...view } = await leaveOn(isWantedNow);
    await setAlarm(nextDue);
    return view;
  });

/** Visits, takes part and sends; when something is due to be sent again. */
async function workOff(state: State): Promise<number | null> {
  const now = seconds();
  const { collector } = state;
  if (isPaused(state, now)) return null;
  const { word } = await condition(state, now);
  await withDevice(null, keepConsent);
  if (word === "on" && collector) {
    const signal = stoppedAfter(MAX_TIME);
    await withDevice(collector, (device, store) => takeTurns(device, store, collector, signal), fetchUntil(signal));
  }
  return withDevice(null, async (device) => (await device.send()).nextDue);
}

/** Asks what is asked, if that is due, and takes part in what is, while the person wants that. */
async function takeTurns(device: Device, store: Store, chosen: Chosen, signal: AbortSignal): Promise<void> {
  const now = seconds();
  const state = await stillWith(chosen, signal);
  if (state && (state.visit.due <= now || state.visit.due > now + LONGEST_WAIT))
    await visited(() => visit(device, chosen, signal), chosen);
  for (const campaign of await dueCampaigns(device, await readState(), chosen, now)) {
    const still = await stillWith(chosen, signal);
    if (!still) return;
    await takePart(device, store, campaign, still.maxCost).catch(() => {}); // the plan says why not
  }
}

/** Writes down when the next visit is due: in about a day, or soon if nobody answered. What was stopped stays due. */
async function visited(act: () => Promise<void>, chosen: Chosen): Promise<void> {
  const now = seconds();
  let problem: unknown = null;
  await act().catch((error) => (problem = error));
  await changeState((state) => {
    if (!isActive(state, now) || !isWith(state, chosen)) return;
    const failures = problem instanceof NetworkError ? state.visit.failures + 1 : 0;
    const wait = failures ? delay(failures + 4, jitter()) : DAY * (0.75 + jitter() / 2);
    state.visit = { due: now + wait, failures, problem: problem === null ? null : sentenceOf(problem) };
  });
}

/** Wakes the worker for the first thing that will be due. */
export async function setAlarm(nextDue: number | null): Promise<void> {
  const state = await readState();
  const now = seconds();
  const moments = nextDue === null ? [] : [nextDue];
  if (isPaused(state, now)) moments.splice(0, 1, state.pausedUntil);
  else if (isActive(state, now) && state.collector) {
    moments.push(Math.min(state.visit.due, now + LONGEST_WAIT));
    for (const { due, skipped } of state.plans) if (due && due > now && !skipped) moments.push(due);
  }
  await api.alarms.clearAll();
  if (moments.length) await ringAt(Math.max(Math.min(...moments), now + SHORTEST_WAIT));
}

const ringAt = (moment: number): Promise<void> => api.alarms.create("tick", { when: moment * 1000 });

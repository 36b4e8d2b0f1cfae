// What waits to be sent: kept until it arrived, was refused or grew too old, and sent in the same bytes every time.
//
// What a report cost stays spent, so nothing is given up because of one clock. A collector that says it is too late is
// asked again while this device's clock does not say so too; and what this device's clock says is too old is dropped
// only if it still says so a day later.
import { readAnswer } from "./answers.ts";
import { delay, MAX_DELAY, MAX_DELAY_IF_LATE, MAX_WAIT, retryAfter } from "./backoff.ts";
import { request, type Fetch } from "./http.ts";
import type { Consent, Item, KeptParticipation, Kind, Store, Work } from "./store.ts";

/** How many reports wait at most; the oldest are dropped. Deletion requests wait as long as they must. */
export const MAX_ITEMS = 500;

/** Method, path below the campaign, media type and body. */
export type Request = [string, string, string | null, Item["body"]];

const DAY = 86_400;

/** What became of what was tried, and what still waits; nextDue is in seconds of the clock. */
export interface Summary {
  sent: number;
  refused: number;
  dropped: number;
  waiting: number;
  nextDue: number | null;
}

/** Whether the person's consent covers what a group, or an item of a kind, needs; deletion needs none. */
export function covers(consent: Consent, kind: Kind | "client"): boolean {
  return consent === "opt-in" || (kind !== "opt-in" && consent === "local") || isDeletion({ kind });
}

/** The queue of one device. */
export interface Outbox {
  /** Queues a request to the participation's collector; beyond the quota the oldest report is dropped. */
  add(work: Work, done: KeptParticipation, kind: Kind, request: Request, lastDay?: string): Promise<void>;
  /** Tries what is due, or its deletions. Tabs take turns if the browser can; each attempt is claimed in the store. */
  send(onlyDeletions?: boolean): Promise<Summary>;
}

export function outboxOf(store: Store, lock: string, fetch: Fetch, clock: () => number, jitter: () => number): Outbox {
  const send = async (onlyDeletions?: boolean): Promise<Summary> => {
    const now = clock();
    const before = await store.whole(async (work) => {
      const items = await waiting(work);
      for (const item of items) if (!isDeletion(item)) await dropIfOld(work, item, now);
      return items.map(({ id }) => id);
    });
    const chosen = async (work: Work) => (await waiting(work)).filter((item) => !onlyDeletions || isDeletion(item));
    for (const item of await store.read(chosen)) if (isDue(item, now)) await tried(item.id);
    return store.read(async (work) => {
      const summary: Summary = { sent: 0, refused: 0, dropped: 0, waiting: 0, nextDue: null };
      for (const { id, state } of await work.all("queue")) if (before.includes(id)) summary[state]++;
      const dues = (await chosen(work)).map(({ due }) => due);
      return { ...summary, waiting: dues.length, nextDue: dues.length ? Math.min(...dues) : null };
    });
  };

  /** Sends an item once. That it is tried is written down first: an answer may get lost, a report may not. */
  const tried = async (id: number): Promise<void> => {
    const now = clock();
    const claimed = await store.whole(async (work) => {
      const item = await work.get("queue", id);
      if (item?.state !== "waiting" || !isDue(item, now)) return;
      if (!covers((await work.install()).consent, item.kind)) return settle(work, item, "dropped", "consent withdrawn");
      item.tried = now;
      item.due = now + delay(++item.attempts, jitter());
      work.put("queue", item);
      const done = /^opt-in/.test(item.kind) ? await work.get("participations", item.campaign) : null;
      return { ...item, token: done?.secret };
    });
    if (!claimed) return;
    const answer = await request(fetch, claimed).catch(() => null);
    const heard = clock();
    const fate = answer && readAnswer(claimed.kind, answer.status, answer.body, heard < claimed.end);
    await store.whole(async (work) => {
      const item = (await work.get("queue", id))!;
      if (fate && fate.state !== "waiting") return settle(work, item, fate.state, fate.reason);
      if (item.state !== "waiting") return;
      item.reason = fate ? fate.reason : "network";
      if (fate) {
        const maxDelay = fate.late ? MAX_DELAY_IF_LATE : MAX_DELAY;
        item.due = heard + delay(claimed.attempts, jitter(), retryAfter(answer.retryAfter, heard), maxDelay);
      }
      work.put("queue", item);
    });
  };

  return {
    async add(work, { campaign, server }, kind, [method, path, mediaType, body], lastDay) {
      const now = clock();
      work.put("queue", {
        campaign,
        kind,
        method,
        url: `${server}/v1/campaigns/${campaign}/${path}`,
        mediaType,
        body,
        end: lastDay ? Date.parse(lastDay) / 1000 + DAY : 0,
        created: now,
        due: now,
        tried: now,
        attempts: 0,
        state: "waiting",
        reason: "",
        overdue: null,
      });
      const reports = (await waiting(work)).filter((item) => !isDeletion(item));
      for (const item of reports.slice(0, -MAX_ITEMS)) await settle(work, item, "dropped", "quota");
    },

    async send(onlyDeletions) {
      const locks = globalThis.navigator?.locks;
      return locks ? locks.request(lock, () => send(onlyDeletions)) : send(onlyDeletions);
    },
  };
}

/** Drops what was not yet sent of a campaign. */
export async function drop(work: Work, campaign: string, reason: string): Promise<Dropped> {
  const items = (await work.all("queue")).filter((item) => item.campaign === campaign);
  for (const item of items) if (!isDeletion(item) && item.state === "waiting") await settle(work, item, "dropped", reason);
  return {
    arrived: items.some((item) => !isDeletion(item) && item.attempts),
    asked: items.some((item) => isDeletion(item) && /waiting|sent/.test(item.state)),
  };
}

/** Whether something of a campaign may have arrived, and whether its deletion was asked for: waits, or was heard. */
export interface Dropped {
  arrived: boolean;
  asked: boolean;
}

const isDeletion = ({ kind }: { kind: string }): boolean => kind.endsWith("deletion");

async function waiting(work: Work): Promise<Item[]> {
  return (await work.all("queue")).filter((item) => item.state === "waiting");
}

/** A time to wait that was set by a clock that has been set back since does not count. */
function isDue(item: Item, now: number): boolean {
  return item.due <= now || item.tried > now;
}

/** Writes down an item's fate; opt-in records, and what a deletion was proved with, are wiped. */
async function settle(work: Work, item: Item, state: Item["state"], reason: string): Promise<void> {
  work.put("queue", { ...item, state, reason, body: item.kind === "opt-in" ? null : item.body });
  if (state === "sent" && isDeletion(item))
    work.put("participations", { ...(await work.get("participations", item.campaign))!, secret: null });
}

/** Drops what is too old, if it was already found to be a day ago: a clock may be wrong for a while. */
async function dropIfOld(work: Work, item: Item, now: number): Promise<void> {
  const old = now > Math.max(item.created + MAX_WAIT, item.end + DAY);
  if (old && item.overdue && now > item.overdue + DAY) await settle(work, item, "dropped", "too old");
  else if (old !== !!item.overdue) work.put("queue", { ...item, overdue: old ? now : null });
}

/**
 * A browser may lose a database, and with it what the person has spent. So a copy of that is kept elsewhere, and where the
 * database does not know what the copy knows, nothing is drawn any more. The copy can still delete what was sent.
 */
import { hex, unhex } from "../../src/bytes.ts";
import { type Budget, RefusedError } from "../../src/errors.ts";
import type { Store } from "../../src/store.ts";
import type { Copy } from "./state.ts";

/** What the database knows. */
export const copyOf = (store: Store): Promise<Copy> =>
  store.read(async (work) => {
    const { secret, cap, yearly } = await work.install();
    const participations = (await work.all("participations")).map(({ campaign, group, day, server, secret }) => ({
      campaign, group, day, server, secret,
    })); // prettier-ignore
    return { secret: hex(secret), cap, yearly, spent: await work.all("ledger"), participations };
  });

const isAtMost = (one: Budget, other: Budget): boolean => one.epsilon <= other.epsilon && one.delta <= other.delta;

/** Whether the database still knows all that the copy knows. */
export function isKept(copy: Copy | null, now: Copy): boolean {
  if (!copy) return true;
  const spent = new Map(now.spent.map((entry) => [entry.campaign, entry]));
  return (
    copy.secret === now.secret &&
    isAtMost(now.cap, copy.cap) &&
    isAtMost(now.yearly, copy.yearly) &&
    copy.spent.every((entry) => isAtMost(entry, spent.get(entry.campaign) ?? { epsilon: -1, delta: -1 }))
  );
}

export const LOST =
  "The browser lost the ledger of this extension, so nobody knows any more what you have spent. It takes part in nothing. " +
  "You can leave: what was sent can still be deleted.";

export function requireKept(copy: Copy | null, now: Copy): void {
  if (!isKept(copy, now)) throw new RefusedError("lost", LOST);
}

/** Teaches a database that was lost what the copy knows, so that the deletion of what was sent can be asked for. */
export async function mend(store: Store, copy: Copy | null): Promise<void> {
  if (copy && !isKept(copy, await copyOf(store))) await restore(store, copy);
}

const restore = (store: Store, copy: Copy): Promise<void> =>
  store.whole(async (work) => {
    const { cap, yearly } = copy;
    work.put("install", { ...(await work.install()), secret: unhex(copy.secret, "secret"), cap, yearly });
    const known = new Set((await work.all("participations")).map(({ campaign }) => campaign));
    const spent = new Set((await work.all("ledger")).map(({ campaign }) => campaign));
    for (const { id, ...entry } of copy.spent as (Copy["spent"][number] & { id?: number })[])
      if (!spent.has(entry.campaign)) work.put("ledger", entry);
    for (const done of copy.participations) {
      if (known.has(done.campaign)) continue;
      work.put("participations", { ...done, reportId: null, question: null, data: null });
      if (!done.secret) continue;
      const kind = done.group === "client" ? "report" : "opt-in";
      const { campaign, server } = done;
      // as good as sent: what may have arrived has to be deleted
      work.put("queue", {
        campaign, kind, method: "PUT", url: `${server}/v1/campaigns/${campaign}/`, mediaType: null, body: null, end: 0,
        created: 0, due: 0, tried: 0, attempts: 1, state: "sent", reason: "lost", overdue: null,
      }); // prettier-ignore
    }
  });

/** Leaving: consent off, deletion requests settled first, then everything is wiped. */
import type { Device } from "../../src/device.ts";
import type { Store } from "../../src/store.ts";
import { api } from "./api.ts";
import { keepConsent } from "./consent.ts";
import { keepHeaders } from "./headers.ts";
import { isThere, NAME, withDevice } from "./memory.ts";
import { clearState, readState } from "./state.ts";
import { stop } from "./stop.ts";
import { itemView, type ItemView } from "./views.ts";

export interface LeaveView {
  /** Deletion requests, with their fates. */
  readonly deletions: ItemView[];
  /** How many of them wait; null while that is not known. */
  readonly waiting: number | null;
  readonly isWiped: boolean;
}

/**
 * Asks again for deletions that are due, or for all that wait if the person wants that now; wipes everything once none waits;
 * when the next is due.
 */
export async function leaveOn(isWantedNow = false): Promise<LeaveView & { nextDue: number | null }> {
  const { leaving, copy } = await readState();
  const nothing = { deletions: [], waiting: 0, nextDue: null };
  if (!leaving) return { ...nothing, isWiped: true };
  const settle = async (device: Device, store: Store) => {
    if (isWantedNow) await makeDue(store);
    return settled(device, store);
  };
  const view = copy || (await isThere()) ? await withDevice(null, settle) : nothing;
  if (!view.waiting) await wipe();
  return { ...view, isWiped: !view.waiting };
}

/** Ends the wait of deletion requests. A person's click is no storm: the pauses are for what happens by itself. */
const makeDue = (store: Store): Promise<void> =>
  store.whole(async (work) => {
    const waiting = (await work.all("queue")).filter(({ kind, state }) => kind.endsWith("deletion") && state === "waiting");
    for (const item of waiting) work.put("queue", { ...item, due: 0 });
  });

/** Sends the deletion requests that are due; how all of them stand. */
async function settled(device: Device, store: Store): Promise<Omit<LeaveView, "isWiped"> & { nextDue: number | null }> {
  await keepConsent(device, store);
  const { nextDue } = await device.send();
  const deletions = (await device.items()).filter(({ kind }) => kind.endsWith("deletion")).map(itemView);
  return { deletions, waiting: deletions.filter(({ state }) => state === "waiting").length, nextDue };
}

/** Leaves nothing: database, permissions, rules, scripts, and what says that the person leaves; then what runs is too late. */
export async function wipe(): Promise<void> {
  stop();
  await deleteDatabase();
  await api.scripting.unregisterContentScripts();
  await keepHeaders([]);
  const { origins = [] } = await api.permissions.getAll();
  if (origins.length) await api.permissions.remove({ origins }).catch(() => {}); // those of the install itself stay
  await clearState();
  await deleteDatabase(); // whoever was about to open it has done so by now
  await api.alarms.clearAll();
}

const deleteDatabase = (): Promise<void> =>
  new Promise((resolve, reject) => {
    const request = indexedDB.deleteDatabase(NAME);
    request.onsuccess = () => resolve();
    request.onerror = () => reject(request.error);
  });

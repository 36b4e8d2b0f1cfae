/** The device of the person, opened for one act, and closed after it. */
import { Device } from "../../src/device.ts";
import type { Fetch } from "../../src/http.ts";
import { openStore, type Store } from "../../src/store.ts";
import { copyOf, requireKept } from "./copy.ts";
import { plainFetch } from "./headers.ts";
import { changeState, type Chosen, readState, whileStored } from "./state.ts";

export const NAME = "blendp";

/** Whether there is a device: before the person has done something, there is none. */
export const isThere = async (): Promise<boolean> => (await indexedDB.databases()).some(({ name }) => name === NAME);

/**
 * Storage that the browser may clear is accepted, as the permission `unlimitedStorage` exempts this extension from that,
 * and as nothing is drawn where the copy shows a loss.
 */
export async function withDevice<T>(
  collector: Pick<Chosen, "url" | "key"> | null,
  act: (device: Device, store: Store) => Promise<T>,
  fetch: Fetch = plainFetch,
): Promise<T> {
  const { device, store } = await whileStored(async () => ({
    device: await Device.open({
      name: NAME,
      acceptVolatileStorage: true,
      fetch,
      ...(collector && { collector: { url: collector.url, keys: [collector.key] } }),
    }),
    store: await openStore(NAME),
  }));
  try {
    return await act(device, store);
  } finally {
    store.close();
    device.close();
  }
}

/** An act that may spend: only where nothing was lost, and copied before and after. */
export async function spending<T>(store: Store, act: () => Promise<T>): Promise<T> {
  await keepCopy(store);
  try {
    return await act();
  } finally {
    await keepCopy(store);
  }
}

/** Copies what the device knows; refuses if it knows less than the copy. */
export async function keepCopy(store: Store): Promise<void> {
  const now = await copyOf(store);
  requireKept((await readState()).copy, now);
  await changeState((state) => {
    requireKept(state.copy, now);
    state.copy = now;
  });
}

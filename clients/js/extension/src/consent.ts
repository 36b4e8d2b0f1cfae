/**
 * What the person agreed to stands in two places: in the state, which counts, and in the device, which acts by it. One caller
 * at a time writes both; whatever a worker that died has left undone is done by the next.
 */
import type { Device } from "../../src/device.ts";
import type { Consent, Store } from "../../src/store.ts";
import { mend } from "./copy.ts";
import { isThere, withDevice } from "./memory.ts";
import { stop } from "./stop.ts";
import { beginState, type Copy, readState, type State } from "./state.ts";

/** What a person may agree to, from little to much. */
export const CONSENTS: readonly Consent[] = ["off", "local", "opt-in"];

const isMore = (one: Consent, other: Consent): boolean => CONSENTS.indexOf(one) > CONSENTS.indexOf(other);

/** Deletion requests on their way: nobody waits for a collector while the lock is taken. */
interface Sending {
  readonly sent: Promise<unknown>;
}

const locked = <T>(act: () => Promise<T>): Promise<T> => navigator.locks.request("blendp consent", act);

/** Tells the device; when this is done the device knows, and deletions are being sent. */
async function tell(device: Device, consent: Consent): Promise<Sending> {
  const sent = device.setConsent(consent);
  sent.catch(() => {}); // who waits for it hears of it
  await device.consent(); // a database does one thing after the other
  return { sent };
}

/** Writes down the person's choice: first where it allows less. `change` hears whether it is more, and changes the state. */
export const setConsent = (
  device: Device,
  consent: Consent,
  change: (state: State, agreesToMore: boolean) => void,
): Promise<Sending> =>
  locked(async () => {
    const agreesToMore = isMore(consent, await device.consent());
    const write = async (): Promise<void> => {
      await beginState((state) => {
        change(state, agreesToMore);
        state.consent = consent;
      });
      stop();
    };
    if (!agreesToMore) await write();
    const sending = await tell(device, consent);
    if (agreesToMore) await write();
    return sending;
  });

/** Brings the device to what the state says, if that is less: its worker may have died before the device knew. */
export async function keepConsent(device: Device, store: Store): Promise<void> {
  const sending = await locked(async () => {
    const { consent, copy } = await readState();
    if (consent === "off") return takeBack(device, store, copy);
    return isMore(await device.consent(), consent) ? tell(device, consent) : null;
  });
  await sending?.sent;
}

/** Asks for the deletion of all that may have arrived, also of what only the copy knows; what was refused is asked once. */
async function takeBack(device: Device, store: Store, copy: Copy | null): Promise<Sending | null> {
  await mend(store, copy);
  const isDone = await store.read(async (work) => {
    const asked = (await work.all("queue")).filter(({ kind }) => kind.endsWith("deletion"));
    const participations = await work.all("participations");
    const isAsked = (campaign: string): boolean => asked.some((item) => item.campaign === campaign);
    return (
      (await work.install()).consent === "off" && participations.every(({ campaign, secret }) => !secret || isAsked(campaign))
    );
  });
  return isDone ? null : tell(device, "off");
}

/** Withdraws consent and forgets the records, because the person leaves. */
export async function withdraw(): Promise<void> {
  const { copy } = await locked(() =>
    beginState((state) => {
      Object.assign(state, { leaving: true, consent: "off", records: [], plans: [], pausedUntil: 0 });
      return state;
    }),
  );
  stop();
  if (copy || (await isThere())) await withDevice(null, keepConsent);
}

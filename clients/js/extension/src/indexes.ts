/** Released results, kept for searching: each is verified when it comes, and works without any network afterwards. */
import { text } from "../../src/bytes.ts";
import { dayOf } from "../../src/days.ts";
import type { Device } from "../../src/device.ts";
import { RefusedError } from "../../src/errors.ts";
import type { Fetch } from "../../src/http.ts";
import { fetchIndex } from "../../src/results.ts";
import { api } from "./api.ts";
import { seconds } from "./clock.ts";
import { changeState, indexKey, type KeptIndex, readState } from "./state.ts";

/** How many releases are kept: those that were fetched last, which no collector can predate. */
export const MAX_INDEXES = 6;

/** Fetches the index of a released campaign, if it is not kept yet; the oldest goes if there are too many. */
export async function keepIndex(device: Device, server: string, campaign: string, fetch: Fetch): Promise<void> {
  const isThis = (one: KeptIndex): boolean => one.server === server && one.campaign === campaign;
  if ((await readState()).indexes.some(isThis)) return;
  const offer = await device.terms(campaign);
  const { bytes, index, descriptor } = await fetchIndex(offer, { fetch });
  const { released } = index;
  if (released > dayOf(seconds()))
    throw new RefusedError("day", `Its result says that it was released on ${released}, which is yet to come.`);
  const line: KeptIndex = { server, campaign, title: offer.terms.title, released, sha256: descriptor.sha256 };
  const dropped = await changeState(
    (state) => {
      const all = [line, ...state.indexes.filter((one) => !isThis(one))];
      state.indexes = all.slice(0, MAX_INDEXES);
      return all.slice(MAX_INDEXES);
    },
    { [indexKey(line)]: text(bytes) },
  );
  await api.storage.local.remove(dropped.map(indexKey));
}

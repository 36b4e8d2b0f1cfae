/** The state of the extension in one word. */
import { api, DATA } from "./api.ts";
import { seconds } from "./clock.ts";
import { copyOf, isKept, LOST } from "./copy.ts";
import { originPattern } from "./headers.ts";
import { withDevice } from "./memory.ts";
import { isPaused, type State } from "./state.ts";

/** The state in a word, and why it is stopped, if it is. */
export interface Condition {
  readonly word: "off" | "on" | "paused" | "stopped" | "leaving";
  readonly reason: string | null;
}

export async function condition(state: State, now = seconds()): Promise<Condition> {
  if (state.leaving) return { word: "leaving", reason: null };
  if (state.consent === "off") return { word: "off", reason: null };
  const reason = await obstacle(state);
  if (reason) return { word: "stopped", reason };
  return { word: isPaused(state, now) ? "paused" : "on", reason: null };
}

/** Why nothing may be drawn, though the person agreed. */
async function obstacle({ collector, copy }: State): Promise<string | null> {
  if (!collector) return "No collector is chosen.";
  if (!(await api.permissions.contains({ origins: [originPattern(collector.url)] })))
    return `The browser does not let this extension talk to ${new URL(collector.url).hostname} any more. Allow it again, or switch off.`;
  const { data_collection: allowed } = await api.permissions.getAll();
  if (allowed && !DATA.every((data) => allowed.includes(data)))
    return "The browser does not let this extension use what you search for any more. Allow it again, or switch off.";
  return withDevice(null, async (_, store) => {
    if (!isKept(copy, await copyOf(store))) return LOST;
    const isLiar = await store.read(async (work) => {
      const proofs = await work.all("evidence");
      const seen = await Promise.all(proofs.map(({ campaign }) => work.get("campaigns", campaign)));
      return seen.some((one) => one?.server === collector.url);
    });
    return isLiar
      ? "This collector signed two different versions of a campaign. Nothing more is drawn for it; see the evidence."
      : null;
  });
}

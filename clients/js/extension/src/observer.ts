/** What content scripts may say: that a result was chosen. All they say is checked against the page that the browser names. */
import { dayOf } from "../../src/days.ts";
import { api, type Sender } from "./api.ts";
import { seconds } from "./clock.ts";
import { condition } from "./condition.ts";
import { engineAt, queryAt, type SwitchedEngine, targetOf } from "./engines.ts";
import { originPattern } from "./headers.ts";
import { withRecord } from "./kept.ts";
import { changeState, isActive, readState, type State } from "./state.ts";

const engineOf = ({ engines }: State, { url }: Sender): SwitchedEngine | undefined =>
  engineAt(
    engines.filter(({ on }) => on),
    url,
  );

/** The engine whose page it is, if it is observed now. A tab may have been opened when the person still allowed more. */
async function observedEngine(sender: Sender): Promise<SwitchedEngine | undefined> {
  const state = await readState();
  const engine = engineOf(state, sender);
  if (!engine || !(await api.permissions.contains({ origins: [originPattern(sender.url!)] }))) return undefined;
  return (await condition(state)).word === "on" ? engine : undefined;
}

/** Which links of the sender's page are results; null if it is not observed. */
export async function resultsOn(sender: Sender): Promise<string | null> {
  return (await observedEngine(sender))?.results ?? null;
}

/** Keeps what was asked on the page and where the chosen link leads, if both are there. */
export async function chose(sender: Sender, page: unknown, link: unknown): Promise<void> {
  const now = seconds();
  if (!(await observedEngine(sender)) || !isSameOrigin(sender.url, page)) return;
  await changeState((state) => {
    const engine = isActive(state, now) ? engineOf(state, sender) : undefined;
    const query = engine && queryAt(engine, page);
    const url = engine && targetOf(engine, link);
    if (!query || !url) return;
    state.records = withRecord(state.records, { query, url, engine: engine.name, day: dayOf(now) }, state.nextRecord++);
  });
}

const isSameOrigin = (one: unknown, other: unknown): boolean =>
  typeof one === "string" && typeof other === "string" && URL.canParse(other) && new URL(one).origin === new URL(other).origin;

/** When the device takes part in what: few plans, of which those with the person's own word stay. */
import { dayOf } from "../../src/days.ts";
import { DAY, seconds } from "./clock.ts";
import { changeState, isWith, type Chosen, type Plan } from "./state.ts";

export const MAX_PLANS = 200;
/** How many campaigns of a collector are open at most, as each takes room on the disk; no more are looked at meanwhile. */
export const MAX_OPEN = 12;
/** A campaign counts as open for so long at least, whatever its collector says. */
const MIN_OPEN = 30 * DAY;

/** The plans without those that are too many: first go those without a moment; what the person skipped stays skipped. */
export function keptPlans(plans: readonly Plan[]): Plan[] {
  const kept = [...plans];
  while (kept.length > MAX_PLANS) {
    const others = kept.filter(({ skipped }) => !skipped);
    const least = others.find(({ due }) => !due) ?? others[0] ?? kept[0]!;
    kept.splice(kept.indexOf(least), 1);
  }
  return kept;
}

/** Whether a campaign that was never looked at may be, at this moment. */
export const hasRoom = (plans: readonly Plan[], now: number): boolean =>
  plans.filter(({ until, drawn }) => until && (dayOf(now) <= until || now < drawn + MIN_OPEN)).length < MAX_OPEN;

/** Changes the plan for a campaign, or makes one; if it is about a collector, only while the person is with that one. */
export const setPlan = (change: Partial<Plan> & { campaign: string }, chosen: Chosen | null = null): Promise<void> =>
  changeState((state) => {
    if (chosen && !isWith(state, chosen)) return;
    const before = state.plans.find(({ campaign }) => campaign === change.campaign);
    const plan = { due: null, drawn: seconds(), until: null, skipped: false, problem: null, ...before, ...change };
    state.plans = keptPlans([...state.plans.filter((one) => one !== before), plan]);
  });

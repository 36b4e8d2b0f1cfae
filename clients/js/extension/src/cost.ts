/** What a campaign costs, and whether the person agreed to so much. */
import { readEnvelope } from "../../src/envelope.ts";
import { type Budget, RefusedError } from "../../src/errors.ts";
import type { Store } from "../../src/store.ts";
import { readTerms } from "../../src/terms.ts";

/** The most that any of these costs; null if there are none. */
export const largestCost = (costs: readonly Budget[]): Budget | null =>
  costs.length
    ? {
        epsilon: Math.max(...costs.map(({ epsilon }) => epsilon)),
        delta: Math.max(...costs.map(({ delta }) => delta)),
      }
    : null;

/** A cost in words. */
export const costText = ({ epsilon, delta }: Budget): string => `ε ${epsilon}${delta ? `, δ ${delta}` : ""}`;

/** Throws at a campaign that costs more than the person agreed to: that needs a click of its own. */
export function requireCost(cost: Budget, max: Budget): void {
  if (cost.epsilon <= max.epsilon && cost.delta <= max.delta) return;
  throw new RefusedError(
    "cost",
    `It costs more than you agreed to: ${costText(cost)} instead of at most ${costText(max)}. It waits until you say so.`,
  );
}

/** What a report costs in a campaign that was seen verified; its terms cannot change any more. */
export async function costOf(store: Store, campaign: string): Promise<Budget> {
  const seen = await store.read((work) => work.get("campaigns", campaign));
  if (!seen) throw new RefusedError("not-published", `${campaign} was not seen.`);
  return (await readTerms(readEnvelope(seen.terms).payload)).client_budget;
}

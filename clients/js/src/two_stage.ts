/** The published randomiser: the query is kept or replaced, then the URL is; a report names one cell. */
import { type Budget, ParameterError, requireBudget, requireCount, requireNumber } from "./errors.ts";
import { coin, exactly, ONE } from "./exact.ts";
import type { Randomiser } from "./subset.ts";

export interface TwoStage extends Randomiser {
  /** For every query, the probability that the URL is kept once the query is, times 2^53. */
  readonly urlCoins: readonly bigint[];
}

export function twoStage(budget: Budget, queryShare: number, cellsPerQuery: readonly number[]): TwoStage {
  requireBudget(budget);
  const queries = cellsPerQuery.length;
  for (const cells of [queries, ...cellsPerQuery]) requireCount("cells_per_query", cells, 1);
  requireNumber("query_share", queryShare, 0, 1, queryShare && 1); // neither 0 nor 1
  const truth = (share: number, choices: number): bigint => {
    const [epsilon, delta] = [budget.epsilon * share, budget.delta * share];
    requireBudget({ epsilon, delta });
    const [numerator, denominator] = exactly(delta);
    const others = choices - 1;
    const kept = others ? coin(epsilon, 1, [numerator * BigInt(others), 2n * denominator], others) : ONE;
    if (kept * BigInt(choices) < ONE) throw new ParameterError("epsilon", budget.epsilon, "above 1e-14");
    return kept;
  };
  const rows = cellsPerQuery.flatMap((cells, row) => Array<number>(cells).fill(row));
  const hit = truth(rows.length > queries ? queryShare : 1, queries);
  const coins: bigint[] = [];
  const urlCoins = cellsPerQuery.map((cells) => (coins[cells] ??= truth(1 - queryShare, cells)));
  /** The number of an item among all, from its number among those that are left without one. */
  const skipping = (own: number, drawn: number): number => drawn + +(drawn >= own);
  return {
    items: rows.length,
    size: 1,
    coin: hit,
    count: BigInt(rows.length),
    urlCoins,
    draw(cell, chooser) {
      const row = rows[cell]!;
      if (queries > 1) {
        if (!chooser.coin(hit)) {
          const other = skipping(row, chooser.below(queries - 1));
          cell = rows.indexOf(other) + chooser.below(cellsPerQuery[other]!);
        } else if (!chooser.coin(urlCoins[row]!)) {
          cell = skipping(cell, rows.indexOf(row) + chooser.below(cellsPerQuery[row]! - 1));
        }
      }
      return BigInt(cell);
    },
  };
}

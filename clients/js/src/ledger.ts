/**
 * A person's ledger: what every participation cost, under a cap for a year (365 counted days) and a cap for life, by basic
 * composition in exact numbers.
 */
import { dayNumber } from "./days.ts";
import { type Budget, ParameterError, requireBudget } from "./errors.ts";
import { exactly, type Fraction, fraction } from "./exact.ts";

/** One participation and its cost; `counted` is how many days the device had counted by then. */
export interface Entry extends Budget {
  readonly campaign: string;
  readonly group: string;
  readonly day: string;
  readonly counted: number;
}

/** Epsilon and delta, exactly. */
export type Amount = readonly Fraction[];

export const YEARLY: Budget = { epsilon: 12, delta: 1e-5 };
export const CAP: Budget = { epsilon: 48, delta: 4e-5 };

/** A participation that would cost more than what remains of the person's caps. */
export class OverspentError extends ParameterError {
  constructor(
    parameter: string,
    value: number,
    readonly yearly: boolean,
    /** In how many days the year has room for it; null if it never has. */
    readonly days: number | null,
  ) {
    super(parameter, value, `at most what the ${yearly ? "year" : "life"} leaves`);
  }
}

/** How many days count between the latest day that was ever seen and today. */
export const daysPassed = (last: string | null, today: string): number =>
  Math.min(Math.max(0, dayNumber(today) - dayNumber(last ?? today)), 90) || 0;

const PARTS = ["epsilon", "delta"] as const;

/** A number in units of 2^-1074, which every number is a multiple of. */
const units = (number: number): bigint => {
  const [numerator, denominator] = exactly(number);
  return (numerator << 1074n) / denominator;
};

/** What entries leave of a cap; never less than nothing. */
const left = (cap: Budget, entries: readonly Budget[]): bigint[] =>
  PARTS.map((part) => {
    const rest = entries.reduce((sum, entry) => sum - units(entry[part]), units(cap[part]));
    return rest > 0n ? rest : 0n;
  });

/** Which part of a cost does not fit into what is left. */
const excess = (cost: Budget, rest: readonly bigint[]) => PARTS.find((part, i) => units(cost[part]) > rest[i]!);

const amount = (all: readonly bigint[]): Amount => all.map((one) => fraction(one, 1n << 1074n));

export class Ledger {
  constructor(
    readonly cap: Budget = CAP,
    readonly yearly: Budget = YEARLY,
    readonly entries: readonly Entry[] = [],
    /** How many days the device has counted by now. */
    readonly counted = 0,
  ) {
    [cap, yearly].forEach(requireBudget);
  }

  /** What may still be spent in a life. */
  get remaining(): Amount {
    return amount(left(this.cap, this.entries));
  }

  /** What may still be spent now: what the year leaves, and the life. */
  get remainingThisYear(): Amount {
    const life = left(this.cap, this.entries);
    return amount(left(this.yearly, this.#year).map((year, i) => (year < life[i]! ? year : life[i]!)));
  }

  /** With one entry more; throws if a cap does not allow it. */
  spending(entry: Entry): Ledger {
    const after = new Ledger(this.cap, this.yearly, [...this.entries, entry], this.counted);
    if (this.entries.some(({ campaign }) => campaign === entry.campaign)) {
      throw new ParameterError("campaign", entry.campaign, "new to the ledger");
    }
    const life = excess(entry, left(this.cap, this.entries));
    const part = life ?? excess(entry, left(this.yearly, this.#year));
    if (part) throw new OverspentError(part, entry[part], !life, life ? null : this.daysUntilRoom(entry));
    return after;
  }

  /** In how many days the year has room for such a cost, if nothing else is spent; null if it never has. */
  daysUntilRoom(cost: Budget): number | null {
    const kept = this.#year.sort((a, b) => a.counted - b.counted);
    for (let days = 0; ; days = kept.shift()!.counted + 365 - this.counted) {
      if (!excess(cost, left(this.yearly, kept))) return days;
      if (!kept[0]) return null;
    }
  }

  /** With lower caps; they are never raised again. */
  lowered(cap = this.cap, yearly = this.yearly): Ledger {
    const after = new Ledger(cap, yearly, this.entries, this.counted);
    for (const what of ["cap", "yearly"] as const)
      for (const part of PARTS)
        if (after[what][part] > this[what][part])
          throw new ParameterError(`${what} ${part}`, after[what][part], `at most ${this[what][part]}`);
    return after;
  }

  get #year(): Entry[] {
    return this.entries.filter(({ counted }) => this.counted - counted < 365);
  }
}

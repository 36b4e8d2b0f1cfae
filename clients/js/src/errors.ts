/** A parameter outside its legal range. */
export class ParameterError extends Error {
  constructor(
    readonly parameter: string,
    readonly value: unknown,
    legal: string,
  ) {
    super(`${parameter} = ${Object(value) === value ? "" : String(value).slice(0, 80)}: it must be ${legal}.`);
  }
}

/** A collector, or what it says, that this device does not believe or agree to. */
export class RefusedError extends Error {
  constructor(
    readonly reason: string,
    sentence: string,
  ) {
    super(sentence);
  }
}

/** Two different documents of one campaign, both signed by the collector: proof that it lies to somebody. */
export class EquivocationError extends RefusedError {
  constructor(
    readonly campaign: string,
    readonly what: string,
    /** The two, each with where it came from. */
    readonly envelopes: readonly (readonly [source: string, envelope: Uint8Array<ArrayBuffer>])[],
  ) {
    super("equivocation", `There are two versions of the ${what} of ${campaign}.`);
  }
}

/** A collector that cannot be reached, or cannot answer now. */
export class NetworkError extends Error {}

/** The value, if it is a number from `min` to `max`, and above or below where a bound is to be left out. */
export function requireNumber(parameter: string, value: unknown, min: number, max: number, without = NaN): number {
  const number = typeof value === "bigint" ? Number(value) : value;
  if (typeof number !== "number" || !(number >= min && number <= max) || number === without || !isFinite(number)) {
    throw new ParameterError(parameter, value, `from ${min} to ${max}${isNaN(without) ? "" : `, not ${without}`}`);
  }
  return number;
}

/** The value, if it is a whole number from `min` to `max`. */
export const requireCount = (parameter: string, value: unknown, min: number, max = Infinity): number =>
  requireNumber(parameter, Number.isInteger(value) ? value : NaN, min, max);

/** An (epsilon, delta) promise. */
export interface Budget {
  readonly epsilon: number;
  readonly delta: number;
}

export const requireEpsilon = (name: string, value: unknown): number => requireNumber(name, value, 0, 50, 0);
export const requireDelta = (name: string, value: unknown): number => requireNumber(name, value, 0, 1, 1);

/** Throws at a promise that promises nothing or cannot be computed with. */
export function requireBudget({ epsilon, delta }: Budget): void {
  requireEpsilon("epsilon", epsilon);
  requireDelta("delta", delta);
}

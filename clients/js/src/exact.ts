/** Exact numbers: fractions of bigints, and coins of 53 bits whose probability is known to the last bit. */

/** A numerator and a denominator above 0, reduced. */
export type Fraction = readonly [bigint, bigint];

/** The numerator of a coin that is certain. */
export const ONE = 1n << 53n;

export function fraction(numerator: bigint, denominator: bigint): Fraction {
  let [a, b] = [numerator, denominator];
  while (b) [a, b] = [b, a % b];
  return [numerator / a, denominator / a];
}

/** A number, exactly. */
export function exactly(number: number): Fraction {
  let denominator = 1n;
  for (; number % 1; number *= 2) denominator *= 2n;
  return [BigInt(number), denominator];
}

export const isAbove = (a: Fraction, b: Fraction): boolean => a[0] * b[1] > b[0] * a[1];

/** The nearest number to a fraction from 0 on; ties go to the even one. */
export function nearest([numerator, denominator]: Fraction): number {
  const length = (number: bigint): number => number.toString(2).length;
  const shift = Math.min(Math.max(0, 64 + length(denominator) - length(numerator)), 1076);
  const top = numerator << BigInt(shift);
  // what lies behind the first 64 bits only matters by being there
  const scaled = Number((top / denominator) | BigInt(!!(top % denominator)));
  return scaled / 2 ** Math.min(shift, 900) / 2 ** Math.max(0, shift - 900);
}

/** Digits with an exponent, laid out as Python does: the exponent is shown below -4, and from the limit on. */
function layout(exponential: string, limit: number): string {
  const [mantissa = "", power = ""] = exponential.split("e");
  const exponent = +power;
  if (exponent < -4 || exponent >= limit) return `${mantissa}e${power[0]}${power.slice(1).padStart(2, "0")}`;
  const digits = "0".repeat(Math.max(0, -exponent)) + mantissa.replace(".", "").padEnd(exponent + 1, "0");
  const whole = Math.max(0, exponent) + 1;
  return digits.slice(0, whole) + (digits[whole] ? `.${digits.slice(whole)}` : "");
}

/** A number from 0 on with so many digits at most, as Python's format g. */
export function general(number: number, digits = 6): string {
  const long = number.toExponential(60);
  const isTie = RegExp(`[02468]50{${60 - digits}}e`).test(long);
  const short = isTie ? long.replace(/50*e/, "e") : number.toExponential(digits - 1);
  return layout(short.replace(/\.?0*e/, "e"), digits);
}

/** The coin of a share: its numerator over 2^53, the nearest; ties go to the even one. */
export function shareCoin(share: number): bigint {
  const scaled = share * 2 ** 53;
  const near = Math.round(scaled);
  return BigInt(near - scaled === 0.5 && near % 2 ? near - 1 : near);
}

/** e^epsilon 2^bits for epsilon above 0, from below; it is less than 2 more. */
export function power(epsilon: number, bits: number): bigint {
  const wide = BigInt(bits + 128);
  const [numerator, denominator] = exactly(epsilon);
  const x = (numerator << wide) / denominator >> 16n;
  let term = 1n << wide;
  let sum = term;
  for (let n = 1n; term; n++) sum += term = (term * x >> wide) / n;
  for (let i = 0; i < 16; i++) sum = sum * sum >> wide;
  return sum >> 128n;
}

/**
 * floor(2^53 (a e^epsilon + b)/(a e^epsilon + c)) for b <= c: more bits of e^epsilon are taken until both its bounds
 * say the same.
 */
export function coin(epsilon: number, a: number, [numerator, denominator]: Fraction, c: number): bigint {
  for (let bits = 128; ; bits *= 2) {
    const at = (odds: bigint): bigint => {
      const own = BigInt(a) * odds;
      const top = own * denominator + (numerator << BigInt(bits));
      return (top << 53n) / ((own + (BigInt(c) << BigInt(bits))) * denominator);
    };
    const low = power(epsilon, bits);
    if (at(low) === at(low + 2n)) return at(low);
  }
}

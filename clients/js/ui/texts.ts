/** Texts and numbers as people read them: as src/blendp/render/text.py writes them. */

export const WILDCARD = "✱ (everything else)";
/** What stands for the address of a query that is listed without any. */
export const ANY_ADDRESS = "✱ (any address)";
const UNKNOWN = "unknown";

/** The text with what cannot be seen made visible, so that no control or mark of direction acts on the page. */
export const visible = (text: string): string =>
  text.replace(/[^ \u3000\u200c\u200d\P{C}]|[^ \u3000\P{Z}]/gu, (sign) =>
    /[\p{Cc}\p{Cf}\p{Cs}\p{Z}]/u.test(sign) || (sign.codePointAt(0)! & 0xfffe) === 0xfffe
      ? `⟨U+${sign.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}⟩`
      : sign,
  ) || "(empty)";

/** How many decimals percentages need to show one or two digits of nearly all of their errors. */
export function decimals(errors: readonly number[], values: readonly number[] = []): number {
  const known = (numbers: readonly number[]): number[] =>
    numbers.filter((one) => isFinite(one) && one > 0).sort((a, b) => a - b);
  let sorted = known(errors);
  if (!sorted.length) sorted = known(values.map((value) => Math.abs(value) / 50));
  if (!sorted.length) return 2;
  return Math.min(Math.max(Math.ceil(-Math.log10(50 * sorted[Math.floor(sorted.length / 10)]!)), 1), 7);
}

/** A probability as a percentage, without the sign for percent. */
export function percent(value: number, digits: number): string {
  if (!isFinite(value)) return UNKNOWN;
  const text = (100 * value).toFixed(digits);
  if (+text === 0) return value > 0 ? `<${(10 ** -digits).toFixed(digits)}` : text.replace("-", "");
  return text.replace("-", "−");
}

/** An estimate and its standard error, in percent. */
export function withError(value: number, error: number, digits = decimals([error], [value])): string {
  if (!isFinite(value)) return UNKNOWN;
  return isFinite(error)
    ? `${percent(value, digits)} ± ${percent(error, digits)} %`
    : `${percent(value, digits)} % ± ${UNKNOWN}`;
}

/** A whole number with its thousands apart. */
export const count = (number: number): string => String(number).replace(/\B(?=(\d{3})+$)/g, ",");

/** The address, if a browser may be sent there: of the web, and spelt whole. */
export function webAddress(url: string | null): string | null {
  try {
    return url !== null && /^https?:\/\//i.test(url) ? new URL(url).href : null;
  } catch {
    return null;
  }
}

/**
 * Canonical JSON: names sorted by code points, no spaces, UTF-8, numbers as Python writes them. A document is read by one
 * table of its fields, and only in this one spelling, so that a hash names one value.
 */
import { isBefore, LONE, sha256, text } from "./bytes.ts";
import { ParameterError } from "./errors.ts";

/** The value of a field, checked; `before` are the fields that were read before it. */
type Check = (name: string, value: any, before: any) => unknown;
export type Fields = Readonly<Record<string, Check>>;

/** A number as Python writes it: with an exponent below 1e-4, and from 1e16 on. */
function spelt(number: number): string {
  const size = Math.abs(number);
  if (size && (size < 1e-4 || size >= 1e16)) return number.toExponential().replace(/(?<=e.)(?=\d$)/, "0");
  return (Object.is(number, -0) ? "-0" : `${number}`) + (number % 1 ? "" : ".0");
}

/** Canonical text of a value in which whole numbers are bigints; a lone surrogate stays what no source can have. */
function written(value: any): string {
  if (typeof value === "string" && !LONE.test(value)) return JSON.stringify(value);
  if (typeof value === "number") return spelt(value);
  if (Array.isArray(value)) return `[${value.map(written)}]`;
  if (!isObject(value)) return `${value}`;
  const names = Object.keys(value).sort((one, other) => (isBefore(one, other) ? -1 : 1));
  return `{${names.map((name) => `${written(name)}:${written(value[name])}`)}}`;
}

const isObject = (value: any): boolean => value && typeof value === "object" && !Array.isArray(value);

/** The value of a canonical document of one of these formats; whole numbers are bigints. Throws at every other spelling. */
export function readCanonical(bytes: Uint8Array, what: string, formats: readonly string[]): any {
  try {
    const source = text(bytes);
    // strings are marked by s, and numbers become strings that are marked by n: JSON.parse would lose their digits; one
    // that does not end is a match, too, or it would be looked for again at every quote within
    const marked = source.replace(/"[^"\\]*(\\.[^"\\]*)*"?|-?\d[\d.e+-]*/g, (token) =>
      token[0] === '"' ? `"s${token.slice(1)}` : `"n${token}"`,
    );
    const value = JSON.parse(marked, (_, one) => {
      if (isObject(one)) return Object.fromEntries(Object.keys(one).map((name) => [name.slice(1), one[name]]));
      if (typeof one !== "string") return one;
      const token = one.slice(1);
      return one[0] === "s" ? token : /^-?\d{1,4300}$/.test(token) ? BigInt(token) : +token;
    });
    if (written(value) === source && formats.includes(value.format)) return value;
  } catch {
    // as below
  }
  throw new ParameterError(what, `${bytes.length} bytes`, `canonical ${formats}`);
}

/** The values of exactly these fields, each checked; those that may be left out are then as `usual`. */
export function checked(value: any, what: string, fields: Fields, usual: any = {}): any {
  const sorted = (object: any): string => `${Object.keys(object).sort()}`;
  if (sorted(fields) !== sorted({ ...usual, ...value })) throw new ParameterError(what, value, "its fields");
  const result: any = {};
  for (const name in fields) result[name] = name in value ? fields[name]!(name, value[name], result) : usual[name];
  return result;
}

/** A document by the table of the fields of its format, and its name. */
export async function readDocument(bytes: Uint8Array, what: string, formats: Readonly<Record<string, Fields>>, usual?: any): Promise<any> {
  const { format, ...value } = readCanonical(bytes, what, Object.keys(formats));
  return { ...checked(value, what, formats[format]!, usual), sha256: await sha256(bytes) };
}

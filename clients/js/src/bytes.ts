import { ParameterError } from "./errors.ts";

/** Bytes that WebCrypto takes. */
export type Bytes = Uint8Array<ArrayBuffer>;

/** A surrogate that is half of nothing. */
export const LONE = /\p{Cs}/u;

/** Lower-case hexadecimal digits. */
export const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** The bytes of lower-case hexadecimal digits; throws at every other spelling. */
export function unhex(text: any, parameter: string, length = text?.length / 2): Bytes {
  if (typeof text !== "string" || text.length !== 2 * length || !/^([0-9a-f]{2})*$/.test(text)) {
    throw new ParameterError(parameter, text, `${length} bytes in hex`);
  }
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

export const utf8 = (text: string): Bytes => new TextEncoder().encode(text) as Bytes;

/** These bytes, one after the other. */
export function joined(parts: readonly Bytes[]): Bytes {
  const whole = new Uint8Array(parts.reduce((end, part) => end + part.length, 0));
  parts.reduce((end, part) => (whole.set(part, end), end + part.length), 0);
  return whole;
}

/** The text of UTF-8 bytes; throws if they are none, and keeps a byte order mark. */
export const text = (bytes: Uint8Array): string => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);

/** The bytes of base64 in its one spelling; throws at every other. */
export function base64(text: string): Bytes {
  const binary = atob(text);
  if (btoa(binary) !== text) throw 0;
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

export const digest = async (bytes: Uint8Array): Promise<Bytes> =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", bytes as Bytes));

/** The name of these bytes: 64 hexadecimal digits. */
export const sha256 = async (bytes: Uint8Array): Promise<string> => hex(await digest(bytes));

/** Texts in the order of code points: surrogates, which stand for those from U+10000 on, behind U+E000 to U+FFFF. */
const ordered = (text: string): string => text.replace(/[\ud800-\uffff]/g, (unit) => (unit < "\ue000" ? "\uffff" : "\ue000") + unit);

/** Whether one text comes before another in the order of code points. */
export const isBefore = (one: string, other: string): boolean => ordered(one) < ordered(other);

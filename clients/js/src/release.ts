/** A released result: estimates, the card of the promise, and what they are bound to. */
import { readDocument } from "./canonical.ts";

/** Whole numbers that are no safe numbers are bigints. */
export interface Release {
  readonly campaign: string;
  readonly manifest_sha256: string;
  readonly released: string;
  readonly card: any;
  readonly estimates: readonly any[];
  readonly trends: readonly any[];
  readonly groups: any;
  readonly sha256: string;
}

const plain = (_: string, value: any): unknown =>
  typeof value === "bigint"
    ? Number.isSafeInteger(Number(value))
      ? Number(value)
      : value
    : Array.isArray(value)
      ? value.map((one) => plain(_, one))
      : value && typeof value === "object"
        ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(_, one)]))
        : value;

export function readRelease(bytes: Uint8Array): Promise<Release> {
  const names = ["campaign", "manifest_sha256", "released", "card", "estimates", "trends", "groups"];
  const fields = Object.fromEntries(names.map((name) => [name, plain]));
  return readDocument(bytes, "release", { "blendp/release/1": fields });
}

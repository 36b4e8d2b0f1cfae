// The extension is built once for all tests.
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
// @ts-expect-error a script without types
import { extensionFiles, unpack } from "../build.mjs";

export const DIST = resolve(import.meta.dirname, "../dist");

/** What vitest runs before the tests. */
export async function setup(): Promise<void> {
  unpack(await extensionFiles(), DIST);
}

/** The files that were built, sorted by name. */
export const builtFiles = (): [string, Buffer][] =>
  readdirSync(DIST)
    .sort()
    .map((name) => [name, readFileSync(join(DIST, name))]);

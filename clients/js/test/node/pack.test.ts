// What a user installs: the content of the package, its import in Node, and its types under the strictest resolution.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

const here = resolve(".");
const scratch = mkdtempSync(join(tmpdir(), "blendp-pack-"));
const user = join(scratch, "user");
const run = (folder: string, command: string, ...args: string[]) =>
  execFileSync(command, args, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
let packed: string[];

beforeAll(() => {
  const copy = join(scratch, "clients", "js");
  const left = ["node_modules", "peers", "dist", "test", "LICENSE"].map((name) => join(here, name));
  cpSync(here, copy, { recursive: true, filter: (path) => !left.includes(path) });
  cpSync(join(here, "../../LICENSE"), join(scratch, "LICENSE"));
  symlinkSync(join(here, "node_modules"), join(copy, "node_modules"));
  const [pack] = JSON.parse(run(copy, "npm", "pack", "--json", "--silent", "--foreground-scripts=false"));
  packed = pack.files.map(({ path }: { path: string }) => path).sort();
  mkdirSync(user);
  writeFileSync(join(user, "package.json"), '{"private": true, "type": "module"}');
  run(user, "npm", "install", "--offline", "--no-audit", "--no-fund", join(copy, pack.filename));
}, 60_000);
afterAll(() => rmSync(scratch, { recursive: true }));

const installed = (path: string) => readFileSync(join(user, "node_modules/@blendp/client", path));

test("a module for each import, their types, licence, read-me and nothing else", () => {
  expect(packed.filter((path) => !/^dist\/types\/[a-z_]+\.d\.ts$/.test(path))).toEqual([
    "LICENSE",
    "README.md",
    "dist/explain.js",
    "dist/index.js",
    "dist/results.js",
    "dist/search.js",
    "dist/verify.js",
    "package.json",
  ]);
  const types = ["explain", "index", "results", "search", "verify"].map((name) => `dist/types/${name}.d.ts`);
  expect(packed).toEqual(expect.arrayContaining(types));
  expect(installed("LICENSE")).toEqual(readFileSync("../../LICENSE"));
});

test("needs no other package, and has the version of the Python package", () => {
  const manifest = JSON.parse(installed("package.json").toString());
  for (const kind of ["dependencies", "peerDependencies", "optionalDependencies"]) expect(manifest[kind]).toBeUndefined();
  const python = readFileSync("../../src/blendp/_version.py", "utf8");
  expect(python).toContain(`"${manifest.version}"`);
});

test.each(["dist/index.js", "dist/explain.js", "dist/results.js", "dist/search.js", "dist/verify.js"])("%s is the committed file", (path) => {
  expect(installed(path).equals(readFileSync(path)), `${path}: run node build.mjs, and commit`).toBe(true);
});

test("is imported in Node", () => {
  const code = `
    const whole = await import("@blendp/client");
    const explain = await import("@blendp/client/explain");
    const results = await import("@blendp/client/results");
    const search = await import("@blendp/client/search");
    const verify = await import("@blendp/client/verify");
    console.log(JSON.stringify([whole, explain, results, search, verify].map((names) => Object.keys(names))));`;
  const [whole, explain, results, search, verify] = JSON.parse(run(user, process.execPath, "--input-type=module", "--eval", code));
  expect(whole).toContain("Device");
  expect(explain).toEqual(expect.arrayContaining(["explain", "oddsSentence", "promiseSentence"]));
  expect(results).toEqual(expect.arrayContaining(["fetchIndex", "fetchRelease"]));
  expect(search).toEqual(expect.arrayContaining(["buildIndex", "readIndex"]));
  expect(verify).toEqual(expect.arrayContaining(["readEnvelope", "readIndexDescriptor", "readManifest", "verified"]));
});

test("its types are read by a strict project", () => {
  const code = `
    import { Device } from "@blendp/client";
    import { explain } from "@blendp/client/explain";
    import { readManifest } from "@blendp/client/verify";
    export const sentences = async (device: Device): Promise<readonly string[]> => explain(await device.report("c")).sentences;
    export const open: typeof Device.open = Device.open;
    export const campaign: Promise<string> = readManifest(new Uint8Array()).then((manifest) => manifest.terms.campaign);
    // @ts-expect-error: bytes are wanted
    export const wrong = readManifest("text");`;
  writeFileSync(join(user, "use.ts"), code);
  const options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", "--lib", "es2022,dom,dom.iterable"];
  run(user, process.execPath, join(here, "node_modules/typescript/bin/tsc"), ...options, "--types", "", "use.ts");
});

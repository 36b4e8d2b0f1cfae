// Bytes of what a page loads, minified and gzipped at level 9: ours as in dist/, beside two comparable clients, minified alike.
//   node sizes.mjs            a table; fails if a limit is passed or a peer is not larger
//   node sizes.mjs --json     the same as JSON
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { bundle } from "./bundle.mjs";
import { minified } from "./build.mjs";

const root = fileURLToPath(new URL(".", import.meta.url));
export const limits = { "dist/index.js": 12_000, "dist/results.js": 6_000, "dist/search.js": 5_000, "dist/verify.js": 4_000 };
const peers = {
  "Glean.js (web)": 'export { default } from "@mozilla/glean/web";',
  "divviup DAP": 'export * from "@divviup/dap";',
};

const measured = (name, bytes) => ({ name, minified: bytes.length, gzipped: gzipSync(bytes, { level: 9 }).length });

async function bundled(code) {
  const [file] = await bundle({ stdin: { contents: code, resolveDir: `${root}peers` }, logLevel: "error" });
  return minified(file.text);
}

/** Sizes of our modules, then of the peers. A page that explains loads two files, each gzipped for itself. */
export async function sizes() {
  const paths = readdirSync(`${root}dist`).filter((name) => name.endsWith(".js")).map((name) => `dist/${name}`);
  const ours = paths.sort().map((path) => measured(path, readFileSync(root + path)));
  const [index, explain] = ["dist/index.js", "dist/explain.js"].map((path) => ours.find(({ name }) => name === path));
  const sum = (part) => index[part] + explain[part];
  ours.push({ name: "index + explain", minified: sum("minified"), gzipped: sum("gzipped") });
  const others = [];
  for (const [name, code] of Object.entries(peers)) others.push(measured(name, await bundled(code)));
  return { ours, others };
}

/** What is too large, in words; empty if all is well. */
export function excess({ ours, others }) {
  const smallest = Math.min(...others.map(({ gzipped }) => gzipped));
  return ours.flatMap(({ name, gzipped }) => [
    ...(gzipped <= (limits[name] ?? Infinity) ? [] : [`${name} has ${gzipped} bytes, more than ${limits[name]}`]),
    ...(gzipped < smallest ? [] : [`${name} has ${gzipped} bytes, not less than a peer's ${smallest}`]),
  ]);
}

async function main() {
  if (!existsSync(`${root}peers/node_modules`)) throw new Error("run npm ci in clients/js/peers first");
  const result = await sizes();
  if (process.argv.includes("--json")) console.log(JSON.stringify(result, null, 2));
  else {
    console.log("sizes: bytes".padEnd(24) + "minified".padStart(10) + "gzipped".padStart(10) + "limit".padStart(10));
    for (const { name, minified, gzipped } of [...result.ours, ...result.others])
      console.log(
        `       ${name}`.padEnd(24) +
          String(minified).padStart(10) +
          String(gzipped).padStart(10) +
          String(limits[name] ?? "").padStart(10),
      );
  }
  const problems = excess(result);
  for (const problem of problems) console.error(`sizes: ${problem}`);
  process.exit(problems.length ? 1 : 0);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();

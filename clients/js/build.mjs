// Make dist/: minified ES modules (committed: whoever has no Node can use them) and their types (made when packing).
//   node build.mjs            dist/*.js, one for each import, dist/types/, and the collector's pages
//   node build.mjs --package  dist/ alone
//   node build.mjs --check    say which committed file differs from what src/ gives, byte for byte
import { execFileSync } from "node:child_process";
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { minify } from "terser";
import { bundle } from "./bundle.mjs";
import { makePages } from "./pages/build.mjs";

const root = fileURLToPath(new URL(".", import.meta.url));
const { name, version, license } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));

/** Every built module: file name and bytes. esbuild joins the files, terser makes them small: smaller than esbuild does. */
export async function built() {
  const outputs = await bundle({
    absWorkingDir: root,
    entryPoints: ["index", "explain", "results", "search", "verify"].map((name) => `src/${name}.ts`),
    outdir: "dist",
  });
  const banner = `/*! ${name} ${version} ${license} */`;
  const files = outputs.map(async ({ path, text }) => ({
    path: path.slice(root.length),
    contents: await minified(text, banner),
  }));
  return Promise.all(files);
}

/** The bytes of a module, minified: what it exports and the names of properties stay; no comment does, but the banner. */
export async function minified(text, preamble) {
  const format = { ascii_only: true, comments: false, ecma: 2022 };
  // nothing that is constant is ever set: TypeScript has seen to that
  const { ast } = await minify(text.replace(/^( *(?:for \()?)const\b/gm, "$1let"), {
    module: true,
    toplevel: true,
    ecma: 2022,
    // one keyword, functions first, in one piece, statements as they are: gzip finds more that repeats
    compress: { conditionals: false, sequences: false, inline: 1, hoist_funs: true, lhs_constants: false },
    format: { ...format, ast: true, code: false },
  });
  // functions may stand in any order: the most alike, those that wait, together
  const parts = ast.body.map((part) => part.print_to_string(format));
  const [waiting, others] = [true, false].map((isIt) => parts.filter((part) => /^async function /.test(part) === isIt));
  const [functions, rest] = [true, false].map((isIt) => others.filter((part) => /^function /.test(part) === isIt));
  return Buffer.from(`${preamble ? `${preamble}\n` : ""}${[...functions, ...waiting].join("")}${rest.join(";")};\n`);
}

function same(path, contents) {
  try {
    return readFileSync(root + path).equals(contents);
  } catch {
    return false;
  }
}

/** Types name their neighbours by ".js": every compiler reads that. */
function forUsers(path) {
  writeFileSync(path, readFileSync(path, "utf8").replace(/(["']\.\/\w+)\.ts(["'])/g, "$1.js$2"));
}

async function main() {
  if (!process.argv.includes("--package")) await makePages(minified, process.argv.includes("--check"));
  const files = await built();
  if (process.argv.includes("--check")) {
    const stale = files.filter(({ path, contents }) => !same(path, contents)).map(({ path }) => path);
    if (stale.length) {
      console.error(`build: not what src/ gives: ${stale.join(", ")} (run: node build.mjs, and commit)`);
      process.exit(1);
    }
    console.log(`build: ${files.map(({ path }) => path).join(", ")} equal src/, byte for byte`);
    return;
  }
  rmSync(`${root}dist`, { recursive: true, force: true });
  execFileSync(process.execPath, [`${root}node_modules/typescript/bin/tsc`, "-p", "tsconfig.src.json"], {
    cwd: root,
    stdio: "inherit",
  });
  for (const name of readdirSync(`${root}dist/types`)) forUsers(`${root}dist/types/${name}`);
  for (const { path, contents } of files) writeFileSync(root + path, contents);
  copyFileSync(`${root}../../LICENSE`, `${root}LICENSE`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();

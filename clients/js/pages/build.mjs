// The pages that the collector serves: src/blendp/web/, committed, since those who install the package have no Node.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { bundle } from "../bundle.mjs";

const sources = fileURLToPath(new URL(".", import.meta.url));
const target = fileURLToPath(new URL("../../../src/blendp/web/", import.meta.url));
/** The pages, and the folder of each from here; each has a script and a frame of its name. */
const PAGES = { index: "", campaign: "", search: "", console: "../console/" };
const STYLES = { pages: "", console: "../console/" };

const source = (name) => readFileSync(sources + name, "utf8");
const hash = (contents) => createHash("sha256").update(contents).digest("hex").slice(0, 12);

/** The text of a bundled file, before it is minified. */
async function bundled(name, options = {}) {
  const [file] = await bundle({ absWorkingDir: sources, entryPoints: [name], outdir: sources, ...options });
  return file.text;
}

/**
 * Every file by its path in the folder. What pages load has a name that changes with its bytes; the worker names all that
 * it keeps, so that another version of any of it is another worker, which browsers then fetch.
 */
export async function pages(minified) {
  const files = new Map();
  const names = new Map();
  const asset = (name, contents) => {
    const [, stem, kind] = /^(\w+)\.(\w+)$/.exec(name);
    names.set(name, `${stem}-${hash(contents)}.${kind}`);
    files.set(`assets/${names.get(name)}`, Buffer.from(contents));
  };
  const named = (text) =>
    text.replace(/\{(\w+\.\w+)\}/g, (_, name) => {
      if (!names.has(name)) throw new Error(`pages: there is no ${name}`);
      return names.get(name);
    });
  for (const [name, folder] of Object.entries(PAGES)) asset(`${name}.js`, await minified(await bundled(`${folder}${name}.ts`)));
  for (const [name, folder] of Object.entries(STYLES))
    asset(`${name}.css`, await bundled(`${folder}${name}.css`, { minify: true }));
  asset("icon.svg", source("icon.svg"));
  for (const [name, folder] of Object.entries(PAGES))
    files.set(`${name}.html`, Buffer.from(named(source(`${folder}${name}.html`))));
  files.set("search.webmanifest", Buffer.from(named(source("search.webmanifest"))));
  const kept = ["search.js", "pages.css", "icon.svg"].map((name) => names.get(name));
  const define = {
    ASSETS: JSON.stringify(kept),
    VERSION: JSON.stringify(hash(Buffer.concat([files.get("search.html"), files.get("search.webmanifest")]))),
  };
  files.set("search-worker.js", await minified(await bundled("worker.ts", { define, format: "iife" })));
  return files;
}

/** Writes the folder, or throws if it is not what the sources give, byte for byte. */
export async function makePages(minified, isCheck) {
  const files = await pages(minified);
  const present = existsSync(target) ? readdirSync(target, { recursive: true, withFileTypes: true }) : [];
  const paths = present
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`.replace(/\/+/g, "/").slice(target.length));
  if (!isCheck) {
    mkdirSync(`${target}assets`, { recursive: true });
    for (const [path, contents] of files) writeFileSync(target + path, contents);
    for (const path of paths) if (!files.has(path)) rmSync(target + path);
    return;
  }
  const stale = [...files].filter(([path, contents]) => !paths.includes(path) || !readFileSync(target + path).equals(contents));
  const wrong = [...stale.map(([path]) => path), ...paths.filter((path) => !files.has(path))];
  if (wrong.length)
    throw new Error(
      `build: src/blendp/web is not what pages/ and console/ give: ${wrong.join(", ")} (run: node build.mjs, and commit)`,
    );
  console.log(`build: ${files.size} files of src/blendp/web equal pages/ and console/, byte for byte`);
}

// Offline search beside MiniSearch, in one run: size of the index, time until it can be searched, time a keystroke, and
// keystrokes without an answer. Fails if a goal is missed.
//   node benchmarks/search.mjs [--like aol|yandex] [--records N] [--json]
// MiniSearch is set as its users set it who want results while they type: prefix, and fuzzy 0.2. Times are the smallest of
// several turns, since other work on the machine only adds to them.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    like: { type: "string", default: "aol" },
    records: { type: "string", default: "10000" },
    json: { type: "boolean", default: false },
    build: { type: "string" },
  },
});
const root = fileURLToPath(new URL("..", import.meta.url));
const KEYSTROKES = 5800;
const TURNS = 3;
const BUILDS = 15;

const zipped = (bytes) => gzipSync(bytes, { level: 9 }).length;
const json = (value) => JSON.stringify(value);

/** How each engine is made ready from bytes, and asked: a list of queries, empty if nothing matches. */
const engines = {
  async blendp(folder) {
    const { readIndex } = await import("../dist/search.js");
    const bytes = new Uint8Array(readFileSync(join(folder, "index.json")));
    await crypto.subtle.digest("SHA-256", new Uint8Array()); // Node loads WebCrypto late, browsers have it
    return async () => {
      const index = await readIndex(bytes);
      return (text) => {
        const { results, nearest } = index.search(text);
        return nearest ? [] : results.map(({ query }) => query);
      };
    };
  },
  async MiniSearch(folder) {
    const { default: MiniSearch } = await import("../peers/node_modules/minisearch/dist/es/index.js");
    const bytes = readFileSync(join(folder, "documents.json"));
    return async () => {
      const mini = new MiniSearch({
        fields: ["query"],
        storeFields: ["query", "url", "share", "error"],
        searchOptions: { prefix: true, fuzzy: 0.2 },
      });
      mini.addAll(JSON.parse(new TextDecoder().decode(bytes)));
      const ask = (text) => mini.search(text).slice(0, 10).map(({ query }) => query);
      ask.toJSON = () => mini.toJSON();
      return ask;
    };
  },
};

/** Milliseconds of the processor until an engine can be searched, and for a first text with a typing error, in a new process. */
async function coldBuild(name, folder) {
  const ready = await engines[name](folder);
  const spent = () => process.cpuUsage().user / 1000 + process.cpuUsage().system / 1000;
  const start = spent();
  const ask = await ready();
  const built = spent();
  ask("wetaher chanel");
  return [built - start, spent() - built];
}

/** Uniform numbers below 1, the same in every run (mulberry32). */
function seeded(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Somebody types queries of the list letter by letter; every other one has an error: a letter more, less, other, swapped. */
function keystrokes(queries) {
  const random = seeded(7);
  const below = (count) => Math.floor(random() * count);
  const letters = [...new Set(queries.join("").replaceAll(/[^\p{L}]/gu, ""))];
  const strokes = [];
  for (let turn = 0; strokes.length < KEYSTROKES; turn++) {
    const query = queries[below(queries.length)];
    const typed = [...query];
    if (turn % 2) {
      const at = below(typed.length);
      const letter = letters[below(letters.length)];
      const errors = [
        () => typed.splice(at, 0, letter),
        () => typed.splice(at, 1),
        () => typed.splice(at, 1, letter),
        () => typed.splice(at, 2, ...typed.slice(at, at + 2).reverse()),
      ];
      errors[below(4)]();
    }
    for (let end = 1; end <= typed.length; end++)
      strokes.push({ text: typed.slice(0, end).join(""), meant: end === typed.length ? query : null });
  }
  return strokes;
}

/** Times a keystroke, keystrokes without an answer, and whole texts that find what was meant among ten. */
function measured(asks, strokes) {
  const times = Object.fromEntries(Object.keys(asks).map((name) => [name, new Float64Array(strokes.length).fill(Infinity)]));
  const answers = Object.fromEntries(Object.keys(asks).map((name) => [name, []]));
  for (let turn = 0; turn < TURNS; turn++)
    strokes.forEach(({ text }, i) => {
      for (const [name, ask] of Object.entries(asks)) {
        const start = performance.now();
        const results = ask(text);
        times[name][i] = Math.min(times[name][i], performance.now() - start);
        answers[name][i] = results;
      }
    });
  const whole = strokes.flatMap(({ meant }, i) => (meant === null ? [] : [i]));
  return Object.fromEntries(
    Object.keys(asks).map((name) => {
      const sorted = times[name].toSorted();
      const quantile = (share) => sorted[Math.floor(share * sorted.length)];
      return [
        name,
        {
          p50: quantile(0.5),
          p99: quantile(0.99),
          unanswered: answers[name].filter((results) => !results.length).length / strokes.length,
          found: whole.filter((i) => answers[name][i].includes(strokes[i].meant)).length / whole.length,
        },
      ];
    }),
  );
}

function coldBuilds(name, folder) {
  const arguments_ = [fileURLToPath(import.meta.url), "--build", name, folder];
  return JSON.parse(execFileSync(process.execPath, arguments_, { encoding: "utf8" }));
}

async function compared(folder) {
  const python = [`-m`, "benchmarks.search", "--like", options.like, "--records", options.records, "--out", folder];
  execFileSync(join(root, "../../.venv/bin/python"), python, { cwd: join(root, "../.."), stdio: "inherit" });
  const release = new Uint8Array(readFileSync(join(folder, "release.json")));
  const { buildIndex } = await import("../dist/search.js");
  const start = performance.now();
  const index = await buildIndex(release);
  const making = performance.now() - start;
  writeFileSync(join(folder, "index.json"), index);
  const listed = JSON.parse(new TextDecoder().decode(release)).estimates.filter(({ url }) => url !== null);
  const documents = listed.map(({ query, url, probability: share, std_error: error }, id) => ({ id, query, url, share, error }));
  writeFileSync(join(folder, "documents.json"), json(documents));

  const builds = { blendp: [], MiniSearch: [] };
  for (let turn = 0; turn < BUILDS; turn++) for (const name in builds) builds[name].push(coldBuilds(name, folder));
  const asks = {};
  for (const name in engines) asks[name] = await (await engines[name](folder))();
  const strokes = keystrokes([...new Set(documents.map(({ query }) => query))]);
  const figures = measured(asks, strokes);
  for (const [name, times] of Object.entries(builds)) {
    figures[name].build = Math.min(...times.map(([build]) => build));
    figures[name].firstTypo = Math.min(...times.map(([, first]) => first));
  }
  figures.blendp.size = zipped(index);
  figures.MiniSearch.size = zipped(json(asks.MiniSearch));
  const tables = Object.fromEntries(["table.csv", "estimates.csv"].map((name) => [name, zipped(readFileSync(join(folder, name)))]));
  return { like: options.like, records: documents.length, keystrokes: strokes.length, making, figures, tables };
}

/** What is missed, in words; empty if all is well. */
function missed({ figures: { blendp, MiniSearch }, tables }) {
  const goals = [
    ["index, of MiniSearch's", blendp.size / MiniSearch.size, 0.5],
    ["index, of the table with the same digits", blendp.size / tables["table.csv"], 1.1],
    ["index, of estimates.csv", blendp.size / tables["estimates.csv"], 1.1],
    ["build, of MiniSearch's", blendp.build / MiniSearch.build, 0.25],
    ["p99 of a keystroke, of MiniSearch's", blendp.p99 / MiniSearch.p99, 0.25],
    ["keystrokes without an answer, of MiniSearch's", blendp.unanswered / MiniSearch.unanswered, 1 - 1e-9],
  ];
  return goals.map(([name, ratio, limit]) => ({ name, ratio, limit, isMet: ratio <= limit }));
}

function print(result, goals) {
  const { like, records, keystrokes, making, figures, tables } = result;
  const rows = [
    ["index, gzipped, bytes", (one) => one.size.toLocaleString("en")],
    ["ready from bytes, new process, CPU ms", (one) => one.build.toFixed(1)],
    ["first text with an error after it, CPU ms", (one) => one.firstTypo.toFixed(1)],
    ["a keystroke, p50, ms", (one) => one.p50.toFixed(3)],
    ["a keystroke, p99, ms", (one) => one.p99.toFixed(3)],
    ["keystrokes without an answer", (one) => `${(100 * one.unanswered).toFixed(1)} %`],
    ["whole texts that find what was meant", (one) => `${(100 * one.found).toFixed(1)} %`],
  ];
  console.log(`search: ${records.toLocaleString("en")} records like ${like}, ${keystrokes.toLocaleString("en")} keystrokes, half of the texts with an error`);
  console.log(`search: ${"".padEnd(42)}${"blendp".padStart(12)}${"MiniSearch".padStart(12)}`);
  for (const [name, of] of rows)
    console.log(`        ${name.padEnd(42)}${of(figures.blendp).padStart(12)}${of(figures.MiniSearch).padStart(12)}`);
  for (const [name, size] of Object.entries(tables)) console.log(`        ${`${name}, gzipped, bytes`.padEnd(42)}${size.toLocaleString("en").padStart(12)}`);
  console.log(`        ${"index from the release, ms".padEnd(42)}${making.toFixed(0).padStart(12)}`);
  for (const { name, ratio, limit, isMet } of goals)
    console.log(`search: ${name}: ${ratio.toFixed(2)}, goal ${limit.toFixed(2)}: ${isMet ? "met" : "MISSED"}`);
}

if (options.build) console.log(json(await coldBuild(options.build, positionals[0])));
else {
  const folder = mkdtempSync(join(tmpdir(), "blendp-search-"));
  try {
    const result = await compared(folder);
    const goals = missed(result);
    if (options.json) console.log(JSON.stringify({ ...result, goals }, null, 2));
    else print(result, goals);
    process.exitCode = goals.every(({ isMet }) => isMet) ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

// The client as a process: one JSON object a line in, one a line out (see docs/specification.md, "Vectors").
//   {"id", "call", "input"}  ->  {"id", "output"} or {"id", "refused": reason} or {"id", "unsupported": true}
// A fault, which is none of these, is {"id", "error": message}.
import "fake-indexeddb/auto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { minified } from "../build.mjs";
import { bundle } from "../bundle.mjs";

async function bundled(entry) {
  const folder = mkdtempSync(join(tmpdir(), "blendp-responder-"));
  const outfile = join(folder, "replay.mjs");
  try {
    const [file] = await bundle({ entryPoints: [fileURLToPath(new URL(entry, import.meta.url))] });
    writeFileSync(outfile, await minified(file.text)); // as users get it
    return await import(pathToFileURL(outfile).href);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const { answer } = await bundled("replay.ts");
for await (const line of createInterface({ input: process.stdin })) {
  const { id, call, input } = JSON.parse(line);
  const result = await answer(call, input).catch((error) => ({ error: String(error?.stack ?? error) }));
  process.stdout.write(`${JSON.stringify({ id, ...result })}\n`);
}

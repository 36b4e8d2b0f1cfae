// That nothing is noted in a private window means something only if an extension could have noted it there.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Chromium } from "./chromium.ts";
import { EngineServer } from "./world.ts";

const folders: string[] = [];
let engine: EngineServer;

const newFolder = (): string => {
  folders.push(mkdtempSync(join(tmpdir(), "blendp-private-")));
  return folders.at(-1)!;
};

beforeAll(async () => {
  engine = await new EngineServer().live();
});
afterAll(async () => {
  await engine.die();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** An extension that marks every page, and says this about private windows. */
function marker(incognito: string): string {
  const folder = newFolder();
  const scripts = [{ matches: ["http://localhost/*"], js: ["mark.js"], run_at: "document_start" }];
  const manifest = { manifest_version: 3, name: "marker", version: "1", incognito, content_scripts: scripts };
  const files = {
    "manifest.json": JSON.stringify({ ...manifest, background: { service_worker: "background.js" } }),
    "background.js": "",
    "mark.js": "document.documentElement.dataset.marked = 'yes';",
    "popup.html": "<!doctype html><title>marker</title>",
  };
  for (const [name, contents] of Object.entries(files)) writeFileSync(join(folder, name), contents);
  return folder;
}

/** Whether the extension, let into private windows by the person, marks pages in one. */
async function marksPrivately(incognito: string): Promise<boolean> {
  const [extension, profile] = [marker(incognito), newFolder()];
  const first = await Chromium.launch(extension, profile);
  await first.settings("updateExtensionConfiguration", { extensionId: first.id, incognitoAccess: true }).catch(() => {});
  await first.context.close();
  const { context } = await Chromium.launch(extension, profile);
  const marks = async (page: Awaited<ReturnType<typeof context.newPage>>) => {
    await page.goto(`${engine.url}/search?q=secret`);
    return (await page.locator("html[data-marked=yes]").count()) === 1;
  };
  expect(await marks(await context.newPage())).toBe(true);
  const isMarked = await marks(await (await context.browser()!.newContext()).newPage());
  await context.close();
  return isMarked;
}

test("an extension that is let into private windows is there, and one that says not_allowed, as ours does, is not", async () => {
  expect([await marksPrivately("spanning"), await marksPrivately("not_allowed")]).toEqual([true, false]);
});

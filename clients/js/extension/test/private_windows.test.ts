// That nothing is noted in a private window means something only if an extension could have noted it there.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright";
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

/** An extension that marks every page with what it says about private windows. */
function marker(incognito: string): string {
  const folder = newFolder();
  const scripts = [{ matches: ["http://localhost/*"], js: ["mark.js"], run_at: "document_start" }];
  const manifest = { manifest_version: 3, name: "marker", version: "1", incognito, content_scripts: scripts };
  const files = {
    "manifest.json": JSON.stringify({ ...manifest, background: { service_worker: "background.js" } }),
    "background.js": "",
    "mark.js": `document.documentElement.classList.add("${incognito}");`,
    "popup.html": "<!doctype html><title>marker</title>",
  };
  for (const [name, contents] of Object.entries(files)) writeFileSync(join(folder, name), contents);
  return folder;
}

test("an extension that is let into private windows is there, and one that says not_allowed, as ours does, is not", async () => {
  const [extensions, profile] = [["spanning", "not_allowed"].map(marker).join(","), newFolder()];
  const first = await Chromium.launch(extensions, profile);
  const ids = (await first.settings("getExtensionsInfo")).filter(({ name }: any) => name === "marker").map(({ id }: any) => id);
  expect(ids.length).toBe(2);
  for (const extensionId of ids)
    await first.settings("updateExtensionConfiguration", { extensionId, incognitoAccess: true }).catch(() => {});
  await first.context.close();
  const { context } = await Chromium.launch(extensions, profile);
  const marks = async (page: Page) => {
    await page.goto(`${engine.url}/search?q=secret`);
    return (await page.locator("html").getAttribute("class"))?.split(" ").sort();
  };
  expect(await marks(await context.newPage())).toEqual(["not_allowed", "spanning"]);
  expect(await marks(await (await context.browser()!.newContext()).newPage())).toEqual(["spanning"]);
  await context.close();
});

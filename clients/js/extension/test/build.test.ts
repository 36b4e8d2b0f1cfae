// What is packed: what it may do, how large it is, and that everybody who builds it gets the same bytes.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
// @ts-expect-error a script without types
import { extensionFiles, packed } from "../build.mjs";
import { builtFiles } from "./built.ts";

const MAX_PACKED = 150_000;
const MAX_SCRIPT = 60_000;

const files = builtFiles();

const file = (name: string): string => String(files.find(([one]) => one === name)![1]);

test("nothing but what belongs there, and no bridge of the tests", () => {
  expect(files.map(([name]) => name)).toEqual([
    "LICENSE", "background.js", "content.js", "icon-128.png", "icon-16.png", "icon-32.png", "icon-48.png", "manifest.json", "page.html",
    "page.js", "popup.html", "popup.js", "style.css",
  ]); // prettier-ignore
  for (const [, contents] of files) expect(String(contents)).not.toContain("bridge");
});

test("it is small", () => {
  expect(packed(files).length).toBeLessThan(MAX_PACKED);
  for (const [name, contents] of files)
    if (name.endsWith(".js")) expect(gzipSync(contents, { level: 9 }).length).toBeLessThan(MAX_SCRIPT);
  expect(file("content.js").length).toBeLessThan(1000);
});

test("the archive is the same every time, and other programs read it", async () => {
  const archive = packed(files);
  expect(packed(await extensionFiles()).equals(archive)).toBe(true);
  const folder = mkdtempSync(join(tmpdir(), "blendp-zip-"));
  writeFileSync(join(folder, "x.zip"), archive);
  const script =
    "import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; print(sum(i.date_time == (1980, 1, 1, 0, 0, 0) for i in z.infolist()))";
  expect(execFileSync("python3", ["-c", script, join(folder, "x.zip")], { encoding: "utf8" }).trim()).toBe(
    String(files.length),
  );
  rmSync(folder, { recursive: true });
});

test("it asks for little at its install, and for no host", () => {
  const manifest = JSON.parse(file("manifest.json"));
  expect(manifest.permissions).toEqual([
    "storage",
    "unlimitedStorage",
    "alarms",
    "scripting",
    "declarativeNetRequestWithHostAccess",
  ]);
  expect(manifest).not.toHaveProperty("host_permissions");
  expect(manifest).not.toHaveProperty("content_scripts");
  expect(manifest).not.toHaveProperty("web_accessible_resources");
  expect(manifest.externally_connectable).toEqual({ ids: [] });
  expect(manifest.incognito).toBe("not_allowed");
  expect(manifest.content_security_policy.extension_pages).toMatch(
    /default-src 'none'.*require-trusted-types-for 'script'; trusted-types 'none'/,
  );
  for (const page of ["page.html", "popup.html"]) {
    expect(file(page)).toContain("connect-src 'none'");
    expect(file(page)).not.toMatch(/<script(?! type="module" src="\w+\.js")|style=|https?:/);
  }
});

test("no code makes markup of text, or code of text, or draws by Math.random", () => {
  for (const [name, contents] of files)
    if (name.endsWith(".js"))
      expect(String(contents)).not.toMatch(
        /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|Math\.random/,
      );
});

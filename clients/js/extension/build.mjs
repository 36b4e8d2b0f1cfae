// Make dist/, which Chromium and Firefox load as it is, and blendp-extension.zip, the same packed, byte for byte alike.
//   node extension/build.mjs
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { crc32, deflateRawSync, gzipSync } from "node:zlib";
import { bundle } from "../bundle.mjs";

const root = fileURLToPath(new URL(".", import.meta.url));
const { version, license } = JSON.parse(readFileSync(`${root}../package.json`, "utf8"));
const ICONS = [16, 32, 48, 128].map((size) => `icon-${size}.png`);

/** Modules and style, each in one file. */
async function bundled(entries, format) {
  const outputs = await bundle({
    absWorkingDir: root,
    entryPoints: entries.map((name) => `src/${name}`),
    outdir: "dist",
    format,
    minify: true,
    banner: { js: `/*! blendp ${version} ${license} */` },
  });
  return outputs.map(({ path, contents }) => [path.slice(`${root}dist/`.length), Buffer.from(contents)]);
}

/** Every file of the extension: its name and its bytes, sorted by name. */
export async function extensionFiles() {
  const files = Object.fromEntries([
    ...(await bundled(["background.ts", "popup.ts", "page.ts", "style.css"], "esm")),
    ...(await bundled(["content.ts"], "iife")),
  ]);
  for (const name of ["popup.html", "page.html"]) files[name] = readFileSync(`${root}src/${name}`);
  for (const name of ICONS) files[name] = readFileSync(root + name);
  files["LICENSE"] = readFileSync(`${root}../../../LICENSE`);
  const manifest = JSON.parse(readFileSync(`${root}manifest.json`, "utf8"));
  files["manifest.json"] = Buffer.from(`${JSON.stringify({ ...manifest, version }, null, 2)}\n`);
  return Object.entries(files).sort(([one], [other]) => (one < other ? -1 : 1));
}

/** A ZIP archive of these files, all of the first moment that ZIP can tell. */
export function packed(files) {
  const [locals, entries] = [[], []];
  let offset = 0;
  for (const [name, contents] of files) {
    const data = deflateRawSync(contents, { level: 9 });
    const title = Buffer.from(name);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0); // version needed
    common.writeUInt16LE(0x0800, 2); // names are UTF-8
    common.writeUInt16LE(8, 4); // deflated
    common.writeUInt16LE(0x0021, 8); // 1980-01-01
    common.writeUInt32LE(crc32(contents), 10);
    common.writeUInt32LE(data.length, 14);
    common.writeUInt32LE(contents.length, 18);
    common.writeUInt16LE(title.length, 22);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(offset, 10);
    const local = Buffer.concat([Buffer.from("PK\x03\x04"), common, title, data]);
    locals.push(local);
    entries.push(Buffer.concat([Buffer.from("PK\x01\x02\x14\0", "latin1"), common, tail, title]));
    offset += local.length;
  }
  const directory = Buffer.concat(entries);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, directory, end]);
}

/** Writes the files into a folder. */
export function unpack(files, folder) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [name, contents] of files) writeFileSync(`${folder}/${name}`, contents);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const files = await extensionFiles();
  unpack(files, `${root}dist`);
  const archive = packed(files);
  writeFileSync(`${root}blendp-extension.zip`, archive);
  for (const [name, contents] of files)
    if (name.endsWith(".js"))
      console.log(`extension: ${name}: ${contents.length} bytes, ${gzipSync(contents, { level: 9 }).length} gzipped`);
  console.log(`extension: packed: ${archive.length} bytes`);
}

// How files are joined into one that browsers load.
import { build } from "esbuild";

/** What esbuild makes of these entries, with every file's path and contents; nothing is written. */
export async function bundle(options) {
  const { outputFiles } = await build({
    bundle: true,
    format: "esm",
    target: "es2022",
    platform: "browser",
    charset: "utf8",
    legalComments: "none",
    write: false,
    logLevel: "warning",
    ...options,
  });
  return outputFiles;
}

// The extension in real browsers, which its tests start by themselves: one file after the other, as each fills the machine.
import { defineConfig } from "vitest/config";
import { Counts } from "../counts.js";

export default defineConfig({
  test: {
    name: "extension",
    root: import.meta.dirname,
    include: ["test/*.test.ts"],
    globalSetup: "test/built.ts",
    reporters: ["default", new Counts()],
    expect: { poll: { timeout: 20_000 } },
    fileParallelism: false,
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});

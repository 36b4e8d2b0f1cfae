// Tests in test/*.test.ts run in Node and, unchanged, inside real Chromium and real Firefox; those in test/node/ need Node.
import { playwright } from "@vitest/browser-playwright";
import { defineConfig } from "vitest/config";
import { SWITCHES } from "./chromium.js";
import { Counts } from "./counts.js";
import { firefox } from "./firefox.js";

const everywhere = ["test/*.test.ts"];
const chromiumPath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const firefoxPath = process.env.FIREFOX ?? "/usr/bin/firefox-esr";
const browser = { enabled: true, headless: true, screenshotFailures: false, connectTimeout: 120_000 };

export default defineConfig({
  server: { fs: { allow: [".", "../../vectors"] } },
  test: {
    reporters: ["default", new Counts()],
    testTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: { name: "node", include: [...everywhere, "test/node/*.test.ts"], setupFiles: ["fake-indexeddb/auto"] },
      },
      {
        extends: true,
        cacheDir: "node_modules/.vite/chromium",
        optimizeDeps: { include: ["fast-check"] },
        test: {
          name: "chromium",
          include: everywhere,
          browser: {
            ...browser,
            provider: playwright({ launchOptions: { executablePath: chromiumPath, args: SWITCHES } }),
            instances: [{ browser: "chromium" }],
          },
        },
      },
      {
        extends: true,
        cacheDir: "node_modules/.vite/firefox",
        optimizeDeps: { include: ["fast-check"] },
        test: {
          name: "firefox",
          include: everywhere,
          browser: { ...browser, provider: firefox(firefoxPath), instances: [{ browser: "firefox" }] },
        },
      },
    ],
  },
});

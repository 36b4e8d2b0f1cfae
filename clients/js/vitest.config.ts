// Tests in test/*.test.ts run in Node and, unchanged, inside real Chromium and real Firefox; those in test/node/ need Node.
// The files of one engine share a process or a page: to load everything anew for each would cost more than many tests do.
import { defineConfig } from "vitest/config";
import { Counts } from "./counts.js";
import { chromium, firefox } from "./puppeteer.js";

const everywhere = ["test/*.test.ts"];
const providers = {
  chromium: chromium(process.env.CHROMIUM ?? "/usr/bin/chromium"),
  firefox: firefox(process.env.FIREFOX ?? "/usr/bin/firefox-esr"),
};

export default defineConfig({
  server: { fs: { allow: [".", "../../vectors"] } },
  test: {
    reporters: ["default", new Counts()],
    testTimeout: 60_000,
    isolate: false,
    projects: [
      {
        extends: true,
        test: { name: "node", include: [...everywhere, "test/node/*.test.ts"], setupFiles: ["fake-indexeddb/auto"] },
      },
      {
        extends: true,
        cacheDir: "node_modules/.vite/browsers",
        optimizeDeps: { include: ["fast-check"] },
        test: {
          name: "browsers",
          include: everywhere,
          browser: {
            enabled: true,
            headless: true,
            screenshotFailures: false,
            connectTimeout: 120_000,
            provider: providers.chromium,
            instances: [
              { browser: "chromium", name: "chromium" },
              { browser: "firefox", name: "firefox", provider: providers.firefox },
            ],
          },
        },
      },
    ],
  },
});

// Browsers for vitest: Debian's own Chromium and Firefox, both driven by puppeteer-core (Playwright brings no Firefox).
import { defineBrowserProvider } from "@vitest/browser";
import { type Browser, launch, type LaunchOptions, type Page } from "puppeteer-core";
import { SWITCHES } from "./chromium.js";

/** A page that asks Firefox for lasting storage gets it: nobody is there to answer a dialog. */
const PREFERENCES = { "permissions.default.persistent-storage": 1 };

function puppeteer(name: "chromium" | "firefox", options: LaunchOptions) {
  return defineBrowserProvider({
    name: "puppeteer",
    supportedBrowser: [name],
    providerFactory() {
      const pages = new Map<string, Page>();
      let browser: Promise<Browser> | undefined;
      return {
        name: "puppeteer",
        supportsParallelism: false,
        getCommandsContext: (session) => ({ page: pages.get(session) }),
        async openPage(session, url) {
          browser ??= launch({ ...options, headless: true });
          await pages.get(session)?.close();
          const context = await (await browser).createBrowserContext();
          const page = await context.newPage();
          pages.set(session, page);
          await page.goto(url, { timeout: 0, waitUntil: "domcontentloaded" });
        },
        async close() {
          await (await browser)?.close();
        },
      };
    },
  });
}

export const chromium = (executablePath: string) =>
  puppeteer("chromium", { browser: "chrome", executablePath, args: SWITCHES });

export const firefox = (executablePath: string) =>
  puppeteer("firefox", { browser: "firefox", executablePath, extraPrefsFirefox: PREFERENCES });

// Firefox for vitest: Debian's own, driven by puppeteer-core over WebDriver BiDi (Playwright brings none).
import { defineBrowserProvider } from "@vitest/browser";
import { type Browser, launch, type Page } from "puppeteer-core";

export function firefox(executablePath: string) {
  return defineBrowserProvider({
    name: "puppeteer-firefox",
    supportedBrowser: ["firefox"],
    providerFactory() {
      const pages = new Map<string, Page>();
      let browser: Promise<Browser> | undefined;
      return {
        name: "puppeteer-firefox",
        supportsParallelism: false,
        getCommandsContext: (session) => ({ page: pages.get(session) }),
        async openPage(session, url) {
          browser ??= launch({ browser: "firefox", executablePath, headless: true });
          await pages.get(session)?.close();
          const page = await (await browser).newPage();
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

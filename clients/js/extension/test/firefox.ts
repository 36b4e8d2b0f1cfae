// Firefox with the extension and the bridge.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, launch, type Page } from "puppeteer-core";
// @ts-expect-error a script without types
import { unpack } from "../build.mjs";
import { bridged } from "./bridge.ts";
import { builtFiles } from "./built.ts";
import { type Ask, answered } from "./chromium.ts";

export class Firefox {
  private number = 0;

  private constructor(
    readonly browser: Browser,
    private readonly desk: Page,
    private readonly folder: string,
  ) {}

  /** `site` is any server whose page /bridge the bridge may be put into. */
  static async launch(site: string): Promise<Firefox> {
    const folder = mkdtempSync(join(tmpdir(), "blendp-firefox-"));
    unpack(bridged(builtFiles(), ["http://127.0.0.1/*", "http://localhost/*"]), folder);
    const browser = await launch({
      browser: "firefox",
      executablePath: process.env["FIREFOX"] ?? "/usr/bin/firefox-esr",
      headless: true,
    });
    await browser.installExtension(folder);
    const desk = await browser.newPage();
    await desk.goto(`${site}/bridge`);
    const firefox = new Firefox(browser, desk, folder);
    await desk.evaluate(async () => {
      const isThere = () =>
        document.querySelector("iframe") &&
        new Promise<boolean>((resolve) => {
          addEventListener("message", () => resolve(true), { once: true });
          frames[0]!.postMessage({ number: 0, path: "runtime.getManifest", values: [] }, "*");
          setTimeout(resolve, 200, false);
        });
      for (let i = 0; i < 100 && !(await isThere()); i++) await new Promise((resolve) => setTimeout(resolve, 50));
    });
    return firefox;
  }

  private async exchange(message: object): Promise<any> {
    const answer: any = await this.desk.evaluate(
      (message: any) =>
        new Promise((resolve) => {
          const listener = ({ data }: MessageEvent) => {
            if (data.number !== message.number) return;
            removeEventListener("message", listener);
            resolve(data);
          };
          addEventListener("message", listener);
          frames[0]!.postMessage(message, "*");
        }),
      { number: ++this.number, ...message },
    );
    if (answer.failure) throw new Error(answer.failure);
    return answer.value;
  }

  call = (path: string, ...values: unknown[]): Promise<any> => this.exchange({ path, values });

  readonly ask: Ask = async (act, ...values) => answered(await this.exchange({ message: { act, values } }));

  newPage = (): Promise<Page> => this.browser.newPage();

  async close(): Promise<void> {
    await this.browser.close();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

// Chromium with the extension, as a person would use it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BrowserContext, chromium, type Page } from "playwright";
import { SWITCHES } from "../../chromium.ts";
import { type Acts } from "../src/acts.ts";
import { DIST } from "./built.ts";

export type Ask = <Name extends keyof Acts>(
  act: Name,
  ...values: Parameters<Acts[Name]>
) => Promise<Awaited<ReturnType<Acts[Name]>>>;

/** What an act answers, or the sentence for which it is refused. */
export function answered(reply: any): any {
  if (reply?.error) throw new Error(`${reply.error.reason}: ${reply.error.sentence}`);
  return reply?.value;
}

export class Chromium {
  private constructor(
    readonly context: BrowserContext,
    readonly id: string,
    /** A page of the extension that asks on behalf of the tests. */
    readonly desk: Page,
    private readonly folder: string,
  ) {}

  /** With this extension, or these with a comma between, on this profile; with ours, on a new one. */
  static async launch(extension = DIST, folder = mkdtempSync(join(tmpdir(), "blendp-chromium-"))): Promise<Chromium> {
    const context = await chromium.launchPersistentContext(folder, {
      executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
      headless: true,
      viewport: { width: 1100, height: 900 },
      args: [...SWITCHES, `--disable-extensions-except=${extension}`, `--load-extension=${extension}`],
    });
    context.setDefaultTimeout(20_000);
    const worker = context.serviceWorkers()[0] ?? (await context.waitForEvent("serviceworker"));
    const id = new URL(worker.url()).host;
    const desk = await context.newPage();
    await desk.goto(`chrome-extension://${id}/popup.html`);
    return new Chromium(context, id, desk, folder);
  }

  url(path: string): string {
    return `chrome-extension://${this.id}/${path}`;
  }

  readonly ask: Ask = async (act, ...values) =>
    answered(
      await this.desk.evaluate((message) => (globalThis as any).chrome.runtime.sendMessage(message), {
        act,
        values: values as unknown[],
      }),
    );

  /** Calls a function of the browser's interface, as the extension could. */
  call(path: string, ...values: unknown[]): Promise<any> {
    return this.desk.evaluate(
      ([path, values]) => {
        const names = (path as string).split(".");
        const method = names.pop()!;
        const root = (path as string).startsWith("indexedDB") ? globalThis : (globalThis as any).chrome;
        const owner = names.reduce((object, name) => object[name], root);
        return owner[method](...(values as unknown[]));
      },
      [path, values] as const,
    );
  }

  newPage = (): Promise<Page> => this.context.newPage();

  /** What only the browser's own settings can do: the dialog cannot be answered without a screen. */
  async settings(method: string, ...values: unknown[]): Promise<any> {
    const page = await this.context.newPage();
    // any file of these settings may do what they may, and this one draws no list
    await page.goto("chrome://extensions/strings.m.js");
    const answer = await page.evaluate(
      ([method, values]) => (globalThis as any).chrome.developerPrivate[method as string](...(values as unknown[])),
      [method, values] as const,
    );
    await page.close();
    return answer;
  }

  /** Lets the next request for this host be granted without a dialog. */
  prepare = (host: string): Promise<void> => this.settings("addHostPermission", this.id, host);

  async permit(host: string): Promise<void> {
    await this.prepare(host);
    if (!(await this.call("permissions.request", { origins: [host] }))) throw new Error(`${host} was refused.`);
  }

  forbid = (host: string): Promise<void> => this.settings("removeHostPermission", this.id, host);

  /** Ends the background worker, in whatever it does. */
  async killWorker(): Promise<void> {
    const session = await this.context.newCDPSession(this.desk);
    await session.send("ServiceWorker.enable");
    await session.send("ServiceWorker.stopAllWorkers");
    await session.detach();
  }

  async close(): Promise<void> {
    await this.context.close();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

// The extension's pages as people use them, in Chromium: by mouse and keyboard, on a phone, in light and dark.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { APART, Float } from "../../test/device_fake.ts";
import { Chromium } from "./chromium.ts";
import { RealCollector } from "./real_collector.ts";
import { CollectorServer, EngineServer } from "./world.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const SECTIONS = ["search", "kept", "campaigns", "sent", "ledger", "evidence", "settings", "data"];

const real = new RealCollector();
let browser: Chromium, collector: CollectorServer, engine: EngineServer, page: Page;
const complaints: string[] = [];

beforeAll(async () => {
  collector = await new CollectorServer().live();
  await collector.add("october", { title: "Popular searches in October", epsilon: new Float("2.0") });
  await collector.add("november", { title: "Popular searches in November" }, "reporting", APART);
  engine = await new EngineServer().live();
  browser = await Chromium.launch();
  page = await browser.newPage();
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
});
afterAll(async () => {
  await browser?.close();
  await collector.die();
  await engine.die();
  await real.end();
});

const open = async (section: string, path = `page.html#${section}`) => {
  await page.goto("about:blank");
  await page.goto(browser.url(path));
  await page.locator(path.startsWith("page") ? "main h2" : "main h1").waitFor();
};
/** Makes the next visit to the collector due. */
const visitNow = async () => {
  const { state } = await browser.call("storage.local.get", "state");
  await browser.call("storage.local.set", { state: { ...state, visit: { ...state.visit, due: 0 } } });
  await browser.ask("send");
};
const word = () => page.locator("#state");
const click = (label: string | RegExp) => page.getByRole("button", { name: label, exact: true }).first().click();
const says = (text: string | RegExp) => page.getByText(text).first().waitFor();

/** What axe finds, of any level, in light and dark on a phone; and nothing may need scrolling sideways. */
async function requireAccessible(name: string): Promise<void> {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.evaluate(AXE);
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    const violations = await page.evaluate(async (isLight) => {
      const colours = ["color-contrast", "color-contrast-enhanced"];
      const strict = Object.fromEntries(
        [...colours, "target-size", "identical-links-same-purpose"].map((rule) => [rule, { enabled: true }]),
      );
      // in the dark only colours are others
      const { violations } = await (globalThis as any).axe.run(document, isLight ? { rules: strict } : { runOnly: colours });
      return violations.map(
        ({ id, nodes }: any) =>
          `${id}: ${nodes
            .map(({ html }: any) => html)
            .join(" ")
            .slice(0, 300)}`,
      );
    }, colorScheme === "light");
    expect([name, colorScheme, violations]).toEqual([name, colorScheme, []]);
    if (process.env["SHOTS"])
      await page.screenshot({ path: `${process.env["SHOTS"]}/extension-${name}-phone-${colorScheme}.png`, fullPage: true });
  }
  expect([name, await page.evaluate(() => document.documentElement.scrollWidth)]).toEqual([name, 390]);
  await page.setViewportSize({ width: 1100, height: 800 });
  if (process.env["SHOTS"])
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await page.screenshot({ path: `${process.env["SHOTS"]}/extension-${name}-desk-${colorScheme}.png`, fullPage: true });
    }
}

/** A picture for the docs, if pictures are wanted. */
async function shot(name: string, width: number, height: number, colorScheme: "light" | "dark"): Promise<void> {
  if (!process.env["SHOTS"]) return;
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme });
  await page.screenshot({ path: `${process.env["SHOTS"]}/extension-docs-${name}.png` });
}

describe("before consent", () => {
  test("every part says that there is nothing, and asks nobody", async () => {
    const asked: string[] = [];
    browser.context.on("request", (request) => asked.push(request.url()));
    for (const section of SECTIONS) {
      await open(section);
      await expect.poll(() => word().textContent()).toBe("off");
    }
    await open("", "popup.html");
    await requireAccessible("popup-new");
    expect(asked.filter((url) => !url.startsWith("chrome-extension:") && url !== "about:blank")).toEqual([]);
    expect(collector.seen).toEqual([]);
    await open("kept");
    await requireAccessible("kept-none");
  });

  test("the popup sends those who want more to the page", async () => {
    const popup = await browser.newPage();
    await popup.goto(browser.url("popup.html"));
    const [opened] = await Promise.all([
      browser.context.waitForEvent("page"),
      popup.waitForEvent("close"),
      popup.getByText("Local").click(),
    ]);
    await opened.getByRole("heading", { name: "Taking part" }).waitFor();
    await opened.close();
    await open("", "popup.html");
    await expect.poll(() => page.getByLabel("Off").isChecked()).toBe(true);
  });

  test("no page can talk to the network, nor make markup of text", async () => {
    await open("settings");
    const outcome = await page.evaluate(async (url) => {
      const attempt = async (act: () => unknown) => {
        try {
          await act();
          return "done";
        } catch (error) {
          return (error as Error).name;
        }
      };
      return [await attempt(() => fetch(url)), await attempt(() => (document.body.innerHTML = "<b>x</b>"))];
    }, `${collector.url}/v1/keys`);
    expect(outcome).toEqual(["TypeError", "TypeError"]);
    expect(collector.seen).toEqual([]);
    complaints.length = 0;
  });

  test("nobody but our own pages is heard", async () => {
    const stranger = await browser.newPage();
    await stranger.goto(`${engine.url}/elsewhere`);
    const heard = await stranger.evaluate(
      (id) => typeof (globalThis as any).chrome?.runtime?.sendMessage + id.length,
      browser.id,
    );
    expect(heard).toBe("undefined32");
    const blocked = await stranger.evaluate(
      (url) =>
        new Promise((resolve) => {
          const frame = document.createElement("iframe");
          frame.src = url;
          frame.onload = () => resolve(frame.contentWindow!.length);
          document.body.append(frame);
        }),
      browser.url("page.html"),
    );
    expect(blocked).toBe(0);
    await stranger.close();
  });
});

describe("saying yes", () => {
  test("what cannot be a collector is refused in one sentence", async () => {
    await open("settings");
    for (const [url, key, sentence] of [
      ["ftp://x", collector.key, /no address of a collector/],
      ["https://collector.example?x", collector.key, /no address of a collector|not allowed/],
    ] as const) {
      await page.getByLabel("Address of the collector").fill(url);
      await page.getByLabel("Its public key").fill(key);
      await page.evaluate(() => ((globalThis as any).chrome.permissions.request = async () => true));
      await click("Allow and look");
      await page.locator("#alert", { hasText: sentence }).waitFor();
    }
  });

  test("a permission that is refused ends there", async () => {
    await open("settings");
    await page.evaluate(() => ((globalThis as any).chrome.permissions.request = async () => false));
    await page.getByLabel("Address of the collector").fill(collector.url);
    await page.getByLabel("Its public key").fill(collector.key);
    await click("Allow and look");
    await page.locator("#alert", { hasText: "was not allowed" }).waitFor();
    await click(/^Switch on: Google$/);
    await page.locator("#alert", { hasText: "it stays off" }).waitFor();
    await page.getByLabel("Local", { exact: true }).check();
    await click("This is what I want");
    await page.locator("#alert", { hasText: "Look at a collector first" }).waitFor();
    expect(collector.seen).toEqual([]);
    expect(await browser.call("storage.local.get", null)).toEqual({});
  });

  test("terms, purpose and odds come before yes", async () => {
    await browser.prepare("http://127.0.0.1/*");
    await open("settings");
    await page.getByLabel("Address of the collector").fill(collector.url);
    await page.getByLabel("Its public key").fill("0".repeat(63) + "3");
    await click("Allow and look");
    await says(/No key that you trust signed/);
    await page.getByLabel("Its public key").fill(collector.key);
    await click("Allow and look");
    await page.getByRole("article").nth(1).waitFor();
    const offer = page.getByRole("article").filter({ hasText: "November" });
    for (const text of [
      "Example Search",
      "A list of popular searches",
      "privacy@example.org",
      "ε 4",
      "it never proves anything",
      "about 36 of 100",
    ])
      await offer.getByText(text).first().waitFor();
    await requireAccessible("offer");
    expect(collector.writes).toEqual([]);
    await page.getByLabel("Local", { exact: true }).check();
    await click("This is what I want");
    await expect.poll(() => word().textContent()).toBe("on");
    await says("Thank you. You can change this at any time.");
  });

  test("an engine is edited as data; a bad one is refused in one sentence", async () => {
    await browser.prepare("http://localhost/*");
    await page.getByText("Add an engine").click();
    const form = page
      .locator("form")
      .filter({ has: page.getByLabel("Name") })
      .last();
    const fill = async (values: Record<string, string>) => {
      for (const [label, value] of Object.entries(values)) await form.getByLabel(label, { exact: true }).fill(value);
      await form.getByRole("button", { name: "Save" }).click();
    };
    await fill({ Name: "Fake", Pages: "https://*/*", "Links that are results": "a.result" });
    await page.locator("#alert", { hasText: "hosts = https://*/*: it must be of the form" }).waitFor();
    await fill({ Pages: engine.data.hosts[0]!, "Links that are results": "a[" });
    await page.locator("#alert", { hasText: "it must be a CSS selector" }).waitFor();
    await fill({ "Links that are results": engine.data.results, "Parameter that holds a result's address": "to" });
    await says("Fake is saved.");
    await click(/^Switch on: Fake$/);
    await says("Fake is on.");
    await requireAccessible("settings");
  });
});

describe("seeing everything", () => {
  test("records are listed, and each can be deleted", async () => {
    const web = await browser.newPage();
    for (const [query, link] of [
      ["weather <b>paris</b>", "#plain"],
      ["query 3", "#over"],
    ] as const) {
      await web.goto(`${engine.url}/search?stay=1&q=${encodeURIComponent(query)}`);
      await web.click(link);
    }
    await expect.poll(async () => (await browser.ask("records")).length).toBe(2);
    await web.close();
    await open("kept");
    await says("weather <b>paris</b>");
    await requireAccessible("kept");
    await click(/^Delete: weather/);
    await says("Deleted: weather <b>paris</b>");
    await says("1 record.");
  });

  test("nothing is noted in a private window", async () => {
    const window = await browser.context.browser()!.newContext();
    const web = await window.newPage();
    await web.goto(`${engine.url}/search?stay=1&q=secret`);
    await web.click("#plain");
    await window.close();
    const normal = await browser.newPage();
    await normal.goto(`${engine.url}/search?stay=1&q=open`);
    await normal.click("#plain");
    await expect.poll(async () => (await browser.ask("records")).map(({ query }) => query)).toEqual(["open", "query 3"]);
    await normal.close();
  });

  test("a page that took over its content script learns and changes nothing", async () => {
    const web = await browser.newPage();
    await web.goto(`${engine.url}/search?stay=1&q=taken`);
    const [tab] = await browser.call("tabs.query", { active: true, currentWindow: true });
    const outcome = await browser.desk.evaluate(async (tabId) => {
      const { chrome } = globalThis as any;
      const attempts = async () => {
        const send = (message: unknown) => chrome.runtime.sendMessage(message);
        const forged = { observed: "choice", page: "https://elsewhere.example/search?q=forged", link: "https://a.example/" };
        await send(forged);
        return [
          (await send({ act: "records", values: [] })).error.reason,
          (await send({ act: "constructor", values: [] })).error.reason,
          await chrome.storage.local.get(null).then(
            () => "read",
            () => "refused",
          ),
        ];
      };
      const [{ result }] = await chrome.scripting.executeScript({ target: { tabId }, func: attempts });
      return result;
    }, tab.id);
    expect(outcome).toEqual(["sender", "sender", "refused"]);
    expect((await browser.ask("records")).map(({ query }) => query)).toEqual(["open", "query 3"]);
    await expect(browser.ask("constructor" as "records")).rejects.toThrow("act");
    await web.close();
  });

  test("a rehearsal shows a report with its picture, and says that nothing was spent", async () => {
    const seen = collector.seen.length;
    await open("campaigns");
    await click("Rehearse");
    await says("Nothing was sent, written down or spent.");
    await says("Of 2 kept records 2 can be used here");
    expect(await page.locator(".dots svg[role=img]").count()).toBeGreaterThanOrEqual(2);
    await requireAccessible("campaigns");
    expect(collector.seen.length).toBe(seen);
    await page.getByRole("article").filter({ hasText: "October" }).getByRole("button", { name: "Skip this campaign" }).click();
    await says("You skip this campaign.");
  });

  test("what was sent is there byte for byte, with its fate, and explained", async () => {
    await page.getByRole("article").filter({ hasText: "November" }).getByRole("button", { name: "Take part now" }).click();
    await says(/A report was drawn on/);
    await open("sent");
    const [write] = collector.writes;
    await expect.poll(() => page.locator("pre").first().textContent()).toBe(write!.body);
    await says("The collector took it (accepted).");
    await says(`${write!.body.length} bytes`);
    await click("Explain this report");
    const dots = page.locator(".dots svg");
    await dots.first().waitFor();
    const { groups } = await browser.ask("explain", "november");
    await says(/of the list\. It may be yours or one drawn at random|Nothing of the list: it says that what you searched for is not/);
    for (const [i, { count }] of groups.entries())
      expect(await dots.nth(i).getAttribute("aria-label")).toBe(`100 dots, ${Math.round(count)} of them filled`);
    await page.getByText("The exact probabilities").click();
    await says(/sends exactly this report with a probability of/);
    await requireAccessible("sent");
  });

  test("records as they are are sent with a token alone", async () => {
    await collector.add("asking", { epsilon: new Float("1.0"), title: "Who draws up the list" }, "opt-in");
    await visitNow();
    await open("", "popup.html");
    await page.getByLabel("Opt-in").check();
    await expect.poll(async () => (await browser.ask("overview")).consent).toBe("opt-in");
    await open("campaigns");
    await page.getByLabel("One-time token").fill("blendp-in-1");
    await click("Send my records");
    await page.locator("#alert", { hasText: "This is no token" }).waitFor();
    await requireAccessible("campaigns-opt-in");
    await page.getByLabel("One-time token").fill(`blendp-in-${"7".padStart(64, "0")}`);
    await click("Send my records");
    await says(/You sent records as they are on/);
    expect(collector.fake("asking").optIn.size).toBe(1);
    await open("", "popup.html");
    await page.getByLabel("Local").check();
    await expect.poll(() => collector.fake("asking").optIn.size).toBe(0);
  });

  test("the ledger shows year and life, and lowers a cap", async () => {
    await open("ledger");
    await says("ε 5 of 12 spent, 7 left");
    await says("ε 5 of 48 spent, 43 left");
    await page.getByLabel("Budget of a year (ε)").fill("6");
    await page.getByRole("button", { name: "Lower it" }).first().click();
    await says("ε 5 of 6 spent, 1 left");
    await requireAccessible("ledger");
  });

  test("the dial and the pause are in the popup too", async () => {
    await open("", "popup.html");
    await click("1 hour");
    await expect.poll(() => word().textContent()).toBe("paused");
    expect(await browser.call("action.getBadgeText", {})).toBe("hold");
    await click("Go on");
    await expect.poll(() => word().textContent()).toBe("on");
    expect(await browser.call("action.getBadgeText", {})).toBe("on");
    await requireAccessible("popup");
    await page.getByLabel("Off").check();
    await says("Off deletes the kept records");
    await requireAccessible("popup-off");
    await click("Not now");
    await expect.poll(() => page.getByLabel("Local").isChecked()).toBe(true);
    expect((await browser.ask("records")).length).toBe(2);
  });
});

describe("search, with the collector dead", () => {
  test("in the page, by keyboard alone", async () => {
    await collector.release("october");
    await visitNow();
    await collector.die();
    await open("search");
    await page.getByLabel("Search what is popular").fill("qury 11");
    await page.getByRole("link", { name: /query 11/ }).waitFor();
    await requireAccessible("search");
    await page.getByLabel("Search what is popular").fill("query 3");
    await page.keyboard.press("ArrowDown");
    expect(await page.evaluate(() => document.activeElement!.textContent)).toContain("query 3");
  });

  test("in the popup", async () => {
    await open("", "popup.html");
    await page.getByLabel("Search what is popular").fill("query 1");
    await says(/± 0.10 %/);
    await requireAccessible("popup-search");
  });

  test("in the address bar, escaped as the browser reads it", async () => {
    const [worker] = browser.context.serviceWorkers();
    const suggestions: any = await worker!.evaluate(
      () => new Promise((resolve) => (globalThis as any).chrome.omnibox.onInputChanged.dispatch("query 3", resolve)),
    );
    expect(suggestions[0].content).toMatch(/^http:\/\/site-0\.org\/?$/);
    expect(suggestions[0].description).toContain("query 3 – http:");
    expect(suggestions.length).toBeGreaterThan(1);
    const opened = browser.context.waitForEvent("page");
    await worker!.evaluate(() =>
      (globalThis as any).chrome.omnibox.onInputEntered.dispatch("nothing like it <>", "newForegroundTab"),
    );
    const tab = await opened;
    await expect.poll(() => tab.getByLabel("Search what is popular").inputValue()).toBe("nothing like it <>");
    await tab.getByText("Nothing found. The nearest:").waitFor();
    await tab.close();
  });
});

describe("every part", () => {
  test("is reached by the keyboard, shows where the focus is, and keeps still", async () => {
    await open("settings");
    const order: string[] = [];
    for (let i = 0; i < 9; i++) {
      await page.keyboard.press("Tab");
      order.push(
        await page.evaluate(() => {
          const { textContent } = document.activeElement!;
          return `${textContent} ${getComputedStyle(document.activeElement!).outlineStyle}`;
        }),
      );
    }
    expect(order).toEqual([
      "To the content solid", "Search solid", "Kept solid", "Would be sent solid", "Sent solid", "Ledger solid", "Evidence solid",
      "Taking part solid", "Export and leave solid",
    ]); // prettier-ignore
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Export and leave" }).waitFor();
    await expect.poll(() => page.evaluate(() => document.activeElement!.textContent)).toBe("Export and leave");
    await page.emulateMedia({ reducedMotion: "reduce" });
    expect(await page.evaluate(() => document.getAnimations().length)).toBe(0);
    await open("evidence");
    await requireAccessible("evidence-none");
  });
});

describe("leaving", () => {
  test("evidence is shown with what differs", async () => {
    await collector.live();
    const chosen = { url: collector.url, key: collector.key, campaign: null };
    await collector.add("twofold", { epsilon: new Float("1.0") });
    await browser.ask("look", chosen);
    await collector.fake("twofold").changeManifest({ opt_in_people: 300 });
    await expect(browser.ask("takePart", "twofold")).rejects.toThrow("equivocation");
    await open("evidence");
    await says("opt_in_people: 200 and 300");
    await requireAccessible("evidence");
    await open("", "popup.html");
    await expect.poll(() => word().textContent()).toBe("stopped");
    await requireAccessible("popup-stopped");
  });

  test("the export is a file that a person can read", async () => {
    await open("data");
    await requireAccessible("data");
    const [file] = await Promise.all([page.waitForEvent("download"), click("Export as JSON")]);
    const text = readFileSync(await file.path(), "utf8");
    expect(JSON.parse(text)).toMatchObject({
      format: "blendp/extension-export/1",
      consent: "local",
      records: [{ query: "query 3" }, { query: "open" }],
    });
    expect(text).toContain("\n  ");
  });

  test("shows what waits, goes on by itself, and wipes once all is settled", async () => {
    let hangUp = () => {};
    const isOver = new Promise<void>((resolve) => (hangUp = resolve));
    collector.before = async ({ method }) => {
      if (method !== "POST") return;
      await isOver;
      throw new Error("the connection breaks");
    };
    await click("Leave");
    await says(/^The collectors are being asked/);
    expect(await page.getByRole("button", { name: "Leave anyway" }).count()).toBe(1);
    hangUp();
    await says(/^1 deletion request did not arrive yet/);
    await requireAccessible("leaving");
    const again = () => page.getByRole("button", { name: "Try again" }).click({ timeout: 2000 });
    collector.before = () => {};
    await expect
      .poll(async () => (await again().catch(() => {}), page.getByText("Everything is settled and wiped.").count()), {
        timeout: 40_000,
        interval: 500,
      })
      .toBe(1);
    await says("november: deleted");
    expect(await page.getByRole("button", { name: "Remove the extension" }).count()).toBe(1);
    await requireAccessible("left");
    expect(collector.fake("november").reports.size).toBe(0);
    expect(await browser.call("storage.local.get", null)).toEqual({});
    expect((await browser.call("permissions.getAll")).origins).toEqual([]);
  });
});

describe("with a real collector", () => {
  test("consent, list, report, ledger, release, and search without a network", async () => {
    const { url, key, campaign } = await real.ready;
    await browser.prepare("http://127.0.0.1/*");
    await browser.prepare("http://localhost/*");
    await open("settings");
    await page.getByLabel("Address of the collector").fill(url);
    await page.getByLabel("Its public key").fill(key);
    await click("Allow and look");
    await says("A search box on our terminals that works offline");
    await page.getByLabel("Local", { exact: true }).check();
    await click("This is what I want");
    await expect.poll(() => word().textContent()).toBe("on");
    await browser.call("permissions.request", { origins: engine.data.hosts });
    await browser.ask("setEngines", [{ ...engine.data, on: true } as typeof engine.data]);
    const web = await browser.newPage();
    await web.goto(`${engine.url}/search?stay=1&q=weather`);
    await web.click("#plain");
    await expect.poll(async () => (await browser.ask("records")).length).toBe(1);
    await web.close();
    await open("campaigns");
    await click("Take part now");
    await says(/A report was drawn on/);
    await open("sent");
    await says("The collector took it (accepted).");
    await click("Explain this report");
    await page.locator(".dots svg").first().waitFor();
    await shot("sent", 900, 1000, "light");
    await open("ledger");
    await says("ε 4 of 12 spent, 8 left");
    const { others } = await real.say("release");
    const { payload } = (await (await fetch(`${url}/v1/campaigns/${campaign}/release`)).json()) as { payload: string };
    expect(JSON.stringify(JSON.parse(atob(payload)).card)).toContain(String(others + 1));
    await visitNow();
    await real.say("stop");
    await expect(fetch(url)).rejects.toThrow();
    await open("search");
    await page.getByLabel("Search what is popular").fill("wether");
    await page
      .getByRole("link", { name: /weather/ })
      .first()
      .waitFor();
    await says(/± .* %/);
    await page.getByLabel("Search what is popular").fill("bold");
    await page.getByRole("button", { name: "<b>bold</b>" }).waitFor();
    await open("", "popup.html");
    await page.getByLabel("Search what is popular").fill("wea");
    await page
      .getByRole("link", { name: /weather/ })
      .first()
      .waitFor();
    await shot("popup", 384, 600, "light");
  });

  test("no page ever complained", () => {
    expect(complaints.filter((line) => !line.includes("net::ERR_"))).toEqual([]);
  });
});

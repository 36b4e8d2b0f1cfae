// What the extension does, step by step, in Chromium and, unchanged, in Firefox: from nothing to leaving.
import { utf8 } from "../../src/bytes.ts";
import { Float } from "../../test/device_fake.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Ask, Chromium } from "./chromium.ts";
import { Firefox } from "./firefox.ts";
import { CollectorServer, EngineServer, type Seen } from "./world.ts";

/** What both drivers' pages can do. */
interface Tab {
  goto(url: string): Promise<unknown>;
  click(selector: string, options?: { button: "middle" }): Promise<unknown>;
  focus(selector: string): Promise<unknown>;
  waitForSelector(selector: string): Promise<unknown>;
  keyboard: { press(key: "Enter"): Promise<unknown> };
  bringToFront(): Promise<unknown>;
  close(): Promise<unknown>;
}

interface Driver {
  ask: Ask;
  call(path: string, ...values: unknown[]): Promise<any>;
  newPage(): Promise<Tab>;
  close(): Promise<void>;
}

const drivers: Record<string, (collector: CollectorServer) => Promise<Driver>> = {
  Chromium: () => Chromium.launch(),
  Firefox: (collector) => Firefox.launch(collector.url),
};

/** A campaign that costs so little that there is room for many. */
const CHEAP = { epsilon: new Float("1.0") };

/** What the client in Python sends with every request, and with a GET. */
const PYTHON = ["accept", "accept-encoding", "connection", "host", "user-agent"];
const FRESH = { "cache-control": "no-cache", pragma: "no-cache" };

function requirePlain({ method, headers, body }: Seen): void {
  const allowed = [
    ...PYTHON,
    ...(method === "GET" ? Object.keys(FRESH) : []),
    ...(body ? ["content-length", "content-type"] : []),
    ...(method === "DELETE" ? ["authorization", "content-length"] : []),
    ...(headers["content-type"]?.includes("opt-in") ? ["authorization"] : []),
  ];
  expect(Object.keys(headers).filter((name) => !allowed.includes(name))).toEqual([]);
  expect(headers).toMatchObject({ "user-agent": "blendp", accept: "*/*", "accept-encoding": "identity" });
  if (method === "GET") expect(headers).toMatchObject(FRESH);
}

describe.each(Object.keys(drivers))("%s", (name) => {
  let browser: Driver, collector: CollectorServer, engine: EngineServer, tab: Tab;
  const chosen = () => ({ url: collector.url, key: collector.key, campaign: null });
  const search = (text: string, more = "") => `${engine.url}/search?q=${encodeURIComponent(text)}${more}`;
  const records = async () =>
    (await browser.ask("records")).map(({ query, url }) => [query, url.slice(engine.target.length + 1)]);
  const choices = async () => (await records()).map(([, target]) => target);
  const campaign = async (wanted: string) => (await browser.ask("campaigns")).find((view) => view.campaign === wanted);
  /** Makes the next visit to the collector due, and all else that is. */
  const visitNow = (due = 0) => changed((state) => ({ ...state, visit: { ...state.visit, due } }));
  const changed = async (change: (state: any) => any) => {
    const { state } = await browser.call("storage.local.get", "state");
    await browser.call("storage.local.set", { state: change(state) });
    await browser.ask("send");
  };
  const allow = async (host: string) => {
    if (browser instanceof Chromium) await browser.permit(host);
  };

  beforeAll(async () => {
    collector = await new CollectorServer().live();
    await collector.add("trends");
    engine = await new EngineServer().live();
    browser = await drivers[name]!(collector);
    tab = await browser.newPage();
    collector.seen = [];
  });
  afterAll(async () => {
    await browser?.close();
    await collector.die();
    await engine.die();
  });

  const isUntouched = async () => {
    expect(await browser.call("storage.local.get", null)).toEqual({});
    expect(await browser.call("indexedDB.databases")).toEqual([]);
    expect(await browser.call("scripting.getRegisteredContentScripts")).toEqual([]);
    expect(await browser.call("declarativeNetRequest.getDynamicRules")).toEqual([]);
    if (browser instanceof Chromium) expect((await browser.call("permissions.getAll")).origins).toEqual([]);
  };

  test("nothing before consent: no request, no record, no permission, no trace", async () => {
    await tab.goto(search("weather"));
    await tab.click("#plain");
    expect((await browser.ask("overview")).word).toBe("off");
    for (const act of ["records", "campaigns", "items", "evidence"] as const) expect(await browser.ask(act)).toEqual([]);
    expect(await browser.ask("ledger")).toBe(null);
    expect(collector.seen).toEqual([]);
    await isUntouched();
  });

  test("nobody agrees to what was not looked at, nor without a permission", async () => {
    if (browser instanceof Chromium) await expect(browser.ask("look", chosen())).rejects.toThrow("permission");
    await allow("http://127.0.0.1/*");
    await expect(browser.ask("agree", "local")).rejects.toThrow("collector");
    await expect(browser.ask("agree", "local", chosen())).rejects.toThrow("signature");
    for (const wrong of [
      { url: "ftp://x" },
      { url: `${collector.url}?x` },
      { key: "01" },
      { key: `01${"0".repeat(62)}` },
      { campaign: "A b" },
    ])
      await expect(browser.ask("look", { ...chosen(), ...wrong })).rejects.toThrow(/server|key|campaign/);
    expect(collector.seen).toEqual([]);
  });

  test("looking fetches, and says as little as the client in Python", async () => {
    const { campaigns, refused } = await browser.ask("look", chosen());
    expect(refused).toEqual([]);
    expect(campaigns.map(({ campaign, terms }) => [campaign, terms.organisation])).toEqual([["trends", "Example Search"]]);
    expect(campaigns[0]!.promise).toContain("it never proves anything");
    expect(collector.seen.length).toBeGreaterThan(3);
    expect(collector.writes).toEqual([]);
    collector.seen.forEach(requirePlain);
    expect(await browser.ask("records")).toEqual([]);
    const stranger = await new CollectorServer().add("other");
    const { refused: lines } = await browser.ask("look", { ...chosen(), key: stranger.key.text });
    expect(lines[0]!.sentence).toContain("No key that you trust");
    await expect(browser.ask("agree", "local", { ...chosen(), key: stranger.key.text })).rejects.toThrow("signature");
    expect((await browser.ask("overview")).word).toBe("off");
  });

  test("consent alone observes nothing: an engine has to be on", async () => {
    await browser.ask("agree", "local", chosen());
    expect((await browser.ask("overview")).word).toBe("on");
    await tab.goto(search("weather"));
    await tab.click("#plain");
    expect(await browser.call("scripting.getRegisteredContentScripts")).toEqual([]);
    expect(await browser.ask("records")).toEqual([]);
    await allow("http://localhost/*");
    await browser.ask("setEngines", [{ ...engine.data, on: true } as typeof engine.data]);
    const [script] = await browser.call("scripting.getRegisteredContentScripts");
    expect(script.matches).toEqual(engine.data.hosts);
  });

  test("every way to choose a result counts, and nothing else does", async () => {
    await tab.goto(search("Weather  Paris"));
    await tab.click("#plain");
    await expect.poll(choices).toEqual(["plain"]);
    await tab.goto(search("weather", "&stay=1"));
    await tab.waitForSelector("#later");
    await tab.click("#own");
    await tab.goto(search("weather", "&stay=1"));
    await tab.click("#fake");
    await tab.click("#blind");
    await tab.click("#over");
    await expect.poll(choices).toEqual(["over", "plain"]);
    await tab.click("#bold");
    await expect.poll(choices).toEqual(["nested", "over", "plain"]);
    await tab.click("#middle", { button: "middle" });
    await expect.poll(choices).toEqual(["middle", "nested", "over", "plain"]);
    await tab.focus("#key");
    await tab.keyboard.press("Enter");
    await expect.poll(choices).toEqual(["key", "middle", "nested", "over", "plain"]);
    await tab.waitForSelector("#later");
    await tab.click("#later");
    await expect.poll(choices).toEqual(["later", "key", "middle", "nested", "over", "plain"]);
    await tab.goto(search("weather"));
    await tab.click("#blank");
    await tab.bringToFront();
    await expect.poll(choices).toEqual(["blank", "later", "key", "middle", "nested", "over", "plain"]);
    await tab.goto(search("weather"));
    await tab.click("#advert");
    await tab.goto(`${engine.target}?q=weather`);
    expect((await records()).at(-1)).toEqual(["Weather  Paris", "plain"]);
    expect((await records()).length).toBe(7);
  });

  test("single records are deleted before they count", async () => {
    const [first, second] = await browser.ask("records");
    await browser.ask("deleteRecords", [first!.id, second!.id]);
    expect(await choices()).toEqual(["key", "middle", "nested", "over", "plain"]);
  });

  test("a rehearsal spends nothing, sends nothing and writes nothing down", async () => {
    const before = [
      await browser.call("storage.local.get", null),
      await browser.ask("ledger"),
      await browser.ask("items"),
      collector.seen.length,
    ];
    const rehearsal = await browser.ask("rehearse", "trends");
    expect(rehearsal).toMatchObject({ kept: 5, usable: 5, epsilon: 4 });
    expect(JSON.parse(rehearsal.body)).toMatchObject({
      question: rehearsal.question,
      data: rehearsal.data,
      pseudonym: "0".repeat(32),
    });
    expect(rehearsal.sentences.length).toBeGreaterThan(1);
    expect([
      await browser.call("storage.local.get", null),
      await browser.ask("ledger"),
      await browser.ask("items"),
      collector.seen.length,
    ]).toEqual(before);
  });

  test("a report is drawn once, shown byte for byte, explained and written into the ledger", async () => {
    collector.seen = [];
    const [planned] = await browser.ask("campaigns");
    expect(planned!.plan!.due).toBeGreaterThan(Date.now() / 1000 + 86_000);
    await browser.ask("takePart", "trends");
    await browser.ask("takePart", "trends");
    const [write] = collector.writes;
    expect(collector.writes.length).toBe(1);
    const [item] = await browser.ask("items");
    expect(item).toMatchObject({
      state: "sent",
      reason: "accepted",
      method: "PUT",
      body: write!.body,
      bytes: write!.body.length,
    });
    expect(item!.url).toBe(collector.url + write!.path);
    collector.seen.forEach(requirePlain);
    const explained = await browser.ask("explain", "trends");
    expect(JSON.parse(write!.body)).toMatchObject({ data: explained.data, question: explained.question });
    expect(explained.named.length).toBe(explained.namedCount);
    expect(explained.groups.map(({ count }) => count > 0 && count < 100)).toEqual([true, true]);
    expect((await browser.ask("ledger"))!.year.left.epsilon).toBe(8);
    expect(JSON.stringify(collector.seen)).not.toContain("Weather");
  });

  test("paused, nothing is noted or sent; then it goes on", async () => {
    const seen = collector.seen.length;
    await browser.ask("pause", 3600);
    expect((await browser.ask("overview")).word).toBe("paused");
    expect(await browser.call("scripting.getRegisteredContentScripts")).toEqual([]);
    await tab.goto(search("paused", "&stay=1"));
    await tab.click("#plain");
    await browser.ask("send");
    expect(collector.seen.length).toBe(seen);
    await browser.ask("pause", 0);
    await tab.goto(search("again", "&stay=1"));
    await tab.click("#plain");
    await expect.poll(choices).toEqual(["plain", "key", "middle", "nested", "over", "plain"]);
    expect((await records())[0]).toEqual(["again", "plain"]);
  });

  test("a collector that is dead gets the same bytes when it is back", async () => {
    await collector.add("second");
    await browser.ask("look", chosen());
    collector.before = ({ method }) => {
      if (method === "PUT") throw new Error("the connection breaks");
    };
    await browser.ask("takePart", "second");
    expect((await browser.ask("items"))[0]).toMatchObject({ state: "waiting", reason: "network", attempts: 1 });
    await collector.die();
    collector.before = () => {};
    await collector.live();
    await expect
      .poll(async () => (await browser.ask("send"), (await browser.ask("items"))[0]!.state), { timeout: 45_000, interval: 500 })
      .toBe("sent");
    const bodies = new Set(collector.writes.filter(({ path }) => path.includes("second")).map(({ path, body }) => path + body));
    expect(bodies.size).toBe(1);
  });

  test("records as they are go only with a token, and are deleted with less trust", async () => {
    const fake = await collector.add("asking", CHEAP, "opt-in");
    await browser.ask("look", chosen());
    const token = `blendp-in-${"7".padStart(64, "0")}`;
    await expect(browser.ask("enrol", "asking", token)).rejects.toThrow("consent");
    await browser.ask("agree", "opt-in");
    await expect(browser.ask("enrol", "asking", "blendp-in-1")).rejects.toThrow("token");
    await browser.ask("enrol", "asking", token);
    const write = collector.writes.at(-1)!;
    expect(JSON.parse(write.body).records.length).toBe(1);
    expect(write.headers["authorization"]).toBe(`Bearer ${token}`);
    requirePlain(write);
    expect((await browser.ask("items"))[0]).toMatchObject({ kind: "opt-in", state: "sent", body: null });
    expect(fake.optIn.size).toBe(1);
    await browser.ask("agree", "local");
    expect(fake.optIn.size).toBe(0);
    requirePlain(collector.writes.at(-1)!);
  });

  test("a cap that is reached refuses, and says when there is room", async () => {
    await expect(browser.ask("lowerCap", "year", 13)).rejects.toThrow("yearly epsilon");
    await browser.ask("lowerCap", "year", 11.5);
    await collector.add("dear");
    await browser.ask("look", chosen());
    const writes = collector.writes.length;
    await expect(browser.ask("takePart", "dear")).rejects.toThrow(/room again in 365 days/);
    expect(collector.writes.length).toBe(writes);
    expect(await campaign("dear")).toMatchObject({ part: null, plan: { problem: expect.stringContaining("this year") } });
  });

  test("a list, a manifest or a key that was tampered with is refused, and nothing is drawn", async () => {
    const { fake, writes } = { fake: await collector.add("odd", CHEAP), writes: collector.writes.length };
    const intact = new Map(fake.served);
    const tampered = (name: string, from: string, to: string) =>
      fake.served.set(fake.path(name), utf8(new TextDecoder().decode(fake.served.get(fake.path(name))!).replace(from, to)));
    for (const [name, from, to, reason] of [
      ["list", "query 3", "query X", "list"],
      ["terms", '"payload":"eyJ', '"payload":"eyK', "signature"],
      ["manifest", '"keyid":"', '"keyid":"0', "signature"],
    ] as const) {
      tampered(name, from, to);
      await expect(browser.ask("takePart", "odd")).rejects.toThrow(reason);
      const { refused } = await browser.ask("look", chosen());
      expect(refused.map((line) => line.campaign)).toEqual(["odd"]);
      fake.served = new Map(intact);
    }
    const { keysDocument } = collector.first;
    collector.first.keysDocument = { keys: "none", statements: [] };
    await expect(browser.ask("takePart", "odd")).rejects.toThrow("document");
    collector.first.keysDocument = keysDocument;
    expect((await campaign("odd"))?.part ?? null).toBe(null);
    expect(collector.writes.length).toBe(writes);
  });

  if (name === "Chromium")
    test("a worker that is killed at any moment draws once, and sends the same bytes", async () => {
      const kill = (browser as Chromium).killWorker.bind(browser);
      await collector.add("mortal", { epsilon: new Float("0.25") });
      const steps = ["keys", "terms", "manifest", "release", "list", "reports"];
      for (const step of steps) {
        let isOver = false;
        collector.before = async ({ path }) => {
          if (isOver || !path.includes(step)) return;
          isOver = true;
          await kill();
        };
        await browser.ask("takePart", "mortal").catch(() => {});
        expect([step, isOver]).toEqual([step, true]);
      }
      collector.before = () => {};
      expect((await campaign("mortal"))!.part!.group).toBe("client");
      await expect
        .poll(async () => (await browser.ask("send"), (await browser.ask("items"))[0]!.state), {
          timeout: 45_000,
          interval: 500,
        })
        .toBe("sent");
      expect(
        new Set(collector.writes.filter(({ path }) => path.includes("mortal")).map(({ path, body }) => path + body)).size,
      ).toBe(1);
      expect((await browser.ask("ledger"))!.entries.filter((entry) => entry.campaign === "mortal").length).toBe(1);
      expect(collector.fake("mortal").reports.size).toBe(1);
    });

  test("what is released is fetched once, verified and kept; a tampered index is not", async () => {
    for (const released of ["trends", "dear"]) await collector.release(released);
    const fake = collector.fake("dear");
    const index = fake.served.get(fake.path("index"))!;
    fake.served.set(fake.path("index"), utf8(new TextDecoder().decode(index).replace("query 3", "query X")));
    await visitNow();
    expect((await browser.ask("overview")).indexes).toMatchObject([{ campaign: "trends", title: "What is searched: trends" }]);
    expect((await campaign("dear"))!.plan!.problem).toContain("not the one that was signed");
    await collector.die();
    const key = `index ${collector.url} trends`;
    expect((await browser.call("storage.local.get", key))[key]).toContain("query 3");
    await visitNow();
    expect((await browser.ask("overview")).visitProblem).toContain("does not answer");
    await collector.live();
    collector.seen = [];
    await visitNow();
    expect((await browser.ask("overview")).visitProblem).toBe(null);
    expect(collector.seen.filter(({ path }) => path.includes("trends/index"))).toEqual([]);
  });

  test("what was planned by a clock that was set back since does not count", async () => {
    const ahead = Date.now() / 1000 + 400 * 86_400;
    collector.seen = [];
    await visitNow(ahead);
    expect(collector.seen.length).toBeGreaterThan(0);
    await changed((state) => ({ ...state, plans: state.plans.map((plan: any) => ({ ...plan, due: ahead, drawn: ahead })) }));
    await visitNow();
    const { plan } = (await campaign("odd"))!;
    expect(plan!.due).toBeLessThan(Date.now() / 1000 + 14 * 86_400);
    await changed((state) => ({ ...state, pausedUntil: ahead }));
    expect((await browser.ask("overview")).word).toBe("on");
  });

  test("what is due is done without anybody asking, whatever is kept", async () => {
    await browser.ask("deleteRecords", null);
    await changed((state) => ({ ...state, plans: state.plans.map((plan: any) => ({ ...plan, due: Date.now() / 1000 - 1 })) }));
    expect((await campaign("odd"))!.part).toMatchObject({ group: "client", silent: false });
    expect(collector.fake("odd").reports.size).toBe(1);
    expect((await campaign("dear"))!.part).toBe(null);
  });

  if (name === "Firefox")
    test("every part of the page shows itself in Firefox, too", async () => {
      for (const [section, sign] of [
        ["search", "Search what is popular"],
        ["kept", "records are kept"],
        ["campaigns", "one report is drawn, once"],
        ["sent", "The collector took it (accepted)."],
        ["ledger", "spent"],
        ["evidence", "No collector was caught."],
        ["settings", "How much do you trust?"],
        ["data", "Take it along"],
      ])
        expect(await browser.call("show", section, sign)).toContain(sign);
    });

  test("withdrawn consent forgets the records and deletes what was sent; a late report is refused", async () => {
    await browser.ask("agree", "off");
    expect(await records()).toEqual([]);
    expect(collector.fake("second").reports.size).toBe(0);
    const late = collector.writes.find(({ path }) => path.includes("second/reports"))!;
    expect((await fetch(collector.url + late.path, { method: "PUT", body: late.body })).status).toBe(410);
    const spent = (await browser.ask("ledger"))!.entries.length;
    expect(spent).toBeGreaterThan(2);
    collector.seen = [];
    await visitNow();
    expect(collector.seen).toEqual([]);
    await browser.ask("agree", "local", chosen());
    expect((await browser.ask("ledger"))!.entries.length).toBe(spent);
    await expect(browser.ask("explain", "second")).resolves.toBeTruthy();
  });

  test("who agreed to less agreed to less, even if the worker died before the device knew", async () => {
    await collector.add("halted", { epsilon: new Float("0.25") });
    await browser.ask("look", chosen());
    collector.before = ({ method }) => {
      if (method === "PUT") throw new Error("the connection breaks");
    };
    await browser.ask("takePart", "halted");
    collector.before = () => {};
    await changed((state) => ({ ...state, consent: "off" }));
    const [deletion, report] = await browser.ask("items");
    expect([report!.state, report!.reason, deletion!.kind]).toEqual(["dropped", "consent withdrawn", "deletion"]);
    expect(collector.fake("halted").reports.size).toBe(0);
    await browser.ask("agree", "local", chosen());
  });

  test("without the permission for an engine nothing of it is noted", async () => {
    await tab.goto(search("weather", "&stay=1"));
    if (browser instanceof Chromium) await browser.forbid("http://localhost/*");
    else await browser.call("permissions.remove", { origins: ["http://localhost/*"] });
    await expect.poll(() => browser.call("scripting.getRegisteredContentScripts")).toEqual([]);
    expect((await browser.ask("overview")).engines[0]).toMatchObject({ on: true, isAllowed: false });
    await tab.click("#plain");
    await tab.goto(search("weather", "&stay=1"));
    await tab.click("#plain");
    expect(await records()).toEqual([]);
  });

  if (name === "Chromium")
    test("without the permission for the collector nothing is sent, and the state says so", async () => {
      await (browser as Chromium).forbid("http://127.0.0.1/*");
      expect((await browser.ask("overview")).word).toBe("stopped");
      collector.seen = [];
      await visitNow();
      await expect(browser.ask("takePart", "dear")).rejects.toThrow("state");
      expect(collector.seen).toEqual([]);
      await allow("http://127.0.0.1/*");
      expect((await browser.ask("overview")).word).toBe("on");
    });

  test("a second manifest is evidence, and stops everything with this collector", async () => {
    await collector.add("twofold", CHEAP);
    await browser.ask("look", chosen());
    await collector.fake("twofold").changeManifest({ opt_in_people: 201 });
    await expect(browser.ask("takePart", "twofold")).rejects.toThrow("equivocation");
    const [proof] = await browser.ask("evidence");
    expect(proof!.documents.map(({ payload }) => JSON.parse(payload).opt_in_people)).toEqual([200, 201]);
    expect(await browser.ask("overview")).toMatchObject({
      word: "stopped",
      reason: expect.stringContaining("two different versions"),
    });
    collector.seen = [];
    await expect(browser.ask("takePart", "twofold")).rejects.toThrow("state");
    await visitNow();
    expect(collector.seen).toEqual([]);
  });

  test("the export has everything but secrets", async () => {
    const file = await browser.ask("export");
    expect(Object.keys(file)).toEqual([
      "format", "exported", "version", "consent", "paused_until", "collector", "max_cost", "engines", "records", "plans", "campaigns",
      "items", "ledger", "evidence", "indexes",
    ]); // prettier-ignore
    const { copy } = (await browser.call("storage.local.get", null)).state;
    expect(copy.secret).toMatch(/^[0-9a-f]{64}$/);
    expect(JSON.stringify(file)).not.toContain(copy.secret);
  });

  test("where the browser lost the ledger, nothing is drawn any more; what was sent can still be deleted, before all is wiped", async () => {
    const other = await new CollectorServer().live();
    const fake = await other.add("last", CHEAP);
    const next = { url: other.url, key: other.key, campaign: "last" };
    await browser.ask("look", next);
    await browser.ask("agree", "local", next);
    expect((await browser.ask("overview")).word).toBe("on");
    await browser.ask("takePart", "last");
    expect(fake.reports.size).toBe(1);
    await other.add("next", CHEAP);
    await browser.call("indexedDB.deleteDatabase", "blendp").catch(() => {});
    expect(await browser.ask("overview")).toMatchObject({
      word: "stopped",
      reason: expect.stringContaining("lost the ledger"),
    });
    await expect(browser.ask("agree", "local", { ...next, campaign: null })).rejects.toThrow();
    await expect(browser.ask("takePart", "next")).rejects.toThrow("state");
    other.before = ({ method }) => {
      if (method === "POST") throw new Error("the connection breaks");
    };
    const view = await browser.ask("leave");
    expect(view.isWiped).toBe(false);
    expect(view.deletions.filter(({ state }) => state === "waiting").map((item) => item.campaign)).toEqual(["last"]);
    expect((await browser.ask("overview")).word).toBe("leaving");
    other.before = () => {};
    await expect.poll(async () => (await browser.ask("leaveOn", true)).isWiped, { timeout: 45_000, interval: 500 }).toBe(true);
    expect(fake.reports.size).toBe(0);
    other.writes.forEach(requirePlain);
    await isUntouched();
    expect((await browser.ask("overview")).word).toBe("off");
    await other.die();
  });
});

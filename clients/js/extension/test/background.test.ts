// What the background does, without a browser, with a collector over real HTTP.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Float, problem } from "../../test/device_fake.ts";
import { browser } from "./no_browser.ts";
import { acts } from "../src/acts.ts";
import { mend } from "../src/copy.ts";
import { withDevice } from "../src/memory.ts";
import { chose, resultsOn } from "../src/observer.ts";
import { keptPlans, MAX_OPEN, MAX_PLANS } from "../src/plans.ts";
import { changeState, type State } from "../src/state.ts";
import { tick, usableRecords } from "../src/visit.ts";
import { CollectorServer, dayFromNow, type Seen } from "./world.ts";

let collector: CollectorServer;
const chosen = () => ({ url: collector.url, key: collector.key, campaign: null });
const state = (): State => browser.stored["state"];

beforeAll(async () => {
  collector = await new CollectorServer().live();
});
afterAll(() => collector.die());
beforeEach(async () => {
  await browser.reset();
  collector.campaigns.clear();
  await collector.add("trends");
  collector.before = () => {};
  collector.seen = [];
  collector.writes.length = 0;
});

async function join(): Promise<void> {
  await acts.look(chosen());
  await acts.agree("local", chosen());
}

describe("a worker that dies while the person leaves", () => {
  /** All that `leave` has done when the worker dies after its first step. */
  const begin = () => changeState((state) => void Object.assign(state, { leaving: true, consent: "off", records: [], plans: [] }));

  beforeEach(async () => {
    await join();
    await acts.takePart("trends");
    expect(collector.fake("trends").reports.size).toBe(1);
    await begin();
  });

  const losses: [string, () => Promise<void>][] = [
    ["with its database", async () => {}],
    ["and its database is lost", browser.loseDatabase],
    [
      "after a lost database was mended",
      async () => {
        await browser.loseDatabase();
        await withDevice(null, (_, store) => mend(store, state().copy));
      },
    ],
  ];

  test.each(losses)("%s: deletion is asked for before all is wiped", async (_, lose) => {
    await lose();
    await tick();
    expect(collector.fake("trends").reports.size).toBe(0);
    expect(browser.stored).toEqual({});
    expect(await indexedDB.databases()).toEqual([]);
  });

  test("what a collector refuses to delete is asked once", async () => {
    const posts = () => collector.writes.filter(({ method }) => method === "POST").length;
    await collector.add("other");
    await acts.agree("local", chosen());
    await acts.takePart("other");
    collector.before = ({ method, path }) => {
      if (method === "POST" && path.includes("other")) throw new Error("the connection breaks");
    };
    collector.fake("trends").failures.push(...Array(9).fill(() => problem("malformed")));
    const { waiting, deletions } = await acts.leave();
    expect([waiting, deletions.length, posts()]).toEqual([1, 2, 2]);
    expect((await acts.leaveOn()).deletions.length).toBe(2);
  });

  test("what did not arrive is tried at once if the person wants that, however long the pause has become", async () => {
    collector.before = ({ method }) => {
      if (method === "POST") throw new Error("the connection breaks");
    };
    expect((await acts.leave()).waiting).toBe(1);
    for (let attempt = 0; attempt < 9; attempt++) expect((await acts.leaveOn(true)).waiting).toBe(1);
    collector.before = () => {};
    expect(await acts.leaveOn(true)).toMatchObject({ waiting: 0, isWiped: true });
    expect(collector.fake("trends").reports.size).toBe(0);
  });
});

test("off with a lost database asks for deletion, too", async () => {
  await join();
  await acts.takePart("trends");
  await changeState((state) => void (state.consent = "off"));
  await browser.loseDatabase();
  await acts.agree("off");
  expect(collector.fake("trends").reports.size).toBe(0);
});

describe("one choice after the other", () => {
  test("a badge that cannot be shown does not delay a withdrawal", async () => {
    await join();
    await acts.takePart("trends");
    browser.isBadgeBroken = true;
    await expect(acts.agree("off")).rejects.toThrow("no badge");
    expect(collector.fake("trends").reports.size).toBe(0);
    expect(state().consent).toBe("off");
  });

  test("what runs by itself with an older choice does not undo a newer one", async () => {
    await join();
    await acts.agree("off");
    let go!: () => void;
    const get = indexedDB.databases;
    // a tick that has read that it is off waits here until the person agreed
    indexedDB.databases = async () => {
      await new Promise<void>((resolve) => (go = resolve));
      return get.call(indexedDB);
    };
    browser.stored["state"].copy = null;
    const ticking = tick();
    await expect.poll(() => go).toBeTruthy();
    indexedDB.databases = get;
    const agreed = acts.agree("local", chosen());
    await expect.poll(() => state().consent).toBe("local");
    go();
    await Promise.all([ticking, agreed]);
    expect(await withDevice(null, (device) => device.consent())).toBe("local");
  });
});

describe("a tab that is open already", () => {
  const sender = { id: "extension", url: "https://engine.example/?q=rain" };
  const engine = { name: "E", hosts: ["https://*.engine.example/*"], query: "q", results: "a", redirect: null, on: true };
  const choose = async (link: unknown = "https://rain.example/") => {
    await chose(sender, sender.url, link);
    return state().records.length;
  };

  test("is observed no longer than the person allows its engine and the collector", async () => {
    await join();
    await acts.setEngines([engine]);
    expect([await choose(), await resultsOn(sender)]).toEqual([1, "a"]);
    for (const origin of ["https://engine.example/*", "http://127.0.0.1/*"]) {
      browser.forbidden = new Set([origin]);
      expect([await choose(), await resultsOn(sender)]).toEqual([1, null]);
    }
    browser.forbidden.clear();
    expect(await choose(["https://rain.example/"])).toBe(1);
    expect(await choose()).toBe(2);
  });
});

test("no secret is in the export, though deletion requests carry some", async () => {
  await join();
  await acts.takePart("trends");
  await acts.agree("off");
  const key = state().copy!.participations[0]!.secret!;
  expect(collector.writes.at(-1)!.body).toContain(key);
  const file = await acts.export();
  expect(JSON.stringify(file)).not.toContain(key);
  expect(file["items"]).toMatchObject([{ kind: "deletion", body: null }, { kind: "report" }]);
});

/** Makes the next visit due, and all that is planned. */
async function visitNow(): Promise<void> {
  await changeState((state) => {
    state.visit.due = 0;
    state.plans = state.plans.map((plan) => ({ ...plan, due: plan.due && 1 }));
  });
  await tick();
}

const planOf = (campaign: string) => state().plans.find((plan) => plan.campaign === campaign);
const reports = (campaign: string) => collector.fake(campaign).reports.size;

describe("what costs more than the person agreed to", () => {
  test("waits for a click", async () => {
    await collector.add("dear", { epsilon: new Float("5.0") });
    await join();
    await visitNow();
    expect([reports("trends"), reports("dear")]).toEqual([1, 0]);
    expect(planOf("dear")).toMatchObject({ due: null, problem: expect.stringContaining("ε 5 instead of at most ε 4") });
    await acts.takePart("dear");
    expect(reports("dear")).toBe(1);
  });

  test("is what was not shown, also if less was shown later", async () => {
    await collector.add("dear", { epsilon: new Float("5.0") });
    await acts.look(chosen());
    await acts.agree("local", chosen(), { epsilon: 5, delta: 0 });
    expect(planOf("dear")!.due).not.toBe(null);
    await acts.agree("local", chosen(), { epsilon: 1, delta: 0 });
    await visitNow();
    expect([reports("trends"), reports("dear")]).toEqual([0, 0]);
    await expect(acts.agree("local", chosen(), { epsilon: Infinity, delta: 0 })).rejects.toThrow("epsilon");
  });
});

describe("a visit", () => {
  /** Lets the collector wait with its answer to such a request, until the test says so. */
  function delayed(isMeant: (seen: Seen) => boolean): { asked: Promise<void>; answer: () => void } {
    let [heard, answer] = [() => {}, () => {}];
    const asked = new Promise<void>((resolve) => (heard = resolve));
    const answered = new Promise<void>((resolve) => (answer = resolve));
    collector.before = async (seen) => {
      if (!isMeant(seen)) return;
      heard();
      await answered;
    };
    return { asked, answer };
  }

  test("goes on if one campaign is not answered for, and is made again soon", async () => {
    await join();
    for (const name of ["first", "second"]) await collector.add(name, { epsilon: new Float("1.0") });
    collector.before = ({ path }) => {
      if (path.includes("first")) throw new Error("the connection breaks");
    };
    await visitNow();
    expect([planOf("first")!.due, planOf("second")!.due]).toEqual([null, expect.any(Number)]);
    expect(state().visit).toMatchObject({ failures: 1, problem: expect.stringContaining("does not answer") });
  });

  test.each(["off", "pause", "leaveAnyway"])("ends at once when the person says so: %s", async (way) => {
    await join();
    await collector.add("next");
    const { asked, answer } = delayed(({ path }) => path.includes("next"));
    const ticking = visitNow().catch(() => {});
    await asked;
    collector.seen = [];
    await { off: () => acts.agree("off"), pause: () => acts.pause(60), leaveAnyway: () => acts.leaveAnyway() }[way]!();
    await ticking;
    answer();
    expect(collector.seen.filter(({ method }) => method === "GET")).toEqual([]);
    if (way === "leaveAnyway") expect([browser.stored, await indexedDB.databases()]).toEqual([{}, []]);
    else expect([planOf("next"), state().visit.due]).toEqual([expect.objectContaining({ due: null }), 0]);
  });

  test("looks at a few open campaigns of a collector, and at no more while they are open", async () => {
    await join();
    for (let i = 0; i <= MAX_OPEN; i++) await collector.add(`c${i}`, { epsilon: new Float("1.0") });
    await visitNow();
    expect(state().plans.length).toBe(MAX_OPEN);
    collector.campaigns.delete("c0");
    await visitNow();
    expect(state().plans.length).toBe(MAX_OPEN);
  });

  test("a record that is deleted while the collector is asked does not count", async () => {
    await join();
    await changeState((state) => {
      const record = { query: "query 3", url: "http://site-0.org", engine: "E", day: dayFromNow(0) };
      state.records = [{ id: 1, ...record }, { id: 2, ...record }]; // prettier-ignore
    });
    const { asked, answer } = delayed(({ path }) => path.endsWith("/list"));
    const records = usableRecords(state());
    const taking = acts.takePart("trends");
    await asked;
    await acts.deleteRecords([1]);
    expect([...records].length).toBe(1);
    answer();
    await taking;
  });
});

test("what is skipped stays skipped, however many names a collector thinks of", async () => {
  const plan = { due: null, drawn: 1, until: null, skipped: false, problem: null };
  const skip = { ...plan, campaign: "skip", skipped: true };
  const due = { ...plan, campaign: "due", due: 1 };
  const others = Array.from({ length: MAX_PLANS }, (_, i) => ({ ...plan, campaign: `c${i}` }));
  expect(keptPlans([skip, due, ...others])).toEqual([skip, due, ...others.slice(2)]);
  expect(keptPlans(Array(MAX_PLANS + 1).fill(skip)).length).toBe(MAX_PLANS);
  await join();
  await acts.skip("trends", true);
  await acts.agree("local", { ...chosen(), campaign: "trends" });
  await visitNow();
  expect([reports("trends"), planOf("trends")!.skipped]).toEqual([0, true]);
});

describe("released results", () => {
  test("of a day that is yet to come are refused; what was fetched last comes first, under its collector", async () => {
    await collector.add("late");
    await collector.release("late", dayFromNow(1));
    await join();
    await visitNow();
    expect([state().indexes, planOf("late")!.problem]).toEqual([[], expect.stringContaining("yet to come")]);
    await collector.release("late", dayFromNow(-3));
    await collector.add("later");
    await collector.release("later", dayFromNow(-9));
    await visitNow();
    expect(state().indexes.map(({ campaign, server }) => [campaign, server])).toEqual([
      ["later", collector.url],
      ["late", collector.url],
    ]);
    expect(browser.stored[`index ${collector.url} late`]).toContain("query 3");
  });
});

test("where the browser asks about data, nothing is done without that permission", async () => {
  await join();
  browser.data = ["searchTerms"];
  expect((await acts.overview()).word).toBe("stopped");
  collector.seen = [];
  await visitNow();
  expect(collector.seen).toEqual([]);
  browser.data.push("browsingActivity");
  expect((await acts.overview()).word).toBe("on");
});

test("headers are kept back for hosts that a deletion waits for, whatever is looked at since", async () => {
  await join();
  await acts.takePart("trends");
  collector.before = ({ method }) => {
    if (method === "POST") throw new Error("the connection breaks");
  };
  await acts.agree("off");
  await changeState((state) => {
    state.collector = null;
    state.hosts.push(...Array.from({ length: 30 }, (_, i) => `c${i}.example`));
  });
  await acts.look({ ...chosen(), url: collector.url.replace("127.0.0.1", "localhost") });
  expect(state().hosts.slice(-2)).toEqual(["127.0.0.1", "localhost"]);
  expect(state().hosts.length).toBe(22);
});

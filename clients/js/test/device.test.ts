// Consent, one draw, one cost, one report: what a device does, and what it refuses to do.
import { describe, expect, test } from "vitest";
import { nearest } from "../src/exact.ts";
import { explain } from "../src/explain.ts";
import { Device, type DeviceOptions } from "../src/index.ts";
import {
  APART, CAMPAIGN, Clock, DAY, FakeCollector, Float, json, LIST, newName, NOW, OPT_IN_END, problem, reasonOf, RECORDS,
  REPORTS_END, seeded, sendAll, TOKEN, URL_,
} from "./device_fake.ts"; // prettier-ignore

describe("consent", () => {
  test("nothing happens before it", async () => {
    const fake = await FakeCollector.new();
    const device = await fake.device(new Clock(), {}, null);
    expect(await device.consent()).toBe("off");
    expect(await reasonOf(device.takePart(CAMPAIGN, RECORDS))).toBe("consent");
    expect(await reasonOf(device.enrol(CAMPAIGN, TOKEN, RECORDS))).toBe("consent");
    expect(fake.requests).toEqual([]);
    await device.look(CAMPAIGN);
    await device.terms(CAMPAIGN);
    expect(fake.writes).toEqual([]);
    expect(await device.items()).toEqual([]);
    await device.setConsent("local");
    expect(await reasonOf(device.enrol(CAMPAIGN, TOKEN, RECORDS))).toBe("consent");
  });

  test("is one of three", async () => {
    const device = await (await FakeCollector.new()).device(new Clock());
    expect(await reasonOf(device.setConsent("all" as "off"))).toBe("consent");
    expect(await device.consent()).toBe("local");
  });

  test("off stops, clears and deletes, even later", async () => {
    const fake = await FakeCollector.new();
    const clock = new Clock();
    const device = await fake.device(clock);
    await device.takePart(CAMPAIGN, RECORDS);
    await device.send();
    fake.failures = [() => Promise.reject(new TypeError("away"))];
    expect(await device.setConsent("off")).toMatchObject({ sent: 0, waiting: 1 });
    expect(fake.reports.size).toBe(1);
    clock.now += 3600;
    expect(await device.send()).toMatchObject({ sent: 1, waiting: 0 });
    expect(fake.reports.size).toBe(0);
    expect((await device.items()).map(({ kind, state, reason }) => [kind, state, reason])).toEqual([
      ["report", "sent", "accepted"],
      ["deletion", "sent", "deleted"],
    ]);
    await device.setConsent("off");
    expect((await device.items()).length).toBe(2);
    expect((await device.ledger()).entries.length).toBe(1);
  });

  test("what was never sent is dropped without a word", async () => {
    const fake = await FakeCollector.new();
    const device = await fake.device(new Clock());
    await device.takePart(CAMPAIGN, RECORDS);
    await device.setConsent("off");
    expect(fake.writes).toEqual([]);
    expect((await device.items()).map(({ state, reason }) => [state, reason])).toEqual([["dropped", "consent withdrawn"]]);
    await device.setConsent("local");
    await device.send();
    expect(fake.writes).toEqual([]);
  });

  test("less of it withdraws only what it no longer covers", async () => {
    const clock = new Clock();
    const name = newName();
    const [one, two] = [await FakeCollector.new({ campaign: "a" }), await FakeCollector.new({ campaign: "b" })];
    const first = await one.device(clock, { name }, "opt-in");
    await first.enrol("a", TOKEN, RECORDS);
    await first.send();
    const second = await two.device(clock, { name }, null);
    await second.takePart("b", RECORDS);
    await second.send();
    await first.setConsent("local");
    expect([one.optIn.size, two.reports.size]).toEqual([0, 1]);
  });

  test("withdrawn in another tab it holds at the last moment", async () => {
    const fake = await FakeCollector.new();
    const name = newName();
    const one = await fake.device(new Clock(), { name });
    const two = await fake.device(new Clock(), { name });
    fake.before = async ({ url }) => {
      fake.before = () => {};
      if (url.endsWith("keys")) await two.setConsent("off");
    };
    expect(await reasonOf(one.takePart(CAMPAIGN, RECORDS))).toBe("consent");
    expect(await one.participation(CAMPAIGN)).toBe(null);
    expect((await one.ledger()).entries).toEqual([]);
    expect(await one.items()).toEqual([]);
  });

  test("withdrawn while a report is on its way, the report is deleted", async () => {
    for (const locks of [true, false]) {
      const fake = await FakeCollector.new();
      const name = newName();
      const one = await fake.device(new Clock(), { name });
      const two = await fake.device(new Clock(), { name });
      await one.takePart(CAMPAIGN, RECORDS);
      const undo = locks ? () => {} : withNavigator({});
      let off: Promise<unknown> = Promise.resolve();
      fake.before = async ({ method }) => {
        if (method !== "PUT") return;
        off = two.setConsent("off");
        while ((await two.consent()) !== "off") await new Promise((resolve) => setTimeout(resolve, 1));
      };
      await one.send();
      await off;
      await two.send();
      undo();
      expect(fake.reports.size).toBe(0);
      const items = await one.items();
      expect(items.map(({ kind }) => kind)).toEqual(["report", "deletion"]);
      expect(items[1]!.state).toBe("sent");
    }
  });
});

describe("taking part", () => {
  test("a report is drawn once, kept and sent", async () => {
    const fake = await FakeCollector.new();
    const clock = new Clock();
    const name = newName();
    const device = await fake.device(clock, { name, entropy: (count) => new Uint8Array(count).fill(count) });
    const done = await device.takePart(CAMPAIGN, RECORDS);
    expect(done).toMatchObject({ campaign: CAMPAIGN, group: "client", day: "2026-11-06", server: URL_ });
    expect(done.reportId).toBe("10".repeat(16));
    expect(fake.writes).toEqual([]);
    const ledger = await device.ledger();
    expect(ledger.entries).toMatchObject([{ campaign: CAMPAIGN, group: "client", epsilon: 4, delta: 0, day: "2026-11-06" }]);
    expect(await device.takePart(CAMPAIGN, [["another", "http://x.org"]])).toEqual(done);
    device.close();
    const again = await fake.device(clock, { name, chooser: seeded(99n) });
    expect(await again.takePart(CAMPAIGN, [])).toEqual(done);
    expect(await again.participation(CAMPAIGN)).toEqual(done);
    expect(await again.send()).toEqual({ sent: 1, refused: 0, dropped: 0, waiting: 0, nextDue: null });
    const [put] = fake.writes;
    expect([put!.method, put!.url]).toEqual(["PUT", fake.path(`reports/${done.reportId}`)]);
    expect(put!.headers.get("content-type")).toBe("application/vnd.blendp.report.v1+json");
    expect(Object.keys(JSON.parse(put!.body))).toEqual(["data", "manifest", "pseudonym", "question", "scheme"]);
    expect(put!.body).toBe(JSON.stringify(JSON.parse(put!.body)));
    expect(await again.items()).toMatchObject([{ state: "sent", reason: "accepted", attempts: 1, kind: "report" }]);
    expect(explain(await again.report(CAMPAIGN)).sentences.length).toBe(4);
  });

  test("requests could be anybody's", async () => {
    const fake = await FakeCollector.new();
    const device = await fake.device(new Clock());
    await device.takePart(CAMPAIGN, RECORDS);
    await device.send();
    await device.forget(CAMPAIGN);
    expect(fake.requests.length).toBe(7);
    for (const { init, headers } of fake.requests) {
      expect(init).toMatchObject({
        credentials: "omit", redirect: "manual", cache: "no-store", referrerPolicy: "no-referrer",
      }); // prettier-ignore
      expect(init.signal).toBeInstanceOf(AbortSignal);
      expect([...headers.keys()].filter((name) => name !== "content-type")).toEqual([]);
    }
  });

  test("published reports are cells, and spend delta", async () => {
    const fake = await FakeCollector.new({ method: "published" });
    const device = await fake.device(new Clock());
    expect((await device.takePart(CAMPAIGN, RECORDS)).question).toBe("cell");
    expect((await device.ledger()).entries).toMatchObject([{ epsilon: 4, delta: 1e-6 }]);
    await device.send();
    expect(fake.reports.size).toBe(1);
    expect(explain(await device.report(CAMPAIGN)).likelihoods.length).toBe(3);
  });

  test("with the wildcard apart a report names listed ones, or none", async () => {
    const told = new Set<number>();
    for (let seed = 1n; seed < 9n; seed++) {
      const fake = await FakeCollector.new({}, LIST, APART);
      const device = await fake.device(new Clock(), { chooser: seeded(seed) });
      await device.takePart(CAMPAIGN, RECORDS);
      expect((await device.ledger()).entries).toMatchObject([{ epsilon: 4, delta: 0 }]);
      await device.send();
      expect(fake.reports.size).toBe(1);
      const { likelihoods, ratio } = explain(await device.report(CAMPAIGN));
      expect(likelihoods.reduce((sum, { cells }) => sum + cells.length, 0)).toBe(25);
      expect(nearest(ratio)).toBeLessThanOrEqual(Math.exp(4));
      told.add(likelihoods.length);
    }
    expect(told).toEqual(new Set([2, 3]));
  });

  test("one-level campaigns take queries", async () => {
    const queries = Array.from({ length: 11 }, (_, i) => ({ query: `q${String(i).padStart(2, "0")}`, urls: [] }));
    const fake = await FakeCollector.new({}, { ...LIST, levels: 1, queries });
    const device = await fake.device(new Clock());
    await device.takePart(CAMPAIGN, [["q03", null], ["", null], 7]);
    await device.send();
    expect(fake.reports.size).toBe(1);
  });

  test("nothing of the records is on the device", async () => {
    const fake = await FakeCollector.new();
    const name = newName();
    const device = await fake.device(new Clock(), { name });
    await device.takePart(CAMPAIGN, [["a very private thing", "http://very-private.org"]]);
    const everything = JSON.stringify(await contents(name), (_, value) =>
      value instanceof Uint8Array ? new TextDecoder().decode(value) : value,
    );
    expect(everything).toContain("collector.example");
    expect(everything).not.toContain("private");
  });

  test("the secrets stay in the store", async () => {
    const fake = await FakeCollector.new();
    const device = await fake.device(new Clock(), {}, "opt-in");
    const done = await device.enrol(CAMPAIGN, TOKEN, RECORDS);
    expect(JSON.stringify([done, await device.participation(CAMPAIGN), device])).not.toContain(TOKEN);
    expect(await reasonOf(device.enrol("other", `${TOKEN}0`, RECORDS))).toBe("token");
    await expect(device.enrol("other", `${TOKEN}0`, RECORDS)).rejects.not.toThrow(TOKEN);
  });

  test("whatever is wrong with the records, there is a report", async () => {
    const odd: unknown[][] = [[], [["", ""]], [["q", null]], [7, null, "text", ["a"], ["a", "b", "c"], [1, 2], ["\0", "\0"]]];
    for (const records of odd) {
      const fake = await FakeCollector.new();
      const device = await fake.device(new Clock());
      await device.takePart(CAMPAIGN, records);
      await device.send();
      expect(fake.reports.size).toBe(1);
    }
    const fake = await FakeCollector.new();
    const device = await fake.device(new Clock());
    for (const records of ["text", 7, null]) {
      expect(await reasonOf(device.takePart(CAMPAIGN, records as unknown as unknown[]))).toBe("records");
    }
    expect(await device.participation(CAMPAIGN)).toBe(null);
  });

  test("silence is drawn once, written down, and costs nothing", async () => {
    const fake = await FakeCollector.new({ participation: new Float("1e-12") });
    const name = newName();
    const device = await fake.device(new Clock(), { name });
    const done = await device.takePart(CAMPAIGN, RECORDS);
    expect(done).toMatchObject({ group: "client", reportId: null, data: null, question: null });
    device.close();
    const always = { coin: () => true, below: () => 0 };
    const again = await fake.device(new Clock(), { name, chooser: always });
    expect(await again.takePart(CAMPAIGN, RECORDS)).toEqual(done);
    expect([await again.items(), (await again.ledger()).entries]).toEqual([[], []]);
    expect(await reasonOf(again.report(CAMPAIGN))).toBe("campaign");
    await again.setConsent("off");
    expect(fake.writes).toEqual([]);
  });

  test("a draw that fails leaves nothing", async () => {
    const fake = await FakeCollector.new();
    const device = await fake.device(new Clock(), {
      chooser: { coin: () => true, below: () => { throw new RangeError("no randomness"); } },
    }); // prettier-ignore
    expect(await reasonOf(device.takePart(CAMPAIGN, RECORDS))).toBe("RangeError");
    expect([await device.items(), (await device.ledger()).entries]).toEqual([[], []]);
    expect(await device.participation(CAMPAIGN)).toBe(null);
  });

  test("late campaigns are refused", async () => {
    const fake = await FakeCollector.new();
    const clock = new Clock();
    const device = await fake.device(clock);
    clock.now = REPORTS_END;
    expect(await reasonOf(device.takePart(CAMPAIGN, RECORDS))).toBe("campaign");
    clock.now -= 1;
    await device.takePart(CAMPAIGN, RECORDS);
  });

  test("campaigns that nobody knows are refused", async () => {
    const device = await (await FakeCollector.new()).device(new Clock());
    for (const campaign of ["unknown", "", "../keys", "Trends"]) {
      expect(await reasonOf(device.takePart(campaign, RECORDS))).toBe("campaign");
    }
    expect(await reasonOf(device.forget("unknown"))).toBe("campaign");
    expect(await reasonOf(device.report("unknown"))).toBe("campaign");
  });

  test("without a collector all else works", async () => {
    const fake = await FakeCollector.new();
    const name = newName();
    const device = await fake.device(new Clock(), { name });
    await device.takePart(CAMPAIGN, RECORDS);
    device.close();
    const without = await Device.open({ name, clock: new Clock().read, fetch: fake.fetch, acceptVolatileStorage: true });
    expect(await reasonOf(without.look(CAMPAIGN))).toBe("collector");
    expect((await without.send()).sent).toBe(1);
    explain(await without.report(CAMPAIGN));
    expect((await without.forget(CAMPAIGN)).sent).toBe(1);
  });
});

describe("two tabs", () => {
  for (const locks of [true, false]) {
    test(`draw once and send once ${locks ? "with" : "without"} locks`, async () => {
      const undo = locks ? () => {} : withNavigator({});
      for (let round = 0; round < 5; round++) {
        const fake = await FakeCollector.new();
        const clock = new Clock();
        const name = newName();
        const tabs = [await fake.device(clock, { name, chooser: seeded(1n) }), await fake.device(clock, { name, chooser: seeded(2n) })];
        fake.before = () => new Promise((resolve) => setTimeout(resolve, Math.random() * 4));
        const [one, two] = await Promise.all(tabs.map((tab) => tab.takePart(CAMPAIGN, RECORDS)));
        expect(one).toEqual(two);
        expect((await tabs[0]!.ledger()).entries.length).toBe(1);
        expect((await tabs[1]!.items()).length).toBe(1);
        const summaries = await Promise.all([...tabs, ...tabs].map((tab) => tab.send()));
        expect(summaries.some(({ sent }) => sent === 1)).toBe(true);
        expect(fake.writes.length).toBe(1);
      }
      undo();
    });
  }

  test("open a new device at once: one secret", async () => {
    const fake = await FakeCollector.new();
    const name = newName();
    let draws = 0;
    const entropy = (count: number) => new Uint8Array(count).fill(++draws);
    await Promise.all([1, 2, 3].map(() => fake.device(new Clock(), { name, entropy }, null)));
    expect(draws).toBe(1);
  });

  test("one enrols while the other takes part: one group", async () => {
    const fake = await FakeCollector.new();
    const name = newName();
    const one = await fake.device(new Clock(), { name }, "opt-in");
    const two = await fake.device(new Clock(), { name }, null);
    const reasons = await Promise.all([
      reasonOf(one.takePart(CAMPAIGN, RECORDS)),
      reasonOf(two.enrol(CAMPAIGN, TOKEN, RECORDS)),
    ]);
    expect(reasons.sort()).toEqual(["campaign", "nothing"]);
    expect((await one.ledger()).entries.length).toBe(1);
    expect((await one.items()).length).toBe(1);
  });
});

describe("the ledger", () => {
  const campaigns = async (clock: Clock, options: DeviceOptions, names: string[], terms = {}) => {
    const name = options.name ?? newName();
    const reasons: string[] = [];
    for (const campaign of names) {
      const fake = await FakeCollector.new({ campaign, ...terms });
      const device = await fake.device(clock, { ...options, name });
      reasons.push(await reasonOf(device.takePart(campaign, RECORDS)));
      device.close();
    }
    return reasons;
  };

  test("three usual campaigns fit into a year", async () => {
    expect(await campaigns(new Clock(), {}, ["a", "b", "c", "d"])).toEqual(["nothing", "nothing", "nothing", "epsilon"]);
  });

  test("a cap is hard, and for life", async () => {
    const clock = new Clock();
    const name = newName();
    const cap = { epsilon: 8, delta: 0 };
    expect(await campaigns(clock, { name, cap }, ["a", "b", "c"])).toEqual(["nothing", "nothing", "epsilon"]);
    const far = { opens: "2028-11-01", opt_in_until: "2028-11-10", reports_until: "2028-11-30" };
    for (let day = 0; day < 730; day += 60) {
      clock.now = NOW + day * DAY;
      await (await (await FakeCollector.new()).device(clock, { name })).ledger();
    }
    clock.now = NOW + 735 * DAY;
    expect(await campaigns(clock, { name, cap: { epsilon: 48, delta: 0 } }, ["d"], far)).toEqual(["epsilon"]);
  });

  test("delta is capped too", async () => {
    const terms = { method: "published", epsilon: new Float("1.0"), delta: new Float("6e-06") };
    expect(await campaigns(new Clock(), {}, ["a", "b"], terms)).toEqual(["nothing", "delta"]);
  });

  test("what is refused is not drawn, silent or not", async () => {
    const fake = await FakeCollector.new({ participation: new Float("1e-12") });
    const chooser = { coin: () => { throw new RangeError("drawn"); }, below: () => 0 }; // prettier-ignore
    const device = await fake.device(new Clock(), { yearly: { epsilon: 1, delta: 0 }, chooser });
    expect(await reasonOf(device.takePart(CAMPAIGN, RECORDS))).toBe("epsilon");
    expect(await device.participation(CAMPAIGN)).toBe(null);
  });

  test("a clock that is set forward frees nothing at once, and entries stay", async () => {
    const clock = new Clock();
    const name = newName();
    await campaigns(clock, { name }, ["a", "b", "c"]);
    const far = { opens: "2030-11-01", opt_in_until: "2030-11-10", reports_until: "2030-11-30" };
    clock.now = Date.parse("2030-11-15") / 1000;
    expect(await campaigns(clock, { name }, ["d"], far)).toEqual(["epsilon"]);
    const device = await (await FakeCollector.new()).device(clock, { name });
    expect((await device.ledger()).counted).toBe(90);
    clock.now = NOW;
    expect((await device.ledger()).counted).toBe(90);
    expect((await device.ledger()).entries.length).toBe(3);
  });

  test("days count even where a campaign is refused, so a year passes", async () => {
    const clock = new Clock();
    const name = newName();
    await campaigns(clock, { name }, ["a", "b", "c"]);
    const far = { reports_until: "2027-12-30" };
    for (let day = 30; day <= 360; day += 30) {
      clock.now = NOW + day * DAY;
      expect(await campaigns(clock, { name }, ["d"], far)).toEqual(["epsilon"]);
    }
    clock.now = NOW + 365 * DAY;
    expect(await campaigns(clock, { name }, ["d"], far)).toEqual(["nothing"]);
  });

  test("caps are lowered, never raised, and those of an old device stay", async () => {
    const fake = await FakeCollector.new();
    const name = newName();
    const device = await fake.device(new Clock(), { name });
    await device.lowerCap({ cap: { epsilon: 5, delta: 0 } });
    await device.lowerCap({ yearly: { epsilon: 3, delta: 0 } });
    expect(await reasonOf(device.lowerCap({ cap: { epsilon: 6, delta: 0 } }))).toBe("cap epsilon");
    expect(await reasonOf(device.lowerCap({ yearly: { epsilon: 3, delta: 1e-9 } }))).toBe("yearly delta");
    expect(await reasonOf(device.lowerCap({ yearly: { epsilon: NaN, delta: 0 } }))).toBe("epsilon");
    device.close();
    const again = await fake.device(new Clock(), { name, cap: { epsilon: 48, delta: 0 } });
    const { cap, yearly } = await again.ledger();
    expect([cap, yearly]).toEqual([{ epsilon: 5, delta: 0 }, { epsilon: 3, delta: 0 }]); // prettier-ignore
    expect(await reasonOf(again.takePart(CAMPAIGN, RECORDS))).toBe("epsilon");
    expect(await reasonOf(Device.open({ name: newName(), cap: { epsilon: 0, delta: 0 } }))).toBe("epsilon");
  });
});

describe("opt-in", () => {
  test("records are few, wiped once they arrived, and the token with their deletion", async () => {
    const fake = await FakeCollector.new({ opt_in_records: 2 });
    const device = await fake.device(new Clock(), { entropy: (count) => new Uint8Array(count).fill(5) }, "opt-in");
    const records = Array.from({ length: 9 }, (_, i) => [`thing ${i}`, `http://${i}.org`]);
    expect(await device.enrol(CAMPAIGN, TOKEN, records)).toMatchObject({ group: "opt-in", reportId: null });
    const [waiting] = await device.items();
    const { terms, nonce, records: chosen } = JSON.parse(new TextDecoder().decode(waiting!.body!));
    expect([terms.length, nonce, chosen.length]).toEqual([64, "05".repeat(16), 2]);
    expect((await device.ledger()).entries).toMatchObject([{ group: "opt-in", epsilon: 4, delta: 1e-6 }]);
    await device.send();
    expect(fake.writes[0]!.headers.get("authorization")).toBe(`Bearer ${TOKEN}`);
    expect(fake.writes[0]!.headers.get("content-type")).toBe("application/vnd.blendp.opt-in.v1+json");
    expect(fake.optIn.size).toBe(1);
    expect((await device.items())[0]).toMatchObject({ state: "sent", body: null });
    await device.forget(CAMPAIGN);
    expect(fake.optIn.size).toBe(0);
    expect(fake.writes[1]!.method).toBe("DELETE");
    expect(fake.writes[1]!.headers.get("authorization")).toBe(`Bearer ${TOKEN}`);
    expect((await device.items())[1]).toMatchObject({ kind: "opt-in-deletion", state: "sent", reason: "deleted" });
    await device.forget(CAMPAIGN);
    expect(fake.writes.length).toBe(2);
  });

  test("the token is wiped with the deletion, or when nothing was sent", async () => {
    for (const sends of [true, false]) {
      const fake = await FakeCollector.new();
      const name = newName();
      const device = await fake.device(new Clock(), { name }, "opt-in");
      await device.enrol(CAMPAIGN, TOKEN, RECORDS);
      if (sends) await device.send();
      expect(JSON.stringify(await contents(name))).toContain(TOKEN);
      await device.setConsent("local");
      expect(JSON.stringify(await contents(name))).not.toContain(TOKEN);
      expect((await device.items())[0]!.body).toBe(null);
    }
  });

  test("has its days, its policy and its token", async () => {
    const fake = await FakeCollector.new();
    const clock = new Clock();
    const device = await fake.device(clock, {}, "opt-in");
    for (const token of ["", TOKEN.toUpperCase(), `${TOKEN}\n`, TOKEN.slice(1)]) {
      expect(await reasonOf(device.enrol(CAMPAIGN, token, RECORDS))).toBe("token");
    }
    expect(fake.requests).toEqual([]);
    for (const now of [OPT_IN_END, Date.parse("2026-10-31") / 1000]) {
      clock.now = now;
      expect(await reasonOf(device.enrol(CAMPAIGN, TOKEN, RECORDS))).toBe("campaign");
    }
    clock.now = NOW;
    const strict = await fake.device(clock, { collector: fake.collector({ policy: { minOptIn: 101 } }) }, "opt-in");
    expect(await reasonOf(strict.enrol(CAMPAIGN, TOKEN, RECORDS))).toBe("policy");
    const poor = await fake.device(clock, { yearly: { epsilon: 3, delta: 1 / 2 } }, "opt-in");
    expect(await reasonOf(poor.enrol(CAMPAIGN, TOKEN, RECORDS))).toBe("epsilon");
    expect(await poor.items()).toEqual([]);
    clock.now = OPT_IN_END - 1;
    await device.enrol(CAMPAIGN, TOKEN, RECORDS);
  });

  test("nobody is in both groups", async () => {
    const fake = await FakeCollector.new();
    const one = await fake.device(new Clock(), {}, "opt-in");
    await one.takePart(CAMPAIGN, RECORDS);
    expect(await reasonOf(one.enrol(CAMPAIGN, TOKEN, RECORDS))).toBe("campaign");
    const two = await fake.device(new Clock(), {}, "opt-in");
    await two.enrol(CAMPAIGN, TOKEN, RECORDS);
    expect(await reasonOf(two.takePart(CAMPAIGN, RECORDS))).toBe("campaign");
    expect(await reasonOf(two.report(CAMPAIGN))).toBe("campaign");
  });

  test("an enrolment is never larger than a collector takes", async () => {
    const fake = await FakeCollector.new({ opt_in_records: 2000 });
    const device = await fake.device(new Clock(), {}, "opt-in");
    const records = Array.from({ length: 1500 }, (_, i) => [`${i} ${"é".repeat(400)}`, `http://x.org/${i}`]);
    await device.enrol(CAMPAIGN, TOKEN, records);
    const { body } = (await device.items())[0]!;
    expect(body!.length).toBeLessThanOrEqual(1 << 20);
    expect(body!.length).toBeGreaterThan((1 << 20) - 1000);
  });

  test("somebody without a usable record enrols with an empty list", async () => {
    const fake = await FakeCollector.new();
    const device = await fake.device(new Clock(), {}, "opt-in");
    await device.enrol(CAMPAIGN, TOKEN, [["", ""], 7]);
    expect(JSON.parse(new TextDecoder().decode((await device.items())[0]!.body!)).records).toEqual([]);
  });
});

describe("forgetting", () => {
  test("deletes what was sent, keeps the cost, and a late report is refused", async () => {
    const fake = await FakeCollector.new();
    const clock = new Clock();
    const device = await fake.device(clock);
    await device.takePart(CAMPAIGN, RECORDS);
    await device.send();
    const put = fake.writes[0]!;
    expect(await device.forget(CAMPAIGN)).toMatchObject({ sent: 1, waiting: 0 });
    expect(fake.reports.size).toBe(0);
    expect(fake.writes[1]).toMatchObject({ method: "POST", url: fake.path("deletions") });
    expect((await (await fake.take(put)).json()).type).toBe("urn:blendp:problem:deleted");
    expect((await device.ledger()).entries.length).toBe(1);
    await device.forget(CAMPAIGN);
    expect(fake.writes.length).toBe(2);
    expect((await device.takePart(CAMPAIGN, RECORDS)).reportId).toBe(put.url.split("/").at(-1));
  });

  test("what may have arrived is deleted too", async () => {
    const fake = await FakeCollector.new();
    const clock = new Clock();
    const device = await fake.device(clock);
    await device.takePart(CAMPAIGN, RECORDS);
    fake.failures = [async () => { await fake.take(fake.writes[0]!); throw new TypeError("cut"); }]; // prettier-ignore
    await device.send();
    expect(fake.reports.size).toBe(1);
    await device.forget(CAMPAIGN);
    expect(fake.reports.size).toBe(0);
    expect((await device.items())[0]).toMatchObject({ state: "dropped", reason: "forgotten" });
    clock.now += DAY;
    await device.send();
    expect(fake.writes.length).toBe(2);
  });

  test("a deletion that was refused may be asked for again", async () => {
    const fake = await FakeCollector.new();
    const device = await fake.device(new Clock());
    await device.takePart(CAMPAIGN, RECORDS);
    await device.send();
    fake.failures = [() => problem("malformed")];
    expect(await device.forget(CAMPAIGN)).toMatchObject({ refused: 1 });
    expect(await device.forget(CAMPAIGN)).toMatchObject({ sent: 1 });
    expect(fake.reports.size).toBe(0);
  });

  test("nothing to delete is an answer as well", async () => {
    const fake = await FakeCollector.new();
    const device = await fake.device(new Clock());
    await device.takePart(CAMPAIGN, RECORDS);
    await device.send();
    fake.failures = [() => json({ deleted: false })];
    await device.forget(CAMPAIGN);
    expect((await device.items())[1]).toMatchObject({ state: "sent", reason: "nothing to delete" });
  });
});

test("a server that is gone and comes back gets the same bytes", async () => {
  const fake = await FakeCollector.new();
  const clock = new Clock();
  const device = await fake.device(clock);
  await device.takePart(CAMPAIGN, RECORDS);
  fake.failures = Array.from({ length: 6 }, () => () => Promise.reject(new TypeError("gone")));
  await sendAll(device, clock);
  expect(fake.writes.length).toBe(7);
  expect(fake.distinctPuts.size).toBe(1);
  expect(fake.reports.size).toBe(1);
});


/** All rows of a database. */
async function contents(name: string): Promise<unknown> {
  const database = await new Promise<IDBDatabase>((resolve, reject) => {
    const request = indexedDB.open(name);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const names = [...database.objectStoreNames];
  const transaction = database.transaction(names);
  const requests = names.filter((one) => one !== "campaigns").map((one) => transaction.objectStore(one).getAll());
  await new Promise((resolve) => (transaction.oncomplete = resolve));
  database.close();
  return requests.map((request) => request.result);
}

/** Puts another navigator in place; the function that is given back puts the old one back. */
export function withNavigator(value: unknown): () => void {
  const before = Object.getOwnPropertyDescriptor(globalThis, "navigator");
  Object.defineProperty(globalThis, "navigator", { value, configurable: true });
  return () => {
    delete (globalThis as { navigator?: unknown }).navigator;
    if (before) Object.defineProperty(globalThis, "navigator", before);
  };
}

// The extension's parts by themselves, without a browser.
import { describe, expect, test } from "vitest";
import { explain } from "../../src/explain.ts";
import { nearest, ONE } from "../../src/exact.ts";
import { binomial } from "../../src/ranks.ts";
import { schemeOf } from "../../src/scheme.ts";
import { APART, Clock, FakeCollector, Float, LIST, newName, RECORDS, seeded } from "../../test/device_fake.ts";
import { ofHundred } from "../../ui/dots.ts";
import "./no_browser.ts";
import shipped from "../engines.json";
import { copyOf, isKept, mend, requireKept } from "../src/copy.ts";
import { engineAt, queryAt, requireEngine, requireEngines, targetOf } from "../src/engines.ts";
import { current, type KeptRecord, MAX_DAYS, MAX_LENGTH, MAX_RECORDS, withRecord } from "../src/kept.ts";
import { hundred, named } from "../src/odds.ts";
import { isActive, newState, STEPS, upgraded } from "../src/state.ts";
import { plannedFor } from "../src/visit.ts";
import { openStore } from "../../src/store.ts";
import version1 from "./state_1.json";

const ENGINE = {
  name: "E",
  hosts: ["https://*.engine.example/*", "http://localhost/*"],
  query: "q",
  results: "a.r",
  redirect: "to",
};

describe("engines", () => {
  test("the shipped ones are engines, and all are off at first", () => {
    expect(requireEngines(shipped).map(({ on }) => on)).toEqual(shipped.map(() => false));
    expect(newState().engines.every(({ on }) => !on)).toBe(true);
  });

  test.each([
    [{ name: "" }, "name"],
    [{ name: "a\u202eb" }, "name"],
    [{ hosts: [] }, "hosts"],
    [{ hosts: ["https://*/*"] }, "hosts"],
    [{ hosts: ["https://*.com/*"] }, "hosts"],
    [{ hosts: ["*://engine.example/*"] }, "hosts"],
    [{ hosts: ["http://engine.example/*"] }, "hosts"],
    [{ hosts: ["https://engine.example/path/*"] }, "hosts"],
    [{ hosts: ["<all_urls>"] }, "hosts"],
    [{ hosts: Array(21).fill(ENGINE.hosts[0]) }, "hosts"],
    [{ query: "q&x" }, "query"],
    [{ query: undefined }, "query"],
    [{ results: " " }, "results"],
    [{ results: "a".repeat(501) }, "results"],
    [{ redirect: "" }, "redirect"],
    [{ redirect: 1 }, "redirect"],
  ])("%j is refused by its name", (change, parameter) => {
    expect(() => requireEngine({ ...ENGINE, ...change })).toThrow(new RegExp(`^${parameter} = .*: it must be .*\\.$`));
  });

  test("two of one name are refused, and what is no list", () => {
    expect(() => requireEngines([ENGINE, ENGINE])).toThrow("name");
    expect(() => requireEngines(null)).toThrow("engines");
    expect(() => requireEngine(null)).toThrow("name");
  });

  test("pages are known by their hosts alone", () => {
    const known = (url: string) => engineAt([ENGINE], url) !== undefined;
    expect(["https://engine.example/?q=a", "https://www.engine.example/x", "http://localhost:80/"].every(known)).toBe(true);
    expect(
      [
        "http://www.engine.example/",
        "https://engine.example.evil/",
        "https://notengine.example/",
        "ftp://localhost/",
        "x",
        "",
      ].some(known),
    ).toBe(false);
  });

  test("queries are what the parameter holds", () => {
    expect(queryAt(ENGINE, "http://localhost/?x=1&q=%20caf%C3%A9+au%20lait")).toBe("café au lait");
    for (const url of ["http://localhost/?x=1", "http://localhost/?q=", "http://localhost/?q=+", "no"])
      expect(queryAt(ENGINE, url)).toBe(null);
  });

  test("links are given over as they are, those over the engine resolved, others of its own left aside", () => {
    expect(targetOf(ENGINE, "https://xn--bcher-kva.example/%C3%A9%20x")).toBe("https://xn--bcher-kva.example/%C3%A9%20x");
    expect(targetOf(ENGINE, "http://localhost/out?to=https%3A%2F%2Fa.example%2F%3Fx%3D1%23y")).toBe("https://a.example/?x=1#y");
    for (const link of [
      "http://localhost/out?to=javascript:alert(1)",
      "http://localhost/out?to=http://localhost/again",
      "http://localhost/out?to=a.example",
      "http://localhost/next",
      "javascript:alert(1)",
      "mailto:a@b.example",
      "data:text/html,x",
      ["https://a.example/"],
      null,
    ])
      expect(targetOf(ENGINE, link)).toBe(null);
    expect(targetOf({ ...ENGINE, redirect: null }, "http://localhost/out?to=https://a.example")).toBe(null);
  });
});

describe("kept records", () => {
  const record = (id: number, day: string): KeptRecord => ({ id, query: `q${id}`, url: "http://a.example/", engine: "E", day });

  test("are few: the oldest go", () => {
    let records: KeptRecord[] = [];
    for (let id = 1; id <= MAX_RECORDS + 2; id++) records = withRecord(records, record(id, "2026-11-17"), id);
    expect([records.length, records[0]!.id, records.at(-1)!.id]).toEqual([MAX_RECORDS, 3, MAX_RECORDS + 2]);
  });

  test("go after their days, whatever the clock did meanwhile", () => {
    const records = [record(1, "2026-08-19"), record(2, "2026-08-20"), record(3, "2026-11-17"), record(4, "2027-11-17")];
    expect(MAX_DAYS).toBe(90);
    const now = current(records, "2026-11-17");
    expect(now.map(({ id, day }) => [id, day])).toEqual([
      [2, "2026-08-20"],
      [3, "2026-11-17"],
      [4, "2026-11-17"],
    ]);
    expect(current(now, "2028-01-01")).toEqual([]);
  });

  test("are neither empty nor endless", () => {
    const long = "x".repeat(MAX_LENGTH + 1);
    for (const change of [{ query: "" }, { url: "" }, { query: long }, { url: long }])
      expect(withRecord([], { ...record(1, "2026-11-17"), ...change }, 1)).toEqual([]);
  });
});

describe("what is stored", () => {
  test("a state of version 1 is read as it is", () => {
    expect(upgraded(version1)).toEqual({ ...version1, version: newState().version });
    expect(Object.keys(upgraded(version1)).sort()).toEqual(Object.keys(newState()).sort());
  });

  test("steps lead upwards one by one, and leave what they were given", () => {
    STEPS.push(
      (state) => ({ ...state, added: state.records.length }),
      (state) => ({ ...state, added: state.added + 1 }),
    );
    try {
      const before = JSON.stringify(version1);
      expect(upgraded(version1)).toEqual({ ...version1, version: 3, added: 2 });
      expect(JSON.stringify(version1)).toBe(before);
      expect(upgraded({ ...version1, version: 2, added: 5 })).toMatchObject({ version: 3, added: 6 });
      expect(upgraded(undefined).version).toBe(3);
    } finally {
      STEPS.length = 0;
    }
  });

  test.each([{ version: 2 }, { version: 0 }, { version: "1" }, {}, null, "x"])("%j is left alone", (stored) => {
    expect(() => upgraded(stored)).toThrow("version");
  });
});

test("a pause ends after a day at the latest, whatever the clock did meanwhile", () => {
  const paused = { ...newState(), consent: "local" as const, pausedUntil: 1_000_000 };
  for (const [now, active] of [
    [999_999, false],
    [1_000_000, true],
    [1_000_000 - 86_400, false],
    [1_000_000 - 86_401, true],
  ] as const)
    expect([now, isActive(paused, now)]).toEqual([now, active]);
  expect(isActive({ ...paused, pausedUntil: 0, leaving: true }, 1)).toBe(false);
  expect(isActive({ ...paused, pausedUntil: 0, consent: "off" }, 1)).toBe(false);
});

describe("the copy", () => {
  test("notices a database that is new, knows less, or allows more", async () => {
    const fake = await FakeCollector.new();
    const name = newName();
    const device = await fake.device(new Clock(), { name });
    const store = await openStore(name);
    await device.takePart("trends", RECORDS);
    const copy = await copyOf(store);
    expect(isKept(null, copy)).toBe(true);
    expect(isKept(copy, copy)).toBe(true);
    expect(isKept(copy, { ...copy, spent: [] })).toBe(false);
    expect(isKept({ ...copy, spent: [] }, copy)).toBe(true);
    expect(isKept({ ...copy, cap: { epsilon: 4, delta: 0 } }, copy)).toBe(false);
    expect(isKept(copy, { ...copy, cap: { epsilon: 4, delta: 0 } })).toBe(true);
    expect(isKept(copy, { ...copy, secret: "0".repeat(64) })).toBe(false);
    expect(() => requireKept(copy, { ...copy, secret: "" })).toThrow("lost the ledger");
    device.close();
    store.close();
  });

  test("mends a lost database as far as deletion needs", async () => {
    const fake = await FakeCollector.new();
    const [name, other] = [newName(), newName()];
    const device = await fake.device(new Clock(), { name });
    await device.takePart("trends", RECORDS);
    await device.send();
    const store = await openStore(name);
    const copy = await copyOf(store);
    const anew = await fake.device(new Clock(), { name: other });
    const lost = await openStore(other);
    await mend(lost, copy);
    await mend(lost, copy);
    expect(isKept(copy, await copyOf(lost))).toBe(true);
    expect((await anew.ledger()).entries.length).toBe(1);
    expect(fake.reports.size).toBe(1);
    await anew.setConsent("off");
    expect(fake.reports.size).toBe(0);
    for (const one of [device, anew, store, lost]) one.close();
  });
});

describe("when to take part", () => {
  const NOW = Date.parse("2026-11-17T12:00") / 1000;

  test("between a day from now and a day before the end, evenly", () => {
    const [first, last] = [plannedFor(NOW, "2026-11-30", 0), plannedFor(NOW, "2026-11-30", 1 - 2 ** -32)];
    expect(first).toBe(NOW + 86_400);
    expect(last).toBeLessThan(Date.parse("2026-11-30") / 1000);
    expect(plannedFor(NOW, "2026-11-30", 0.5)).toBeCloseTo((first + last) / 2, 0);
  });

  test("at once where there is no such time", () => {
    for (const day of ["2026-11-18", "2026-11-17", "2026-11-01"]) expect(plannedFor(NOW, day, 0.5)).toBe(NOW);
  });
});

describe("of 100 people", () => {
  test.each([
    [0, 0, "0 of 100"], [0.2, 0, "fewer than 1 of 100"], [0.5, 1, "about 1 of 100"], [1, 1, "1 of 100"], [86.6, 87, "about 87 of 100"],
    [99.4, 99, "about 99 of 100"], [99.6, 99, "more than 99 of 100"], [100, 100, "100 of 100"],
  ])("%d is said and drawn honestly", (count, filled, text) => {
    expect(ofHundred(count)).toEqual({ filled, text });
  }); // prettier-ignore

  test("the shares follow from the exact probabilities of explain", async () => {
    const seen = new Set<number>();
    const wide = { epsilon: new Float("1.0") };
    for (const [terms, manifest] of [[{}, {}], [wide, {}], [{}, APART], [wide, APART], [{ method: "published" }, {}]]) {
      const fake = await FakeCollector.new(terms, LIST, manifest);
      for (let seed = 1n; seed < 9n; seed++) {
        const device = await fake.device(new Clock(), { chooser: seeded(seed) });
        await device.takePart("trends", RECORDS);
        const report = await device.report("trends");
        const { likelihoods } = explain(report);
        const [chance, { items, size, coins }] = schemeOf(report.manifest, report.list).asked.get(report.question)!;
        const isApart = coins.length > 1;
        const names = named(report);
        const isNothing = names[0]![0] === null;
        // how many reports name the item, over the chance that the question is asked
        const ways = isApart && isNothing ? 1n : binomial(items - (isApart ? 2 : 1), size - 1);
        const own = isApart && isNothing ? /^no listed/ : /^(the|one of the) .* it names$/;
        const [numerator, denominator] = likelihoods.find(({ description }) => own.test(description))!.probability;
        const groups = hundred(report);
        expect(groups[0]!.count).toBeCloseTo(100 * nearest([numerator * ways * ONE, denominator * chance]), 6);
        expect(groups.length).toBe(isApart || report.question === "cell" ? (isNothing ? 2 : 3) : 2);
        expect(names.length).toBe(isApart && isNothing ? 1 : size);
        // whoever names a set names as many items as it has
        if (report.question !== "cell" && !isNothing) {
          const [first, other = 0n] = coins;
          const rest = items - (isApart ? 2 : 1);
          expect(groups[0]!.count + rest * groups[1]!.count).toBeCloseTo(100 * size * nearest([ONE - other, ONE]), 6);
          if (isApart) expect((rest + 1) * groups[2]!.count).toBeCloseTo(100 * size * nearest([ONE - first!, ONE]), 6);
        }
        seen.add(groups.length);
        device.close();
      }
    }
    expect(seen).toEqual(new Set([2, 3]));
  });

  test("what is left of a query is told from a query that is listed without an address", async () => {
    const bare = { query: "an answer", urls: [] };
    const fake = await FakeCollector.new({ method: "published", epsilon: new Float("1.0") }, { ...LIST, queries: [bare, ...(LIST["queries"] as [])] });
    const seen = new Set<string>();
    for (let seed = 1n; seed < 60n; seed++) {
      const device = await fake.device(new Clock(), { chooser: seeded(seed) });
      await device.takePart("trends", seed % 2n ? [["an answer", "http://any.org"]] : [["query 3", "http://other.org"]]);
      const [[query, url, isRest]] = named(await device.report("trends")) as [[string | null, string | null, boolean]];
      if (url === null) seen.add(query === null ? `everything ${isRest}` : query === "an answer" ? `bare ${isRest}` : `rest ${isRest}`);
      else expect(isRest).toBe(false);
      device.close();
    }
    expect([...seen].sort()).toEqual(["bare false", "everything false", "rest true"]);
  });
});

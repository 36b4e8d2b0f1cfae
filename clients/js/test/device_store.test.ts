// What the storage promises, and what is done where it does not.
import { afterEach, describe, expect, test } from "vitest";
import { Device } from "../src/index.ts";
import { openStore, STEPS } from "../src/store.ts";
import { CAMPAIGN, Clock, FakeCollector, newName, reasonOf, RECORDS, TOKEN } from "./device_fake.ts";

let undo = () => {};
afterEach(() => {
  undo();
  undo = () => {};
  STEPS.length = 1;
});

/** Gives the browser another way to answer for its storage. */
function storage(value: unknown): void {
  const before = Object.getOwnPropertyDescriptor(globalThis, "navigator");
  Object.defineProperty(globalThis, "navigator", { value: { storage: value }, configurable: true });
  undo = () => {
    delete (globalThis as { navigator?: unknown }).navigator;
    if (before) Object.defineProperty(globalThis, "navigator", before);
  };
}

function opened(name: string, version?: number): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name, version);
    request.onupgradeneeded = () => {};
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

describe("storage that the browser may clear", () => {
  const yes = async () => true;
  const no = async () => false;
  const cases: [string, unknown, string][] = [
    ["no such thing", undefined, "storage"],
    ["a worker, which cannot ask", { persisted: no }, "storage"],
    ["refused", { persisted: no, persist: no }, "storage"],
    ["failing", { persisted: () => Promise.reject(new Error("no")) }, "storage"],
    ["persistent already", { persisted: yes, persist: no }, "nothing"],
    ["persistent when asked", { persisted: no, persist: yes }, "nothing"],
  ];
  for (const [what, value, reason] of cases) {
    test(what, async () => {
      storage(value);
      const fake = await FakeCollector.new();
      const device = await fake.device(new Clock(), { acceptVolatileStorage: false }, "opt-in");
      expect(await reasonOf(device.takePart(CAMPAIGN, RECORDS))).toBe(reason);
      if (reason !== "storage") return;
      expect(await reasonOf(device.enrol(CAMPAIGN, TOKEN, RECORDS))).toBe("storage");
      expect(fake.requests).toEqual([]);
      expect([await device.participation(CAMPAIGN), await device.items()]).toEqual([null, []]);
    });
  }

  test("is taken if the caller insists, even if nobody answers the browser's question", async () => {
    let asked = 0;
    storage({ persisted: no, persist: () => (asked++, new Promise(() => {})) });
    const fake = await FakeCollector.new();
    await (await fake.device(new Clock())).takePart(CAMPAIGN, RECORDS);
    expect(asked).toBe(1);
  });

  test("is not asked for before somebody takes part", async () => {
    storage({ persisted: () => Promise.reject(new Error("asked")) });
    const fake = await FakeCollector.new();
    const device = await fake.device(new Clock(), { acceptVolatileStorage: false });
    await device.look(CAMPAIGN);
    await device.setConsent("off");
    expect(await reasonOf(device.takePart(CAMPAIGN, RECORDS))).toBe("consent");
  });
});

describe("versions", () => {
  test("a device of a later version is left alone", async () => {
    const name = newName();
    (await opened(name, STEPS.length + 1)).close();
    expect(await reasonOf(Device.open({ name }))).toBe("device");
    const database = await opened(name);
    expect([database.version, database.objectStoreNames.length]).toEqual([STEPS.length + 1, 0]);
    database.close();
  });

  test("what is no device's memory is left alone", async () => {
    const name = newName();
    (await opened(name, STEPS.length)).close();
    expect(await reasonOf(Device.open({ name }))).toBe("storage");
  });

  test("what was remembered is there after a step, and earlier code steps aside", async () => {
    const fake = await FakeCollector.new();
    const name = newName();
    const old = await fake.device(new Clock(), { name });
    const done = await old.takePart(CAMPAIGN, RECORDS);
    STEPS.push((database) => void database.createObjectStore("later"));
    const later = await fake.device(new Clock(), { name });
    expect(await later.takePart(CAMPAIGN, RECORDS)).toEqual(done);
    expect(await reasonOf(old.send())).toBe("storage");
    expect(await reasonOf(old.takePart(CAMPAIGN, RECORDS))).toBe("storage");
    STEPS.pop();
    expect(await reasonOf(Device.open({ name }))).toBe("device");
    expect((await later.send()).sent).toBe(1);
  });

  test("a new memory takes every step, and a step that fails leaves the version before", async () => {
    const name = newName();
    (await openStore(name)).close();
    STEPS.push((database) => database.createObjectStore("later").transaction.abort());
    expect(await reasonOf(openStore(name))).toBe("storage");
    STEPS.pop();
    const database = await opened(name);
    expect(database.version).toBe(1);
    database.close();
  });

  test("a tab of somebody else that does not step aside is given up on", async () => {
    const name = newName();
    (await openStore(name)).close();
    const stubborn = await opened(name);
    STEPS.push(() => {});
    const timer = globalThis.setTimeout;
    globalThis.setTimeout = ((act: () => void, _: number, ...values: []) => timer(act, 20, ...values)) as typeof setTimeout;
    try {
      expect(await reasonOf(openStore(name))).toBe("storage");
    } finally {
      globalThis.setTimeout = timer;
    }
    stubborn.close();
    const store = await openStore(name);
    store.close();
  });
});

test("a step that raises leaves nothing of what it wrote", async () => {
  const store = await openStore(newName());
  const fails = store.whole(async (work) => {
    work.put("servers", { url: "a", keys: [] });
    await work.get("servers", "a");
    throw new RangeError("after a write");
  });
  expect(await reasonOf(fails)).toBe("RangeError");
  expect(await store.read((work) => work.all("servers"))).toEqual([]);
  store.close();
});

test("consent is asked for again before anything is sent", async () => {
  const fake = await FakeCollector.new();
  const name = newName();
  const device = await fake.device(new Clock(), { name });
  await device.takePart(CAMPAIGN, RECORDS);
  const store = await openStore(name);
  await store.whole(async (work) => work.put("install", { ...(await work.install()), consent: "off" }));
  expect(await device.send()).toMatchObject({ dropped: 1 });
  expect(fake.writes).toEqual([]);
});

test("a device that was closed says so", async () => {
  const device = await (await FakeCollector.new()).device(new Clock());
  device.close();
  expect(await reasonOf(device.items())).toBe("storage");
  expect(await reasonOf(device.consent())).toBe("storage");
});

test("what is written is asked to be on the disk", async () => {
  const asked: unknown[] = [];
  const prototype = IDBDatabase.prototype;
  const transaction = prototype.transaction;
  prototype.transaction = function (this: IDBDatabase, ...values: Parameters<typeof transaction>) {
    if (values[1] === "readwrite") asked.push(values[2]);
    return transaction.apply(this, values);
  } as typeof transaction;
  undo = () => (prototype.transaction = transaction);
  const fake = await FakeCollector.new();
  const device = await fake.device(new Clock());
  await device.takePart(CAMPAIGN, RECORDS);
  expect(asked.length).toBeGreaterThan(3);
  for (const options of asked) expect(options).toEqual({ durability: "strict" });
});

test("a full disk leaves nothing half written", async () => {
  const fake = await FakeCollector.new();
  const device = await fake.device(new Clock());
  const prototype = IDBObjectStore.prototype;
  const put = prototype.put;
  prototype.put = function (this: IDBObjectStore, ...values: Parameters<typeof put>) {
    if (this.name === "queue") this.add({ ...(values[0] as object), id: 1 });
    return put.apply(this, this.name === "queue" ? [{ ...(values[0] as object), id: 1 }] : values);
  } as typeof put;
  undo = () => (prototype.put = put);
  const add = prototype.add;
  prototype.add = function (this: IDBObjectStore, row: { id: number }) {
    const request = add.call(this, row);
    add.call(this, row);
    return request;
  } as typeof add;
  expect(await reasonOf(device.takePart(CAMPAIGN, RECORDS))).toBe("storage");
  prototype.add = add;
  undo();
  undo = () => {};
  expect([await device.participation(CAMPAIGN), await device.items()]).toEqual([null, []]);
  expect((await device.ledger()).entries).toEqual([]);
  await device.takePart(CAMPAIGN, RECORDS);
});

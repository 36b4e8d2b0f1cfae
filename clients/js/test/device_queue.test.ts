// The queue: patient, in the same bytes, and never ruled by one clock.
import { describe, expect, test } from "vitest";
import type { Device } from "../src/index.ts";
import {
  away, CAMPAIGN, Clock, DAY, FakeCollector, FINAL, json, newName, NOW, OPT_IN_END, problem, RECORDS, REPORTS_END,
  sendAll, TOKEN,
} from "./device_fake.ts"; // prettier-ignore

const RETRYABLE = [408, 421, 425, 429, 431, 500, 502, 503, 504, 507];
const MAX_WAIT = 14 * DAY;

async function reported(clock = new Clock()): Promise<[FakeCollector, Device, Clock]> {
  const fake = await FakeCollector.new();
  const device = await fake.device(clock);
  await device.takePart(CAMPAIGN, RECORDS);
  return [fake, device, clock];
}

const first = async (device: Device) => (await device.items())[0]!;

test("retries are the same bytes, after times that double up to an hour", async () => {
  const [fake, device, clock] = await reported();
  fake.failures = [away, ...RETRYABLE.map((status) => () => new Response("", { status })), away];
  const tries = fake.failures.length + 1;
  const waits = await sendAll(device, clock, 1e6);
  expect(await first(device)).toMatchObject({ state: "sent", reason: "accepted", attempts: tries });
  expect([fake.writes.length, fake.distinctPuts.size]).toEqual([tries, 1]);
  waits.forEach((wait, n) => expect(wait).toBeCloseTo(0.5 * Math.min(3600, 5 * 2 ** n), 5));
});

test("Retry-After is a lower bound, in seconds or as a date", async () => {
  const [fake, device, clock] = await reported();
  fake.failures = [
    () => problem("rate-limited", { "retry-after": "100" }),
    () => problem("busy", { "retry-after": new Date((NOW + 1000) * 1000).toUTCString() }),
    () => problem("busy", { "retry-after": "999999999999999999" }),
    () => problem("busy", { "retry-after": "soon" }),
  ];
  const one = await device.send();
  expect(one.nextDue).toBe(NOW + 100 + 2.5);
  expect((await first(device)).reason).toBe("rate-limited");
  expect(await device.send()).toEqual(one);
  expect(fake.writes.length).toBe(1);
  clock.now = one.nextDue!;
  const two = await device.send();
  expect(two.nextDue).toBe(NOW + 1000 + 5);
  clock.now = two.nextDue!;
  const three = await device.send();
  expect(three.nextDue).toBe(clock.now + MAX_WAIT + 10);
  clock.now = three.nextDue!;
  expect((await device.send()).nextDue).toBe(clock.now + 20);
  clock.now += 20;
  expect((await device.send()).sent).toBe(1);
});

describe("a collector's refusal is final", () => {
  for (const slug of FINAL) {
    test(slug, async () => {
      const [fake, device, clock] = await reported();
      fake.failures = [() => problem(slug)];
      clock.now = REPORTS_END + 1;
      expect(await device.send()).toMatchObject({ refused: 1, waiting: 0, nextDue: null });
      expect(await first(device)).toMatchObject({ state: "refused", reason: slug });
      clock.now += DAY;
      await device.send();
      expect(fake.writes.length).toBe(1);
    });
  }
});

test("a page of somebody in between settles nothing", async () => {
  const bodies = ["", "{}", "[]", "null", "7", "<html>back soon</html>", '{"outcome":"maybe"}', '{"deleted":true}', '{"type":7}'];
  const [fake, device, clock] = await reported();
  let tries = 0;
  for (const status of [200, 201, 403, 404, 418]) {
    for (const body of bodies) {
      fake.failures = [() => new Response(body, { status })];
      clock.now += 1e4;
      expect(await device.send()).toMatchObject({ sent: 0, refused: 0, waiting: 1 });
      expect(await first(device)).toMatchObject({ reason: `http-${status}`, attempts: ++tries });
    }
  }
  await sendAll(device, clock, 1e6);
  fake.failures = [() => json({ outcome: "accepted" })];
  expect(await device.forget(CAMPAIGN)).toMatchObject({ waiting: 1 });
  await sendAll(device, clock, 1e6);
  expect((await device.items()).map(({ kind, reason }) => [kind, reason])).toEqual([
    ["report", "accepted"],
    ["deletion", "deleted"],
  ]);
});

test("a duplicate is as good as accepted", async () => {
  const [fake, device] = await reported();
  fake.failures = [() => json({ outcome: "duplicate" })];
  expect((await device.send()).sent).toBe(1);
  expect((await first(device)).reason).toBe("duplicate");
});

for (const slug of ["late", "wrong-state"]) {
  for (const kind of ["report", "opt-in"]) {
    test(`${slug} is final for a ${kind} only by both clocks`, async () => {
      const fake = await FakeCollector.new();
      const clock = new Clock();
      const device = await fake.device(clock, {}, kind === "opt-in" ? "opt-in" : "local");
      await (kind === "opt-in" ? device.enrol(CAMPAIGN, TOKEN, RECORDS) : device.takePart(CAMPAIGN, RECORDS));
      fake.failures = Array.from({ length: 30 }, () => () => problem(slug));
      const waits = await sendAll(device, clock, 2 * DAY);
      expect(Math.max(...waits)).toBeCloseTo(3 * 3600, 5);
      expect(await first(device)).toMatchObject({ state: "waiting", reason: slug, kind });
      const end = kind === "opt-in" ? OPT_IN_END : REPORTS_END;
      clock.now = end - 1;
      expect((await device.send()).refused).toBe(0);
      clock.now = end + DAY / 4;
      expect((await device.send()).refused).toBe(1);
      expect(await first(device)).toMatchObject({ state: "refused", reason: slug });
      expect(fake.distinctPuts.size).toBe(1);
    });
  }
}

test("a collector whose clock is set right gets the report", async () => {
  const [fake, device, clock] = await reported();
  fake.failures = Array.from({ length: 4 }, () => () => problem("late"));
  await sendAll(device, clock);
  expect(fake.reports.size).toBe(1);
});

for (const jump of [400 * DAY, 20 * 365 * DAY]) {
  test(`a clock that jumps ${jump / DAY} days for a while drops nothing`, async () => {
    const [fake, device, clock] = await reported();
    fake.failures = Array.from({ length: 50 }, () => away);
    clock.now = NOW + jump;
    for (let hour = 0; hour < 5; hour++) {
      clock.now += 3600;
      expect((await device.send()).dropped).toBe(0);
    }
    expect((await first(device)).overdue).not.toBe(null);
    clock.now = NOW + 60;
    fake.failures = [];
    expect(await device.send()).toMatchObject({ sent: 1, waiting: 0 });
  });
}

test("a report of a fast clock is sent once the clock is right", async () => {
  const clock = new Clock();
  clock.now = NOW + 20 * DAY;
  const [, device] = await reported(clock);
  clock.now = NOW;
  expect((await device.send()).sent).toBe(1);
});

test("an item that is no longer too old is not dropped a day later", async () => {
  const [fake, device, clock] = await reported();
  fake.failures = Array.from({ length: 50 }, () => away);
  clock.now = REPORTS_END + 2 * DAY;
  await device.send();
  clock.now = NOW + 60;
  await device.send();
  expect((await first(device)).overdue).toBe(null);
  clock.now = REPORTS_END + 4 * DAY;
  expect((await device.send()).dropped).toBe(0);
});

test("what is too old is dropped if it still is a day later, but deletions are not", async () => {
  const [fake, device, clock] = await reported();
  fake.failures = Array.from({ length: 5 }, () => away);
  for (const moment of [NOW + MAX_WAIT + 1, REPORTS_END + DAY, REPORTS_END + DAY + 1, REPORTS_END + 2 * DAY]) {
    clock.now = moment;
    expect((await device.send()).dropped).toBe(0);
  }
  clock.now = REPORTS_END + 2 * DAY + 2;
  expect((await device.send()).dropped).toBe(1);
  expect(await first(device)).toMatchObject({ state: "dropped", reason: "too old" });
  await device.forget(CAMPAIGN);
  clock.now += 2 * MAX_WAIT;
  fake.failures = [];
  expect((await device.send()).sent).toBe(1);
  expect((await device.items())[1]).toMatchObject({ kind: "deletion", state: "sent", reason: "nothing to delete" });
});

test("beyond 500 reports the oldest is dropped; deletions are not counted", async () => {
  const fake = await FakeCollector.new();
  const name = newName();
  const clock = new Clock();
  const device = await fake.device(clock, { name });
  await device.takePart(CAMPAIGN, RECORDS);
  const item = { ...(await first(device)), due: NOW + 1e9 };
  const database = await new Promise<IDBDatabase>((resolve) => {
    const request = indexedDB.open(name);
    request.onsuccess = () => resolve(request.result);
  });
  const transaction = database.transaction("queue", "readwrite");
  const queue = transaction.objectStore("queue");
  const rows = Array.from({ length: 510 }, (_, i) => i);
  for (const i of rows) queue.put({ ...item, id: i + 2, campaign: `c${i}`, kind: i < 11 ? "deletion" : "report" });
  await new Promise((resolve) => (transaction.oncomplete = resolve));
  database.close();
  const other = await FakeCollector.new({ campaign: "other" });
  const second = await other.device(clock, { name });
  await second.takePart("other", RECORDS);
  const items = await second.items();
  expect(items.filter(({ state }) => state === "dropped").map(({ id, reason }) => [id, reason])).toEqual([[1, "quota"]]);
  expect(items.filter(({ state, kind }) => state === "waiting" && kind === "report").length).toBe(500);
});

test("two tabs without locks do not send an item that one has claimed", async () => {
  const fake = await FakeCollector.new();
  const clock = new Clock();
  const name = newName();
  const [one, two] = [await fake.device(clock, { name }), await fake.device(clock, { name })];
  await one.takePart(CAMPAIGN, RECORDS);
  fake.failures = [away];
  await one.send();
  expect(await two.send()).toMatchObject({ sent: 0, waiting: 1 });
  expect(fake.writes.length).toBe(1);
  clock.now += 60;
  await two.send();
  expect(fake.writes.length).toBe(2);
});

test("a report that is bound to another manifest is told", async () => {
  const [fake, device] = await reported();
  Object.assign(fake.manifest, { opt_in_people: 300 });
  expect((await device.send()).refused).toBe(1);
  expect((await first(device)).reason).toBe("wrong-list");
});

test("one item's trouble holds up no other, and one send counts all", async () => {
  const clock = new Clock();
  const name = newName();
  const fakes = [await FakeCollector.new({ campaign: "a" }), await FakeCollector.new({ campaign: "b" })];
  for (const fake of fakes) await (await fake.device(clock, { name })).takePart(fake.campaign, RECORDS);
  fakes[0]!.failures = [away];
  const fetch = (url: string, init: RequestInit) => fakes[url.includes("/a/") ? 0 : 1]!.fetch(url, init);
  const device = await fakes[0]!.device(clock, { name, fetch });
  expect(await device.send()).toEqual({ sent: 1, refused: 0, dropped: 0, waiting: 1, nextDue: NOW + 2.5 });
  clock.now += 3;
  expect(await device.send()).toMatchObject({ sent: 1, waiting: 0 });
});

test("what was forgotten while it was on its way stays dropped, whatever is answered", async () => {
  const [fake, device] = await reported();
  let forgotten: Promise<unknown> = Promise.resolve();
  fake.failures = [() => problem("busy")];
  fake.before = async ({ method }) => {
    if (method !== "PUT") return;
    forgotten = device.forget(CAMPAIGN);
    while ((await first(device)).state === "waiting") await new Promise((resolve) => setTimeout(resolve, 1));
  };
  await device.send();
  await forgotten;
  expect((await device.items()).map(({ kind, state, reason }) => [kind, state, reason])).toEqual([
    ["report", "dropped", "forgotten"],
    ["deletion", "sent", "nothing to delete"],
  ]);
});

test("attempts are written down before anything is sent", async () => {
  const [fake, device] = await reported();
  let seen = 0;
  fake.before = async () => {
    seen = (await first(device)).attempts;
  };
  await device.send();
  expect(seen).toBe(1);
});

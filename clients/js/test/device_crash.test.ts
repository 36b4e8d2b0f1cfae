// A device that dies at any moment draws once, spends once and sends the same bytes.
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import type { Device } from "../src/index.ts";
import { away, CAMPAIGN, Clock, FakeCollector, newName, problem, RECORDS, seeded, sendAll, TOKEN } from "./device_fake.ts";

class DeadError extends Error {}

const { put } = IDBObjectStore.prototype;
const { transaction } = IDBDatabase.prototype;

/** Lets everything die at the n-th step; afterwards nothing is written, begun or sent any more. */
class Death {
  steps = 0;
  dead = false;

  constructor(readonly lives: number) {}

  step(): boolean {
    if (!this.dead && ++this.steps === this.lives) this.dead = true;
    return this.dead;
  }
}

/** Dies at the n-th write: the transaction that it is part of never becomes true. */
function atPut(lives: number): Death {
  const death = new Death(lives);
  IDBObjectStore.prototype.put = function (this: IDBObjectStore, ...values: Parameters<typeof put>) {
    if (death.step()) {
      this.transaction.abort();
      throw new DeadError();
    }
    return put.apply(this, values);
  } as typeof put;
  IDBDatabase.prototype.transaction = function (this: IDBDatabase, ...values: Parameters<typeof transaction>) {
    if (death.dead) throw new DeadError();
    return transaction.apply(this, values);
  } as typeof transaction;
  return death;
}

/** Dies before the n-th transaction begins: the one before is true, whatever would have come next never happens. */
function atTransaction(lives: number): Death {
  const death = new Death(lives);
  IDBDatabase.prototype.transaction = function (this: IDBDatabase, ...values: Parameters<typeof transaction>) {
    if (death.step()) throw new DeadError();
    return transaction.apply(this, values);
  } as typeof transaction;
  return death;
}

function revive(): void {
  IDBObjectStore.prototype.put = put;
  IDBDatabase.prototype.transaction = transaction;
}

afterEach(revive);

const ACTS = ["takePart", "enrol", "send", "forget", "off"] as const;

async function perform(device: Device, act: (typeof ACTS)[number]): Promise<void> {
  await (act === "enrol" ? device.enrol(CAMPAIGN, TOKEN, RECORDS) : device.takePart(CAMPAIGN, RECORDS));
  if (act !== "takePart" && act !== "enrol") await device.send();
  if (act === "forget") await device.forget(CAMPAIGN);
  if (act === "off") await device.setConsent("off");
}

for (const [how, kill, least] of [
  ["at any write", atPut, 5],
  ["between any two transactions", atTransaction, 5],
] as const) {
  describe(`death ${how}`, () => {
    for (const act of ACTS) {
      test(act, async () => {
        let deaths = 0;
        for (let lives = 1; ; lives++) {
          const [fake, clock, name] = [await FakeCollector.new(), new Clock(), newName()];
          const isOptIn = act === "enrol";
          const first = await fake.device(clock, { name, chooser: seeded(1n) }, isOptIn ? "opt-in" : "local");
          const death = kill(lives);
          fake.before = () => {
            if (death.dead) throw new DeadError();
          };
          await perform(first, act).catch(() => {});
          revive();
          const { dead } = death;
          first.close();
          death.dead = false;
          fake.before = () => {};

          const second = await fake.device(clock, { name, chooser: seeded(2n) }, null);
          const before = await second.participation(CAMPAIGN);
          const items = await second.items();
          expect([items.length > 0, (await second.ledger()).entries.length]).toEqual([before !== null, before ? 1 : 0]);
          if ((await second.consent()) === "off") expect(act).toBe("off");
          else await perform(second, act);
          clock.now += 10_000;
          await sendAll(second, clock);
          if (before) expect(await second.participation(CAMPAIGN)).toEqual(before);
          expect((await second.ledger()).entries.length).toBe(1);
          expect((await second.items()).filter(({ kind }) => kind === "report" || kind === "opt-in").length).toBe(1);
          expect(fake.distinctPuts.size).toBeLessThanOrEqual(1);
          if (act === "forget" || act === "off") expect(fake.reports.size).toBe(0);
          else expect((isOptIn ? fake.optIn : fake.reports).size).toBe(1);
          second.close();
          if (!dead) break;
          deaths++;
        }
        expect(deaths).toBeGreaterThanOrEqual(least);
      });
    }
  });
}

for (const arrives of [false, true]) {
  test(`death while sending, ${arrives ? "before the answer" : "before it leaves"}, repeats the same bytes`, async () => {
    const [fake, clock, name] = [await FakeCollector.new(), new Clock(), newName()];
    const first = await fake.device(clock, { name });
    const done = await first.takePart(CAMPAIGN, RECORDS);
    const death = atTransaction(1e9);
    fake.failures = [
      async () => {
        if (arrives) await fake.take(fake.writes[0]!);
        death.dead = true;
        throw new DeadError();
      },
    ];
    await expect(first.send()).rejects.toThrow();
    revive();
    first.close();
    const second = await fake.device(clock, { name, chooser: seeded(99n) });
    expect(await second.takePart(CAMPAIGN, [["another", "http://record.org"]])).toEqual(done);
    expect(await second.items()).toMatchObject([{ attempts: 1, state: "waiting" }]);
    await sendAll(second, clock);
    expect(await second.items()).toMatchObject([{ state: "sent", reason: arrives ? "duplicate" : "accepted" }]);
    expect([fake.distinctPuts.size, fake.reports.size]).toEqual([1, 1]);
  });
}

test("any order of acts, any of which may die or fail: one draw, one cost, the same bytes", async () => {
  const act = fc.record({
    act: fc.constantFrom("takePart", "takePart", "send", "send", "forget", "off", "local"),
    lives: fc.integer({ min: 1, max: 14 }),
    writes: fc.boolean(),
    trouble: fc.constantFrom("none", "none", "away", "lost", "busy"),
    seconds: fc.integer({ min: 0, max: 10_000 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 3, maxLength: 12 }), async (acts) => {
      const [fake, clock, name] = [await FakeCollector.new(), new Clock(), newName()];
      const drawn = new Set<string>();
      let seed = 0n;
      for (const { act, lives, writes, trouble, seconds } of acts) {
        clock.now += seconds;
        const lost = async () => (await fake.take(fake.writes.at(-1)!), away());
        if (trouble !== "none") fake.failures.push({ away, lost, busy: () => problem("busy") }[trouble]);
        const device = await fake.device(clock, { name, chooser: seeded(seed++) }, seed === 1n ? "local" : null);
        const death = (writes ? atPut : atTransaction)(lives);
        fake.before = () => {
          if (death.dead) throw new DeadError();
        };
        const run = {
          takePart: () => device.takePart(CAMPAIGN, RECORDS),
          send: () => device.send(),
          forget: () => device.forget(CAMPAIGN),
          off: () => device.setConsent("off"),
          local: () => device.setConsent("local"),
        }[act];
        await (run() as Promise<unknown>).catch(() => {});
        revive();
        fake.before = () => {};
        device.close();
        const later = await fake.device(clock, { name }, null);
        const done = await later.participation(CAMPAIGN);
        expect((await later.ledger()).entries.length).toBe(done ? 1 : 0);
        expect((await later.items()).filter(({ kind }) => kind === "report").length).toBe(done ? 1 : 0);
        if (done) drawn.add(JSON.stringify([done.reportId, done.question, [...done.data!]]));
        expect(drawn.size).toBeLessThanOrEqual(1);
        expect(fake.distinctPuts.size).toBeLessThanOrEqual(done ? 1 : 0);
        expect(fake.reports.size).toBeLessThanOrEqual(1);
        later.close();
      }
    }),
    { numRuns: "process" in globalThis ? 60 : 15, seed: 16 },
  );
});

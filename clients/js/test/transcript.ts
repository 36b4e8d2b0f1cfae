// A device from its first day on: what it is asked to do, what a collector answers, and all that it sends.
import { hex, text, unhex } from "../src/bytes.ts";
import { Device } from "../src/device.ts";
import type { Budget } from "../src/errors.ts";
import type { Chooser } from "../src/random.ts";

type Given = any;
type Answer = { status: number; body: string; headers?: Record<string, string> };

const budgetOf = (pair?: [number, number]): Budget | undefined => pair && { epsilon: pair[0], delta: pair[1] };
let devices = 0;

export async function replayed(given: Given, chooser: Chooser): Promise<unknown> {
  const answers = new Map<string, Answer[]>(Object.entries<Answer[]>(given.answers).map(([address, some]) => [address, [...some]]));
  const requests: unknown[] = [];
  const fetch = async (url: string, { method, headers, body }: Given): Promise<Response> => {
    const { "Content-Type": type = null, Authorization: token = null } = headers;
    if (method !== "GET") requests.push({ method, url, type, token, body: body && text(body) });
    const some = answers.get(`${method} ${url}`) ?? [{ status: 404, body: "" }];
    const one = some.length > 1 ? some.shift()! : some[0]!;
    if (!one.status) throw new TypeError("nobody answers");
    return new Response(one.body, { status: one.status, headers: one.headers ?? {} });
  };

  let now: number = given.now;
  let entropy: string = given.entropy;
  const name = `transcript ${++devices} ${hex(crypto.getRandomValues(new Uint8Array(8)))}`;
  const opened = ({ url, keys, witnesses = [], trust_on_first_use: trustOnFirstUse = false }: Given) => Device.open({
    collector: { url, keys, witnesses, trustOnFirstUse },
    name,
    acceptVolatileStorage: true,
    clock: () => now,
    jitter: () => 0.5,
    entropy(count) {
      const bytes = unhex(entropy.slice(0, 2 * count), "entropy", count);
      entropy = entropy.slice(2 * count);
      return bytes;
    },
    chooser,
    fetch: fetch as typeof globalThis.fetch,
  });
  let device = await opened(given.collector);
  const steps: Record<string, (step: Given) => Promise<unknown>> = {
    consent: ({ level }) => device.setConsent(level),
    look: ({ campaign }) => device.look(campaign),
    "take-part": ({ campaign, records }) => device.takePart(campaign, records),
    enrol: ({ campaign, token, records }) => device.enrol(campaign, token, records),
    send: () => device.send(),
    ledger: () => device.ledger(),
    forget: ({ campaign }) => device.forget(campaign),
    "lower-cap": ({ life, year }) => device.lowerCap({ cap: budgetOf(life)!, yearly: budgetOf(year)! }),
    async collector(step) {
      device.close();
      device = await opened(step);
    },
    wait: async ({ seconds }) => (now += seconds),
  };
  try {
    for (const step of given.steps) {
      const done = steps[step.do]!(step);
      if (step.refused === undefined) await done;
      else {
        const reason = await done.then(
          () => "nothing",
          (error) => error.reason ?? error.parameter ?? (error.name === "NetworkError" && "network"),
        );
        if (reason !== step.refused) throw new Error(`${step.do} was refused for ${reason}, not ${step.refused}`);
      }
    }
    return {
      requests,
      ledger: (await device.ledger()).entries.map(({ campaign, group, epsilon, delta }) => [campaign, group, epsilon, delta]),
      queue: (await device.items()).map(({ kind, state, reason }) => [kind, state, reason]),
    };
  } finally {
    device.close();
    indexedDB.deleteDatabase(name);
  }
}

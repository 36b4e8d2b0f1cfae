// What a device believes: every document is signed, every list is the manifest's, and nobody gets another one.
import { describe, expect, test } from "vitest";
import { type Bytes, sha256, utf8 } from "../src/bytes.ts";
import { Device, EquivocationError, NetworkError, type CollectorOptions } from "../src/index.ts";
import {
  APART, CAMPAIGN, canonical, Clock, DAY, FakeCollector, type Fields, Float, json, LIST, MIRROR, newName, NOW, problem,
  reasonOf, RECORDS, sealed, SigningKey, URL_,
} from "./device_fake.ts"; // prettier-ignore

const ANOTHER = { query_share: new Float("0.25") };

/** Why a new device refuses to take part. */
async function refusal(fake: FakeCollector, options: Partial<CollectorOptions> = {}, clock = new Clock()): Promise<string> {
  const device = await fake.device(clock, { collector: fake.collector(options) });
  const reason = await reasonOf(device.takePart(CAMPAIGN, RECORDS));
  expect((await device.ledger()).entries.length).toBe(reason === "nothing" ? 1 : 0);
  expect((await device.participation(CAMPAIGN)) === null).toBe(reason !== "nothing");
  expect(fake.writes).toEqual([]);
  device.close();
  return reason;
}

test("a good campaign is seen whole, and nothing is sent", async () => {
  const fake = await FakeCollector.new();
  const seen = await (await fake.device(new Clock())).look(CAMPAIGN);
  expect([seen.terms.title, seen.manifest.records, seen.list.cells, seen.witnesses]).toEqual(["What is searched for", 12, 25, 0]);
  expect(fake.requests.map(({ url }) => url.replace(URL_, ""))).toEqual(
    ["keys", ...["terms", "manifest", "release", "list"].map((name) => `campaigns/${CAMPAIGN}/${name}`)].map((path) => `/v1/${path}`),
  );
});

describe("signatures", () => {
  for (const name of ["terms", "manifest"]) {
    test(`${name} of nobody, of strangers, tampered with or of another type are refused`, async () => {
      const fake = await FakeCollector.new();
      const good = JSON.parse(new TextDecoder().decode(fake.served.get(fake.path(name))!)) as Fields;
      const payload = Uint8Array.from(atob(good["payload"] as string), (one) => one.charCodeAt(0));
      const stranger = await SigningKey.new();
      const changed = Uint8Array.from(payload);
      changed[20]! ^= 1;
      const other = name === "terms" ? "manifest" : "terms";
      const tampered: [unknown, string][] = [
        [{ ...good, signatures: [] }, "signature"],
        [await sealed(name, payload, stranger), "signature"],
        [{ ...good, payload: btoa(String.fromCharCode(...changed)) }, "signature"],
        [await sealed(other, payload, fake.key), "signature"],
        [{ ...good, payloadType: "x" }, "signature"],
        [{ ...good, signatures: [{ keyid: fake.key.id, sig: btoa("x".repeat(64)) }] }, "signature"],
        [{ ...good, payload: `${good["payload"] as string}\n` }, "document"],
        ["nonsense", "document"],
        [null, "document"],
        [await sealed(name, utf8("{}"), fake.key), "document"],
        [await sealed(name, utf8(`${new TextDecoder().decode(payload)} `), fake.key), "document"],
      ];
      for (const [document, reason] of tampered) {
        fake.serve(name, document);
        expect(await refusal(fake)).toBe(reason);
      }
      fake.serve(name, good);
      expect(await refusal(fake)).toBe("nothing");
    });
  }

  test("points of small order are no keys", async () => {
    const fake = await FakeCollector.new();
    const identity = `01${"00".repeat(31)}`;
    expect(await reasonOf(fake.device(new Clock(), { collector: fake.collector({ keys: [identity] }) }))).toBe("key");
    fake.keysDocument["keys"] = [{ key: identity, since: "2026-01-01", until: null }];
    expect(await refusal(fake, { keys: [], trustOnFirstUse: true })).toBe("document");
  });
});

describe("what the documents say", () => {
  test("the terms of another campaign are refused", async () => {
    const fake = await FakeCollector.new({ campaign: "other" });
    for (const name of ["terms", "manifest", "list"])
      fake.served.set(fake.path(name).replace("other", CAMPAIGN), fake.served.get(fake.path(name))!);
    expect(await refusal(fake)).toBe("terms");
  });

  test("a manifest must keep the terms", async () => {
    for (const [terms, reason] of [
      [{ title: "Something else" }, "terms"],
      [{ epsilon: new Float("4.5") }, "terms"],
      [{ epsilon: 4 }, "nothing"],
    ] as [Fields, string][]) {
      const fake = await FakeCollector.new();
      await fake.changeManifest({ terms });
      expect(await refusal(fake)).toBe(reason);
    }
  });

  test("a list must be the manifest's", async () => {
    const fake = await FakeCollector.new();
    const other = utf8(canonical({ ...LIST, queries: (LIST["queries"] as unknown[]).slice(1) }));
    for (const list of [other, utf8("{}"), utf8(`${canonical(LIST)} `), utf8(""), null]) {
      fake.served.set(fake.path("list"), list);
      expect(await refusal(fake)).toBe("list");
    }
    for (const fields of [{ records: 11 }, { list_sha256: await sha256(other) }]) {
      const wrong = await FakeCollector.new({}, LIST, fields);
      expect(await refusal(wrong)).toBe("list");
      expect(await reasonOf((await wrong.device(new Clock())).look(CAMPAIGN))).toBe("list");
    }
    expect(await refusal(await FakeCollector.new({ levels: 1 }))).toBe("list");
  });

  test("a way to report that this client does not know is refused, and nothing is drawn", async () => {
    for (const fields of [
      { ...APART, format: "blendp/manifest/3" },
      { ...APART, format: "blendp/manifest/1" },
      { ...APART, randomiser: "unary" },
      { format: "blendp/manifest/2" },
    ]) {
      const fake = await FakeCollector.new({}, LIST, fields);
      expect(await refusal(fake)).toBe("document");
      const device = await fake.device(new Clock());
      expect(await reasonOf(device.takePart(CAMPAIGN, RECORDS))).toBe("document");
      expect(await device.participation(CAMPAIGN)).toBe(null);
    }
    expect(await refusal(await FakeCollector.new({ method: "published" }, LIST, APART))).toBe("document");
    expect(await refusal(await FakeCollector.new({}, LIST, APART))).toBe("nothing");
  });

  test("without a list nobody is asked, nor after the release", async () => {
    const fake = await FakeCollector.new();
    fake.serve("release", {});
    expect(await refusal(fake)).toBe("released");
    fake.served.delete(fake.path("manifest"));
    expect(await refusal(fake)).toBe("not-published");
    const device = await fake.device(new Clock());
    expect((await device.terms(CAMPAIGN)).terms.title).toBe("What is searched for");
  });

  test("lists and groups outside the policy are refused", async () => {
    for (const policy of [{ minRecords: 13 }, { maxRecords: 11 }, { minOptIn: 201 }, { maxEpsilon: 3.9 }]) {
      expect(await refusal(await FakeCollector.new(), { policy })).toBe("policy");
    }
    const wide = { minRecords: 12, maxRecords: 12, minOptIn: 200, maxEpsilon: 4 };
    expect(await refusal(await FakeCollector.new(), { policy: wide })).toBe("nothing");
    expect(await refusal(await FakeCollector.new({ min_opt_in: 50 }, LIST, { opt_in_people: 99 }))).toBe("policy");
    const queries = (LIST["queries"] as unknown[]).slice(0, 9);
    expect(await refusal(await FakeCollector.new({}, { ...LIST, queries }))).toBe("policy");
  });

  test("a list that is too long is refused before it is fetched", async () => {
    const fake = await FakeCollector.new({}, LIST, { records: 20_001 });
    expect(await refusal(fake)).toBe("policy");
    expect(fake.requests.some(({ url }) => url.endsWith("list"))).toBe(false);
  });
});

describe("keys", () => {
  const statement = async (old: SigningKey, next: SigningKey, until: string, ...signers: SigningKey[]) => {
    const fields = { format: "blendp/key/1", key: next.text, since: "2026-11-01", replaces: old.id, replaced_until: until };
    return sealed("key", utf8(canonical(fields)), ...(signers.length ? signers : [old, next]));
  };

  test("are followed while they overlap, and afterwards", async () => {
    const fake = await FakeCollector.new();
    const next = await SigningKey.new();
    const clock = new Clock();
    const name = newName();
    const device = await fake.device(clock, { name });
    fake.keysDocument["statements"] = [await statement(fake.key, next, "2026-11-07")];
    await device.look(CAMPAIGN);
    await fake.publish(next);
    await device.look(CAMPAIGN);
    clock.now = NOW + 3 * DAY;
    await device.look(CAMPAIGN);
    await fake.publish();
    expect(await reasonOf(device.look(CAMPAIGN))).toBe("signature");
    await fake.publish(next);
    fake.keysDocument["statements"] = [];
    await device.look(CAMPAIGN);
    device.close();
    const again = await fake.device(clock, { name });
    await again.look(CAMPAIGN);
    const third = await SigningKey.new();
    const pinned = await fake.device(clock, { name, collector: fake.collector({ keys: [third.text] }) });
    expect(await reasonOf(pinned.look(CAMPAIGN))).toBe("signature");
  });

  test("statements of strangers lead nowhere", async () => {
    const fake = await FakeCollector.new();
    const [next, stranger] = [await SigningKey.new(), await SigningKey.new()];
    await fake.publish(next);
    for (const envelope of [
      await statement(stranger, next, "2026-12-01"),
      await statement(fake.key, next, "2026-12-01", next),
      await statement(fake.key, next, "2026-12-01", fake.key),
      await statement(fake.key, next, "2026-12-01", stranger, next),
    ]) {
      fake.keysDocument["statements"] = [envelope];
      expect(await refusal(fake)).toBe("signature");
    }
  });

  test("are believed on first use only if asked, and then kept", async () => {
    const fake = await FakeCollector.new();
    expect(await refusal(fake, { keys: [] })).toBe("key");
    const name = newName();
    const collector = fake.collector({ keys: [], trustOnFirstUse: true });
    const device = await fake.device(new Clock(), { name, collector });
    await device.look(CAMPAIGN);
    device.close();
    const imposter = await SigningKey.new();
    fake.keysDocument["keys"] = [{ key: imposter.text, since: "2026-01-01", until: null }];
    await fake.publish(imposter);
    const again = await fake.device(new Clock(), { name, collector });
    expect(await reasonOf(again.look(CAMPAIGN))).toBe("signature");
  });

  test("that expired are not believed on first use", async () => {
    const fake = await FakeCollector.new();
    const named = { key: fake.key.text, since: "2026-01-01" };
    const options = { keys: [], trustOnFirstUse: true };
    fake.keysDocument["keys"] = [{ ...named, until: "2026-11-05" }];
    expect(await refusal(fake, options)).toBe("signature");
    fake.keysDocument["keys"] = [{ ...named, until: "2026-11-06" }];
    expect(await refusal(fake, options)).toBe("nothing");
    fake.keysDocument["keys"] = [{ ...named, until: "tomorrow" }];
    expect(await refusal(fake, options)).toBe("document");
  });

  test("a document of keys that is none is refused", async () => {
    const fake = await FakeCollector.new();
    for (const document of [
      {}, [], null, { keys: 7, statements: [] }, { keys: [7], statements: [] }, { keys: [], statements: {} },
      { keys: [], statements: [{ payload: "" }] },
      { keys: [], statements: [null] },
    ]) {
      fake.keysDocument = document as Fields;
      expect(await refusal(fake)).toBe("document");
    }
    for (const named of [{ key: 7, until: null }, { key: fake.key.text }, { key: fake.key.text, until: 7 }, { until: null }]) {
      fake.keysDocument = { keys: [named], statements: [] };
      expect(await refusal(fake, { keys: [], trustOnFirstUse: true })).toBe("document");
    }
  }); // prettier-ignore
});

describe("the same list as everybody", () => {
  test("another manifest is evidence, and the campaign is refused for ever", async () => {
    const fake = await FakeCollector.new();
    const clock = new Clock();
    const name = newName();
    const first = fake.served.get(fake.path("manifest"))!;
    const device = await fake.device(clock, { name });
    await device.takePart(CAMPAIGN, RECORDS);
    await fake.changeManifest(ANOTHER);
    const second = fake.served.get(fake.path("manifest"))!;
    const raised = await device.look(CAMPAIGN).catch((error: unknown) => error);
    expect(raised).toBeInstanceOf(EquivocationError);
    expect(await device.evidence(CAMPAIGN)).toEqual([[URL_, first], [URL_, second]]); // prettier-ignore
    expect(await device.items()).toMatchObject([{ state: "dropped", reason: "equivocation" }]);
    device.close();
    await fake.changeManifest({ query_share: new Float("0.5") });
    const again = await fake.device(clock, { name });
    fake.requests = [];
    expect(await reasonOf(again.look(CAMPAIGN))).toBe("equivocation");
    expect(await reasonOf(again.terms(CAMPAIGN))).toBe("equivocation");
    expect((await again.takePart(CAMPAIGN, RECORDS)).group).toBe("client");
    await again.send();
    expect(fake.writes).toEqual([]);
    expect(await again.evidence("other")).toEqual([]);
  });

  test("evidence that another tab keeps meanwhile stops the draw", async () => {
    const fake = await FakeCollector.new();
    const name = newName();
    const [one, two] = [await fake.device(new Clock(), { name }), await fake.device(new Clock(), { name })];
    await one.look(CAMPAIGN);
    const honest = fake.served.get(fake.path("manifest"))!;
    fake.before = async ({ url }) => {
      if (!url.endsWith("list")) return;
      fake.before = () => {};
      await fake.changeManifest(ANOTHER);
      expect(await reasonOf(two.look(CAMPAIGN))).toBe("equivocation");
      fake.served.set(fake.path("manifest"), honest);
    };
    expect(await reasonOf(one.takePart(CAMPAIGN, RECORDS))).toBe("equivocation");
    expect([await one.participation(CAMPAIGN), await one.items()]).toEqual([null, []]);
  });

  test("other terms are evidence too", async () => {
    const fake = await FakeCollector.new();
    const device = await fake.device(new Clock());
    await device.terms(CAMPAIGN);
    fake.terms = { ...fake.terms, title: "Something else" };
    await fake.publish();
    expect(await reasonOf(device.takePart(CAMPAIGN, RECORDS))).toBe("equivocation");
    expect((await device.evidence(CAMPAIGN)).length).toBe(2);
  });

  test("what a witness was told otherwise is evidence", async () => {
    const fake = await FakeCollector.new();
    const honest = fake.served.get(fake.path("manifest"))!;
    await fake.changeManifest(ANOTHER);
    const mirrored = fake.served.get(fake.path("manifest", MIRROR))!;
    fake.served.set(fake.path("manifest"), honest);
    const device = await fake.device(new Clock(), { collector: fake.collector({ witnesses: [MIRROR] }) });
    expect(await reasonOf(device.takePart(CAMPAIGN, RECORDS))).toBe("equivocation");
    expect(await device.evidence(CAMPAIGN)).toEqual([[URL_, honest], [MIRROR, mirrored]]); // prettier-ignore
    expect((await device.ledger()).entries).toEqual([]);
  });

  test("a witness that was told nothing or tales stops, but proves nothing", async () => {
    const fake = await FakeCollector.new();
    const where = fake.path("manifest", MIRROR);
    const good = fake.served.get(where)!;
    const device = await fake.device(new Clock(), { collector: fake.collector({ witnesses: [MIRROR] }) });
    const stranger = utf8(JSON.stringify(await sealed("manifest", utf8("{}"), await SigningKey.new())));
    for (const answer of [null, utf8("nonsense"), stranger]) {
      fake.served.set(where, answer);
      expect(await reasonOf(device.look(CAMPAIGN))).toBe("witness");
    }
    expect(await device.evidence(CAMPAIGN)).toEqual([]);
    fake.served.set(where, good);
    expect((await device.look(CAMPAIGN)).witnesses).toBe(1);
  });

  test("new signatures of the same manifest are fine, and forgeries accuse nobody", async () => {
    const fake = await FakeCollector.new();
    const [next, stranger] = [await SigningKey.new(), await SigningKey.new()];
    const device = await fake.device(new Clock());
    await device.look(CAMPAIGN);
    await fake.publish(next, fake.key);
    await device.look(CAMPAIGN);
    Object.assign(fake.manifest, ANOTHER);
    await fake.publish(stranger);
    expect(await reasonOf(device.look(CAMPAIGN))).toBe("signature");
    await fake.changeManifest({ query_share: new Float("0.5") });
    await device.look(CAMPAIGN);
    expect(await device.evidence(CAMPAIGN)).toEqual([]);
  });

  test("another collector with a campaign of the same name is refused, and not accused", async () => {
    const [one, other] = [await FakeCollector.new(), await FakeCollector.new({ title: "Another" })];
    const name = newName();
    await (await one.device(new Clock(), { name })).look(CAMPAIGN);
    const elsewhere = "https://elsewhere.example";
    for (const [url, body] of [...other.served]) other.served.set(url.replace(URL_, elsewhere), body);
    const device = await other.device(new Clock(), { name, collector: other.collector({ url: elsewhere }) });
    expect(await reasonOf(device.look(CAMPAIGN))).toBe("terms");
    expect(await device.evidence(CAMPAIGN)).toEqual([]);
  });
});

describe("the network", () => {
  const with_ = async (fetch: (url: string, init: RequestInit) => Promise<Response>) => {
    const fake = await FakeCollector.new();
    return fake.device(new Clock(), { fetch });
  };

  test("failures are told as such", async () => {
    for (const answer of [
      () => Promise.reject(new TypeError("away")),
      async () => problem("busy"),
      async () => new Response("", { status: 502 }),
      async () => new Response("", { status: 429 }),
    ]) {
      const raised = await (await with_(answer)).look(CAMPAIGN).catch((error: unknown) => error);
      expect(raised).toBeInstanceOf(NetworkError);
    }
    for (const status of [403, 410, 418]) {
      const device = await with_(async () => new Response("", { status }));
      expect(await reasonOf(device.look(CAMPAIGN))).toBe("document");
    }
  });

  test("answers of more bytes than allowed are not believed", async () => {
    const fake = await FakeCollector.new();
    const device = await fake.device(new Clock());
    let pulled = 0;
    const endless = () =>
      new ReadableStream<Bytes>({
        pull(controller) {
          pulled++;
          controller.enqueue(new Uint8Array(1 << 16));
        },
      });
    const spoilt = async (url: string, init: RequestInit) =>
      url.endsWith(what) ? new Response(endless()) : fake.fetch(url, init);
    let what = "";
    const other = await fake.device(new Clock(), { fetch: spoilt });
    for (const [name, most] of [["keys", 20], ["terms", 20], ["manifest", 20], ["release", 520], ["list", 520]] as const) {
      [what, pulled] = [name, 0];
      expect(await reasonOf(other.look(CAMPAIGN))).toBe("document");
      expect(pulled).toBeLessThan(most);
    }
    await device.takePart(CAMPAIGN, RECORDS);
    fake.failures = [() => new Response(endless(), { status: 201 })];
    await device.send();
    expect(await device.items()).toMatchObject([{ state: "waiting", reason: "network", attempts: 1 }]);
  }); // prettier-ignore

  test("lists of more than 1 MiB are read", async () => {
    const queries = Array.from({ length: 15_000 }, (_, i) => ({
      query: `query ${String(i).padStart(5, "0")} ${"x".repeat(40)}`,
      urls: [`http://site.org/${i}`],
    }));
    const fake = await FakeCollector.new({}, { ...LIST, queries });
    expect(fake.served.get(fake.path("list"))!.length).toBeGreaterThan(1 << 20);
    const device = await fake.device(new Clock());
    await device.takePart(CAMPAIGN, [[queries[7]!.query, queries[7]!.urls[0]!]]);
    await device.send();
    expect(fake.reports.size).toBe(1);
  });

  test("slow answers end with the time of the request, from the first to the last byte", async () => {
    const fake = await FakeCollector.new();
    const timeout = AbortSignal.timeout;
    const asked: number[] = [];
    AbortSignal.timeout = (milliseconds) => (asked.push(milliseconds), timeout.call(AbortSignal, 50));
    try {
      const slow = async (_: string, { signal }: RequestInit) => {
        signal!.throwIfAborted();
        const body = new ReadableStream<Bytes>({
          start(controller) {
            controller.enqueue(utf8("{"));
            signal!.addEventListener("abort", () => controller.error(signal!.reason));
          },
        });
        return new Response(body);
      };
      const never = (_: string, { signal }: RequestInit) =>
        new Promise<Response>((_, reject) => signal!.addEventListener("abort", () => reject(signal!.reason as Error)));
      for (const fetch of [slow, never]) {
        const device = await fake.device(new Clock(), { fetch });
        expect(await reasonOf(device.look(CAMPAIGN))).toBe("NetworkError");
      }
      expect(asked).toEqual([300_000, 300_000]);
    } finally {
      AbortSignal.timeout = timeout;
    }
  });

  test("redirects are no documents", async () => {
    for (const status of [301, 302, 307, 308]) {
      const device = await with_(async () => new Response(null, { status, headers: { location: "https://elsewhere.example" } }));
      expect(await reasonOf(device.look(CAMPAIGN))).toBe("document");
    }
  });

  test("addresses that leak or mislead are refused", async () => {
    for (const url of [
      "", "collector.example", "ftp://collector.example", "http://collector.example", "https://", "https://a:b@c.example",
      "https://c.example/?a", "https://c.example/#a", "https://c.example:99999", "javascript:alert(1)",
    ]) {
      expect(await reasonOf(Device.open({ collector: { url }, name: newName() }))).toBe("server");
      expect(await reasonOf(Device.open({ collector: { url: URL_, witnesses: [url] }, name: newName() }))).toBe("witness");
    }
    for (const url of ["http://localhost:8321", "http://127.0.0.1", "https://collector.example/path/"]) {
      (await Device.open({ collector: { url }, name: newName() })).close();
    }
    (await Device.open({ collector: { url: "http://collector.example", allowHttp: true }, name: newName() })).close();
  }); // prettier-ignore

  test("the path of an address is kept", async () => {
    const asked: string[] = [];
    const device = await Device.open({
      collector: { url: "https://c.example/below/", trustOnFirstUse: true },
      name: newName(),
      fetch: async (url) => (asked.push(url), json({})),
    });
    expect(await reasonOf(device.look(CAMPAIGN))).toBe("document");
    expect(asked).toEqual(["https://c.example/below/v1/keys"]);
  });
});

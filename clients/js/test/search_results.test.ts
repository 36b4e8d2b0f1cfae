// What a collector released is believed only if a trusted key signed it, and it is what was signed.
import { beforeAll, describe, expect, test } from "vitest";
import { type Bytes, sha256, utf8 } from "../src/bytes.ts";
import { readKey } from "../src/envelope.ts";
import { fetchIndex, fetchRelease, type Source } from "../src/results.ts";
import { buildIndex } from "../src/search.ts";
import { canonical, CAMPAIGN, type Fields, Float, NOW, sealed, SigningKey, URL_ } from "./device_fake.ts";

let key: SigningKey;
let release: Bytes;
let index: Bytes;
let source: Source;

const releaseOf = (campaign: string): Bytes => {
  const estimate = { query: "weather", url: "http://a", probability: new Float("0.25"), std_error: new Float("0.01") };
  const rest = { manifest_sha256: "", released: "2026-12-01", card: {}, trends: [], groups: {} };
  return utf8(canonical({ format: "blendp/release/1", campaign, estimates: [estimate], ...rest }));
};
const descriptorOf = async (changed: Fields = {}): Promise<Bytes> => {
  const [release_sha256, hash] = [await sha256(release), await sha256(index)];
  const format = "blendp/search-index-descriptor/1";
  return utf8(canonical({ format, campaign: CAMPAIGN, release_sha256, sha256: hash, bytes: index.length, ...changed }));
};
/** A collector that has these documents of the campaign, and nothing else. */
const serving = (documents: Record<string, Bytes | Fields | number>) => ({
  clock: () => NOW,
  fetch: async (url: string): Promise<Response> => {
    const found = documents[url.replace(`${URL_}/v1/campaigns/${CAMPAIGN}/`, "")] ?? 404;
    if (typeof found === "number") return new Response("", { status: found });
    return new Response(found instanceof Uint8Array ? found : JSON.stringify(found));
  },
});

beforeAll(async () => {
  key = await SigningKey.new();
  release = releaseOf(CAMPAIGN);
  index = await buildIndex(release);
  source = { server: URL_, trust: [[await readKey(key.text), null]], terms: { campaign: CAMPAIGN } };
});

describe("the index", () => {
  test("that was signed is believed", async () => {
    const descriptor = await sealed("search-index", await descriptorOf(), key);
    const fetched = await fetchIndex(source, serving({ "index-descriptor": descriptor, index }));
    expect(fetched.bytes).toEqual(index);
    expect(fetched.index.search("wea").results[0]).toMatchObject({ query: "weather", share: 0.25, error: 0.01 });
    expect(fetched.descriptor.bytes).toBe(index.length);
  });

  test.each<[string, string, () => Promise<Record<string, Bytes | Fields | number>>]>([
    ["no release yet", "not-released", async () => ({})],
    ["a page of a proxy", "document", async () => ({ "index-descriptor": 302 })],
    ["a descriptor that nobody signed", "signature", async () => ({ "index-descriptor": await sealed("search-index", await descriptorOf()), index })],
    ["a stranger's signature", "signature", async () => ({ "index-descriptor": await sealed("search-index", await descriptorOf(), await SigningKey.new()), index })],
    ["a signature for another type", "signature", async () => ({ "index-descriptor": await sealed("release", await descriptorOf(), key), index })],
    ["another campaign", "index", async () => ({ "index-descriptor": await sealed("search-index", await descriptorOf({ campaign: "other" }), key), index })],
    ["another length", "index", async () => ({ "index-descriptor": await sealed("search-index", await descriptorOf({ bytes: index.length + 1 }), key), index })],
    ["another release", "index", async () => ({ "index-descriptor": await sealed("search-index", await descriptorOf({ release_sha256: "ab".repeat(32) }), key), index })],
    ["an index that was changed", "index", async () => ({ "index-descriptor": await sealed("search-index", await descriptorOf(), key), index: utf8(new TextDecoder().decode(index).replace("weather", "whether")) })],
    ["an index of another campaign", "index", async () => {
      const other = await buildIndex(releaseOf("other"));
      const changed = { sha256: await sha256(other), bytes: other.length, release_sha256: await sha256(releaseOf("other")) };
      return { "index-descriptor": await sealed("search-index", await descriptorOf(changed), key), index: other };
    }],
  ])("%s is refused", async (_, reason, documents) => {
    await expect(fetchIndex(source, serving(await documents()))).rejects.toMatchObject({ reason });
  });

  test("can be asked for again if the collector is away", async () => {
    await expect(fetchIndex(source, serving({ "index-descriptor": 503 }))).rejects.toMatchObject({ message: expect.stringContaining("503") });
    const away = { clock: () => NOW, fetch: () => Promise.reject(new TypeError("away")) };
    await expect(fetchIndex(source, away)).rejects.toMatchObject({ message: expect.stringContaining("does not answer") });
  });

  test("is not believed once its key had its day", async () => {
    const past: Source = { ...source, trust: [[source.trust[0]![0], "2026-11-05"]] };
    const descriptor = await sealed("search-index", await descriptorOf(), key);
    await expect(fetchIndex(past, serving({ "index-descriptor": descriptor, index }))).rejects.toMatchObject({ reason: "signature" });
  });
});

test("a release that was signed gives the same index", async () => {
  const fetched = await fetchRelease(source, serving({ release: await sealed("release", release, key) }));
  expect(await buildIndex(fetched)).toEqual(index);
  const other = serving({ release: await sealed("release", releaseOf("other"), key) });
  await expect(fetchRelease(source, other)).rejects.toMatchObject({ reason: "release" });
});

// What the vectors do not reach: the search against a slow one, and indices that are none.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Bytes, isBefore, text, utf8 } from "../src/bytes.ts";
import { normalQuery } from "../src/normal.ts";
import { buildIndex, readIndex, type Result } from "../src/search.ts";

type Row = [query: string, url: string | null, share: number, error: number];

const release = (rows: readonly Row[], released = "2026-12-01"): Bytes => {
  const number = (value: number): string =>
    Number.isInteger(value) ? `${value}.0` : Math.abs(value) < 1e-4 ? value.toExponential().replace(/-(?=\d$)/, "-0") : `${value}`;
  const estimates = rows.map(
    ([query, url, share, error]) =>
      `{"probability":${number(share)},"query":${JSON.stringify(query)},"std_error":${number(error)},"url":${JSON.stringify(url)}}`,
  );
  return utf8(
    `{"campaign":"trends","card":{},"estimates":[${estimates}],"format":"blendp/release/1","groups":{},` +
      `"manifest_sha256":"","released":"${released}","trends":[]}`,
  );
};
const indexOf = async (rows: readonly Row[]) => readIndex(await buildIndex(release(rows)));

describe("against a slow search", () => {
  const order = ["exact", "prefix", "word", "typo", "nearest"];
  const normal = (text: string): string[] => [...normalQuery("blendp-1", text)];
  const forgiven = (length: number): number => [3, 6].filter((bound) => length >= bound).length;
  const startsWith = (whole: string[], start: string[]): boolean => start.every((one, i) => whole[i] === one);

  /** The smallest distance between the typed characters and a beginning of the others, from the whole table. */
  function distance(typed: string[], other: string[]): number {
    const table = typed.concat("").map(() => [] as number[]);
    for (let i = 0; i <= typed.length; i++)
      for (let j = 0; j <= other.length; j++) {
        const ways = [i && j ? table[i - 1]![j - 1]! + +(typed[i - 1] !== other[j - 1]) : i + j];
        if (i) ways.push(table[i - 1]![j]! + 1);
        if (j) ways.push(table[i]![j - 1]! + 1);
        if (i > 1 && j > 1 && typed[i - 1] === other[j - 2] && typed[i - 2] === other[j - 1]) ways.push(table[i - 2]![j - 2]! + 1);
        table[i]![j] = Math.min(...ways);
      }
    return Math.min(...table[typed.length]!);
  }
  const leadsTo = (typed: string[], other: string[]): boolean => distance(typed, other) <= forgiven(typed.length);
  const parts = (characters: string[]): string[][] =>
    characters
      .join("")
      .split(/[ !"#$%&'()*+,\-./:;<=>?@[\\\]^_`{|}~]/)
      .filter(Boolean)
      .map((part) => [...part]);

  function matchOf(typed: string[], form: string[]): string | undefined {
    const allParts = (fits: (part: string[], word: string[]) => boolean): boolean =>
      parts(typed).length > 0 && parts(typed).every((part) => parts(form).some((word) => fits(part, word)));
    if (startsWith(form, typed)) return form.length === typed.length ? "exact" : "prefix";
    if (allParts((part, word) => startsWith(word, part))) return "word";
    return leadsTo(typed, form) || allParts(leadsTo) ? "typo" : undefined;
  }

  function slowSearch(rows: readonly Row[], text: string, limit: number): unknown[] {
    const typed = normal([...text].slice(0, 256).join(""));
    let hits = rows.flatMap((row) => {
      const match = matchOf(typed, normal(row[0]));
      return match ? [{ match, row }] : [];
    });
    if (!hits.length) {
      const lengths = [...typed.keys()].map((i) => i + 1);
      const reach = ([query]: Row): number => Math.max(0, ...lengths.filter((i) => leadsTo(typed.slice(0, i), normal(query))));
      const furthest = Math.max(0, ...rows.map(reach));
      hits = rows.filter((row) => reach(row) === furthest).map((row) => ({ match: "nearest", row }));
    }
    const compared = (one: string, other: string): number => (one === other ? 0 : isBefore(one, other) ? -1 : 1);
    hits.sort(
      (one, other) =>
        order.indexOf(one.match) - order.indexOf(other.match) ||
        other.row[2] - one.row[2] ||
        compared(one.row[0], other.row[0]) ||
        compared(one.row[1] ?? "", other.row[1] ?? ""),
    );
    return hits.slice(0, limit).map(({ match, row: [query, url, share, error] }) => ({ query, url, share, error, match }));
  }

  const letters = ["a", "b", "a", "b", "ab", " ", ".", "e\u0301", "E", "\u{1f600}", "\ue000", "\u0301", "*", "I\u0307", "\u0958"];
  const some = (maxLength: number) => fc.string({ unit: fc.constantFrom(...letters), maxLength });

  test.each([1, 2, 3])("with no, all and some URLs (%i), the same records in the same order", async (levels) => {
    const row = fc.tuple(
      some(9),
      levels < 2 ? fc.constant(null) : fc.constantFrom("u0", "u1", "u2"),
      fc.integer({ min: -2, max: 4 }).map((share) => share / 8),
      fc.constant(0.5),
    );
    // whatever its URL was, a query that begins with an a or a b is listed without any
    const selector = ([query, url]: Row): string => JSON.stringify([query, url]);
    const some_bare = fc.array(row, { maxLength: 12 }).map((rows) => {
      const bare = rows.map(([query, url, ...rest]): Row => [query, levels > 2 && /^[ab]/.test(query) ? null : url, ...rest]);
      return [...new Map(bare.map((one) => [selector(one), one])).values()];
    });
    const rowsOf = levels > 2 ? some_bare : fc.uniqueArray(row, { maxLength: 12, selector });
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(rowsOf, fc.array(fc.tuple(fc.nat(), fc.nat(), some(2), fc.nat(2)), { maxLength: 6 }), fc.constantFrom(1, 3, 10, 1000), async (rows, typings, limit) => {
        const index = await indexOf(rows);
        for (const [which, where, more, less] of [...typings, [0, 0, "", 0] as const]) {
          const known = [...(rows[which % (rows.length + 1)]?.[0] ?? "")];
          const cut = where % (known.length + 1);
          const typed = known.slice(0, cut).join("") + more + known.slice(cut + less).join("");
          const { results, nearest } = index.search(typed, limit);
          expect(results, JSON.stringify(typed)).toEqual(slowSearch(rows, typed, limit));
          expect(nearest).toBe(results[0]?.match === "nearest");
          for (const { match } of results) seen.add(match);
        }
      }),
      { numRuns: 200, seed: levels },
    );
    expect(seen).toEqual(new Set(order));
  });
});

describe("an index", () => {
  const rows: Row[] = [
    ["weather", "http://b", 0.25, 0.01],
    ["cats", "http://a", 0.0000000025, 0.000000002],
    ["weather", "http://a", -0.5, 0.02],
  ];

  test("says what it is of", async () => {
    const bytes = await buildIndex(release(rows));
    const { campaign, released, records, sha256, releaseHash, search } = await readIndex(bytes);
    expect({ campaign, released, records }).toEqual({ campaign: "trends", released: "2026-12-01", records: 3 });
    expect(sha256).not.toBe(releaseHash);
    expect(search("c").results).toEqual([{ query: "cats", url: "http://a", share: 2e-9, error: 2e-9, match: "prefix" }]);
  });

  test("has one form", async () => {
    const source = text(await buildIndex(release(rows)));
    const spellings = [`${source}\n`, source.replace(":", ": "), source.slice(0, -1), "", "{}", "null", source.replace("2,", "2.0,")];
    spellings.push(source.replace("cats", "\\ud800"), source.replace("cats", "c\\u0061ts"), source.replace("-500000000", "-9007199254740993"));
    for (const spelling of spellings)
      await expect(readIndex(utf8(spelling)), spelling.slice(0, 60)).rejects.toMatchObject({ reason: "index" });
    await expect(readIndex(new Uint8Array((32 << 20) + 1))).rejects.toMatchObject({ reason: "index" });
  });

  test("keeps the most popular of too many records", async () => {
    const many = Array.from({ length: 20_002 }, (_, i): Row => [`q${String(i).padStart(5, "0")}`, null, i / 1_048_576, 0]);
    const index = await indexOf(many);
    expect(index.records).toBe(20_000);
    expect(index.search("q00001", 1).results[0]).toMatchObject({ match: "typo" } satisfies Partial<Result>);
  });

  test("wants a limit within bounds", async () => {
    const { search } = await indexOf(rows);
    for (const limit of [0, 1001, 1.5, NaN, -1]) expect(() => search("a", limit)).toThrow("limit");
    expect(search("", 1000).results).toHaveLength(3);
  });
});

// What holds for all inputs, and numbers that were worked out by hand.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { retryAfter } from "../src/backoff.ts";
import { base64, hex, isBefore, LONE, text, unhex, utf8 } from "../src/bytes.ts";
import { readCanonical } from "../src/canonical.ts";
import { afterDays, dayNumber, requireDay } from "../src/days.ts";
import { exactly, type Fraction, fraction, general, isAbove, nearest, shareCoin } from "../src/exact.ts";
import { type Entry, Ledger, OverspentError } from "../src/ledger.ts";
import { reportNumber } from "../src/likelihood.ts";
import { normalQuery, normalUrl } from "../src/normal.ts";
import { wordChooser } from "../src/random.ts";
import { binomial, rank, unrank } from "../src/ranks.ts";
import { campaignRecords } from "../src/records.ts";
import { bigEndian, splitMix } from "../src/scheme.ts";
import { HIDDEN } from "../src/terms.ts";

/** Any but half pairs. Its `unit: "binary"` makes a table of all of them first. */
const codePoint = fc
  .integer({ min: 0, max: 0x10ffff })
  .filter((code) => code < 0xd800 || code > 0xdfff)
  .map(String.fromCodePoint, (sign) => (sign as string).codePointAt(0)!);
const unicode = fc.string({ unit: codePoint });
const share = fc.double({ min: 0, max: 1, noNaN: true });
const words64 = fc.bigInt({ min: 0n, max: (1n << 64n) - 1n });

describe("bytes", () => {
  test("hexadecimal digits and back", () => {
    fc.assert(fc.property(fc.uint8Array(), (bytes) => void expect(unhex(hex(bytes), "x", bytes.length)).toEqual(bytes)));
    for (const wrong of ["A0", "0", "0g", " 00", 5, null]) expect(() => unhex(wrong, "key")).toThrow("key");
  });

  test("base64 has one spelling", () => {
    fc.assert(fc.property(fc.uint8Array(), (bytes) => void expect(base64(btoa(String.fromCharCode(...bytes)))).toEqual(bytes)));
    for (const wrong of ["AA", "AA=", "AB==", "AA==\n", " AA==", "AA-_", "A", "===="]) expect(() => base64(wrong)).toThrow();
  });

  test("texts are in the order of their code points", () => {
    const ofBytes = (text: string): string => hex(utf8(text));
    fc.assert(fc.property(unicode, unicode, (one, other) => void expect(isBefore(one, other)).toBe(ofBytes(one) < ofBytes(other))));
    expect(isBefore("\uffff", "\u{10000}")).toBe(true);
  });
});

describe("canonical JSON", () => {
  const read = (source: string): unknown => readCanonical(utf8(source), "terms", ["blendp/terms/1"]);
  const written = (value: unknown): string => {
    if (typeof value === "number") return `${JSON.stringify(value)}`.includes("e") || !Number.isInteger(value) ? python(value) : `${value}.0`;
    if (typeof value === "bigint") return String(value);
    if (Array.isArray(value)) return `[${value.map(written).join()}]`;
    if (typeof value !== "object" || !value) return JSON.stringify(value);
    const names = Object.keys(value).sort((a, b) => (isBefore(a, b) ? -1 : 1));
    return `{${names.map((name) => `${JSON.stringify(name)}:${written((value as any)[name])}`).join()}}`;
  };
  /** A number as Python writes it, from the digits that JavaScript writes. */
  const python = (value: number): string => {
    const [mantissa = "", power = 0] = Math.abs(value).toExponential().split("e");
    const sign = value < 0 ? "-" : "";
    const exponent = Number(power);
    if (exponent >= -4 && exponent < 16) return `${value}${Number.isInteger(value) ? ".0" : ""}`;
    return `${sign}${mantissa}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  };
  const leaf = fc.oneof(
    unicode,
    fc.boolean(),
    fc.constant(null),
    fc.bigInt(),
    fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e14, max: 1e14 }).filter((number) => !Object.is(number, -0)),
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 3 }, leaf, fc.array(tie("value")), fc.dictionary(unicode, tie("value"))),
  }));

  test("what is written is read again", () => {
    fc.assert(
      fc.property(value, (one) => {
        const document = { format: "blendp/terms/1", one };
        expect(read(written(document))).toEqual(document);
      }),
    );
  });

  test("no other spelling is read", () => {
    const inside = (member: string): string => `{"a":${member},"format":"blendp/terms/1"}`;
    for (const fine of ["0", "-1", "4.0", "-0.0", "1e-06", "1e+16", "0.0001", "123456789012345678901", '"\\u001f"', "[]", "{}", '{"__proto__":1}'])
      expect(() => read(inside(fine)), fine).not.toThrow();
    for (const wrong of ["-0", "01", "4.", ".5", "1e5", "1E-06", "1e-6", "0.00001", "1e16", "1.0e+16", "1e999", "NaN", "N.aN", "Infinity", "+1", " 1", "1 ", '"\\u0041"', '"\\/"', '"\\ud800"', '"\n"', '{"b":1,"a":2}', '{"a":1,"a":1}', '{"\u{10000}":1,"\uffff":1}', "[1,]", "[1 ,2]", "tru", '""""', "", "1".repeat(4301)])
      expect(() => read(inside(wrong)), wrong).toThrow("terms");
    for (const wrong of ["", "[]", "null", '"format"', "\ufeff" + inside("1"), inside("1") + " ", '{"format":"blendp/terms/2"}'])
      expect(() => read(wrong), wrong).toThrow("terms");
    expect(() => readCanonical(new Uint8Array([0x22, 0xff, 0x22]), "terms", ["blendp/terms/1"])).toThrow("terms");
  });
});

describe("numbers", () => {
  test("a fraction becomes the nearest number", () => {
    const gap = (a: Fraction, b: Fraction): Fraction => {
      const difference = a[0] * b[1] - b[0] * a[1];
      return [difference < 0n ? -difference : difference, a[1] * b[1]];
    };
    const big = fc.oneof(fc.bigInt({ min: 0n, max: 1n << 80n }), fc.bigInt({ min: 0n, max: 1n << 1200n }));
    fc.assert(
      fc.property(big, big, (n, d) => {
        const exact = fraction(n, d + 1n);
        const number = nearest(exact);
        if (!Number.isFinite(number)) return;
        const view = new DataView(new ArrayBuffer(8));
        view.setFloat64(0, number);
        const bits = view.getBigUint64(0);
        for (const other of [bits - 1n, bits + 1n].filter((one) => one >= 0n)) {
          view.setBigUint64(0, other);
          const neighbour = view.getFloat64(0);
          if (!Number.isFinite(neighbour)) continue;
          const [near, far] = [gap(exact, exactly(number)), gap(exact, exactly(neighbour))];
          expect(isAbove(near, far)).toBe(false);
          if (!isAbove(far, near)) expect(bits % 2n).toBe(0n);
        }
      }),
    );
    fc.assert(fc.property(fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }), (number) => void expect(nearest(exactly(number))).toBe(number)));
  });

  test("format g", () => {
    for (const [number, digits, wanted] of [
      [0, 6, "0"],
      [4, 6, "4"],
      [0.5078125, 6, "0.507812"],
      [0.5234375, 6, "0.523438"],
      [1e-5, 6, "1e-05"],
      [0.0001, 6, "0.0001"],
      [123456.5, 6, "123456"],
      [999999.5, 6, "1e+06"],
      [54.598150033, 4, "54.6"],
      [0.15, 1 + 1, "0.15"],
      [99.95, 3, "100"],
      [1234567, 3, "1.23e+06"],
      [1e-310, 4, "1e-310"],
    ] as const)
      expect(general(number, digits)).toBe(wanted);
    fc.assert(
      fc.property(fc.double({ min: 1e-300, max: 1e300, noNaN: true }), (number) => {
        const close = Number(general(number, 4));
        expect(Math.abs(close / number - 1)).toBeLessThan(5.1e-4);
        expect(general(close, 4)).toBe(general(number, 4));
      }),
    );
  });

  test("a share's coin is the nearest, ties to the even one", () => {
    fc.assert(
      fc.property(share, (one) => {
        const [numerator, denominator] = exactly(one);
        const gap = 2n * (numerator * 2n ** 53n - shareCoin(one) * denominator);
        expect(gap <= denominator && -gap <= denominator).toBe(true);
        if (gap === denominator || -gap === denominator) expect(shareCoin(one) % 2n).toBe(0n);
      }),
    );
    expect([0.5, 1.5, 2.5].map((half) => shareCoin(half / 2 ** 53))).toEqual([0n, 2n, 2n]);
  });
});

describe("ranks", () => {
  const chosen = fc
    .integer({ min: 1, max: 500 })
    .chain((items) => fc.tuple(fc.constant(items), fc.uniqueArray(fc.integer({ min: 0, max: items - 1 }), { minLength: 1 })))
    .map(([items, some]) => [items, some.sort((a, b) => a - b)] as const);

  test("a set has a rank, and a rank its set", () => {
    fc.assert(
      fc.property(chosen, (one) => {
        const [items, some] = one;
        const number = rank(some, items);
        expect(number < binomial(items, some.length)).toBe(true);
        expect(unrank(number, items, some.length)).toEqual(some);
      }),
    );
    fc.assert(
      fc.property(fc.integer({ min: 80, max: 400 }), fc.integer({ min: 1, max: 79 }), fc.bigInt({ min: 0n }), (items, size, any) => {
        const number = any % binomial(items, size);
        expect(rank(unrank(number, items, size), items)).toBe(number);
      }),
    );
  });

  test("a number has one form in bytes", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 1n << 200n }), fc.bigInt({ min: 0n, max: 1n << 200n }), (count, any) => {
        const bytes = bigEndian(any % count, count);
        expect(reportNumber(bytes, count)).toBe(any % count);
        expect(() => reportNumber(new Uint8Array([0, ...bytes]), count)).toThrow("report");
      }),
    );
    expect(() => reportNumber(new Uint8Array([5]), 5n)).toThrow("report");
    expect(() => reportNumber(new Uint8Array(), 1n)).toThrow("report");
  });
});

describe("normal form", () => {
  /** All code points that a class of regular expressions holds. */
  const held = (pattern: RegExp): number[] =>
    Array.from({ length: 0x110000 }, (_, point) => point).filter((point) => pattern.test(String.fromCodePoint(point)));
  const through = (...ranges: [number, number][]): number[] =>
    ranges.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, i) => first + i));

  test("the engine's classes are those that the rules list", () => {
    const white: [number, number][] = [
      [0x9, 0xd], [0x20, 0x20], [0x85, 0x85], [0xa0, 0xa0], [0x1680, 0x1680], [0x2000, 0x200a], [0x2028, 0x2029],
      [0x202f, 0x202f], [0x205f, 0x205f], [0x3000, 0x3000],
    ]; // prettier-ignore
    expect(held(/^\p{White_Space}$/u)).toEqual(through(...white));
    const hidden: [number, number][] = [
      [0, 0x1f], [0x7f, 0x9f], [0xad, 0xad], [0x61c, 0x61c], [0x200b, 0x200f], [0x2028, 0x202e], [0x2060, 0x206f],
      [0xd800, 0xdfff], [0xfeff, 0xfeff], [0xfff9, 0xfffb], [0xe0000, 0xe007f],
    ]; // prettier-ignore
    expect(held(HIDDEN)).toEqual(through(...hidden));
    expect(held(LONE)).toEqual(through([0xd800, 0xdfff]));
  });

  const nasty = fc.string({
    unit: fc.constantFrom("a", "Z", " ", "\t", "\u0085", "\ufeff", "\u3000", "İ", "I", "\u0307", "Σ", "ς", "\u0301", "e", "#", "/", ":", "@", "\u1c89", "\u{10d50}", "http://", "ẞ", "Å", "\u1100", "\u1161"),
  });

  test("it is its own normal form", () => {
    for (const normal of [normalQuery, normalUrl])
      for (const rule of ["blendp-1", "none"])
        fc.assert(fc.property(nasty, (one) => void expect(normal(rule, normal(rule, one))).toBe(normal(rule, one))), {
          examples: [["http://a/ #"], ["http://A:80"]],
        });
  });

  test("letters of later versions of Unicode stay", () => {
    for (const later of ["\u1c89", "\ua7cb", "\ua7cc", "\ua7ce", "\ua7d2", "\ua7d4", "\ua7da", "\ua7dc", "\u{10d50}", "\u{10d65}", "\u{16ea0}", "\u{16eb8}"])
      expect(normalQuery("blendp-1", `A${later}B`)).toBe(`a${later}b`);
    expect(normalQuery("blendp-1", "ΑΣ İ")).toBe("ας i".replace("ς", "σ"));
  });

  test("no record makes it fail", () => {
    fc.assert(
      fc.property(fc.array(fc.anything()), fc.constantFrom(1, 2), (records, levels) => {
        const usable = campaignRecords(records, { levels, normalise: "blendp-1" });
        expect(usable.length).toBeLessThanOrEqual(records.length);
      }),
    );
    for (const wrong of ["ab", null, 5, undefined, {}]) expect(() => campaignRecords(wrong, { levels: 2, normalise: "none" })).toThrow("records");
  });
});

describe("random choices", () => {
  test("below is below, and even on its words", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 32 }), fc.infiniteStream(words64), (bound, stream) => {
        expect(wordChooser(() => stream.next().value).below(bound)).toBeLessThan(bound);
      }),
    );
    const tape = [0n, 1n, 0xffffffffn];
    expect(wordChooser(() => tape.shift()!).below(3)).toBe(2 ** 32 % 3 > 0 ? 0 : 1);
    expect(tape.length).toBe(1);
  });

  test("SplitMix64", () => {
    const next = splitMix(1234567n);
    expect([next(), next(), next()]).toEqual([6457827717110365317n, 3203168211198807973n, 9817491932198370423n]);
  });
});

describe("ledger", () => {
  const cost = fc.record({
    epsilon: fc.double({ min: 1e-3, max: 50, noNaN: true }),
    delta: fc.double({ min: 0, max: 1e-3, noNaN: true }),
  });
  const total = (entries: readonly Entry[], part: "epsilon" | "delta"): Fraction =>
    entries.map((entry) => exactly(entry[part])).reduce((a, b) => fraction(a[0] * b[1] + b[0] * a[1], a[1] * b[1]), [0n, 1n]);

  test("it never passes a cap, and says when there is room", () => {
    fc.assert(
      fc.property(cost, cost, fc.array(fc.tuple(cost, fc.integer({ min: 0, max: 200 })), { maxLength: 12 }), (cap, yearly, tries) => {
        let ledger = new Ledger(cap, yearly);
        for (const [i, [{ epsilon, delta }, days]] of tries.entries()) {
          ledger = new Ledger(cap, yearly, ledger.entries, ledger.counted + days);
          const entry: Entry = { campaign: `c${i}`, group: "client", epsilon, delta, day: "2026-11-01", counted: ledger.counted };
          try {
            ledger = ledger.spending(entry);
          } catch (error) {
            expect(error).toBeInstanceOf(OverspentError);
            const { yearly: ofYear, days: wait } = error as OverspentError;
            if (!ofYear || !wait) continue;
            const fits = (more: number) => new Ledger(cap, yearly, ledger.entries, ledger.counted + more).spending(entry);
            expect(() => fits(wait)).not.toThrow();
            expect(() => fits(wait - 1)).toThrow(OverspentError);
          }
          const year = ledger.entries.filter(({ counted }) => ledger.counted - counted < 365);
          for (const part of ["epsilon", "delta"] as const) {
            expect(isAbove(total(ledger.entries, part), exactly(cap[part]))).toBe(false);
            expect(isAbove(total(year, part), exactly(yearly[part]))).toBe(false);
          }
        }
        const minus = (a: Fraction, b: Fraction) => fraction(a[0] * b[1] - b[0] * a[1], a[1] * b[1]);
        const rest = (["epsilon", "delta"] as const).map((part) => minus(exactly(cap[part]), total(ledger.entries, part)));
        expect(ledger.remaining).toEqual(rest);
      }),
    );
  });

  test("caps are lowered, never raised", () => {
    const ledger = new Ledger();
    expect(ledger.lowered({ epsilon: 4, delta: 0 }).cap).toEqual({ epsilon: 4, delta: 0 });
    expect(() => ledger.lowered({ epsilon: 49, delta: 0 })).toThrow("cap epsilon");
    expect(() => ledger.lowered(undefined, { epsilon: 1, delta: 0.1 })).toThrow("yearly delta");
  });
});

test("days", () => {
  fc.assert(
    fc.property(fc.integer({ min: -700_000, max: 2_900_000 }), (number) => {
      const day = afterDays("1970-01-01", number);
      expect(requireDay("day", day)).toBe(day);
      expect(dayNumber(day)).toBe(number);
    }),
  );
  for (const wrong of ["0000-01-01", "2026-02-29", "2026-13-01", "2026-1-1", "20261101", "", null, ["2026-11-01"], 20261101])
    expect(() => requireDay("opens", wrong)).toThrow("opens");
});

test("Retry-After", () => {
  const now = 784_111_777 - 100;
  expect(retryAfter("Sun, 06 Nov 1994 08:49:37 GMT", now)).toBe(100);
  expect(retryAfter("120", now)).toBe(120);
  expect(retryAfter("9".repeat(40), now)).toBe(14 * 86_400);
  for (const nothing of [null, "", "-1", "1.5", "Invalid Date", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Sun, 06 Nov 1994 08:49:37", "Sun, 31 Feb 1995 08:49:37 GMT", text(utf8("١"))])
    expect(retryAfter(nothing, now)).toBe(0);
});

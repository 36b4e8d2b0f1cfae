// The console's own rules: what an address may say, and which cells a spreadsheet may get. The screens are tested from Python.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { hashOf, readView } from "../console/address.ts";
import { daysShown } from "../console/days.ts";
import { daysBetween, roundUp } from "../console/plot.ts";
import { matching } from "../console/records.ts";
import { cellOfText, csv, json, type Sheet } from "../console/sheet.ts";

const nothing = readView("");

describe("the address", () => {
  test("says the same when it is read again", () => {
    const view = {
      ...nothing,
      campaign: "trends-2026-11",
      panel: "intake",
      find: "a&b=c #?%25 שלום",
      reason: "wrong-list",
      from: "2026-11-01",
      to: "2026-11-30",
      tables: ["liars", "intake-by-day"],
      keys: false,
    };
    expect(readView(hashOf(view))).toEqual(view);
    expect(hashOf(nothing)).toBe("#");
  });

  test("is not believed", () => {
    for (const hash of ["#main", "#campaign=../x", "#campaign=A", "#from=yesterday&to=2026-00-00", "#from=2026-02-30&to=9999-99-99", "#reason=<b>", "#tables=<b>,"])
      expect(readView(hash)).toEqual(nothing);
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(readView(hashOf(readView(text)))).toEqual(readView(text));
      }),
    );
  });
});

describe("files", () => {
  const sheet: Sheet = {
    name: "records",
    caption: "Records",
    columns: [
      { name: "query", label: "Query", isLabel: true },
      { name: "share", label: "Share" },
    ],
    rows: [
      ["=1+1", 0.5],
      [null, null],
      ["*", NaN],
      ['a "b", c', 2],
    ],
  };

  test("hold numbers as they are, and no formula", () => {
    expect(csv(sheet)).toBe('query,share\n\'=1+1,0.5\n*,\n\\*,\n"a ""b"", c",2\n');
    expect(JSON.parse(json(sheet))[0]).toEqual({ query: "=1+1", share: 0.5 });
    expect(JSON.parse(json(sheet))[1]).toEqual({ query: null, share: null });
  });

  test("mark every piece that a spreadsheet could take for a formula", () => {
    const marked = {
      "=a": "'=a",
      " +a": "' +a",
      'x;"-a': "x;'\"-a",
      "a|@b": "a|'@b",
      "'a": "''a",
      "＝a": "'＝a",
      "a-b": "a-b",
      "": "",
    };
    for (const [text, cell] of Object.entries(marked)) expect(cellOfText(text)).toBe(cell);
  });
});

test("records are found whatever their case, and the wildcard only by no filter", () => {
  const rows = [
    ["Weather", "https://sky.example"],
    ["news", null],
    [null, null],
  ] as const;
  expect(matching(rows, "SKY")).toEqual([rows[0]]);
  expect(matching(rows, " ")).toEqual(rows);
  expect(matching(rows, "null")).toEqual([]);
});

describe("plots", () => {
  test("have round tops", () => {
    for (const [value, top] of [
      [0, 1],
      [1, 1],
      [3, 5],
      [51, 100],
      [279, 500],
      [0.0021, 0.005],
      [1e6, 1e6],
    ] as const)
      expect(roundUp(value)).toBeCloseTo(top, 10);
    fc.assert(
      fc.property(fc.double({ min: 1e-6, max: 1e9, noNaN: true }), (value) => {
        expect(roundUp(value) / value).toBeGreaterThan(0.999);
      }),
    );
  });

  test("show every day, a week at least, and no endless ones", () => {
    expect(daysBetween("2026-02-27", "2026-03-01")).toEqual(["2026-02-27", "2026-02-28", "2026-03-01"]);
    expect(daysBetween("1000-01-01", "2026-03-01")).toHaveLength(400);
    expect(daysShown(["2026-11-16"], "2026-11-17", nothing)).toHaveLength(7);
    expect(daysShown(["2026-11-16"], "2026-11-17", { ...nothing, from: "2026-11-16", to: "2026-11-16" })).toEqual([
      "2026-11-16",
    ]);
    expect(daysShown([], "2026-11-17", { ...nothing, from: "2026-12-01" })).toEqual(["2026-12-01"]);
  });
});

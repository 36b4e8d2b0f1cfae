// All vectors, in Node, Chromium and Firefox.
import { describe, expect, test } from "vitest";
import { answer, type Vectors, wanted } from "./replay.js";

const files = import.meta.glob<Vectors>("../../../vectors/{good,bad}/*.json", { eager: true, import: "default" });

test("there are good and bad vectors", () => {
  for (const folder of ["good", "bad"])
    expect(Object.keys(files).filter((path) => path.includes(`/${folder}/`)).length).toBeGreaterThan(0);
});

for (const [path, { call, cases }] of Object.entries(files))
  describe(path.replace(/^.*vectors\//, ""), () => {
    test.each(cases)("$name", async (one) => {
      expect(await answer(call, one.input), JSON.stringify(one).slice(0, 400)).toEqual(wanted(one));
    });
  });

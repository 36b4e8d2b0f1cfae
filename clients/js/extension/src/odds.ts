/** What a report names, and what that tells of 100 people. */
import type { DrawnReport } from "../../src/explanation.ts";
import { namedItems, reportNumber } from "../../src/likelihood.ts";
import { schemeOf } from "../../src/scheme.ts";
import type { DotGroup } from "../../ui/dots.ts";
import { hundred as hundredOf } from "../../ui/odds.ts";

/** How many of 100 people with and without what the report names send such a report. */
export function hundred(report: DrawnReport): DotGroup[] {
  const { manifest, list, question } = report;
  return hundredOf(manifest, list, question, itemsOf(report)[0]!);
}

function itemsOf({ manifest, list, question, data }: DrawnReport): number[] {
  const randomiser = schemeOf(manifest, list).asked.get(question)![1];
  return namedItems(randomiser, reportNumber(data, randomiser.count));
}

/** A query, or a query and an address; `isRest` if it is a query with whatever address is not listed beside those that are. */
export type Named = readonly [query: string | null, url: string | null, isRest: boolean];

/** What the report names: queries, or records. */
export function named(report: DrawnReport): Named[] {
  const { list, question } = report;
  const listed = new Set(list.listed);
  return itemsOf(report).map((item): Named => {
    if (question === "query") return [list.queries[item]?.query ?? null, null, false];
    const label = list.labels[item]!;
    return [...label, label[0] !== null && !listed.has(label)];
  });
}

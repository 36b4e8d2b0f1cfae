/** What a report names, and what that tells of 100 people. */
import type { DrawnReport } from "../../src/explanation.ts";
import { namedItems, reportNumber } from "../../src/likelihood.ts";
import type { HeadList, Label } from "../../src/list.ts";
import { schemeOf } from "../../src/scheme.ts";
import type { DotGroup } from "../../ui/dots.ts";
import { hundred as hundredOf } from "../../ui/odds.ts";

/** How many of 100 people with and without what the report names send such a report. */
export function hundred(report: DrawnReport): DotGroup[] {
  const { manifest, list, question } = report;
  return hundredOf(manifest, list, question, itemsOf(report)[0]!);
}

/** The labels of all cells, in their order. */
const labels = ({ queries }: HeadList): Label[] => [
  ...queries.flatMap(({ query, urls }) => [...urls, null].map((url): Label => [query, url])),
  [null, null],
];

function itemsOf({ manifest, list, question, data }: DrawnReport): number[] {
  const randomiser = schemeOf(manifest, list).asked.get(question)![1];
  return namedItems(randomiser, reportNumber(data, randomiser.count));
}

/** What the report names: queries, or records. */
export function named(report: DrawnReport): Label[] {
  const { list, question } = report;
  const all = question === "query" ? [...list.queries.map(({ query }): Label => [query, null]), [null, null] as Label] : labels(list);
  return itemsOf(report).map((item) => all[item]!);
}

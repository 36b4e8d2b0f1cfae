/** What a report names, and what that tells of 100 people. */
import type { DrawnReport } from "../../src/explanation.ts";
import { likelihoods } from "../../src/likelihood.ts";
import type { HeadList, Label } from "../../src/list.ts";
import type { DotGroup } from "../../ui/dots.ts";
import { hundred as hundredOf } from "../../ui/odds.ts";

/** How many of 100 people with and without what the report names send such a report. */
export function hundred(report: DrawnReport): DotGroup[] {
  const { manifest, list, question } = report;
  return hundredOf(manifest, list, question, () => {
    const [query] = named(report)[0]!;
    return query === null ? list.queries.length : list.queries.findIndex((entry) => entry.query === query);
  });
}

/** The labels of all cells, in their order. */
const labels = ({ queries }: HeadList): Label[] => [
  ...queries.flatMap(({ query, urls }) => [...urls, null].map((url): Label => [query, url])),
  [null, null],
];

/** What the report names: queries, or records. */
export function named({ manifest, list, question, data }: DrawnReport): Label[] {
  const groups = likelihoods(manifest, list, question, data);
  const { cells } = groups.find(({ description }) => /\bthat it names$/.test(description) && !/^another/.test(description))!;
  const all = labels(list);
  if (question !== "query") return cells.map((cell) => all[cell]!);
  const rows = new Set(cells.map((cell) => list.rows[cell]!));
  return [...rows].map((row): Label => [list.queries[row]?.query ?? null, null]);
}

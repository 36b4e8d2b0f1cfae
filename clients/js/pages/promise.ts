/** What a person's part in a campaign can tell about them, in odds: sentences, and a picture of 100 people. */
import { largestRatio, oddsSentence, optInSentence, promiseSentence } from "../src/explain.ts";
import { nearest } from "../src/exact.ts";
import type { HeadList } from "../src/list.ts";
import type { Manifest } from "../src/manifest.ts";
import type { Terms } from "../src/terms.ts";
import { dots } from "../ui/dots.ts";
import { element } from "../ui/elements.ts";

/** By the list if there is one, else by the terms alone. */
export function promise(terms: Terms, manifest: Manifest | null, list: HeadList | null): HTMLElement {
  const ratio = manifest && list ? nearest(largestRatio(manifest, list)) : Math.exp(terms.epsilon);
  const after = Math.round((100 * ratio) / (ratio + 99));
  return element(
    "section",
    { "aria-labelledby": "promise" },
    element("h2", { id: "promise" }, "What it can tell about you"),
    element("h3", {}, "If you report"),
    element("p", {}, manifest && list ? oddsSentence(manifest, list) : promiseSentence(terms)),
    element(
      "figure",
      {},
      dots([
        { label: "Before your report", count: 1 },
        { label: "After it, at most", count: after },
      ]),
      element(
        "figcaption",
        {},
        `Whoever took 1 of 100 people like you for somebody who made a certain search may, after your report, take ${after} of 100 ` +
          `for one at most. It may also turn them away from the truth.`,
      ),
    ),
    element("h3", {}, "If you opt in"),
    element("p", {}, optInSentence(terms)),
    element(
      "p",
      { class: "quiet" },
      `Epsilon is ${terms.epsilon}, delta is ${terms.delta}. Records of opt-in people are deleted when the list is made, by ` +
        `${terms.records_kept_until} at the latest; reports when the result is made, by ${terms.reports_kept_until} at the latest.`,
    ),
  );
}

/** A report in words and in a picture. */
import { type Child, element } from "../../ui/elements.ts";
import { dots } from "../../ui/dots.ts";
import { count } from "../../ui/texts.ts";
import { labelOf } from "./parts.ts";
import type { ReportView } from "./views.ts";

export function reportParts({ question, sentences, groups, named, namedCount }: ReportView): Child[] {
  const isQuery = question === "query";
  const noun = isQuery ? (namedCount === 1 ? "query" : "queries") : namedCount === 1 ? "record" : "records";
  const rest = namedCount - named.length;
  const isNothing = namedCount === 1 && named[0]![0] === null;
  return [
    element("h4", {}, "What it names"),
    isNothing
      ? element("p", {}, "Nothing of the list: it says that what you searched for is not on it. That may be so, or drawn at random.")
      : [
          element(
            "p",
            {},
            `${count(namedCount)} ${noun} of the list. ${namedCount === 1 ? "It may be yours or one drawn" : "Yours may be among them or not; the others were drawn"} at random.`,
          ),
          element(
            "ul",
            {},
            named.map((label) => element("li", {}, labelOf(label))),
            rest > 0 && element("li", { class: "quiet" }, `and ${count(rest)} more`),
          ),
        ],
    element("h4", {}, "What it tells"),
    groups.length > 0 && [
      element(
        "p",
        {},
        isNothing
          ? "Take people who are asked the same question."
          : `Take any one ${isQuery ? "query" : "record"} that a report may name, and people who are asked the same question.`,
      ),
      dots(groups),
    ],
    element(
      "details",
      {},
      element("summary", {}, "The exact probabilities of this very report"),
      sentences.map((one) => element("p", {}, one)),
    ),
  ];
}

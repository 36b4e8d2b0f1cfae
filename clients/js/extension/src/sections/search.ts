/** Search in what is released, offline. */
import { type Child, element, fill } from "../../../ui/elements.ts";
import { ask } from "../ask.ts";
import { finder, NOTHING_YET } from "../finder.ts";
import type { Section } from "../parts.ts";
import type { KeptIndex } from "../state.ts";

export const search: Section = async () => {
  const { indexes } = await ask("overview");
  const [latest] = indexes;
  if (!latest) return [element("p", { class: "card" }, NOTHING_YET)];
  const typed = decodeURIComponent(/^#search=(.*)/.exec(location.hash)?.[1] ?? "");
  const boxes = element("div", {}, await finder(latest, typed));
  return [
    indexes.length > 1 && choiceOf(indexes, boxes),
    boxes,
    element(
      "p",
      { class: "quiet after" },
      "Each answer has its share of all searches, with its error, and the day of the release.",
    ),
  ];
};

function choiceOf(indexes: readonly KeptIndex[], boxes: HTMLElement): Child {
  const select = element(
    "select",
    { id: "release", onchange: async () => fill(boxes, ...(await finder(indexes[select.selectedIndex]!))) },
    indexes.map(({ title, released }) => element("option", {}, `${title}, ${released}`)),
  );
  return element("div", { class: "field" }, element("label", { for: "release" }, "Release"), select);
}

/** A picture of 100 people: as many dots are filled as it is about. */
import { drawing, element } from "./elements.ts";

export interface DotGroup {
  readonly label: string;
  /** How many of 100; people are whole, so the nearest number is shown, and what is not none or all is never shown as that. */
  readonly count: number;
}

/** A picture for each group, side by side where there is room, each with its text. */
export const dots = (groups: readonly DotGroup[]): HTMLElement => element("div", { class: "dots" }, groups.map(group));

/** How many dots are filled for so many of 100, and how that is said. */
export function ofHundred(count: number): { filled: number; text: string } {
  const nearest = Math.round(count);
  if (count > 0 && nearest < 1) return { filled: 0, text: "fewer than 1 of 100" };
  if (count < 100 && nearest > 99) return { filled: 99, text: "more than 99 of 100" };
  return { filled: nearest, text: `${nearest === count ? "" : "about "}${nearest} of 100` };
}

function group({ label, count }: DotGroup): HTMLElement {
  const { filled, text } = ofHundred(count);
  const circles = Array.from({ length: 100 }, (_, i) =>
    drawing("circle", { class: i < filled ? "filled" : null, cx: 5 + 10 * (i % 20), cy: 5 + 10 * Math.floor(i / 20), r: 3.6 }),
  );
  return element(
    "div",
    {},
    element("p", {}, `${label}: `, element("strong", {}, text)),
    drawing("svg", { viewBox: "0 0 200 50", role: "img", "aria-label": `100 dots, ${filled} of them filled` }, circles),
  );
}

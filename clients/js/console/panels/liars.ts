/** What lying clients could have done. */
import { drawing, element } from "../../ui/elements.ts";
import type { Influence } from "../api.ts";
import { liarsSheet } from "../checks.ts";
import { figure } from "../figure.ts";
import { percentOf } from "../plot.ts";
import { checksKey, knownChecks, previewNote } from "./agreement.ts";
import type { Panel } from "./panel.ts";

export const liars: Panel = {
  id: "liars",
  title: "What liars could do",
  key: (screen, { tables }) => checksKey(screen) && [checksKey(screen), tables],
  draw(screen) {
    const checks = knownChecks(screen);
    if (!checks) return previewNote(screen);
    if (!checks.influence.length) return element("p", {}, "This campaign's method does not say.");
    const sheet = liarsSheet(screen.status.campaign, checks.influence);
    return [
      previewNote(screen),
      element(
        "p",
        {},
        "Clients who lie together, and choose what they answer, could raise a record or query of this result by so many percentage points:",
      ),
      figure({
        id: "liars",
        sheet,
        plot: bars(checks.influence),
        note: "The faint bar is what the clients' own estimate would show, the full one what is released.",
      }),
    ];
  },
};

function bars(influence: readonly Influence[]): HTMLElement {
  const scale = Math.max(...influence.flatMap(({ clients, capped }) => [clients, capped])) || 1;
  const number = (value: number): string => String(+(100 * value).toPrecision(2));
  return element(
    "ul",
    { class: "forest liars" },
    influence.map(({ share, clients, capped }) =>
      element(
        "li",
        {},
        element("span", { class: "name" }, `${number(share)} % of the clients`),
        drawing(
          "svg",
          { class: "range", "aria-hidden": "true" },
          drawing("rect", { class: "faint", x: "0", y: "15%", height: "70%", width: percentOf(clients / scale) }),
          drawing("rect", { class: "refused", x: "0", y: "15%", height: "70%", width: percentOf(capped / scale) }),
        ),
        element(
          "span",
          { class: "figures" },
          `+${number(capped)} points`,
          element("small", {}, `+${number(clients)} by clients alone`),
        ),
      ),
    ),
  );
}

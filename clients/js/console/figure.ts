/** A plot and its table, one key away from each other, and files of what is seen. */
import { type Child, element } from "../ui/elements.ts";
import { currentView, go } from "./address.ts";
import { saveButtons } from "./files.ts";
import { type Sheet, table } from "./sheet.ts";

export interface Figure {
  /** One short word of letters and hyphens, for the address. */
  readonly id: string;
  readonly sheet: Sheet;
  readonly plot: Element;
  /** What is said under it. */
  readonly note?: Child;
}

/** The plot, or its table if the address says so. */
export function figure({ id, sheet, plot, note }: Figure): HTMLElement {
  const { tables } = currentView();
  const isTable = tables.includes(id);
  const toggle = (): void => go({ tables: isTable ? tables.filter((one) => one !== id) : [...tables, id] });
  return element(
    "figure",
    { "data-figure": id },
    element(
      "div",
      { class: "tools" },
      element(
        "button",
        {
          type: "button",
          class: "small",
          id: `${id}-as-table`,
          "aria-pressed": String(isTable),
          "aria-label": `Table of ${sheet.caption}`,
          onclick: toggle,
        },
        "Table",
      ),
      saveButtons(sheet),
    ),
    isTable ? table(sheet) : plot,
    note && element("figcaption", {}, note),
  );
}

/** All plots as tables; all as plots again if they all are tables. */
export function toggleTables(): boolean {
  const ids = [...document.querySelectorAll<HTMLElement>("[data-figure]")].map(({ dataset }) => dataset["figure"]!);
  const { tables } = currentView();
  const areTables = ids.every((id) => tables.includes(id));
  go({ tables: areTables ? tables.filter((id) => !ids.includes(id)) : [...new Set([...tables, ...ids])] });
  return !areTables;
}

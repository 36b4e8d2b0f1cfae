/** Files for the operator, of what is on the screen. */
import { element } from "../ui/elements.ts";
import { csv, json, type Sheet } from "./sheet.ts";

const KEPT_MS = 60_000;

export function save(name: string, content: BlobPart, type: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  element("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
}

/** Two buttons that save exactly what a sheet holds. */
export function saveButtons(sheet: Sheet): HTMLElement[] {
  const button = (kind: string, type: string, write: (sheet: Sheet) => string): HTMLElement =>
    element(
      "button",
      {
        type: "button",
        class: "small",
        id: `${sheet.name}-${kind}`,
        "aria-label": `${kind.toUpperCase()} of ${sheet.caption}`,
        onclick: () => save(`${sheet.name}.${kind}`, write(sheet), type),
      },
      kind.toUpperCase(),
    );
  return [button("csv", "text/csv", csv), button("json", "application/json", json)];
}

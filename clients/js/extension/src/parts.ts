/** Pieces that several parts of our pages are made of. */
import { type Child, element } from "../../ui/elements.ts";
import { visible } from "../../ui/texts.ts";
import type { Named } from "./odds.ts";

/** What a part of the page can do to the rest of it. */
export interface Page {
  /** Does something, shows that it runs, then shows the part anew, and says what was done, or what was in the way. */
  act(done: string, doing: () => Promise<unknown>): Promise<void>;
}

export type Section = (page: Page) => Promise<Child[]>;

export const button = (label: string, onclick: () => void, kind: "main" | "plain" = "plain"): HTMLButtonElement =>
  element("button", { type: "button", class: kind === "main" ? "main" : null, onclick }, label);

/** A moment in seconds, as the person's own clock shows it. */
export const moment = (seconds: number): string =>
  new Date(seconds * 1000).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });

/** A table that scrolls by itself where it is too wide. */
export const table = (caption: string, heads: readonly string[], rows: readonly (readonly Child[])[]): HTMLElement =>
  element(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    element(
      "table",
      {},
      element("caption", {}, caption),
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          heads.map((head) => element("th", { scope: "col" }, head)),
        ),
      ),
      element(
        "tbody",
        {},
        rows.map((row) =>
          element(
            "tr",
            {},
            row.map((cell) => element("td", {}, cell)),
          ),
        ),
      ),
    ),
  );

export const facts = (pairs: readonly (readonly [string, Child])[]): HTMLElement =>
  element(
    "dl",
    { class: "pairs" },
    pairs.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))),
  );

/** An input with its label, and a hint that belongs to it. */
export function field(label: string, input: HTMLInputElement | HTMLTextAreaElement, hint = ""): HTMLElement {
  input.id ||= `field-${++fields}`;
  const note = hint && element("p", { class: "quiet", id: `${input.id}-hint` }, hint);
  if (hint) input.setAttribute("aria-describedby", `${input.id}-hint`);
  return element("div", { class: "field" }, element("label", { for: input.id }, label), input, note);
}

let fields = 0;

/** What a report names, as people read it. */
export const labelOf = ([query, url, isRest]: Named): Child[] => [
  query === null ? "everything that is not on the list" : element("bdi", {}, visible(query)),
  isRest && " – an address that is not on the list",
  url !== null && [" – ", element("bdi", { class: "quiet" }, visible(url))],
];

/** A file for the person, made on the spot. */
export function download(name: string, content: unknown): void {
  const url = URL.createObjectURL(new Blob([JSON.stringify(content, null, 2)], { type: "application/json" }));
  element("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

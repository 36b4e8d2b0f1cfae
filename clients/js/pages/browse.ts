/** A table of many rows: the first ones, those that have a text, and more on demand. */
import { element, fill } from "../ui/elements.ts";
import { count } from "../ui/texts.ts";

export interface BrowsedRows<Row> {
  readonly rows: readonly Row[];
  /** What rows are called: "records". */
  readonly noun: string;
  readonly caption: string;
  /** The heads of the columns. */
  readonly head: readonly string[];
  /** What the filter looks at. */
  text(row: Row): string;
  line(row: Row, number: number): HTMLTableRowElement;
  /** How many rows are shown at first. */
  readonly first: number;
  readonly foot?: HTMLTableRowElement | null;
}

const MORE = 100;

/** Nothing that is typed into the filter leaves the page. */
export function browsed<Row>({ rows, noun, caption, head, text, line, first, foot }: BrowsedRows<Row>): HTMLElement {
  const id = `filter-${noun}`;
  let shown = first;
  let matching: readonly (readonly [Row, number])[] = rows.map((row, i) => [row, i + 1]);
  const whole = matching;
  let texts: string[] | undefined;
  const body = element("tbody");
  const status = element("p", { class: "quiet", role: "status" });
  const more = element("button", { type: "button", onclick: showMore }, `Show ${MORE} more`);
  const filter = element("input", {
    id,
    type: "search",
    autocomplete: "off",
    spellcheck: "false",
    maxlength: 200,
    oninput: narrow,
  });

  function lines(from: number): HTMLTableRowElement[] {
    return matching.slice(from, shown).map(([row, number]) => line(row, number));
  }
  function tell(): void {
    const seen = Math.min(shown, matching.length);
    const of = matching === whole ? "" : " that match";
    status.textContent = `${count(seen)} of ${count(matching.length)} ${noun}${of}`;
    more.hidden = seen === matching.length;
  }
  function narrow(): void {
    const wanted = filter.value.trim().toLowerCase();
    texts ??= rows.map((row) => text(row).toLowerCase());
    matching = wanted ? whole.filter((_, i) => texts![i]!.includes(wanted)) : whole;
    shown = first;
    fill(body, lines(0));
    tell();
  }
  function showMore(): void {
    const from = shown;
    shown += MORE;
    const added = lines(from);
    body.append(...added);
    tell();
    added[0]?.scrollIntoView({ block: "nearest" });
  }

  fill(body, lines(0));
  tell();
  return element(
    "div",
    {},
    rows.length > first && element("div", { class: "filter" }, element("label", { for: id }, `Filter ${noun}`), filter),
    element(
      "div",
      { class: "scroll whole", tabindex: 0, role: "region", "aria-label": caption },
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
            head.map((name, i) => element("th", { scope: "col", class: i ? null : "rank" }, name)),
          ),
        ),
        body,
        foot && element("tfoot", {}, foot),
      ),
    ),
    element("div", { class: "row" }, status, more),
  );
}

/** Rows and columns: what a table shows, and what a file of exactly that holds. */
import { type Child, element } from "../ui/elements.ts";
import { ANY_ADDRESS, count, visible, WILDCARD } from "../ui/texts.ts";

export type Cell = string | number | null;

export interface Column {
  /** The column's name in files. */
  readonly name: string;
  readonly label: string;
  /** Whether it holds queries or addresses, of which null is the wildcard. */
  readonly isLabel?: boolean;
  /** The cell as people read it; numbers with their thousands apart if nothing else is said. */
  shown?(cell: Cell, row: readonly Cell[]): Child;
}

/** A column of queries or addresses; a listed query, in the first column, without an address is about any. */
export const labelColumn = (name: string, label: string): Column => ({
  name,
  label,
  isLabel: true,
  shown: (cell, [query]) =>
    element("bdi", {}, cell !== null ? visible(String(cell)) : query === null ? WILDCARD : ANY_ADDRESS),
});

export interface Sheet {
  /** The name of its files, without an ending. */
  readonly name: string;
  readonly caption: string;
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Cell[])[];
}

const DAY = /^\d{4}-\d\d-\d\d$/;

const usual = (cell: Cell): Child =>
  cell === null || cell === "" ? "–" : typeof cell === "number" ? count(cell) : visible(cell);

/** A table that scrolls by itself where it is too wide or too long; the first cell of a row names it. */
export function table({ name, caption, columns, rows }: Sheet, isWhole = false): HTMLElement {
  const isNumber = columns.map((_, i) => rows.some((row) => typeof row[i] === "number"));
  const cell = (row: readonly Cell[], i: number): HTMLElement => {
    const { shown = usual } = columns[i]!;
    const kind = isNumber[i] ? "number" : DAY.test(String(row[i])) ? "day" : null;
    const content = shown(row[i] ?? null, row);
    return i ? element("td", { class: kind }, content) : element("th", { scope: "row", class: kind }, content);
  };
  return element(
    "div",
    { class: isWhole ? "scroll whole" : "scroll", id: `${name}-scroll`, tabindex: 0, role: "region", "aria-label": caption },
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
          columns.map(({ label }, i) => element("th", { scope: "col", class: isNumber[i] ? "number" : null }, label)),
        ),
      ),
      element(
        "tbody",
        {},
        rows.map((row) =>
          element(
            "tr",
            {},
            columns.map((_, i) => cell(row, i)),
          ),
        ),
      ),
    ),
  );
}

const INVISIBLE = /^[\p{C}\p{Z}\s"]+/u;
const FORMULA = /^[=+\-@\uff1d\uff0b\uff0d\uff20]/;
const PIECE = /[^;|\t\r\n\v\f\x1c-\x1e\x85\u2028\u2029]*[;|\t\r\n\v\f\x1c-\x1e\x85\u2028\u2029]?/gu;

/** A text as it stands in a cell, so that no piece of it can start a formula: as src/blendp/render/tables.py writes them. */
export const cellOfText = (text: string): string =>
  text.replace(PIECE, (piece) => (piece.startsWith("'") || FORMULA.test(piece.replace(INVISIBLE, "")) ? `'${piece}` : piece));

function csvCell(cell: Cell): string {
  if (typeof cell !== "string") return cell === null || !isFinite(cell) ? "" : String(cell);
  const text = cellOfText(cell);
  return /[,";|\t\r\n\v\f\x1c-\x1e\x85\u2028\u2029]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The wildcard is *; data that reads *, \*, \\* ... gains a backslash. */
const wildcardText = (cell: Cell): Cell =>
  cell === null ? "*" : typeof cell === "string" && /^\\*\*$/.test(cell) ? `\\${cell}` : cell;

export function csv({ columns, rows }: Sheet): string {
  const cells = rows.map((row) => columns.map(({ isLabel }, i) => (isLabel ? wildcardText(row[i]!) : row[i]!)));
  return [columns.map(({ name }) => name), ...cells].map((row) => `${row.map(csvCell).join(",")}\n`).join("");
}

export const json = ({ columns, rows }: Sheet): string =>
  `${JSON.stringify(
    rows.map((row) => Object.fromEntries(columns.map(({ name }, i) => [name, row[i]]))),
    null,
    2,
  )}\n`;

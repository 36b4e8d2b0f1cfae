/**
 * Plots. Everything is placed in percent of the drawing, so that it fits any screen and grows with the text; console.css says
 * how large the drawing is.
 */
import { afterDays, dayNumber } from "../src/days.ts";
import { type Child, drawing, element } from "../ui/elements.ts";
import { count } from "../ui/texts.ts";

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
const MAX_LABELS = 5;

/** A day as a person says it: 17 Nov. */
export const shortDay = (day: string): string => `${+day.slice(8)} ${MONTHS[+day.slice(5, 7) - 1]}`;

/** Every day from the first to the last; so many at most, the latest. */
export function daysBetween(first: string, last: string, maxDays = 400): string[] {
  const length = Math.min(Math.max(dayNumber(last) - dayNumber(first) + 1, 1), maxDays);
  return Array.from({ length }, (_, i) => afterDays(last, i - length + 1));
}

/** The next number of the form 1, 2 or 5 times a power of ten. */
export function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value || 1));
  return [1, 2, 5, 10].map((one) => one * power).find((one) => one >= value * (1 - 1e-9))!;
}

export const percentOf = (share: number): string => `${+(100 * share).toFixed(3)}%`;

/** A day on which something happened to the campaign. */
export interface Mark {
  readonly day: string;
  readonly label: string;
}

export interface Frame {
  /** What the plot says, for those who do not see it. */
  readonly label: string;
  /** What stands under every place of the axis; some of it is left out where there is little room. */
  readonly ticks: readonly string[];
  /** The value at the top. */
  readonly max: number;
  /** How values are written. */
  format?(value: number): string;
}

/** A plot with its axes, whose texts stand in its padding. */
export function plot({ label, ticks, max, format = short }: Frame, ...content: Child[]): SVGElement {
  return drawing("svg", { class: "plot", role: "img", "aria-label": label }, grid(max, format), content, tickLabels(ticks));
}

/** The middle of a place on the axis. */
export const middle = (i: number, length: number): string => percentOf((i + 0.5) / length);

function grid(max: number, format: (value: number) => string): Child[] {
  return [0, max / 2, max].map((value) => {
    const y = percentOf(1 - value / max);
    return [
      drawing("line", { class: value ? "grid" : "axis", x1: "0", x2: "100%", y1: y, y2: y }),
      (Number.isInteger(value) || format !== short) &&
        drawing("text", { class: "value", x: "-0.5em", y, dy: "0.32em" }, format(value)),
    ];
  });
}

const short = (value: number): string =>
  value >= 1e6 ? `${+(value / 1e6).toFixed(1)}M` : value >= 1e4 ? `${+(value / 1e3).toFixed(1)}k` : count(value);

/** Up to five, as far from each other; where there is little room, every second one is left out, or all but two. */
function tickLabels(ticks: readonly string[]): Child[] {
  const step = Math.max(1, Math.ceil((ticks.length - 1) / (MAX_LABELS - 1)));
  return ticks.map(
    (tick, i) =>
      i % step === 0 &&
      drawing(
        "text",
        {
          class: `tick ${["", "minor", "middle", "minor"][(i / step) % 4]}`,
          x: middle(i, ticks.length),
          y: "100%",
          dy: "1.5em",
        },
        tick,
      ),
  );
}

/** A line from top to bottom on every day on which something happened. */
export const markLines = (marks: readonly Mark[], days: readonly string[]): Child[] =>
  marks
    .filter(({ day }) => days.includes(day))
    .map(({ day, label }) => {
      const x = middle(days.indexOf(day), days.length);
      return drawing(
        "g",
        { class: "mark" },
        drawing("title", {}, `${day}: ${label}`),
        drawing("line", { x1: x, x2: x, y1: "-5%", y2: "100%" }),
        drawing("circle", { cx: x, cy: "-5%" }),
      );
    });

/** What the lines mean, in text. */
export const markKey = (marks: readonly Mark[], days: readonly string[]): Child => {
  const seen = marks.filter(({ day }) => days.includes(day));
  return seen.map(({ day, label }) => element("span", { class: "key marked" }, `${day} ${label}`));
};

/** One kind of columns. */
export interface Series {
  /** The class that colours it. */
  readonly kind: string;
  readonly values: readonly number[];
}

/** A column for every day, the series upon each other. */
export function columns(
  max: number,
  series: readonly Series[],
  title: (i: number) => string,
  onClick: (i: number) => void,
): Child[] {
  const { length } = series[0]!.values;
  return Array.from({ length }, (_, i) => {
    let top = 1;
    const parts = series.map(({ kind, values }) => {
      const height = values[i]! / max;
      top -= height;
      const box = {
        x: percentOf((i + 0.12) / length),
        width: percentOf(0.76 / length),
        y: percentOf(top),
        height: percentOf(height),
      };
      return height > 0 && drawing("rect", { class: kind, ...box });
    });
    const all = { class: "hit", x: percentOf(i / length), width: percentOf(1 / length), y: "0", height: "100%" };
    return drawing("g", { onclick: () => onClick(i) }, drawing("title", {}, title(i)), drawing("rect", all), parts);
  });
}

/** A line through the values that are known. */
export function line(values: readonly (number | null)[], max: number, kind: string): Child[] {
  const y = (value: number): string => percentOf(1 - Math.min(value / max, 1));
  return values.map((value, i) => {
    const before = values[i - 1];
    if (value == null || before == null) return null;
    return drawing("line", {
      class: kind,
      x1: middle(i - 1, values.length),
      y1: y(before),
      x2: middle(i, values.length),
      y2: y(value),
    });
  });
}

/** A dot at every value that is known. */
export const points = (values: readonly (number | null)[], max: number, kind: string): Child[] =>
  values.map(
    (value, i) =>
      value != null && drawing("circle", { class: kind, cx: middle(i, values.length), cy: percentOf(1 - value / max) }),
  );

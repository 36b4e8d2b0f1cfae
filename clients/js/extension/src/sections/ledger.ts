/** What all campaigns cost, against the budget of a year and the cap for life. */
import { type Child, element } from "../../../ui/elements.ts";
import { ask } from "../ask.ts";
import { field, type Page, type Section, table } from "../parts.ts";

const short = (number: number): string => String(+number.toPrecision(6));

export const ledger: Section = async (page) => {
  const view = await ask("ledger");
  if (!view) return [element("p", { class: "card" }, "Nothing was spent.")];
  const { entries, year, life } = view;
  return [
    element(
      "p",
      {},
      "Every report tells a little about you, and what it tells adds up. The cost of each is ε (and δ). Entries stay, also when a report is deleted: nobody can unlearn.",
    ),
    bar("This year", year.cap.epsilon, year.left.epsilon),
    bar("In your life", life.cap.epsilon, life.left.epsilon),
    entries.length
      ? table(
          "Everything that was spent",
          ["Campaign", "As", "Day", "ε", "δ"],
          entries.map(({ campaign, group, day, epsilon, delta }) => [campaign, group, day, short(epsilon), short(delta)]),
        )
      : element("p", { class: "card" }, "Nothing was spent."),
    element("h3", {}, "Lower a cap"),
    element("p", {}, "A cap can be lowered, never raised. A lower one means fewer campaigns, and a promise that says more."),
    element(
      "div",
      { class: "columns" },
      lowering(page, "year", "Budget of a year", year.cap.epsilon),
      lowering(page, "life", "Cap for life", life.cap.epsilon),
    ),
  ];
};

function bar(label: string, cap: number, left: number): Child {
  const spent = Math.max(0, cap - left);
  const text = `ε ${short(spent)} of ${short(cap)} spent, ${short(left)} left`;
  const width = Math.min(100, (100 * spent) / cap || 0);
  return element(
    "div",
    { class: "budget" },
    element("p", {}, element("strong", {}, `${label}: `), text),
    element("progress", { max: 100, value: width, "aria-label": `${label}: ${text}` }),
  );
}

function lowering(page: Page, which: "year" | "life", label: string, cap: number): Child {
  const input = element("input", { type: "number", min: 0.1, max: cap, step: 0.1, value: cap, required: true });
  const lower = (event: Event): void => {
    event.preventDefault();
    void page.act("The cap is lower now.", () => ask("lowerCap", which, input.valueAsNumber));
  };
  return element(
    "form",
    { onsubmit: lower, class: "card" },
    field(`${label} (ε)`, input),
    element("button", { type: "submit" }, "Lower it"),
  );
}

/** What is shown of a campaign: days, a reason, a text. All of it lives in the address. */
import { element } from "../ui/elements.ts";
import { go, type View } from "./address.ts";

type Filter = "find" | "reason" | "from" | "to";

const NOTHING = { find: "", reason: "", from: "", to: "" } as const;

export interface FilterBar {
  readonly bar: HTMLElement;
  /** Shows the filters of a view, as far as there are records, and reports with reasons. */
  show(view: View, hasRecords: boolean, reasons: readonly string[]): void;
}

export function filterBar(): FilterBar {
  const set =
    (name: Filter) =>
    (event: Event): void =>
      go({ [name]: (event.target as HTMLInputElement).value }, true);
  const day = (name: "from" | "to", label: string): HTMLInputElement =>
    element("input", { type: "date", id: `filter-${name}`, "aria-label": `${label} (UTC)`, onchange: set(name) });
  const find = element("input", {
    type: "search",
    id: "filter-find",
    autocomplete: "off",
    spellcheck: "false",
    maxlength: 200,
    placeholder: "query or address",
    oninput: set("find"),
  });
  const reason = element("select", { id: "filter-reason", onchange: set("reason") });
  const [from, to] = [day("from", "First day"), day("to", "Last day")];
  const clear = element("button", { type: "button", class: "small", onclick: () => go(NOTHING) }, "Clear filters");
  let options: string | null = null;

  function setOptions(reasons: readonly string[], chosen: string): void {
    const names = [...new Set(chosen ? [...reasons, chosen] : reasons)];
    if (names.join() !== options) {
      options = names.join();
      reason.replaceChildren(
        element("option", { value: "" }, "all"),
        ...names.map((name) => element("option", { value: name }, name)),
      );
    }
    reason.value = chosen;
  }
  const put = (input: HTMLInputElement, value: string): void => void (input.value !== value && (input.value = value));

  const records = element("div", {}, element("label", { for: "filter-find" }, "Records with"), find);
  const outcomes = element("div", {}, element("label", { for: "filter-reason" }, "Outcome"), reason);
  const bar = element(
    "div",
    { class: "filters", role: "search", "aria-label": "Filters" },
    records,
    outcomes,
    element(
      "div",
      {},
      element("label", { for: "filter-from" }, "Days (UTC)"),
      element("div", { class: "row" }, from, "to", to),
    ),
    clear,
  );
  return {
    bar,
    show(view, hasRecords, reasons) {
      records.hidden = !hasRecords && !view.find;
      outcomes.hidden = !reasons.length && !view.reason;
      put(find, view.find);
      put(from, view.from);
      put(to, view.to);
      setOptions(reasons, view.reason);
      clear.hidden = filtersSet(view) === 0;
    },
  };
}

const filtersSet = (view: View): number => (Object.keys(NOTHING) as Filter[]).filter((name) => view[name]).length;

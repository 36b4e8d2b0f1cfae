/** A new campaign: a form that follows from the collector's own description of terms, a check, and the second question. */
import { afterDays } from "../../src/days.ts";
import { type Child, element } from "../../ui/elements.ts";
import { count, visible } from "../../ui/texts.ts";
import { go } from "../address.ts";
import { api, type Draft } from "../api.ts";
import { actButton, cautionList, openWindow, typedName, type ActWindow } from "../dialog.ts";

/** A field of the terms, as the collector describes it. */
interface Field {
  readonly description: string;
  readonly type?: string;
  readonly format?: string;
  readonly default?: unknown;
  readonly enum?: readonly (string | number)[];
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly anyOf?: readonly { readonly type: string }[];
}

type Values = Readonly<Record<string, unknown>>;

const LABELS: Readonly<Record<string, string>> = {
  campaign: "Name in addresses",
  opt_in_until: "Last day to opt in (UTC)",
  reports_until: "Last day of reports (UTC)",
  opens: "First day (UTC)",
  min_opt_in: "Fewest opt-in people",
  min_clients: "Fewest clients",
  size: "Largest list (empty: no limit)",
  opt_in_records: "Records of an opt-in person (empty: chosen)",
  records_per_person: "Records a person has on average (empty: not known)",
  normalise: "Rule of normal text",
};
/** What the collector chooses if it is left empty. */
const CHOSEN = ["opt_in_records"];
/** Of the campaign before, the next one has not these. */
const NOT_INHERITED = ["campaign", "opens", "opt_in_until", "reports_until"];
const OPT_IN_DAYS = 14;
const REPORT_DAYS = 44;

const labelOf = (name: string): string => LABELS[name] ?? (name[0]!.toUpperCase() + name.slice(1)).replaceAll("_", " ");

/** `before` has the terms of a campaign that this one follows. */
export function create(today: string, before: Values | null, done: () => void): void {
  const window = openWindow("New campaign", done);
  window.show(element("p", { class: "quiet" }, "The form is being loaded."));
  void window.work("", async () => {
    const { properties, required } = (await api.schema()).components.schemas.NewTerms;
    const days = { opens: today, opt_in_until: afterDays(today, OPT_IN_DAYS), reports_until: afterDays(today, REPORT_DAYS) };
    const inherited = Object.fromEntries(Object.entries(before ?? {}).filter(([name]) => !NOT_INHERITED.includes(name)));
    form(window, properties, required, { ...inherited, ...days });
  });
}

function form(window: ActWindow, fields: Readonly<Record<string, Field>>, required: readonly string[], values: Values): void {
  const inputs = Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [
      name,
      inputOf(name, field, values[name] ?? (CHOSEN.includes(name) ? null : field.default), required.includes(name)),
    ]),
  );
  const part = (names: readonly string[]): Child =>
    element(
      "div",
      { class: "fields" },
      names.map((name) => fieldPart(name, fields[name]!, inputs[name]!)),
    );
  const submit = (event: Event): void => {
    event.preventDefault();
    const terms = Object.fromEntries(Object.keys(fields).map((name) => [name, valueOf(fields[name]!, inputs[name]!.value)]));
    void window.work("The terms are being checked …", async () => {
      const draft = await api.draft(terms);
      second(window, draft, () => form(window, fields, required, terms));
    });
  };
  window.show(
    element(
      "form",
      { onsubmit: submit },
      element(
        "p",
        { class: "quiet" },
        "Terms are signed, and never change: another promise or day is another campaign. Nothing is created yet.",
      ),
      part(required),
      element(
        "details",
        {},
        element("summary", {}, "The promise, the minimums and the method"),
        part(Object.keys(fields).filter((name) => !required.includes(name))),
      ),
      element("button", { type: "submit", class: "main" }, "Check the terms"),
    ),
  );
}

function inputOf(
  name: string,
  field: Field,
  value: unknown,
  isRequired: boolean,
): HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement {
  const shared = { id: `terms-${name}`, required: isRequired, "aria-describedby": `terms-${name}-hint` };
  if (field.enum)
    return element(
      "select",
      shared,
      field.enum.map((one) => element("option", { value: one, selected: one === value }, one)),
    );
  if ((field.maxLength ?? 0) > 200) {
    const area = element("textarea", { ...shared, maxlength: field.maxLength, rows: 3 });
    area.value = String(value ?? "");
    return area;
  }
  const type = field.format ?? (field.type === "string" ? "text" : "number");
  const bounds = { min: field.minimum, max: field.maximum, maxlength: field.maxLength, step: type === "number" ? "any" : null };
  return element("input", { ...shared, ...bounds, type, autocomplete: "off", value: value == null ? "" : String(value) });
}

const fieldPart = (name: string, { description }: Field, input: HTMLElement): HTMLElement =>
  element(
    "div",
    { class: "field" },
    element("label", { for: `terms-${name}` }, labelOf(name)),
    input,
    element("p", { class: "quiet", id: `terms-${name}-hint` }, description),
  );

/** What is sent for what was typed: numbers as numbers, nothing as null where that is allowed; no number is left out. */
function valueOf({ type, anyOf, enum: choices }: Field, text: string): unknown {
  if (choices) return choices.find((one) => String(one) === text);
  if (type === "string") return text.trim();
  return text.trim() ? Number(text) : anyOf ? null : undefined;
}

/** What it means that a term is null. */
const nothing = (name: string): string => (name === "size" ? "no limit" : "not said");

function second(window: ActWindow, { terms, cautions, forecast, sentence, statements }: Draft, back: () => void): void {
  const name = String(terms["campaign"]);
  const act = (): Promise<void> =>
    window.work("The terms are being signed …", async () => {
      await api.create(terms);
      window.close();
      go({ campaign: name });
    });
  window.show(
    cautionList([...cautions, ...(forecast.caution ? [forecast.caution] : [])]),
    element(
      "ul",
      {},
      statements.map((one) => element("li", {}, visible(one))),
    ),
    element(
      "p",
      {},
      `At its minimum: ${forecast.sentence}`,
      sentence && ` With ${count(Number(terms["expected_clients"]))} clients: ${sentence}`,
    ),
    element(
      "details",
      {},
      element("summary", {}, "All terms"),
      element(
        "dl",
        { class: "pairs" },
        Object.entries(terms).map(([key, value]) =>
          element(
            "div",
            {},
            element("dt", {}, labelOf(key)),
            element("dd", {}, element("bdi", {}, value === null ? nothing(key) : visible(String(value)))),
          ),
        ),
      ),
    ),
    element("div", { class: "row" }, actButton("Back to the form", back)),
    typedName(name, "Sign the terms and create it", () => void act()),
  );
}

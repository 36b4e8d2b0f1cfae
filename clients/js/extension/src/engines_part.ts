/** The search engines: which are observed, and what is known about each. All of it can be edited. */
import { type Child, element } from "../../ui/elements.ts";
import type { Overview } from "./acts.ts";
import { allow, ask } from "./ask.ts";
import { type Engine, requireEngine, type SwitchedEngine } from "./engines.ts";
import { button, field, type Page } from "./parts.ts";

type Shown = Overview["engines"][number];

export function enginesPart(page: Page, engines: readonly Shown[]): Child {
  const save = (changed: readonly (SwitchedEngine | Engine)[]): Promise<void> => ask("setEngines", [...changed]);
  return element(
    "div",
    { class: "card" },
    element(
      "p",
      {},
      "On the result pages of these engines, and nowhere else, it is noted which result you choose. Private windows are never observed.",
    ),
    element(
      "ul",
      { class: "engines" },
      engines.map((engine) => element("li", {}, engineLine(page, engine, engines, save))),
    ),
    element(
      "details",
      {},
      element("summary", {}, "Add an engine"),
      engineForm(page, null, (added) => save([...engines, added])),
    ),
    button(
      "Back to the shipped engines",
      () => void page.act("The shipped engines are back, all off.", () => ask("resetEngines")),
    ),
  );
}

function engineLine(page: Page, engine: Shown, engines: readonly Shown[], save: (changed: Engine[]) => Promise<void>): Child[] {
  const { name, on, isAllowed, hosts } = engine;
  const replaced = (other: Engine & { on?: boolean }): Engine[] =>
    engines.map((one) => (one === engine ? { ...engine, ...other } : one));
  const flip = (): void => {
    const allowed = on && isAllowed ? Promise.resolve(true) : allow(hosts);
    void page.act(on && isAllowed ? `${name} is off.` : `${name} is on.`, async () => {
      if (!(await allowed)) throw new Error(`The browser was not allowed to see ${name}, so it stays off.`);
      await save(replaced({ ...engine, on: !(on && isAllowed) }));
    });
  };
  const state = on ? (isAllowed ? "on" : "not allowed") : "off";
  return [
    element(
      "div",
      { class: "row" },
      element("strong", {}, name),
      element("span", { class: "state" }, state),
      element(
        "button",
        { type: "button", onclick: flip, "aria-label": `${on && isAllowed ? "Switch off" : "Switch on"}: ${name}` },
        on && isAllowed ? "Switch off" : "Switch on",
      ),
    ),
    element(
      "details",
      {},
      element("summary", {}, `Edit ${name}`),
      // other hosts need the person's permission anew
      engineForm(page, engine, (changed) => save(replaced({ ...changed, on: on && String(changed.hosts) === String(hosts) }))),
      button(`Remove ${name}`, () => void page.act(`${name} is removed.`, () => save(engines.filter((one) => one !== engine)))),
    ),
  ];
}

function engineForm(page: Page, engine: Engine | null, save: (engine: Engine) => Promise<void>): HTMLFormElement {
  const input = (value: string): HTMLInputElement =>
    element("input", { type: "text", autocomplete: "off", spellcheck: "false", value });
  const name = input(engine?.name ?? "");
  const hosts = element("textarea", { rows: 2, spellcheck: "false" }, engine?.hosts.join("\n") ?? "");
  const query = input(engine?.query ?? "q");
  const results = input(engine?.results ?? "");
  const redirect = input(engine?.redirect ?? "");
  const submit = (event: Event): void => {
    event.preventDefault();
    void page.act(`${name.value} is saved.`, async () => {
      const changed = requireEngine({
        name: name.value,
        hosts: hosts.value.split(/\s+/).filter(Boolean),
        query: query.value.trim(),
        results: results.value,
        redirect: redirect.value.trim() || null,
      });
      requireSelector(changed.results);
      await save(changed);
    });
  };
  return element(
    "form",
    { onsubmit: submit },
    field("Name", name),
    field("Pages", hosts, "One pattern a line, such as https://www.example.org/*."),
    field("Parameter that holds the query", query, "In https://www.example.org/?q=weather it is q."),
    field("Links that are results", results, "A CSS selector."),
    field(
      "Parameter that holds a result's address",
      redirect,
      "Where links lead over the engine itself, as in /link?to=https://…; empty if they do not.",
    ),
    element("button", { type: "submit" }, "Save"),
  );
}

function requireSelector(selector: string): void {
  try {
    document.createDocumentFragment().querySelector(selector);
  } catch {
    throw new Error(`results = ${selector}: it must be a CSS selector.`);
  }
}

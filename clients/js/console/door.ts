/** Where an operator shows a token: pasted here, sent in a header to this collector, and kept in this tab alone. */
import { element, fill } from "../ui/elements.ts";
import { visible } from "../ui/texts.ts";

/** `open` tries a token, and throws if it opens nothing; `reason` says why the operator is asked again. */
export function door(open: (token: string, throughReloads: boolean) => Promise<void>, reason = ""): HTMLElement {
  const problem = element("div", { role: "alert", id: "token-problem" });
  const say = (sentence: string): unknown => fill(problem, sentence && element("p", { class: "bad" }, visible(sentence)));
  const input = element("input", {
    id: "token",
    type: "password",
    autocomplete: "one-time-code", // no browser keeps those
    autocapitalize: "off",
    spellcheck: "false",
    maxlength: 4096,
    required: true,
    "aria-describedby": "token-problem token-hint",
  });
  const keep = element("input", { type: "checkbox", id: "keep" });
  const button = element("button", { type: "submit", class: "main" }, "Open the console");
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const token = input.value.trim();
    button.disabled = true;
    try {
      if (!/^[\x21-\x7e]+$/.test(token)) throw new Error("This is no token: copy it whole.");
      await open(token, keep.checked);
    } catch (error) {
      say((error as Error).message);
      input.focus();
      input.select();
    }
    button.disabled = false;
  };
  say(reason);
  return element(
    "div",
    { class: "door card" },
    element("h1", {}, "Operator's console"),
    element("p", { class: "lead" }, "See every campaign at a glance, be told what to do next, and do it."),
    element(
      "form",
      { onsubmit: submit },
      element("label", { for: "token" }, "Your token"),
      input,
      element(
        "p",
        { class: "quiet", id: "token-hint" },
        "Make one on the collector's machine: ",
        element("code", { class: "command" }, "blendp token create --data FOLDER --name NAME"),
        "With ",
        element("code", {}, "--scope read"),
        " it may look, and nothing else.",
      ),
      problem,
      element(
        "label",
        { class: "option", for: "keep" },
        keep,
        "Keep it in this tab when the page is loaded again. It is gone when the tab is closed.",
      ),
      button,
    ),
  );
}

/** Windows over the screen, in which operators look at what an act does before they do it. */
import { type Child, element, fill } from "../ui/elements.ts";
import { visible } from "../ui/texts.ts";

export interface ActWindow {
  /** Shows another step. */
  show(...children: Child[]): void;
  /** Does something that takes a while; what goes wrong is said, and nothing is shown anew. */
  work(doing: string, work: () => Promise<void>): Promise<void>;
  close(): void;
  /** Has the operator close twice, and says why; with an empty sentence, once again. */
  hold(reason: string): void;
}

/** Opens a window with a heading; `closed` hears when it is shut. */
export function openWindow(title: string, closed: () => void = () => {}): ActWindow {
  const body = element("div", {});
  const problem = element("div", { role: "alert" });
  const status = element("p", { class: "quiet", role: "status" });
  let isBusy = false;
  let reason = "";
  const shut = element("button", { type: "button", class: "small shut", onclick: () => mayClose() && close() }, "Close");
  const dialog = element(
    "dialog",
    { "aria-labelledby": "window-title", oncancel: (event: Event) => mayClose() || event.preventDefault() },
    element("div", { class: "row top" }, element("h2", { id: "window-title", tabindex: -1, autofocus: true }, title), shut),
    body,
    problem,
    status,
  );
  dialog.addEventListener("close", () => {
    dialog.remove();
    closed();
  });
  document.body.append(dialog);
  dialog.showModal();

  function mayClose(): boolean {
    if (isBusy || !reason) return !isBusy;
    fill(problem, element("p", { class: "bad" }, reason));
    reason = "";
    return false;
  }
  function close(): void {
    isBusy = false;
    dialog.close();
  }
  function setBusy(doing: string): void {
    isBusy = doing !== "";
    status.textContent = doing;
    dialog.toggleAttribute("aria-busy", isBusy);
    for (const one of dialog.querySelectorAll<HTMLButtonElement>("button")) one.classList.toggle("waiting", isBusy);
  }
  return {
    close,
    hold: (sentence) => void (reason = sentence),
    show: (...children) => {
      fill(problem);
      fill(body, ...children);
      dialog.scrollTop = 0;
    },
    async work(doing, work) {
      if (isBusy) return;
      fill(problem);
      setBusy(doing);
      try {
        await work();
      } catch (error) {
        fill(problem, element("p", { class: "bad" }, visible((error as Error).message)));
        problem.scrollIntoView({ block: "nearest" });
      }
      setBusy("");
    },
  };
}

export const actButton = (
  label: string,
  onclick: () => void,
  kind: "main" | "plain" = "plain",
  id?: string,
): HTMLButtonElement => element("button", { type: "button", class: kind === "main" ? "main" : null, id, onclick }, label);

/** Cautions, as the command line prints them. */
export const cautionList = (cautions: readonly string[], heading = "Be careful"): Child =>
  cautions.length > 0 &&
  element(
    "div",
    { class: "bad", role: "note" },
    element("h3", {}, heading),
    element(
      "ul",
      {},
      cautions.map((one) => element("li", {}, visible(one))),
    ),
  );

/** The second question: the button acts once the name is typed. */
export function typedName(name: string, label: string, act: () => void): Child[] {
  const input = element("input", {
    id: "typed-name",
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    maxlength: 64,
    "aria-describedby": "typed-hint",
  });
  const button = actButton(label, () => act(), "main");
  const check = (): void => void (button.disabled = input.value.trim() !== name);
  input.addEventListener("input", check);
  input.addEventListener("keydown", ({ key }) => key === "Enter" && !button.disabled && act());
  check();
  return [
    element("label", { for: "typed-name" }, "To go on, type the name of the campaign"),
    element("p", { class: "quiet", id: "typed-hint" }, "It is ", element("code", {}, name), ". What follows cannot be undone."),
    element("div", { class: "row" }, input, button),
  ];
}

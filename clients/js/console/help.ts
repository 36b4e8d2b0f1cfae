/** The keys that act, and how to switch them off. */
import { element } from "../ui/elements.ts";
import { currentView, go } from "./address.ts";
import { openWindow } from "./dialog.ts";

export interface Shortcut {
  readonly key: string;
  readonly means: string;
  act(): void;
}

/** Single keys act unless they are typed into something, come with a modifier, or are switched off in the address. */
export function listenToKeys(shortcuts: readonly Shortcut[]): void {
  addEventListener("keydown", (event) => {
    const { key, target, ctrlKey, metaKey, altKey, isComposing, repeat } = event;
    const isTyping = (target as Element).closest?.("input, textarea, select, dialog");
    if (isTyping || ctrlKey || metaKey || altKey || isComposing || repeat || !currentView().keys) return;
    const shortcut = shortcuts.find((one) => one.key === key);
    if (!shortcut) return;
    event.preventDefault();
    shortcut.act();
  });
}

export function showHelp(shortcuts: readonly Shortcut[]): void {
  const box = element("input", {
    type: "checkbox",
    id: "keys-on",
    checked: currentView().keys,
    onchange: ({ target }: Event) => go({ keys: (target as HTMLInputElement).checked }),
  });
  openWindow("Keys").show(
    element(
      "dl",
      { class: "keys" },
      shortcuts.map(({ key, means }) =>
        element("div", {}, element("dt", {}, element("kbd", {}, key)), element("dd", {}, means)),
      ),
    ),
    element(
      "label",
      { class: "option", for: "keys-on" },
      box,
      "Single keys act. If they get in your way, switch them off here.",
    ),
    element(
      "p",
      { class: "quiet" },
      "What you look at, with its filters, is in the address: keep it, or send it to a colleague. The token is never in it. " +
        "All days and times are UTC.",
    ),
  );
}

/** The trust dial: three positions, and what each means. */
import type { Consent } from "../../src/store.ts";
import { element } from "../../ui/elements.ts";

export const DIAL: readonly { consent: Consent; name: string; meaning: string }[] = [
  {
    consent: "off",
    name: "Off",
    meaning: "Nothing is noted, kept or sent. What was sent is asked to be deleted. Searching in what you have still works.",
  },
  {
    consent: "local",
    name: "Local",
    meaning:
      "Results that you choose are noted on this device. In each campaign one report leaves it, already randomised here, so that it never proves what you searched for.",
  },
  {
    consent: "opt-in",
    name: "Opt-in",
    meaning:
      "As local. Beside that, where an organisation that you trust gave you a one-time token, you may send it some records as they are.",
  },
];

/** Three radio buttons; `chosen` hears of a choice. */
export function dial(current: Consent, chosen: (consent: Consent) => void, isShort = false): HTMLFieldSetElement {
  return element(
    "fieldset",
    { class: isShort ? "dial short" : "dial" },
    element("legend", { class: isShort ? null : "visually-hidden" }, "How much do you trust?"),
    DIAL.map(({ consent, name, meaning }) => {
      const [id, hint] = [`dial-${consent}`, `dial-${consent}-meaning`];
      return element(
        "div",
        {},
        element("input", {
          type: "radio", name: "dial", id, value: consent, checked: consent === current, "aria-describedby": isShort ? null : hint,
          title: isShort ? meaning : null, onchange: () => chosen(consent),
        }), // prettier-ignore
        element("label", { for: id }, name),
        !isShort && element("p", { id: hint }, meaning),
      );
    }),
  );
}

/** What an operator should do next: one sentence, and the button that does it. */
import { type Child, element } from "../ui/elements.ts";
import { visible } from "../ui/texts.ts";
import type { Act, NextStep, Scope, TokenHolder } from "./api.ts";

export const ACTS: Readonly<Record<Act, { readonly label: string; readonly scope: Scope }>> = {
  enrol: { label: "Make tokens", scope: "manage" },
  publish: { label: "Publish the list …", scope: "manage" },
  release: { label: "Release the result …", scope: "release" },
  "accept-clock": { label: "Confirm the day …", scope: "manage" },
  export: { label: "Get the report", scope: "read" },
  create: { label: "Create a campaign …", scope: "manage" },
};

/** A button for an act; what the token does not allow is said instead. */
export function actionButton(
  act: Act,
  { scopes }: TokenHolder,
  start: (act: Act) => void,
  kind: "main" | "plain" = "plain",
): Child {
  const { label, scope } = ACTS[act];
  if (!scopes.includes(scope))
    return element(
      "span",
      { class: "quiet" },
      `${label.replace(" …", "")}: this needs a token with the scope `,
      element("code", {}, scope),
      ".",
    );
  return element(
    "button",
    { type: "button", id: `act-${act}-${kind}`, class: kind === "main" ? "main" : null, onclick: () => start(act) },
    label,
  );
}

/** The sentence with its button, and whatever else can be done. */
export const nextStep = (
  { sentence, act, urgent }: NextStep,
  holder: TokenHolder,
  start: (act: Act) => void,
  others: Child,
): HTMLElement =>
  element(
    "div",
    { class: urgent ? "next bad" : "next", role: "group", "aria-labelledby": "next-title" },
    element("h2", { id: "next-title" }, urgent ? "Needs you" : act ? "Next" : "Nothing to do now"),
    element("p", {}, visible(sentence)),
    element("div", { class: "row" }, act && actionButton(act, holder, start, "main"), others),
  );

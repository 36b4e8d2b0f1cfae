/** One-time tokens for opt-in people: shown this once. */
import { element } from "../../ui/elements.ts";
import { count, visible } from "../../ui/texts.ts";
import { api, type Status } from "../api.ts";
import { actButton, openWindow, type ActWindow } from "../dialog.ts";
import { save } from "../files.ts";

const MAX_TOKENS = 10_000;

export function enrol({ campaign, opt_in }: Status, done: () => void): void {
  const window = openWindow(`Make tokens for ${campaign}`, done);
  const missing = Math.max(1, opt_in.missing - opt_in.unused);
  const input = element("input", {
    id: "token-count",
    type: "number",
    min: 1,
    max: MAX_TOKENS,
    step: 1,
    value: Math.min(missing, MAX_TOKENS),
  });
  const ask = (): void => {
    const number = input.valueAsNumber;
    if (Number.isInteger(number) && number >= 1 && number <= MAX_TOKENS) return second(window, campaign, number);
    input.setCustomValidity(`A whole number from 1 to ${MAX_TOKENS}.`);
    input.reportValidity();
    input.setCustomValidity("");
  };
  window.show(
    element(
      "p",
      {},
      "Each token lets one person send records, once. Hand every person one of them, and do not note who got which: the collector does not know it either.",
    ),
    element("label", { for: "token-count" }, "How many people may opt in with them?"),
    element("div", { class: "row" }, input, actButton("Go on", ask, "main")),
    element(
      "p",
      { class: "quiet" },
      `${count(opt_in.missing)} people are missing, ${count(opt_in.unused)} tokens are not used yet. At most ${count(MAX_TOKENS)} at a time.`,
    ),
  );
}

function second(window: ActWindow, campaign: string, number: number): void {
  const make = (): Promise<void> =>
    window.work("Tokens are being made …", async () => show(window, campaign, (await api.enrol(campaign, number)).tokens));
  window.show(
    element(
      "p",
      {},
      `${count(number)} ${number === 1 ? "token is" : "tokens are"} made for ${campaign}. They are shown once, and kept nowhere: save them before you close.`,
    ),
    actButton(`Make ${count(number)} ${number === 1 ? "token" : "tokens"}`, () => void make(), "main"),
  );
}

function show(window: ActWindow, campaign: string, tokens: readonly string[]): void {
  const text = tokens.map((token) => `${token}\n`).join("");
  const saveAll = (): void => {
    save(`${campaign}-tokens.txt`, text, "text/plain");
    window.hold("");
  };
  window.hold("You have not saved the tokens, and they are shown this once. Close again if you have copied them.");
  window.show(
    element(
      "p",
      { class: "good" },
      `${count(tokens.length)} ${tokens.length === 1 ? "token" : "tokens"}, shown this once. Save them now.`,
    ),
    actButton("Save them as a file", saveAll, "main"),
    element("pre", { tabindex: 0, "aria-label": "Tokens", class: "tokens" }, tokens.map(visible).join("\n")),
  );
}

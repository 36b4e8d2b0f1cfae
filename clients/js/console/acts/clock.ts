/** Confirming that the system's clock is right, which the collector doubts. */
import { element } from "../../ui/elements.ts";
import { visible } from "../../ui/texts.ts";
import { api, type Clock } from "../api.ts";
import { actButton, openWindow } from "../dialog.ts";

export function confirmClock({ day, system, doubt }: Clock, done: () => void): void {
  const window = openWindow("Which day is it?", done);
  const input = element("input", {
    id: "today",
    autocomplete: "off",
    maxlength: 10,
    placeholder: "YYYY-MM-DD",
    "aria-describedby": "today-hint",
  });
  const confirm = (): Promise<void> =>
    window.work("The day is being confirmed …", async () => {
      await api.acceptClock(input.value.trim());
      window.show(
        element("p", { class: "good" }, `The collector goes by ${input.value.trim()} now.`),
        actButton("Back", () => window.close(), "main"),
      );
    });
  const button = actButton("Confirm the day", () => void confirm(), "main");
  const check = (): void => void (button.disabled = input.value.trim() !== system);
  input.addEventListener("input", check);
  check();
  window.show(
    element("p", { class: "bad" }, visible(doubt ?? "The collector doubts its clock.")),
    element(
      "p",
      {},
      `The collector goes by ${day}; the clock of its machine says ${system}. If that clock is wrong, set it right there instead: a wrong day deletes what should be kept.`,
    ),
    element("label", { for: "today" }, "If it is right, look at another clock, and type today's day (UTC)"),
    element("p", { class: "quiet", id: "today-hint" }, `It has to be the day of the machine's clock, ${system}.`),
    element("div", { class: "row" }, input, button),
  );
}

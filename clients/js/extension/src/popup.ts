/** The popup: the state in a word, the dial, a pause, and the search. */
import type { Consent } from "../../src/store.ts";
import { type Child, element, fill } from "../../ui/elements.ts";
import type { Overview } from "./acts.ts";
import { api } from "./api.ts";
import { allowData, ask } from "./ask.ts";
import { dial } from "./dial.ts";
import { finder, NOTHING_YET } from "./finder.ts";
import { button, moment } from "./parts.ts";

const main = document.getElementById("main")!;
const alert = document.getElementById("alert")!;

const open = (section: string): void =>
  void api.tabs.create({ url: api.runtime.getURL(`page.html#${section}`) }).then(() => close());

async function act(doing: () => Promise<unknown>): Promise<void> {
  fill(alert);
  await doing().catch((error) => fill(alert, element("p", { class: "bad" }, (error as Error).message)));
  await show();
}

function chosen(consent: Consent, { collector }: Overview): void {
  if (consent === "off") confirmOff();
  else if (!collector) open("settings");
  else {
    const allowed = allowData(); // the browser only asks the person while the click lasts
    void act(async () => {
      if (!(await allowed)) throw new Error("The browser was not allowed to share anything, so nothing changed.");
      await ask("agree", consent);
    });
  }
}

/** Off is one step, but not one slip of the hand: it deletes what cannot be brought back. */
function confirmOff(): void {
  const sure = button("Switch off", () => void act(() => ask("agree", "off")), "main");
  fill(
    alert,
    element(
      "div",
      { class: "bad" },
      element("p", {}, "Off deletes the kept records, and asks for the deletion of what was sent. A pause does neither."),
      element(
        "p",
        { class: "row" },
        sure,
        button("Not now", () => void act(async () => {})),
      ),
    ),
  );
  sure.focus();
}

function pauses({ word, pausedUntil }: Overview): Child {
  const pause = (label: string, seconds: number): HTMLButtonElement =>
    button(label, () => void act(() => ask("pause", seconds)));
  if (word === "paused") return element("p", { class: "row" }, `Paused until ${moment(pausedUntil)} `, pause("Go on", 0));
  return word === "on" && element("p", { class: "row" }, "Pause: ", pause("1 hour", 3600), pause("1 day", 86_400));
}

async function show(): Promise<void> {
  const overview = await ask("overview");
  const { word, reason, indexes, consent } = overview;
  const [latest] = indexes;
  fill(
    main,
    element(
      "div",
      { class: "row head" },
      element("h1", {}, "blendp"),
      element("span", { class: `state ${word}`, id: "state" }, word),
    ),
    reason && element("p", { class: "bad" }, reason),
    latest ? await finder(latest) : element("p", { class: "quiet" }, NOTHING_YET),
    dial(consent, (next) => chosen(next, overview), true),
    pauses(overview),
    button(
      word === "off" ? "Take part, or see what that means" : "See everything",
      () => open(word === "off" ? "settings" : "kept"),
      word === "off" ? "main" : "plain",
    ),
  );
  if (latest) main.querySelector<HTMLInputElement>("input[type=search]")?.focus();
}

void show().catch((error) => fill(alert, element("p", { class: "bad" }, (error as Error).message)));

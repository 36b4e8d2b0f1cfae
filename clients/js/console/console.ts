/** The operator's console: a frame around one screen at a time, which is named in the address. */
import { NetworkError } from "../src/errors.ts";
import { type Child, element, fill } from "../ui/elements.ts";
import { visible } from "../ui/texts.ts";
import { confirmClock } from "./acts/clock.ts";
import { create } from "./acts/create.ts";
import { currentView, go, linkTo, onView } from "./address.ts";
import { api, OperatorError, type Overview, type TokenHolder } from "./api.ts";
import { CampaignView, type Screen, type Surroundings } from "./campaign.ts";
import { door } from "./door.ts";
import { toggleTables } from "./figure.ts";
import { listenToKeys, type Shortcut, showHelp } from "./help.ts";
import { overviewParts } from "./overview.ts";
import { type Poll, poll } from "./poll.ts";
import { Part, redraw } from "./redraw.ts";
import { forget, remember, token } from "./session.ts";

const [bar, alert, status, main] = ["bar", "alert", "status", "main"].map((id) => document.getElementById(id)!) as [
  HTMLElement,
  HTMLElement,
  HTMLElement,
  HTMLElement,
];

/** How long it stays on the screen what was done. */
const SAID_MS = 10_000;

let holder: TokenHolder | null = null;
let screen: Screen | null = null;
let shown: string | null = null;
let polling: Poll | null = null;
let quiet = 0;

/** Says what was done, for a while, or what went wrong. */
function tell(sentence: string, isProblem = false): void {
  clearTimeout(quiet);
  status.textContent = isProblem ? "" : sentence;
  fill(alert, isProblem && element("p", { class: "bad" }, visible(sentence)));
  quiet = window.setTimeout(() => (status.textContent = ""), SAID_MS);
}

/** Every key, and what it does. */
const SHORTCUTS: readonly Shortcut[] = [
  {
    key: "t",
    means: "Plots as tables, and back",
    act: () => tell(toggleTables() ? "Plots are shown as tables." : "Tables are shown as plots."),
  },
  { key: "/", means: "To the filter of records", act: () => document.getElementById("filter-find")?.focus() },
  { key: "r", means: "Ask the collector now", act: () => void polling?.now() },
  { key: "a", means: "All campaigns", act: () => go({ campaign: "" }) },
  { key: "?", means: "This help", act: () => showHelp(SHORTCUTS) },
];

/** All campaigns. */
class OverviewView implements Screen {
  readonly host = element("div", {});
  readonly title = "Campaigns";
  readonly isSettled = false;
  private readonly part = new Part(this.host);
  private overview: Overview | null = null;

  constructor(private readonly around: Surroundings) {}

  async refresh(): Promise<void> {
    this.overview = await api.overview();
    this.view();
  }

  view(): void {
    const { overview, around } = this;
    if (!overview) return;
    const makeNew = (): void => create(overview.today, null, around.again);
    const acceptDay = (): void => confirmClock(overview.clock, around.again);
    this.part.show(overview, () => overviewParts(overview, around.holder, makeNew, acceptDay));
  }
}

/** Shows the screen that the address names, and keeps it up to date. */
function show(): void {
  if (!holder) return;
  const { campaign } = currentView();
  if (shown === campaign) return void screen?.view();
  const isFirst = shown === null;
  shown = campaign;
  polling?.stop();
  tell("");
  showBar();
  const around = { holder, tell, again: () => void polling?.now() };
  const current = (screen = campaign ? new CampaignView(campaign, around) : new OverviewView(around));
  main.setAttribute("aria-busy", "true");
  fill(main, element("p", { class: "quiet asking" }, "The collector is being asked."), current.host);
  polling = poll(
    () => asked(current),
    () => !current.isSettled,
  );
  if (isFirst) return;
  scrollTo(0, 0);
  main.focus({ preventScroll: true });
}

/** One question to the collector, and what its answer means for the frame. */
async function asked(current: Screen): Promise<void> {
  const problem = await current.refresh().catch((error: unknown) => error);
  if (current !== screen) return;
  main.removeAttribute("aria-busy");
  document.title = `${current.title} · console`;
  if (problem === undefined) {
    for (const child of [...main.children]) if (child !== current.host) child.remove();
    if (!current.host.isConnected) main.append(current.host);
    return fresh(true);
  }
  failed(problem);
  throw problem;
}

/** Says when the collector answered last. */
function fresh(isWell: boolean): void {
  const dot = document.getElementById("fresh");
  if (!dot) return;
  if (isWell) {
    dot.textContent = `as of ${new Date().toISOString().slice(11, 19)} UTC`;
    dot.className = "quiet fresh";
    if (alert.querySelector(".unreachable")) tell("");
  } else dot.className = "quiet fresh stale";
}

function failed(error: unknown): void {
  if (error instanceof OperatorError && (error.status === 401 || error.status === 403)) return leave(error.message);
  if (error instanceof OperatorError && error.status === 404) {
    polling?.stop();
    return void fill(main, missing(error.message));
  }
  fresh(false);
  const isOut = error instanceof NetworkError || (error instanceof OperatorError && error.status >= 429);
  const sentence = isOut
    ? "The collector does not answer, or is busy. It is asked again, more and more rarely."
    : (error as Error).message;
  if (alert.textContent?.includes(visible(sentence))) return; // it was said
  fill(
    alert,
    element(
      "p",
      { class: "bad unreachable" },
      visible(sentence),
      " ",
      element("button", { type: "button", class: "small", onclick: () => void polling?.now() }, "Ask now"),
    ),
  );
  if (!main.querySelector("h1"))
    fill(
      main,
      element("h1", {}, "The collector does not answer"),
      element(
        "p",
        { class: "lead" },
        "Perhaps you are offline, or it is being restarted. Nothing is lost: devices send again.",
      ),
    );
}

const missing = (sentence: string): Child => [
  element("h1", {}, "There is no such campaign"),
  element("p", { class: "lead" }, visible(sentence)),
  element("p", {}, element("a", { href: linkTo({ campaign: "" }) }, "All campaigns")),
];

/** Forgets the token, and asks for another. */
function leave(reason = ""): void {
  forget();
  polling?.stop();
  [holder, screen, shown, polling] = [null, null, null, null];
  document.querySelector("dialog")?.close();
  document.title = "Console · blendp";
  tell("");
  showBar();
  redraw(main, door(enter, reason));
  main.removeAttribute("aria-busy");
  document.getElementById("token")?.focus();
}

/** Goes in with a token; throws if it opens nothing. */
async function enter(given: string, throughReloads: boolean): Promise<void> {
  holder = await api.holder(given);
  remember(given, throughReloads);
  show();
}

function showBar(): void {
  const { campaign } = currentView();
  redraw(
    bar,
    element(
      "a",
      { class: "brand", href: linkTo({ campaign: "" }), id: "to-all", "aria-current": holder && !campaign ? "page" : null },
      "blendp ",
      element("strong", {}, "console"),
    ),
    holder && [
      element("span", { id: "fresh", class: "quiet fresh" }, ""),
      element("span", { class: "quiet who" }, element("bdi", {}, visible(holder.name)), " may ", holder.scopes.join(", ")),
      element("button", { type: "button", class: "small", id: "refresh", onclick: () => void polling?.now() }, "Refresh"),
      element(
        "button",
        { type: "button", class: "small", id: "help", "aria-keyshortcuts": "?", onclick: () => showHelp(SHORTCUTS) },
        "Keys",
      ),
      element("button", { type: "button", class: "small", id: "forget", onclick: () => leave() }, "Forget the token"),
    ],
  );
}

document.querySelector(".skip")!.addEventListener("click", (event) => {
  event.preventDefault(); // the address says what is looked at
  main.focus();
});
onView(show);
listenToKeys(SHORTCUTS);
showBar();
const kept = token();
if (kept === null) leave();
else
  enter(kept, true).catch((error: Error) =>
    error instanceof OperatorError ? leave(error.message) : leave(`The collector does not answer. ${error.message}`),
  );

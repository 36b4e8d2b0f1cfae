/** The person's own data: take it along, or leave and have everything deleted. */
import { type Child, element } from "../../../ui/elements.ts";
import { ask } from "../ask.ts";
import { button, download, type Page, type Section } from "../parts.ts";
import type { LeaveView } from "../leave.ts";

/** What became of leaving; kept, as nothing else is once all is wiped. */
let left: LeaveView | null = null;

let asked: Promise<LeaveView> | null = null;

const STEPS = {
  leave: () => ask("leave"),
  leaveOn: () => ask("leaveOn"),
  tryNow: () => ask("leaveOn", true),
};

type Step = keyof typeof STEPS;

/** Leaves, or goes on with it; whoever asks meanwhile hears the same, as the fates of deletions are told once. */
const goOn = (act: Step): Promise<LeaveView> => (asked ??= STEPS[act]().finally(() => (asked = null)));

/** How long a person waits for the collectors, in milliseconds, before the page shows that they may leave anyway. */
const PATIENCE = 1000;

let awaited: Promise<LeaveView> | null = null;

/** Where leaving stands; if the collectors take their time, as far as it is known, and the page shows the rest later. */
async function standing(page: Page, act: Step): Promise<LeaveView> {
  const going = goOn(act);
  const late = new Promise<null>((resolve) => setTimeout(resolve, PATIENCE, null));
  const view = await Promise.race([going, late]);
  if (view) return view;
  if (awaited !== going) void showLater(page, (awaited = going));
  return left ?? { deletions: [], waiting: null, isWiped: false };
}

async function showLater(page: Page, going: Promise<LeaveView>): Promise<void> {
  const view = await going.catch(() => null); // it is tried again, and says why it fails
  if (view && !left?.isWiped) left = view;
  await page.act("", async () => {});
}

export const data: Section = async (page) => {
  const { word } = await ask("overview");
  if (asked || word === "leaving") left = await standing(page, "leaveOn");
  else if (word !== "off") left = null;
  else if (left && !left.isWiped) left = { deletions: [], waiting: 0, isWiped: true }; // the background settled the rest by itself
  if (left?.isWiped) return goodbye(left);
  return [
    element("h3", {}, "Take it along"),
    element(
      "p",
      {},
      "Everything that this extension knows, as a file that a person can read, without the secrets that prove whose reports were whose.",
    ),
    button("Export as JSON", () => void page.act("", async () => download("blendp-export.json", await ask("export")))),
    element("h3", {}, "Leave"),
    left ? leaving(page, left) : invitation(page),
  ];
};

const settle = (page: Page, doing: () => Promise<LeaveView>): void =>
  void page.act("", async () => {
    left = await doing();
  });

function invitation(page: Page): Child[] {
  return [
    element(
      "ol",
      {},
      element("li", {}, "You agree to nothing any more, and all records are deleted at once."),
      element(
        "li",
        {},
        "The collectors are asked to delete what was sent. You see when that is settled; what does not arrive is sent again.",
      ),
      element("li", {}, "Then everything is wiped: ledger, records, results, permissions. You can remove the extension."),
    ),
    element("p", {}, "The ledger is wiped too. If you install the extension again, it does not know what you have spent."),
    button("Leave", () => settle(page, () => standing(page, "leave")), "main"),
  ];
}

function leaving(page: Page, { deletions, waiting }: LeaveView): Child[] {
  const anyway = (): void =>
    settle(page, async () => {
      await ask("leaveAnyway");
      asked = null;
      return { deletions, waiting, isWiped: true };
    });
  return [
    element(
      "p",
      { class: "bad" },
      `${waitingSentence(waiting)} Please do not remove the extension before.`,
    ),
    fates(deletions),
    element(
      "div",
      { class: "row" },
      button("Try again", () => settle(page, () => standing(page, "tryNow")), "main"),
      button("Leave anyway", anyway),
    ),
    element(
      "p",
      { class: "quiet" },
      "If you leave anyway, what was sent stays there until its campaign ends, and nobody can prove that it was yours.",
    ),
  ];
}

function waitingSentence(waiting: number | null): string {
  if (waiting === null) return "The collectors are being asked to delete what was sent.";
  const requests = waiting === 1 ? "1 deletion request" : `${waiting} deletion requests`;
  return `${requests} did not arrive yet. They are sent again by themselves while the browser runs.`;
}

const fates = (deletions: LeaveView["deletions"]): Child =>
  deletions.length > 0 &&
  element(
    "ul",
    {},
    deletions.map(({ campaign, state, reason }) =>
      element("li", {}, `${campaign}: ${state === "waiting" ? "waits" : state === "sent" ? reason : `refused (${reason})`}`),
    ),
  );

function goodbye({ deletions, waiting }: LeaveView): Child[] {
  const isRefused = deletions.some(({ state }) => state === "refused");
  const unsettled =
    waiting !== 0
      ? "Some deletion requests may never have arrived."
      : isRefused && "A collector refused to delete what was sent to it: it stays there until its campaign ends.";
  return [
    unsettled
      ? element("p", { class: "bad" }, `Everything on this device is wiped. ${unsettled}`)
      : element("p", { class: "good" }, "Everything is settled and wiped. You may close this page, and remove the extension."),
    fates(deletions),
    button("Remove the extension", () => void ask("uninstall").catch(() => {}), "main"),
  ];
}

/** The page that shows everything: one part at a time, named in the address. */
import { element, fill } from "../../ui/elements.ts";
import { api } from "./api.ts";
import { ask } from "./ask.ts";
import type { Page, Section } from "./parts.ts";
import { campaigns } from "./sections/campaigns.ts";
import { data } from "./sections/data.ts";
import { evidence } from "./sections/evidence.ts";
import { kept } from "./sections/kept.ts";
import { ledger } from "./sections/ledger.ts";
import { search } from "./sections/search.ts";
import { sent } from "./sections/sent.ts";
import { settings } from "./sections/settings.ts";

const SECTIONS: Readonly<Record<string, { name: string; title?: string; section: Section }>> = {
  search: { name: "Search", section: search },
  kept: { name: "Kept", title: "What is kept", section: kept },
  campaigns: { name: "Would be sent", title: "What would be sent", section: campaigns },
  sent: { name: "Sent", title: "What was sent", section: sent },
  ledger: { name: "Ledger", section: ledger },
  evidence: { name: "Evidence", section: evidence },
  settings: { name: "Taking part", section: settings },
  data: { name: "Export and leave", section: data },
};

const [chip, reason, nav, status, alert, main] = ["state", "reason", "nav", "status", "alert", "main"].map((id) =>
  document.getElementById(id)!,
) as [HTMLElement, HTMLElement, HTMLElement, HTMLElement, HTMLElement, HTMLElement];

const current = (): string => {
  const name = /^#(\w+)/.exec(location.hash)?.[1] ?? "";
  return Object.hasOwn(SECTIONS, name) ? name : "settings";
};

async function showHead(): Promise<void> {
  const overview = await ask("overview");
  chip.textContent = overview.word;
  chip.className = `state ${overview.word}`;
  reason.textContent = overview.reason ?? "";
  reason.hidden = !overview.reason;
}

/** Shows a part; only the latest that was asked for stays. */
let shown = 0;
async function show(isNew: boolean): Promise<void> {
  const number = ++shown;
  const key = current();
  const { name, title = name, section } = SECTIONS[key]!;
  for (const link of nav.querySelectorAll("a"))
    if (link.hash === `#${key}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  const heading = element("h2", { tabindex: -1 }, title);
  document.title = `${title} – blendp`;
  const [, parts] = await Promise.all([showHead(), section(page)]);
  if (number !== shown) return;
  fill(main, heading, ...parts);
  if (isNew) heading.focus();
}

const page: Page = {
  async act(done, doing) {
    fill(alert);
    status.textContent = "Working …";
    main.setAttribute("aria-busy", "true");
    try {
      await doing();
      // what has nothing to say shows its result by itself
      if (done || current() === "settings" || current() === "data") await show(false);
      else await showHead();
      status.textContent = done;
    } catch (error) {
      status.textContent = "";
      fill(alert, element("p", { class: "bad" }, (error as Error).message));
      await showHead().catch(() => {});
    } finally {
      main.removeAttribute("aria-busy");
    }
  },
};

async function shownAnew(isNew: boolean): Promise<void> {
  fill(alert);
  status.textContent = "";
  await show(isNew).catch((error) => fill(alert, element("p", { class: "bad" }, (error as Error).message)));
}

fill(
  nav,
  element(
    "ul",
    {},
    Object.entries(SECTIONS).map(([key, { name }]) => element("li", {}, element("a", { href: `#${key}` }, name))),
  ),
);
addEventListener("hashchange", () => void shownAnew(true));
// what the background does by itself shows in the head, and when a person leaves
api.storage.onChanged.addListener(
  () => void (current() === "data" && chip.textContent === "leaving" ? shownAnew(false) : showHead().catch(() => {})),
);
void shownAnew(false);

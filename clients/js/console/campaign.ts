/** The screen of one campaign: what to do next, and everything that there is to know. */
import { type Child, element } from "../ui/elements.ts";
import { visible } from "../ui/texts.ts";
import { stateName } from "../pages/states.ts";
import { confirmClock } from "./acts/clock.ts";
import { create } from "./acts/create.ts";
import { enrol } from "./acts/enrol.ts";
import { publish } from "./acts/publish.ts";
import { preview, release } from "./acts/release.ts";
import { currentView, linkTo, type View } from "./address.ts";
import { type Act, api, type TokenHolder } from "./api.ts";
import { CampaignData, type CampaignScreen } from "./campaign_data.ts";
import { save } from "./files.ts";
import { filterBar } from "./filters.ts";
import { actionButton, nextStep } from "./next_step.ts";
import { agreement } from "./panels/agreement.ts";
import { audit } from "./panels/audit.ts";
import { budget } from "./panels/budget.ts";
import { deadlines } from "./panels/deadlines.ts";
import { estimates } from "./panels/estimates.ts";
import { files } from "./panels/files.ts";
import { forecast } from "./panels/forecast.ts";
import { intake } from "./panels/intake.ts";
import { liars } from "./panels/liars.ts";
import { list } from "./panels/list.ts";
import type { Panel } from "./panels/panel.ts";
import { progress } from "./panels/progress.ts";
import { Part } from "./redraw.ts";

/** A screen that shows itself on a host, and is asked to look again. */
export interface Screen {
  /** Asks the collector; throws if it does not answer. */
  refresh(): Promise<void>;
  /** Draws what the address asks for. */
  view(): void;
  /** Whether nothing changes any more by itself. */
  isSettled(): boolean;
}

/** `tell` says what went wrong, or was done; `again` asks the collector at once. */
export interface Surroundings {
  readonly holder: TokenHolder;
  tell(sentence: string, isProblem?: boolean): void;
  again(): void;
}

export function campaignScreen(host: Element, campaign: string, { holder, tell, again }: Surroundings): Screen {
  let screen: CampaignScreen | null = null;
  const data = new CampaignData(campaign, holder, (changed) => {
    screen = changed;
    view();
  });
  const trying = (work: Promise<unknown>): void => void work.catch((error: Error) => tell(error.message, true));
  const fetchFile = (name: string, type: string): void => {
    tell(`${name} is being made …`);
    trying(api.file(campaign, name).then((bytes) => (save(`${campaign}-${name}`, bytes, type), tell(`${name} is saved.`))));
  };
  const saveStatus = (): void => save(`${campaign}-status.json`, `${JSON.stringify(screen!.status, null, 2)}\n`, "application/json");
  // what stands side by side where there is room, and below each other there
  const rows: readonly (readonly (readonly Panel[])[])[] = [
    [[progress]],
    [[deadlines, budget], [forecast]],
    [[intake]],
    [[estimates]],
    [[list], [agreement, liars]],
    [[audit(() => trying(data.olderActs()))], [files(fetchFile, saveStatus)]],
  ];

  function start(act: Act): void {
    const { status, documents } = screen!;
    const done = (): void => (data.forgetActs(), again());
    const seen = data.preview.bind(data);
    const acts: Record<Act, () => void> = {
      enrol: () => enrol(status, done),
      publish: () => publish(status, done),
      release: () => release(status, seen, done),
      "accept-clock": () => confirmClock(status.clock, done),
      export: () => fetchFile("report.html", "text/html"),
      create: () => create(status.today, documents?.terms ? { ...documents.terms } : null, done),
    };
    acts[act]();
  }
  const look = (): void => preview(screen!.status, (checks) => data.preview(checks));

  const filters = filterBar();
  const [head, next, contents] = Array.from({ length: 3 }, () => new Part(element("div", {}))) as [Part, Part, Part];
  const parts = rows.flat(2).map((panel) => {
    const body = element("div", {});
    const title = element("h2", { id: panel.id, tabindex: -1 }, panel.title);
    const section = element("section", { class: "card", "aria-labelledby": panel.id, hidden: true }, title, body);
    return { panel, section, title, part: new Part(body) };
  });
  const sectionOf = (panel: Panel): HTMLElement => parts.find((one) => one.panel === panel)!.section;
  const column = (panels: readonly Panel[], isWide: boolean): HTMLElement => element("div", { class: isWide ? "wide" : null }, panels.map(sectionOf));
  const columns = rows.flatMap((row) => row.map((panels) => column(panels, row.length === 1)));
  let isThere = false;
  let gone = "";

  function view(): void {
    if (!screen) return;
    const now = currentView();
    const { status } = screen;
    trying(data.showActs(now.from, now.to));
    if (!isThere) {
      isThere = true;
      host.replaceChildren(head.host, next.host, contents.host, filters.bar, element("div", { class: "panels" }, columns));
    }
    document.title = `${visible(status.title)} · console`;
    head.show([status.title, status.state, status.campaign], () => heading(screen!));
    next.show([status.next, status.state], () => nextStep(status.next, holder, start, otherActs(screen!, start, look)));
    for (const { panel, section, part } of parts) {
      const key = panel.key(screen, now);
      section.hidden = !key;
      if (key) part.show(key, () => panel.draw(screen!, now));
    }
    contents.show(
      [parts.map(({ section }) => section.hidden), now],
      () => panelLinks(parts.filter(({ section }) => !section.hidden).map(({ panel }) => panel), now),
    );
    filters.show(now, !!status.list?.records, Object.keys(status.intake));
    if (now.panel !== gone) goTo(now.panel);
  }
  /** Brings a panel into sight, once, when the address has come to name it. */
  function goTo(id: string): void {
    const target = parts.find(({ panel, section }) => panel.id === id && !section.hidden);
    if (id && !target) return; // perhaps it is there with the next answer
    gone = id;
    target?.section.scrollIntoView();
    target?.title.focus({ preventScroll: true });
  }
  return {
    view,
    refresh: () => data.refresh(),
    isSettled: () => screen?.status.state === "released" && (screen.documents ?? screen.documentsProblem) !== null,
  };
}

function heading({ status: { title, state, campaign } }: CampaignScreen): Child {
  return [
    element("h1", {}, element("bdi", {}, visible(title))),
    element("p", { class: "row" }, element("span", { class: `state ${state}` }, stateName(state)), element("code", {}, campaign)),
  ];
}

const OF_STATE: Readonly<Record<string, readonly Act[]>> = { "opt-in": ["enrol", "publish"], reporting: ["release"], released: ["create"] };

/** What else can be done in this state. */
function otherActs({ status, holder }: CampaignScreen, start: (act: Act) => void, look: () => void): Child {
  const isEmpty = status.list?.records === 0;
  const others = isEmpty ? (["create"] as const) : (OF_STATE[status.state] ?? []).filter((act) => act !== status.next.act);
  return [
    status.state === "reporting" &&
      !isEmpty &&
      holder.scopes.includes("release") &&
      element("button", { type: "button", id: "act-preview", onclick: look }, "Preview the result"),
    others.map((act) => actionButton(act, holder, start)),
  ];
}

const panelLinks = (panels: readonly Panel[], view: View): Child =>
  element(
    "nav",
    { class: "contents", "aria-label": "On this screen" },
    element(
      "ul",
      {},
      panels.map(({ id, title }) =>
        element("li", {}, element("a", { href: linkTo({ panel: id }), "aria-current": view.panel === id ? "true" : null, id: `to-${id}` }, title)),
      ),
    ),
  );

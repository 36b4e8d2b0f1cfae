/** The screen of one campaign: what to do next, and everything that there is to know. */
import { type Child, element, fill } from "../ui/elements.ts";
import { visible } from "../ui/texts.ts";
import { stateName } from "../pages/states.ts";
import { confirmClock } from "./acts/clock.ts";
import { create } from "./acts/create.ts";
import { enrol } from "./acts/enrol.ts";
import { publish } from "./acts/publish.ts";
import { preview, release } from "./acts/release.ts";
import { currentView, linkTo, type View } from "./address.ts";
import { type Act, api, type Checks, type Status, type TokenHolder } from "./api.ts";
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

/** What the frame around a screen does for it. */
export interface Surroundings {
  readonly holder: TokenHolder;
  /** Says what was done, or went wrong. */
  tell(sentence: string, isProblem?: boolean): void;
  /** Asks the collector at once. */
  again(): void;
}

/** A screen that shows itself on its host, and is asked to look again. */
export interface Screen {
  readonly host: Element;
  readonly title: string;
  /** Whether nothing changes any more by itself. */
  readonly isSettled: boolean;
  /** Asks the collector; throws if it does not answer. */
  refresh(): Promise<void>;
  /** Draws what the address asks for. */
  view(): void;
}

/** A panel on the screen. */
interface Section {
  readonly panel: Panel;
  readonly box: HTMLElement;
  readonly title: HTMLElement;
  readonly part: Part;
}

const part = (): Part => new Part(element("div", {}));

export class CampaignView implements Screen {
  readonly host = element("div", {});
  private readonly data: CampaignData;
  private readonly sections: readonly Section[];
  private readonly filters = filterBar();
  private readonly head = part();
  private readonly next = part();
  private readonly contents = part();
  private screen: CampaignScreen | null = null;
  /** The panel that was brought into sight. */
  private gone = "";

  constructor(
    private readonly campaign: string,
    private readonly around: Surroundings,
  ) {
    this.data = new CampaignData(campaign, around.holder, (screen) => {
      this.screen = screen;
      this.view();
    });
    const rows = this.rows();
    this.sections = rows.flat(2).map(sectionOf);
    const columns = rows.flatMap((row) => row.map((panels) => this.column(panels, row.length === 1)));
    fill(
      this.host,
      this.head.host,
      this.next.host,
      this.contents.host,
      this.filters.bar,
      element("div", { class: "panels" }, columns),
    );
    this.filters.bar.hidden = true;
  }

  get title(): string {
    return this.screen ? visible(this.screen.status.title) : this.campaign;
  }

  get isSettled(): boolean {
    return this.data.isSettled;
  }

  refresh(): Promise<void> {
    return this.data.refresh();
  }

  view(): void {
    const { screen } = this;
    if (!screen) return;
    const { status, holder } = screen;
    const now = currentView();
    this.trying(this.data.showActs(now.from, now.to));
    this.head.show([status.title, status.state], () => heading(screen));
    this.next.show([status.next, status.state], () => nextStep(status.next, holder, this.start, this.otherActs(screen)));
    for (const { panel, box, part } of this.sections) {
      const key = panel.key(screen, now);
      box.hidden = !key;
      if (key) part.show(key, () => panel.draw(screen, now));
    }
    const there = this.sections.filter(({ box }) => !box.hidden).map(({ panel }) => panel);
    this.contents.show([there.map(({ id }) => id), now], () => panelLinks(there, now));
    this.filters.bar.hidden = false;
    this.filters.show(now, !!status.list?.records, Object.keys(status.intake));
    if (now.panel !== this.gone) this.goTo(now.panel);
  }

  /** What stands side by side where there is room, and below each other there. */
  private rows(): readonly (readonly (readonly Panel[])[])[] {
    return [
      [[progress]],
      [[deadlines, budget], [forecast]],
      [[intake]],
      [[estimates]],
      [[list], [agreement, liars]],
      [[audit(() => this.trying(this.data.olderActs()))], [files(this.fetchFile, this.saveStatus)]],
    ];
  }

  private column(panels: readonly Panel[], isWide: boolean): HTMLElement {
    const boxes = this.sections.filter(({ panel }) => panels.includes(panel)).map(({ box }) => box);
    return element("div", { class: isWide ? "wide" : null }, boxes);
  }

  /** Brings a panel into sight, once, when the address has come to name it. */
  private goTo(id: string): void {
    const section = this.sections.find(({ panel, box }) => panel.id === id && !box.hidden);
    if (id && !section) return; // perhaps it is there with the next answer
    this.gone = id;
    section?.box.scrollIntoView();
    section?.title.focus({ preventScroll: true });
  }

  private readonly start = (act: Act): void => {
    const { status, documents } = this.screen!;
    const done = (): void => {
      this.data.forgetActs();
      this.around.again();
    };
    const acts: Record<Act, () => void> = {
      enrol: () => enrol(status, done),
      publish: () => publish(status, done),
      release: () => release(status, this.keepChecks, done),
      "accept-clock": () => confirmClock(status.clock, done),
      export: () => this.fetchFile("report.html", "text/html"),
      create: () => create(status.today, documents ? { ...documents.terms } : null, done),
    };
    acts[act]();
  };

  /** What else can be done in this state. */
  private otherActs({ status, holder }: CampaignScreen): Child {
    const isEmpty = status.list?.records === 0;
    const others: readonly Act[] = isEmpty ? ["create"] : (OF_STATE[status.state] ?? []);
    const canLook = status.state === "reporting" && !isEmpty && holder.scopes.includes("release");
    const look = (): void => preview(status, this.keepChecks);
    return [
      canLook && element("button", { type: "button", id: "act-preview", onclick: look }, "Preview the result"),
      others.filter((act) => act !== status.next.act && isPossible(act, status)).map((act) => actionButton(act, holder, this.start)),
    ];
  }

  private readonly keepChecks = (checks: Checks): void => this.data.preview(checks);

  private readonly fetchFile = (name: string, type: string): void => {
    const { tell } = this.around;
    tell(`${name} is being made …`);
    this.trying(
      api.file(this.campaign, name).then((bytes) => {
        save(`${this.campaign}-${name}`, bytes, type);
        tell(`${name} is saved.`);
      }),
    );
  };

  private readonly saveStatus = (): void =>
    save(`${this.campaign}-status.json`, `${JSON.stringify(this.screen!.status, null, 2)}\n`, "application/json");

  private trying(work: Promise<unknown>): void {
    work.catch((error: Error) => this.around.tell(error.message, true));
  }
}

const OF_STATE: Readonly<Record<string, readonly Act[]>> = {
  "opt-in": ["enrol", "publish"],
  reporting: ["release"],
  released: ["create"],
};

/** Whether there are people enough: the collector refuses the act otherwise. */
const isPossible = (act: Act, { opt_in, clients }: Status): boolean =>
  (act === "publish" ? opt_in.missing : act === "release" ? clients.missing : 0) === 0;

function sectionOf(panel: Panel): Section {
  const body = element("div", {});
  const title = element("h2", { id: panel.id, tabindex: -1 }, panel.title);
  const box = element("section", { class: "card", "aria-labelledby": panel.id, hidden: true }, title, body);
  return { panel, box, title, part: new Part(body) };
}

function heading({ status: { title, state, campaign } }: CampaignScreen): Child {
  return [
    element("h1", {}, element("bdi", {}, visible(title))),
    element(
      "p",
      { class: "row" },
      element("span", { class: `state ${state}` }, stateName(state)),
      element("code", {}, campaign),
    ),
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
        element(
          "li",
          {},
          element(
            "a",
            { href: linkTo({ panel: id }), "aria-current": view.panel === id ? "true" : null, id: `to-${id}` },
            title,
          ),
        ),
      ),
    ),
  );

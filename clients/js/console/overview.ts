/** All campaigns, and what to do about each. */
import { type Child, element, fill } from "../ui/elements.ts";
import { count, visible } from "../ui/texts.ts";
import { stateName } from "../pages/states.ts";
import { linkTo } from "./address.ts";
import { api, type AuditEntry, type ByItself, type Overview, type Summary, type TokenHolder } from "./api.ts";
import { actionButton } from "./next_step.ts";
import { whoActed } from "./panels/audit.ts";
import { comesInTime } from "./panels/deadlines.ts";
import { meter } from "./panels/progress.ts";
import { type Sheet, table } from "./sheet.ts";

const HAPPENS = { publish: "the list is published", release: "the result is released" };

export function overviewParts(
  { campaigns, left_out, today, clock }: Overview,
  holder: TokenHolder,
  create: () => void,
  confirmClock: () => void,
): Child[] {
  return [
    element(
      "div",
      { class: "row top" },
      element("h1", {}, "Campaigns"),
      actionButton("create", holder, create, campaigns.length ? "plain" : "main"),
    ),
    clock.doubt !== null &&
      element(
        "div",
        { class: "next bad" },
        element("h2", {}, "The clock is in doubt"),
        element("p", {}, visible(clock.doubt)),
        element("div", { class: "row" }, actionButton("accept-clock", holder, confirmClock, "main")),
      ),
    campaigns.length ? element("p", { class: "quiet" }, summary(campaigns, today)) : nothingYet(),
    element("ul", { class: "overview" }, [...campaigns].sort(urgentFirst).map(line)),
    left_out > 0 &&
      element("p", { class: "quiet" }, `${count(left_out)} older campaigns are not shown; blendp campaign list shows all.`),
    deletedPart(),
  ];
}

/** Campaigns that are gone, and why; asked for when somebody wants to know. */
function deletedPart(): HTMLElement {
  const body = element("div", { "aria-live": "polite" }, element("p", { class: "quiet" }, "The collector is being asked."));
  const show = (): void =>
    void api
      .audit({ act: "delete", outcome: "done" })
      .then((entries) =>
        fill(
          body,
          entries.length ? table(deletedSheet(entries)) : element("p", { class: "quiet" }, "No campaign was deleted."),
        ),
      )
      .catch((error: Error) => fill(body, element("p", { class: "bad" }, visible(error.message))));
  return element(
    "details",
    { id: "deleted", ontoggle: ({ target }: Event) => (target as HTMLDetailsElement).open && show() },
    element("summary", {}, "Deleted campaigns"),
    body,
  );
}

const deletedSheet = (entries: readonly AuditEntry[]): Sheet => ({
  name: "deleted",
  caption: "Deleted campaigns, the latest first (UTC)",
  columns: ["campaign", "time", "who", "why"].map((name) => ({ name, label: name[0]!.toUpperCase() + name.slice(1) })),
  rows: entries.map((entry) => [entry.campaign, entry.time, whoActed(entry), entry.detail]),
});

function happens({ after, would_be }: ByItself): Child {
  const day = element("span", { class: "day" }, after);
  if (would_be === "delete") return ["If people are still missing after ", day, ", everything is deleted."];
  return [`If you do nothing, ${HAPPENS[would_be]} after `, day, "."];
}

const urgentFirst = (one: Summary, other: Summary): number => Number(other.next.urgent) - Number(one.next.urgent);

function summary(campaigns: readonly Summary[], today: string): string {
  const running = campaigns.filter(({ state }) => state !== "released").length;
  const urgent = campaigns.filter(({ next }) => next.urgent).length;
  const need = urgent === 0 ? "none needs you at once" : urgent === 1 ? "one needs you" : `${urgent} need you`;
  return `${count(campaigns.length)} in all, ${count(running)} running, ${need}. Today is ${today} (UTC).`;
}

const nothingYet = (): Child =>
  element(
    "div",
    { class: "card" },
    element("p", { class: "lead" }, "There is no campaign yet."),
    element(
      "p",
      {},
      "A campaign asks once: opt-in people send records, the list is made of them, clients report about it, and the result is released.",
    ),
  );

function line({ campaign, title, state, next, opt_in, clients, released, by_itself }: Summary): HTMLElement {
  const id = `campaign-${campaign}`;
  const when = released ? `Released on ${released}.` : by_itself && happens(by_itself);
  const isAtRisk = by_itself?.would_be === "delete" && !comesInTime(by_itself.act === "publish" ? opt_in.pace : clients.pace);
  return element(
    "li",
    { class: next.urgent ? "card urgent" : "card" },
    element("h2", { id }, element("a", { href: linkTo({ campaign }) }, element("bdi", {}, visible(title)))),
    element(
      "p",
      { class: "row" },
      element("span", { class: `state ${state}` }, stateName(state)),
      element("code", {}, campaign),
    ),
    element(
      "p",
      { class: "what" },
      visible(next.sentence),
      when && element("small", { class: isAtRisk ? "removed" : null }, when),
    ),
    element(
      "div",
      { class: "meters" },
      group(`${id}-opt-in`, "Opt-in", opt_in.people, opt_in.minimum),
      group(`${id}-clients`, "Clients", clients.reports, clients.minimum),
    ),
  );
}

const group = (id: string, name: string, people: number, minimum: number): HTMLElement =>
  element(
    "div",
    { class: id.endsWith("clients") ? "clients" : "opt-in" },
    element("p", { id, class: "quiet" }, name, " ", element("strong", {}, count(people)), ` (min. ${count(minimum)})`),
    meter(people, minimum, id),
  );

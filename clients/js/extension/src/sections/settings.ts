/** Taking part: who asks, how much the person trusts, and where is observed. */
import type { Consent } from "../../../src/store.ts";
import { type Child, element } from "../../../ui/elements.ts";
import type { Offers, Overview } from "../acts.ts";
import { allow, allowData, ask } from "../ask.ts";
import { costText, largestCost } from "../cost.ts";
import { dial } from "../dial.ts";
import { enginesPart } from "../engines_part.ts";
import { originPattern } from "../headers.ts";
import { button, field, moment, type Page, type Section } from "../parts.ts";
import { type Chosen, MAX_COST } from "../state.ts";
import { termsParts } from "../terms_parts.ts";

/** What was looked at last on this page; the person says yes to that. */
let offers: Offers | null = null;

export const settings: Section = async (page) => {
  const overview = await ask("overview");
  return [
    element(
      "p",
      { class: "lead" },
      "This extension can help to count what people search for, by reports that never prove what you searched for. It asks first: until you say yes below, it notes nothing and sends nothing.",
    ),
    element("h3", {}, "1. Who asks?"),
    overview.collector && !offers
      ? element(
          "details",
          { class: "card" },
          element("summary", {}, `${new URL(overview.collector.url).host} asks. Choose another, or look again`),
          collectorForm(page, overview),
        )
      : element("div", { class: "card" }, collectorForm(page, overview)),
    offers && offersPart(offers),
    element("h3", {}, "2. How much do you trust?"),
    consentPart(page, overview),
    element("h3", {}, "3. Where?"),
    enginesPart(page, overview.engines),
    element("h3", {}, "Pause"),
    pausePart(page, overview),
  ];
};

function collectorForm(page: Page, { collector }: Overview): Child {
  const known = offers?.collector ?? collector;
  const url = element("input", {
    type: "url",
    required: true,
    autocomplete: "off",
    spellcheck: "false",
    value: known?.url,
    placeholder: "https://collector.example.org",
  });
  const key = element("input", {
    type: "text",
    required: true,
    autocomplete: "off",
    spellcheck: "false",
    maxlength: 64,
    value: known?.key,
  });
  const campaign = element("input", {
    type: "text",
    autocomplete: "off",
    spellcheck: "false",
    maxlength: 64,
    value: known?.campaign,
  });
  const look = (event: Event): void => {
    event.preventDefault();
    const wanted: Chosen = { url: url.value, key: key.value, campaign: campaign.value.trim() || null };
    const origin = patternOf(url.value);
    // the browser only asks the person while the click lasts
    const allowed = origin ? allow([origin]) : Promise.resolve(true);
    void page.act("", async () => {
      offers = null;
      if (!(await allowed))
        throw new Error("The browser was not allowed to talk to the collector, so it was not asked anything.");
      offers = await ask("look", wanted);
    });
  };
  return element(
    "form",
    { onsubmit: look, novalidate: true },
    element(
      "p",
      {},
      "A collector runs campaigns. Its key must come from somewhere else than the collector: from the organisation's web page, or on paper.",
    ),
    field("Address of the collector", url),
    field("Its public key", key, "64 digits from 0 to 9 and a to f."),
    field("One campaign only", campaign, "Leave it empty to take part in all campaigns of this collector that ask."),
    element("button", { type: "submit" }, "Allow and look"),
    element(
      "p",
      { class: "quiet" },
      "Looking fetches what everybody can read. It tells the collector that somebody asked, and nothing about you.",
    ),
  );
}

function patternOf(url: string): string | null {
  return URL.canParse(url.trim()) && /^https?:/.test(url.trim()) ? originPattern(url.trim()) : null;
}

function offersPart({ collector, campaigns, refused, released }: Offers): Child[] {
  return [
    campaigns.length > 0 &&
      element("p", { class: "good" }, `The key that you gave signed what follows. ${new URL(collector.url).host} asks:`),
    campaigns.map((view) => element("article", { class: "card" }, element("h4", {}, view.terms.title), termsParts(view))),
    refused.map(({ campaign, sentence }) => element("p", { class: "bad" }, `${campaign}: ${sentence}`)),
    !campaigns.length && !refused.length && element("p", { class: "card" }, "It asks nothing now."),
    released > 0 &&
      element(
        "p",
        { class: "quiet" },
        `${released} ${released === 1 ? "result is" : "results are"} released; the latest can be searched once you said yes.`,
      ),
  ];
}

function consentPart(page: Page, { consent, collector, maxCost }: Overview): Child {
  const chosen = offers?.collector ?? collector;
  const shown = offers && (largestCost(offers.campaigns.map(({ terms }) => terms.client_budget)) ?? MAX_COST);
  let choice: Consent = consent;
  const apply = (): void => {
    const isMore = choice !== "off";
    const allowed = isMore ? allowData() : Promise.resolve(true);
    void page.act(isMore ? "Thank you. You can change this at any time." : "It is off. Nothing is noted or sent.", async () => {
      if (isMore && !chosen) throw new Error("Look at a collector first: you should know who asks before you say yes.");
      if (!(await allowed)) throw new Error("The browser was not allowed to share anything, so nothing changed.");
      await (isMore ? ask("agree", choice, chosen!, shown) : ask("agree", choice));
      offers = null;
    });
  };
  return element(
    "div",
    { class: "card" },
    dial(consent, (next) => (choice = next)),
    chosen &&
      element(
        "p",
        { class: "quiet" },
        `With ${new URL(chosen.url).host}, ${chosen.campaign ? `campaign ${chosen.campaign}` : "all campaigns that ask"}. What costs more than ${costText(shown ?? maxCost)} waits for a click of yours.`,
      ),
    button("This is what I want", apply, "main"),
  );
}

function pausePart(page: Page, { pausedUntil, word }: Overview): Child {
  const pause = (label: string, seconds: number): HTMLButtonElement =>
    button(label, () => void page.act(seconds ? "Paused." : "It goes on.", () => ask("pause", seconds)));
  if (word === "paused")
    return element("p", { class: "row" }, `Nothing is noted or sent until ${moment(pausedUntil)}. `, pause("Go on now", 0));
  return element(
    "p",
    { class: "row" },
    pause("For an hour", 3600),
    pause("For a day", 86_400),
    element("span", { class: "quiet" }, "Nothing is noted or sent meanwhile."),
  );
}

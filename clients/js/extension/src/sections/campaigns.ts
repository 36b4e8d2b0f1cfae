/** What would be sent: the campaigns that ask, when the device takes part, and a rehearsal that spends nothing. */
import { type Child, element, fill } from "../../../ui/elements.ts";
import { count } from "../../../ui/texts.ts";
import { ask } from "../ask.ts";
import { button, field, moment, type Page, type Section } from "../parts.ts";
import { reportParts } from "../report.ts";
import { termsParts } from "../terms_parts.ts";
import type { CampaignView } from "../views.ts";
import type { Overview } from "../acts.ts";

export const campaigns: Section = async (page) => {
  const overview = await ask("overview");
  const views = await ask("campaigns");
  const own = views.filter(({ server }) => server === overview.collector?.url);
  return [
    overview.visitProblem && element("p", { class: "bad" }, overview.visitProblem),
    element(
      "p",
      {},
      "In each campaign one report is drawn, once, at a time that nothing about you decides. It is drawn whether you searched much or nothing: who stays silent would tell more.",
    ),
    own.length
      ? own.map((view) => campaignCard(page, view, overview))
      : element("p", { class: "card" }, "No campaign was seen yet."),
  ];
};

function campaignCard(page: Page, view: CampaignView, { word, consent }: Overview): HTMLElement {
  const { campaign, terms, plan, part, list, isEvidence } = view;
  const rehearsal = element("div", {});
  const isOpen = !part && !isEvidence && list !== null;
  const rehearse = async (): Promise<void> => {
    const { body, usable, kept, epsilon, ...report } = await ask("rehearse", campaign);
    fill(
      rehearsal,
      element("h3", {}, "A rehearsal"),
      element(
        "p",
        { class: "good" },
        "Nothing was sent, written down or spent. The real report is drawn anew.",
      ),
      element(
        "p",
        {},
        `Of ${count(kept)} kept ${kept === 1 ? "record" : "records"} ${count(usable)} can be used here; one of them is drawn. A report costs ε ${epsilon}.`,
      ),
      element("p", {}, "The body, but for the pseudonym, which is made for this campaign alone:"),
      element("pre", { tabindex: 0, "aria-label": "Body of the rehearsed report" }, body),
      reportParts(report),
    );
  };
  return element(
    "article",
    { class: "card" },
    element("h3", {}, terms.title),
    element("p", { class: "quiet" }, `${terms.organisation} · ${campaign} · takes reports until ${terms.reports_until}`),
    element("p", {}, standing(view)),
    plan?.problem && element("p", { class: "bad" }, plan.problem),
    element("details", {}, element("summary", {}, "What is asked and promised"), termsParts(view)),
    isOpen &&
      element(
        "div",
        { class: "row" },
        button("Rehearse", () => void page.act("", rehearse), "main"),
        word === "on" && button("Take part now", () => void page.act("The report was drawn.", () => ask("takePart", campaign))),
        plan?.skipped
          ? button("Do not skip it", () => void page.act("It is planned again.", () => ask("skip", campaign, false)))
          : button("Skip this campaign", () => void page.act("This campaign is skipped.", () => ask("skip", campaign, true))),
      ),
    !part && !isEvidence && consent === "opt-in" && list === null && enrolForm(page, view),
    rehearsal,
  );
}

function standing({ plan, part, isEvidence, list, terms }: CampaignView): string {
  if (isEvidence) return "The collector signed two versions of this campaign. Nothing is sent; see the evidence.";
  if (part?.group === "opt-in") return `You sent records as they are on ${part.day}.`;
  if (part?.silent) return `On ${part.day} it was drawn that this device stays silent. That costs nothing.`;
  if (part) return `A report was drawn on ${part.day}.`;
  if (list === null) return `There is no list yet. People with a token may send records until ${terms.opt_in_until}.`;
  if (plan?.skipped) return "You skip this campaign.";
  if (plan?.due) return `This device takes part on ${moment(plan.due)}, or when you say so.`;
  return "Nothing is planned.";
}

function enrolForm(page: Page, { campaign, terms, optInPromise }: CampaignView): Child {
  const token = element("input", { type: "password", autocomplete: "off", required: true });
  const send = (event: Event): void => {
    event.preventDefault();
    void page.act("Your records were sent.", () => ask("enrol", campaign, token.value));
  };
  return element(
    "form",
    { onsubmit: send },
    element("h4", {}, "Send records as they are"),
    element(
      "p",
      {},
      `At most ${count(terms.opt_in_records)} of your kept records, drawn at random, go to the curator of ${terms.organisation}. ${optInPromise}`,
    ),
    field("One-time token", token, `${terms.organisation} gave it to you. It begins with blendp-in-.`),
    element("button", { type: "submit" }, "Send my records"),
  );
}

/** The page of all campaigns. */
import { element, fill } from "../ui/elements.ts";
import { visible } from "../ui/texts.ts";
import { BASE, campaigns, type CampaignLine } from "./collector.ts";
import { failure } from "./outcome.ts";
import { stateName } from "./states.ts";

const main = document.querySelector("main")!;

function line({ campaign, title, state }: CampaignLine): HTMLLIElement {
  const address = `${BASE}/campaigns/${encodeURIComponent(campaign)}`;
  return element(
    "li",
    { class: "card" },
    element("h2", {}, element("a", { href: address }, element("bdi", {}, visible(title)))),
    element(
      "p",
      { class: "row" },
      element("span", { class: "state" }, stateName(state)),
      element("code", {}, campaign),
      state === "released" &&
        element(
          "a",
          { href: `${address}/search` },
          "Search the result",
          element("span", { class: "visually-hidden" }, ` of ${campaign}`),
        ),
    ),
  );
}

async function show(): Promise<void> {
  try {
    const lines = (await campaigns()).reverse();
    fill(
      main,
      element("h1", {}, "Campaigns"),
      element(
        "p",
        { class: "lead" },
        "This collector finds out what is popular without finding out what any person searched for. Each campaign has a page: " +
          "who asks, what is promised, what a report would look like, and the result.",
      ),
      lines.length
        ? element("ul", { class: "campaigns" }, lines.map(line))
        : element("p", { class: "card" }, "There is no campaign at the moment."),
    );
  } catch (error) {
    fill(main, ...failure(error, { label: "Try again", go: show }));
  }
  main.removeAttribute("aria-busy");
}

await show();

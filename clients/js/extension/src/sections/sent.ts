/** What was sent, byte for byte, its fate, and what it tells. */
import { type Child, element, fill } from "../../../ui/elements.ts";
import { ask } from "../ask.ts";
import { button, facts, moment, type Page, type Section } from "../parts.ts";
import { reportParts } from "../report.ts";
import type { ItemView } from "../views.ts";

const KINDS = {
  report: "A report",
  "opt-in": "Records as they are",
  deletion: "A deletion request",
  "opt-in-deletion": "A deletion request",
};
const FATES = { waiting: "waits", sent: "arrived", refused: "was refused", dropped: "was dropped" };

export const sent: Section = async (page) => {
  const items = await ask("items");
  if (!items.length) return [element("p", { class: "card" }, "Nothing was sent, and nothing waits.")];
  const isWaiting = items.some(({ state }) => state === "waiting");
  return [
    element(
      "p",
      {},
      "Everything that ever left, or waits to leave, in the very bytes. It goes to the address that stands here, with no cookie and no name of yours.",
    ),
    isWaiting && button("Try to send now", () => void page.act("Tried.", () => ask("send"))),
    items.map((item) => itemCard(page, item)),
  ];
};

function itemCard(page: Page, item: ItemView): HTMLElement {
  const { campaign, kind, method, url, mediaType, body, bytes, state, reason, created, tried, attempts, due } = item;
  const explanation = element("div", {});
  const explain = async (): Promise<void> => void fill(explanation, ...reportParts(await ask("explain", campaign)));
  const isReport = kind === "report";
  const forgets = (): void => void page.act("Its deletion was asked for.", () => ask("forget", campaign));
  return element(
    "article",
    { class: "card" },
    element("h3", {}, `${KINDS[kind]} for ${campaign} `, element("span", { class: "state" }, FATES[state])),
    facts([
      ["Made", moment(created)],
      ["Tried", attempts ? `${attempts === 1 ? "once" : `${attempts} times`}, last ${moment(tried)}` : "not yet"],
      ...(state === "waiting" ? [["Next try", moment(due)] as const] : []),
      ["What became of it", fateOf(item)],
    ]),
    element("p", { class: "quiet" }, `${method} ${url}${mediaType ? `, ${mediaType}` : ""}`),
    body === null
      ? element(
          "p",
          { class: "quiet" },
          kind === "opt-in" ? "The records were wiped once they had arrived, or were dropped." : "It has no body.",
        )
      : [
          element("pre", { tabindex: 0, "aria-label": `Body of ${bytes} bytes` }, body),
          element("p", { class: "quiet" }, `${bytes} bytes`),
        ],
    element(
      "div",
      { class: "row" },
      isReport && body !== null && button("Explain this report", () => void page.act("", explain)),
      (isReport || kind === "opt-in") &&
        /waiting|sent/.test(state) &&
        reason !== "lost" &&
        button("Delete it at the collector", forgets),
    ),
    explanation,
  );
}

function fateOf({ state, reason }: ItemView): Child {
  const said = reason ? ` (${reason})` : "";
  if (state === "waiting") return reason === "network" ? "The collector did not answer." : `It waits${said}.`;
  if (state === "sent") return `The collector took it${said}.`;
  return `${state === "refused" ? "The collector refused it" : "It was dropped here"}${said}.`;
}

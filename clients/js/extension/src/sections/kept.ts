/** What is kept on the device: every record, each of which can be deleted before it counts. */
import { type Child, element } from "../../../ui/elements.ts";
import { count, visible } from "../../../ui/texts.ts";
import { ask } from "../ask.ts";
import type { KeptRecord } from "../kept.ts";
import { button, type Section } from "../parts.ts";

export const kept: Section = async (page) => {
  const records = await ask("records");
  const { limits, consent, engines } = await ask("overview");
  const isObserving = engines.some(({ on, isAllowed }) => on && isAllowed);
  const unobserved =
    consent !== "off" &&
    !isObserving &&
    element(
      "p",
      { class: "bad" },
      "No search engine is switched on, so nothing is noted. You choose them under “Taking part”.",
    );
  const rule = `At most ${count(limits.records)} records are kept, each for at most ${limits.days} days, on this device alone. If there are more, the oldest go.`;
  if (!records.length)
    return [
      unobserved,
      element("p", { class: "card" }, consent === "off" ? "Nothing is kept, as the dial is off." : "Nothing is kept yet."),
      element("p", { class: "quiet" }, rule),
    ];
  return [
    unobserved,
    element(
      "p",
      {},
      `${count(records.length)} ${records.length === 1 ? "record" : "records"}. ${rule} A record that you delete before a report is drawn was never there.`,
    ),
    element(
      "ul",
      { class: "records" },
      records.map((record) => element("li", { class: "card" }, line(record))),
    ),
    button("Delete all records", () => void page.act("All records are deleted.", () => ask("deleteRecords", null))),
  ];

  function line({ id, query, url, engine, day }: KeptRecord): Child[] {
    const name = visible(query);
    const remove = (): void => void page.act(`Deleted: ${name}`, () => ask("deleteRecords", [id]));
    return [
      element(
        "div",
        {},
        element("bdi", { class: "answer-query" }, name),
        element("bdi", { class: "answer-url" }, visible(url)),
        element("p", { class: "quiet" }, `${engine}, ${day}`),
      ),
      element("button", { type: "button", "aria-label": `Delete: ${name}`, onclick: remove }, "Delete"),
    ];
  }
};

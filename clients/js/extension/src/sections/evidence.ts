/** Proof that a collector showed different people different things. */
import { element } from "../../../ui/elements.ts";
import { visible } from "../../../ui/texts.ts";
import { ask } from "../ask.ts";
import { button, download, type Section } from "../parts.ts";

export const evidence: Section = async () => {
  const proofs = await ask("evidence");
  if (!proofs.length)
    return [
      element("p", { class: "good" }, "No collector was caught."),
      element(
        "p",
        {},
        "A list that is made for one person could single that person out. So this extension compares every signed document with what it saw before. If a collector ever signs two versions, both are kept here: together they prove it to anybody.",
      ),
    ];
  return proofs.map(({ campaign, documents }) =>
    element(
      "article",
      { class: "card" },
      element("h3", {}, `Two versions of ${campaign}`),
      element(
        "p",
        { class: "bad" },
        "The collector signed both. Nothing more is drawn for it. Show this to whoever should know.",
      ),
      element("p", {}, "They differ in:"),
      element(
        "ul",
        {},
        differences(documents.map(({ payload }) => JSON.parse(payload))).map((line) => element("li", {}, line)),
      ),
      documents.map(({ source, payload }, i) =>
        element(
          "details",
          {},
          element("summary", {}, `Version ${i + 1}, from ${source}`),
          element("pre", { tabindex: 0, "aria-label": `Version ${i + 1}` }, payload),
        ),
      ),
      button("Download both envelopes", () =>
        download(`evidence-${campaign}.json`, {
          campaign,
          envelopes: documents.map(({ source, envelope }) => ({ source, envelope: JSON.parse(envelope) })),
        }),
      ),
    ),
  );
};

/** Members that are not the same in both documents, with both values. */
function differences([one, other]: Record<string, unknown>[]): string[] {
  const members = (value: unknown): Record<string, unknown> =>
    value && typeof value === "object" ? (value as Record<string, unknown>) : {};
  const names = [...new Set([...Object.keys(members(one)), ...Object.keys(members(other))])];
  return names.flatMap((name) => {
    const [first, second] = [members(one)[name], members(other)[name]];
    const [a, b] = [JSON.stringify(first), JSON.stringify(second)];
    if (a === b) return [];
    const isObject = [first, second].every((value) => value && typeof value === "object" && !Array.isArray(value));
    return isObject
      ? differences([members(first), members(second)])
      : [`${name}: ${visible(a ?? "nothing")} and ${visible(b ?? "nothing")}`];
  });
}

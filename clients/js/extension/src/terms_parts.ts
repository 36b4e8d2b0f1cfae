/** Who asks, what for, and what is promised: what a person decides by. */
import { dots } from "../../ui/dots.ts";
import { type Child, element } from "../../ui/elements.ts";
import { count } from "../../ui/texts.ts";
import { costText } from "./cost.ts";
import { facts } from "./parts.ts";
import type { CampaignView } from "./views.ts";

export function termsParts({ terms, list, promise, belief }: CampaignView): Child[] {
  return [
    facts([
      ["Who asks", terms.organisation],
      ["What for", terms.purpose],
      ["How to reach them", terms.contact],
      ["Reports are taken until", terms.reports_until],
      ["Reports are deleted by", terms.reports_kept_until],
      ["What a report costs", costText(terms.client_budget)],
      ["The list", list ? `${count(list.records)} records, made by ${count(list.people)} people` : "not yet made"],
    ]),
    element("p", {}, promise),
    dots([
      { label: "Somebody thinks something about you is true, before", count: 1 },
      { label: "After your report, at most", count: belief },
    ]),
  ];
}

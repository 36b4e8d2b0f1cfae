/** What was promised, and to how many it was spent. */
import { element } from "../../ui/elements.ts";
import { count } from "../../ui/texts.ts";
import type { Panel } from "./panel.ts";

export const budget: Panel = {
  id: "budget",
  title: "Budget",
  key: ({ status }) => [status.budget, status.opt_in.people],
  draw({ status }) {
    const { epsilon, delta, opt_in_spent, clients_spent } = status.budget;
    const fact = (name: string, value: string): HTMLElement =>
      element("div", {}, element("dt", {}, name), element("dd", {}, value));
    const people = opt_in_spent ? status.opt_in.people : 0;
    return [
      element(
        "dl",
        { class: "facts" },
        fact("Promised to every person", `ε ${epsilon}, δ ${delta.toExponential()}`),
        fact("Opt-in people who spent it", count(people)),
        fact("Clients who spent it", count(clients_spent)),
      ),
      element(
        "p",
        { class: "quiet" },
        opt_in_spent
          ? "Opt-in people spent it when the list was drawn, each client with the one report that was accepted, also if it was deleted later."
          : "Nobody has spent anything yet: opt-in people do when the list is drawn, clients when they report.",
      ),
      element(
        "p",
        { class: "quiet" },
        `The promise: what one person sends changes the probability of any result by a factor of at most e^ε = ${+Math.exp(epsilon).toPrecision(2)}, plus at most δ.`,
      ),
    ];
  },
};

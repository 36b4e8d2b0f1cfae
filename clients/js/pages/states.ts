/** The states of a campaign, in words. */
import type { TermsFields } from "../src/terms.ts";

const NAMES: Record<string, string> = {
  "opt-in": "Collecting for the list",
  listing: "List is being made",
  reporting: "Reporting",
  closing: "Result is being made",
  signing: "Result is being made",
  released: "Released",
};

export const stateName = (state: string): string => NAMES[state] ?? "Unknown state";

/** What happens now, and until when. */
export function stateSentence(state: string, { opt_in_until, reports_until }: TermsFields, released?: string): string {
  switch (state) {
    case "opt-in":
      return `Until ${opt_in_until}, people who trust the organisation send it some of their records. The list of popular records is made from these.`;
    case "listing":
      return "The list of popular records is being made.";
    case "reporting":
      return `Devices report about the list until ${reports_until}: each once, and randomised before it leaves the device.`;
    case "released":
      return `The result was released on ${released}. All reports are deleted.`;
    default:
      return "Nobody reports any more: the result is being made.";
  }
}

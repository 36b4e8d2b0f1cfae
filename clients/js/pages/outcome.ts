/** What a page shows when there is nothing to show: no such campaign, no answer, or documents that are not believed. */
import { NetworkError, RefusedError } from "../src/errors.ts";
import { element } from "../ui/elements.ts";
import { visible } from "../ui/texts.ts";
import { BASE } from "./collector.ts";

/** A person's way on from an error. */
export interface WayOn {
  readonly label: string;
  go(): void;
}

export function failure(error: unknown, wayOn: WayOn): HTMLElement[] {
  const { message = "" } = error as Error;
  const button = element("p", {}, element("button", { type: "button", onclick: wayOn.go }, wayOn.label));
  const isUnknown = error instanceof RefusedError && error.reason === "not-found";
  const home = element("p", {}, element("a", { href: `${BASE}/` }, "All campaigns of this collector"));
  if (isUnknown) {
    return [
      element("h1", {}, "There is no such campaign"),
      element("p", { class: "lead" }, visible(message)),
      element("p", {}, "Perhaps the address is mistyped, or it was a campaign whose time is over."),
      home,
    ];
  }
  if (!globalThis.crypto?.subtle) {
    return [
      element("h1", {}, "This page cannot verify anything here"),
      element(
        "p",
        { class: "lead" },
        "Browsers check signatures only on pages that came encrypted. Open this address with https.",
      ),
      home,
    ];
  }
  if (error instanceof NetworkError) {
    return [
      element("h1", {}, "The collector does not answer"),
      element(
        "p",
        { class: "lead" },
        "Perhaps you are offline, or it is busy. Nothing is wrong with the campaign for all we know.",
      ),
      button,
    ];
  }
  return [
    element(
      "div",
      { class: "bad", role: "alert" },
      element("h1", {}, "Do not believe this campaign"),
      element("p", { class: "lead" }, "What the collector sent is not what was signed, so this page shows nothing of it."),
      element("p", {}, element("strong", {}, visible(message))),
      element(
        "p",
        {},
        "Somebody changed a document on its way, or the collector signs with a key that does not follow from the one that was " +
          "believed. Send nothing to this campaign, and tell the organisation that runs it.",
      ),
    ),
    button,
    home,
  ];
}

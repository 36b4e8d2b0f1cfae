/** Looking at the checks of the result, and releasing it once the name of the campaign is typed. */
import { element } from "../../ui/elements.ts";
import { count } from "../../ui/texts.ts";
import { api, type Checks, type Status } from "../api.ts";
import { allChecks } from "../checks.ts";
import { actButton, openWindow, typedName, type ActWindow } from "../dialog.ts";

/** The checks alone: nothing is signed, and clients keep reporting. */
export function preview({ campaign }: Status, seen: (checks: Checks) => void): void {
  const window = openWindow(`Preview of the result of ${campaign}`);
  void withChecks(window, campaign, seen, () =>
    element("p", { class: "quiet" }, "Nothing was signed or closed: clients keep reporting."),
  );
}

export function release({ campaign }: Status, seen: (checks: Checks) => void, done: () => void): void {
  const window = openWindow(`Release the result of ${campaign}`, done);
  void withChecks(window, campaign, seen, () => [
    element(
      "p",
      {},
      "The result is signed and published for good. No more reports are taken; reports and pseudonyms are deleted.",
    ),
    typedName(campaign, "Sign and publish the result", () => void act(window, campaign)),
  ]);
}

/** Shows the checks, and what follows them. */
function withChecks(
  window: ActWindow,
  campaign: string,
  seen: (checks: Checks) => void,
  then: () => Parameters<ActWindow["show"]>[0],
): Promise<void> {
  window.show(element("p", { class: "quiet" }, "The result is computed as it would be now. That can take some seconds."));
  return window.work("The checks are being made …", async () => {
    const checks = await api.preview(campaign);
    seen(checks);
    window.show(allChecks(campaign, checks), then());
  });
}

const act = (window: ActWindow, campaign: string): Promise<void> =>
  window.work("The result is being made …", async () => {
    const { clients, release_sha256 } = await api.release(campaign);
    window.show(
      element("p", { class: "good" }, `${campaign}: the result of ${count(clients)} clients is public.`),
      element("p", { class: "quiet" }, "Release ", element("code", {}, release_sha256), "."),
      actButton("See the result", () => window.close(), "main"),
    );
  });

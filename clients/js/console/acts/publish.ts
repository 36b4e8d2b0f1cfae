/** Drawing and publishing the list: what it will probably hold first, then the name of the campaign. */
import { element } from "../../ui/elements.ts";
import { count } from "../../ui/texts.ts";
import { api, type Forecast, type ListPublished, OperatorError, type Status } from "../api.ts";
import { actButton, cautionList, openWindow, typedName, type ActWindow } from "../dialog.ts";

export function publish({ campaign }: Status, done: () => void): void {
  const window = openWindow(`Publish the list of ${campaign}`, done);
  window.show(element("p", { class: "quiet" }, "What the list will probably hold is being computed."));
  void window.work("The forecast is being made …", async () => {
    const { sentence, caution, too_short } = await api.forecast(campaign).catch(withoutForecast);
    window.show(
      element("p", {}, sentence),
      cautionList(caution ? [caution] : [], too_short ? "The list will probably be too short" : "Be careful"),
      element(
        "p",
        {},
        "The list is drawn once, for good. That spends the promise to the opt-in people, and their records are deleted. Clients report from then on.",
      ),
      typedName(campaign, "Draw and publish the list", () => void act(window, campaign)),
    );
  });
}

/** Nobody is kept from publishing because the collector cannot say now what the list will probably hold. */
function withoutForecast(error: unknown): Pick<Forecast, "sentence" | "caution" | "too_short"> {
  if (!(error instanceof OperatorError) || error.problem !== "busy") throw error;
  return { sentence: "There is no forecast.", caution: error.message, too_short: false };
}

const act = (window: ActWindow, campaign: string): Promise<void> =>
  window.work("The list is being made …", async () => show(window, campaign, await api.publish(campaign)));

function show(
  window: ActWindow,
  campaign: string,
  { records, opt_in_people, cautions, manifest_sha256, list_sha256 }: ListPublished,
): void {
  window.show(
    element(
      "p",
      { class: "good" },
      `${campaign}: ${count(opt_in_people)} opt-in people made a list of ${count(records)} ${records === 1 ? "record" : "records"}; it is public.`,
    ),
    cautionList(cautions),
    element(
      "p",
      { class: "quiet" },
      "Manifest ",
      element("code", {}, manifest_sha256),
      ", list ",
      element("code", {}, list_sha256),
      ".",
    ),
    actButton("Back to the campaign", () => window.close(), "main"),
  );
}

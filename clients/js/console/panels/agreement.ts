/** Whether opt-in people and clients tell the same story, in plain words. */
import { type Child, element } from "../../ui/elements.ts";
import { agreementParts, checksOf, flaggedSheet } from "../checks.ts";
import type { Checks } from "../api.ts";
import type { CampaignScreen } from "../campaign_data.ts";
import { cautionList } from "../dialog.ts";
import { saveButtons } from "../files.ts";
import type { Panel } from "./panel.ts";

/** The checks of the result, or of the result as it would be; null if there are none. */
export const knownChecks = ({ documents, preview }: CampaignScreen): Checks | null =>
  documents?.release && documents.list ? checksOf(documents.release, documents.list) : preview;

export const checksKey = (screen: CampaignScreen): unknown =>
  screen.documents?.release?.sha256 ?? (screen.status.state === "reporting" && [screen.preview]);

/** What is said of checks that are not of a release. */
export const previewNote = ({ documents, preview }: CampaignScreen): Child =>
  !documents?.release &&
  element(
    "p",
    { class: "quiet" },
    preview
      ? "Of the result as it would have been when you looked: nothing is signed."
      : "Known when you preview the result, or release it.",
  );

export const agreement: Panel = {
  id: "agreement",
  title: "Do the groups agree?",
  key: checksKey,
  draw(screen) {
    const checks = knownChecks(screen);
    if (!checks) return previewNote(screen);
    const sheet = flaggedSheet(screen.status.campaign, checks);
    return [
      previewNote(screen),
      cautionList(checks.cautions),
      agreementParts(checks),
      sheet && element("div", { class: "tools" }, saveButtons(sheet)),
    ];
  },
};

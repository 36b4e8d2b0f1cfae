/** A part of a campaign's screen. */
import type { Child } from "../../ui/elements.ts";
import type { View } from "../address.ts";
import type { CampaignScreen } from "../campaign_data.ts";

export interface Panel {
  /** Its name in the address. */
  readonly id: string;
  readonly title: string;
  /** All that it shows, in short: it is drawn anew when this changes. Null if there is nothing to show. */
  key(screen: CampaignScreen, view: View): unknown;
  draw(screen: CampaignScreen, view: View): Child;
}

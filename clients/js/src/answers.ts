/** What a collector's answer means for what was sent. */
import { text } from "./bytes.ts";

/** Statuses after which the same bytes may be sent again; any other 4xx is final. */
export const isRetryable = (status: number): boolean => /408|42[159]|431|50[02347]/.test(`${status}`);

export interface Fate {
  readonly state: "sent" | "refused" | "waiting";
  /** What the collector said; the status if this is no collector's word, as a proxy's page is none. */
  readonly reason: string;
  /** Whether it said that it is too late while the campaign is open by this device's clock. */
  readonly late: boolean;
}

/** The fate of an item; `inTime` says whether the campaign is still open by this device's clock. */
export function readAnswer(kind: string, status: number, body: Uint8Array, inTime: boolean): Fate {
  let value: any;
  try {
    value = JSON.parse(text(body));
  } catch {
    // none
  }
  const { outcome, deleted, type } = value ?? {};
  if (status === 200 || status === 201) {
    const taken = kind.endsWith("deletion")
      ? (deleted === true && "deleted") || (deleted === false && "nothing to delete")
      : ["accepted", "duplicate"].includes(outcome) && outcome;
    if (taken) return { state: "sent", reason: taken, late: false };
  }
  const slug = typeof type === "string" && /^urn:blendp:problem:([a-z-]{1,40})$/.exec(type)?.[1];
  const isRefused = slug && status >= 400 && status < 500;
  const late = !!isRefused && inTime && /^(late|wrong-state)$/.test(slug);
  const isFinal = isRefused && !late && !isRetryable(status);
  return { state: isFinal ? "refused" : "waiting", reason: slug || `http-${status}`, late };
}

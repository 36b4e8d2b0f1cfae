/** What pages show of the device's memory, in plain values that a message can carry. */
import { hex, text } from "../../src/bytes.ts";
import { readEnvelope } from "../../src/envelope.ts";
import { type Fraction, nearest, power } from "../../src/exact.ts";
import { type DrawnReport, explain, oddsSentence, optInSentence, promiseSentence } from "../../src/explanation.ts";
import type { Entry, Ledger } from "../../src/ledger.ts";
import { largestRatio } from "../../src/likelihood.ts";
import { readList } from "../../src/list.ts";
import { readManifest } from "../../src/manifest.ts";
import type { Item, SeenCampaign, Store } from "../../src/store.ts";
import { readTerms, type TermsFields } from "../../src/terms.ts";
import type { DotGroup } from "../../ui/dots.ts";
import { hundred, type Named, named } from "./odds.ts";
import type { Plan } from "./state.ts";

/** How many of the things that a report names are shown. */
export const MAX_NAMED = 12;

export interface CampaignView {
  readonly campaign: string;
  readonly server: string;
  readonly terms: TermsFields;
  /** How many records the list has, and how many people made it; null while there is none. */
  readonly list: { records: number; people: number } | null;
  /** What taking part can tell others at most, and what opting in can. */
  readonly promise: string;
  readonly optInPromise: string;
  /** What somebody who believed something with 1 % can believe after a report at most, in percent. */
  readonly belief: number;
  readonly plan: Plan | null;
  readonly part: { group: "client" | "opt-in"; day: string; silent: boolean } | null;
  readonly isEvidence: boolean;
}

/** Every campaign that this device has seen verified, the latest first. */
export async function campaignViews(store: Store, plans: readonly Plan[]): Promise<CampaignView[]> {
  const [seen, parts, evidence] = await store.read((work) =>
    Promise.all([work.all("campaigns"), work.all("participations"), work.all("evidence")]),
  );
  const views = seen.map(async (one): Promise<CampaignView> => {
    const { campaign, server } = one;
    const part = parts.find((done) => done.campaign === campaign);
    return {
      campaign,
      server,
      ...(await offerOf(one)),
      plan: plans.find((plan) => plan.campaign === campaign) ?? null,
      part: part ? { group: part.group, day: part.day, silent: part.group === "client" && !part.data } : null,
      isEvidence: evidence.some((proof) => proof.campaign === campaign),
    };
  });
  return (await Promise.all(views)).sort((one, other) => (one.terms.opens < other.terms.opens ? 1 : -1));
}

async function offerOf(
  seen: SeenCampaign,
): Promise<Pick<CampaignView, "terms" | "list" | "promise" | "optInPromise" | "belief">> {
  const { sha256, ...terms } = await readTerms(readEnvelope(seen.terms).payload);
  const optInPromise = optInSentence(terms);
  if (!seen.manifest || !seen.list) {
    const belief = believed([power(terms.epsilon, 400), 1n << 400n]);
    return { terms, list: null, promise: promiseSentence(terms), optInPromise, belief };
  }
  const manifest = await readManifest(readEnvelope(seen.manifest).payload);
  const list = await readList(seen.list);
  const belief = believed(largestRatio(manifest, list));
  const { records, opt_in_people: people } = manifest;
  return { terms, list: { records, people }, promise: oddsSentence(manifest, list), optInPromise, belief };
}

const believed = ([odds, one]: Fraction): number => nearest([100n * odds, odds + 99n * one]);

export interface ReportView {
  readonly question: string;
  readonly data: string;
  readonly sentences: readonly string[];
  readonly groups: readonly DotGroup[];
  readonly named: readonly Named[];
  readonly namedCount: number;
}

/** A report, what it names, and what it tells. */
export function reportView(report: DrawnReport): ReportView {
  const names = named(report);
  return {
    question: report.question,
    data: hex(report.data),
    sentences: explain(report).sentences,
    groups: hundred(report),
    named: names.slice(0, MAX_NAMED),
    namedCount: names.length,
  };
}

export interface ItemView extends Omit<Item, "body" | "overdue" | "end"> {
  /** Exactly what is or was sent; null if there is no body, or no longer. */
  readonly body: string | null;
  readonly bytes: number;
}

export const itemView = ({ body, overdue, end, ...item }: Item): ItemView => ({
  ...item,
  body: body && text(body),
  bytes: body?.length ?? 0,
});

interface Spent {
  readonly epsilon: number;
  readonly delta: number;
}

export interface LedgerView {
  readonly entries: readonly Entry[];
  readonly year: { cap: Spent; left: Spent };
  readonly life: { cap: Spent; left: Spent };
}

export function ledgerView({ entries, cap, yearly, remaining, remainingThisYear }: Ledger): LedgerView {
  const left = ([epsilon, delta]: Ledger["remaining"]): Spent => ({ epsilon: nearest(epsilon!), delta: nearest(delta!) });
  return { entries, year: { cap: yearly, left: left(remainingThisYear) }, life: { cap, left: left(remaining) } };
}

export interface EvidenceView {
  readonly campaign: string;
  readonly documents: readonly { source: string; payload: string; envelope: string }[];
}

export async function evidenceViews(store: Store): Promise<EvidenceView[]> {
  const proofs = await store.read((work) => work.all("evidence"));
  return proofs.map(({ campaign, envelopes }) => ({
    campaign,
    documents: envelopes.map(([source, envelope]) => ({
      source,
      payload: text(readEnvelope(envelope).payload),
      envelope: text(envelope),
    })),
  }));
}

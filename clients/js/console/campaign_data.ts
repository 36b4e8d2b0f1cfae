/** All that the screen of a campaign shows: what changes by itself is asked for again, everything else once. */
import { NetworkError } from "../src/errors.ts";
import { publicCampaign, type PublicCampaign } from "../pages/collector.ts";
import {
  api,
  AUDIT_PAGE,
  type AuditEntry,
  type Changes,
  type Checks,
  OperatorError,
  type Plan,
  type Reason,
  type Status,
  type TokenHolder,
} from "./api.ts";

const PLAN_MS = 60_000;

/** What is not there yet, or does not exist in this state, is null; what could not be had is the sentence why. */
export interface CampaignScreen {
  readonly holder: TokenHolder;
  readonly status: Status;
  readonly documents: PublicCampaign | null;
  readonly documentsProblem: string | null;
  readonly changes: Changes | null;
  readonly plan: Plan | null;
  readonly planProblem: string | null;
  readonly reasons: readonly Reason[];
  readonly audit: readonly AuditEntry[];
  /** Whether the audit trail goes on. */
  readonly isAuditLonger: boolean;
  /** The checks of the result as it would be, if the operator has had them made. */
  readonly preview: Checks | null;
}

const sentence = (error: unknown): string => (error as Error).message;

export class CampaignData {
  private screen: CampaignScreen;
  private documentsOf = "";
  private planOf = "";
  private planned = 0;
  private actsOf = "";
  private days = ["", ""];

  /** `changed` hears of everything new. */
  constructor(
    readonly campaign: string,
    holder: TokenHolder,
    private readonly changed: (screen: CampaignScreen) => void,
  ) {
    this.screen = {
      holder,
      status: null as unknown as Status, // nothing is shown before the first answer
      documents: null,
      documentsProblem: null,
      changes: null,
      plan: null,
      planProblem: null,
      reasons: [],
      audit: [],
      isAuditLonger: false,
      preview: null,
    };
  }

  /** Whether nothing is going to change, and all is there. */
  get isSettled(): boolean {
    const { status, documents, documentsProblem, plan } = this.screen;
    return status?.state === "released" && (documents ?? documentsProblem) !== null && (plan !== null || this.planOf !== "");
  }

  /** Asks where the campaign stands, and for all that this makes out of date. */
  async refresh(): Promise<void> {
    const status = await api.status(this.campaign);
    this.set({ status });
    void this.refreshPlan(status); // takes its time
    await Promise.all([this.refreshReasons(), this.refreshDocuments(status), this.refreshActs(status)]);
  }

  preview(preview: Checks | null): void {
    this.set({ preview });
  }

  /** Which days the audit trail is about; empty texts bound nothing. */
  async showActs(since: string, until: string): Promise<void> {
    if (this.days.join() === [since, until].join()) return;
    this.days = [since, until];
    await this.refreshActs(this.screen.status);
  }

  async olderActs(): Promise<void> {
    const { audit } = this.screen;
    const older = await this.acts(String(audit.at(-1)?.number ?? ""));
    this.set({ audit: [...audit, ...older], isAuditLonger: older.length === AUDIT_PAGE });
  }

  /** The acts are asked for again with the next answer. */
  forgetActs(): void {
    this.actsOf = "";
  }

  private set(part: Partial<CampaignScreen>): void {
    this.screen = { ...this.screen, ...part };
    this.changed(this.screen);
  }

  private async refreshReasons(): Promise<void> {
    if (!this.screen.reasons.length) this.set({ reasons: await api.reasons() });
  }

  /** The signed documents and the changes of the list, which are new in another state alone. */
  private async refreshDocuments({ state, list }: Status): Promise<void> {
    if (this.documentsOf === state) return;
    this.documentsOf = state;
    try {
      const changes = list ? await api.changes(this.campaign) : null;
      const documents = await publicCampaign(this.campaign, state, []);
      this.set({ documents, documentsProblem: null, changes });
    } catch (error) {
      if (error instanceof NetworkError || error instanceof OperatorError) {
        this.documentsOf = ""; // perhaps the next time
        throw error;
      }
      this.set({ documents: null, documentsProblem: sentence(error) });
    }
  }

  /** The forecast, at most once a minute, if there are more people than before. */
  private async refreshPlan({ state, opt_in }: Status): Promise<void> {
    const key = `${state} ${opt_in.people}`;
    if (this.planOf === key || Date.now() < this.planned + PLAN_MS) return;
    [this.planOf, this.planned] = [key, Date.now()];
    try {
      this.set({ plan: await api.plan(this.campaign), planProblem: null });
    } catch (error) {
      const isFinal = error instanceof OperatorError && error.status < 429; // there is no forecast for such terms
      if (!isFinal) this.planOf = "";
      this.set({ planProblem: sentence(error) });
    }
  }

  private acts(before = ""): Promise<AuditEntry[]> {
    const [since, until] = this.days as [string, string];
    return api.audit({ campaign: this.campaign, before, since, until });
  }

  /** The latest acts, again when one of them has changed the campaign. */
  private async refreshActs({ state, by_itself, opt_in }: Status): Promise<void> {
    const key = JSON.stringify([state, by_itself?.last, opt_in.enrolments, this.days]);
    if (this.actsOf === key) return;
    this.actsOf = key;
    const audit = await this.acts();
    this.set({ audit, isAuditLonger: audit.length === AUDIT_PAGE });
  }
}

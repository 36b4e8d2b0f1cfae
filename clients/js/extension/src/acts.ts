/** What the extension's own pages may ask for. Answers are plain values: a message carries nothing else. */
import { text } from "../../src/bytes.ts";
import { dayOf } from "../../src/days.ts";
import { readEnvelope, readKey } from "../../src/envelope.ts";
import { type Budget, ParameterError, RefusedError, requireBudget } from "../../src/errors.ts";
import { readList } from "../../src/list.ts";
import { readManifest } from "../../src/manifest.ts";
import { reportBody } from "../../src/messages.ts";
import { serverUrl } from "../../src/policy.ts";
import { systemChooser } from "../../src/random.ts";
import { campaignRecords } from "../../src/records.ts";
import { schemeOf } from "../../src/scheme.ts";
import type { Consent } from "../../src/store.ts";
import { requireCampaign } from "../../src/terms.ts";
import { api } from "./api.ts";
import { DAY, seconds } from "./clock.ts";
import { condition, type Condition } from "./condition.ts";
import { CONSENTS, setConsent, withdraw } from "./consent.ts";
import { mend } from "./copy.ts";
import { type Engine, requireEngines, type SwitchedEngine } from "./engines.ts";
import { keepHeaders, originPattern } from "./headers.ts";
import { current, type KeptRecord, MAX_DAYS, MAX_RECORDS } from "./kept.ts";
import { type LeaveView, wipe } from "./leave.ts";
import { isThere, keepCopy, spending, withDevice } from "./memory.ts";
import { MAX_OPEN, setPlan } from "./plans.ts";
import { sentenceOf } from "./sentences.ts";
import { showState } from "./signs.ts";
import {
  beginState, changeState, type Chosen, isWith, type KeptIndex, MAX_COST, newState, readState, type State,
} from "./state.ts"; // prettier-ignore
import { stop } from "./stop.ts";
import { isMeant, leaveNow, listed, setAlarm, takePart, tick, usableRecords } from "./visit.ts";
import {
  campaignViews, type CampaignView, evidenceViews, type EvidenceView, itemView, type ItemView, ledgerView, type LedgerView,
  reportView, type ReportView,
} from "./views.ts"; // prettier-ignore

/** How many hosts of collectors are remembered, beside those that something may have to be sent to: the latest. */
const MAX_HOSTS = 20;

export interface Overview extends Condition {
  readonly consent: Consent;
  readonly pausedUntil: number;
  readonly collector: Chosen | null;
  readonly maxCost: Budget;
  readonly engines: readonly (SwitchedEngine & { isAllowed: boolean })[];
  readonly records: number;
  readonly limits: { records: number; days: number };
  readonly indexes: readonly KeptIndex[];
  readonly visitProblem: string | null;
}

/** A collector that was looked at: what it asks, and what was not believed. */
export interface Offers {
  readonly collector: Chosen;
  readonly campaigns: readonly CampaignView[];
  readonly refused: readonly { campaign: string; sentence: string }[];
  readonly released: number;
}

export interface Rehearsal extends ReportView {
  /** The body as it would be sent; a report's id and pseudonym are not made for a rehearsal. */
  readonly body: string;
  readonly usable: number;
  readonly kept: number;
  readonly epsilon: number;
}

const today = (): string => dayOf(seconds());

async function requireAllowed(url: string): Promise<void> {
  if (!(await api.permissions.contains({ origins: [originPattern(url)] })))
    throw new RefusedError(
      "permission",
      `The browser does not let this extension talk to ${new URL(url).hostname}: allow it first.`,
    );
}

/** The hosts that something waits for, be it a deletion. */
async function waitingHosts(): Promise<string[]> {
  const waiting = (await acts.items()).filter(({ state }) => state === "waiting");
  return waiting.map(({ url }) => new URL(url).hostname);
}

/** The state, if something may be drawn now. */
async function requireOn(): Promise<State> {
  const state = await readState();
  const { word, reason } = await condition(state);
  if (word !== "on") throw new RefusedError("state", reason ?? `Nothing is sent while this extension is ${word}.`);
  return state;
}

/** The address, the key and the campaign, each checked for its form. */
async function requireChosen({ url, key, campaign }: Chosen): Promise<Chosen> {
  const server = serverUrl("server", String(url).trim(), false);
  if (new URL(server).hostname.startsWith("[")) throw new ParameterError("server", url, "a name, or 127.0.0.1");
  const { text: digits } = await readKey(String(key).trim());
  return { url: server, key: digits, campaign: campaign ? requireCampaign("campaign", campaign) : null };
}

export const acts = {
  async overview(): Promise<Overview> {
    const state = await readState();
    const allowed = new Set(await Promise.all(state.engines.flatMap(({ hosts }) => hosts).map(allowedHost)));
    const { consent, pausedUntil, collector, maxCost, engines, indexes } = state;
    return {
      ...(await condition(state)),
      consent,
      pausedUntil,
      collector,
      maxCost,
      engines: engines.map((engine) => ({ ...engine, isAllowed: engine.hosts.every((host) => allowed.has(host)) })),
      records: current(state.records, today()).length,
      limits: { records: MAX_RECORDS, days: MAX_DAYS },
      indexes,
      visitProblem: state.visit.problem,
    };
  },

  /** Asks a collector what it asks, before the person agrees to anything: fetches and verifies, and sends nothing. */
  async look(wanted: Chosen): Promise<Offers> {
    const chosen = await requireChosen(wanted);
    await requireAllowed(chosen.url);
    const { hostname } = new URL(chosen.url);
    const waiting = await waitingHosts();
    const hosts = await beginState((state) => {
      const needed = [...waiting, ...(state.collector ? [new URL(state.collector.url).hostname] : []), hostname];
      const others = state.hosts.filter((host) => !needed.includes(host));
      return (state.hosts = [...others.slice(-MAX_HOSTS), ...new Set(needed)]);
    });
    await keepHeaders(hosts);
    const lines = await listed(chosen.url);
    return withDevice(chosen, async (device, store) => {
      const refused: Offers["refused"][number][] = [];
      const meant = lines.filter(({ campaign }) => isMeant(chosen, campaign));
      const asking = meant.filter(({ phase }) => /^(opt-in|listing|reporting)$/.test(phase));
      for (const { campaign, phase } of (asking.length ? asking : meant).slice(-MAX_OPEN))
        await (phase === "reporting" ? device.look(campaign) : device.terms(campaign)).catch((error) =>
          refused.push({ campaign, sentence: sentenceOf(error) }),
        );
      const views = await campaignViews(store, (await readState()).plans);
      return {
        collector: chosen,
        campaigns: views.filter(
          ({ campaign, server }) => server === chosen.url && asking.some((line) => line.campaign === campaign),
        ),
        refused,
        released: lines.filter(({ phase }) => phase === "released").length,
      };
    });
  },

  /**
   * The person's choice, and the most that a campaign costs of those that were shown. More is agreed to with a collector that
   * was looked at; less counts at once, wherever it fails.
   */
  async agree(consent: Consent, wanted?: Chosen, shown: Budget | null = null): Promise<void> {
    if (!CONSENTS.includes(consent)) throw new ParameterError("consent", consent, CONSENTS.join(", "));
    if (shown) requireBudget(shown);
    const state = await readState();
    const chosen = wanted ? await requireChosen(wanted) : state.collector;
    if (consent === "off" && state.consent === "off" && !state.copy && !(await isThere())) return;
    if (consent !== "off") {
      if (!chosen) throw new RefusedError("collector", "Choose a collector first, and look at what it asks.");
      await requireAllowed(chosen.url);
    }
    await beginState(() => {});
    await withDevice(chosen, async (device, store) => {
      if (consent !== "off") {
        const known = await store.read((work) => work.get("servers", chosen!.url));
        if (!known?.keys.some(([key]) => key.text === chosen!.key))
          throw new RefusedError("signature", "No campaign of this collector is signed by this key.");
        await keepCopy(store);
      } else await mend(store, state.copy);
      const { sent } = await setConsent(device, consent, (state, agreesToMore) => {
        const isOther = !chosen || !isWith(state, chosen);
        const isElsewhere = state.collector?.url !== chosen?.url;
        Object.assign(state, { collector: chosen, leaving: false });
        if (consent === "off") Object.assign(state, { records: [], pausedUntil: 0 });
        if (isOther || agreesToMore || shown) state.visit = newState().visit;
        if (isOther) state.plans = isElsewhere ? [] : state.plans.filter(({ skipped }) => skipped);
        if (isOther || shown) state.maxCost = shown ?? MAX_COST;
      });
      try {
        await showState();
      } finally {
        await sent;
      }
    });
    await tick();
  },

  /** Notes and sends nothing for a while, or goes on. */
  async pause(duration: number): Promise<void> {
    const wait = Math.min(Math.max(0, Number(duration) || 0), DAY);
    await beginState((state) => (state.pausedUntil = wait ? seconds() + wait : 0));
    await showState();
    if (wait) stop();
    if (wait) await setAlarm(null);
    else await tick();
  },

  async setEngines(engines: Engine[]): Promise<void> {
    const checked = requireEngines(engines);
    await beginState((state) => (state.engines = checked));
    await showState();
  },

  resetEngines: (): Promise<void> => acts.setEngines(newState().engines),

  async campaigns(): Promise<CampaignView[]> {
    if (!(await isThere())) return [];
    const { plans } = await readState();
    return withDevice(null, (_, store) => campaignViews(store, plans));
  },

  async takePart(campaign: string): Promise<void> {
    const { collector } = await requireOn();
    await withDevice(collector, async (device, store) => {
      await takePart(device, store, campaign, null);
      await device.send();
    });
    await tick();
  },

  async skip(campaign: string, skipped: boolean): Promise<void> {
    await setPlan({ campaign: requireCampaign("campaign", campaign), skipped: skipped === true });
    await tick();
  },

  /** Sends records as they are to the curator who gave out the token. */
  async enrol(campaign: string, token: string): Promise<void> {
    const state = await requireOn();
    const records = usableRecords(state);
    await withDevice(state.collector, async (device, store) => {
      await spending(store, () => device.enrol(campaign, String(token).trim(), records));
      await device.send();
    });
    await tick();
  },

  records: async (): Promise<KeptRecord[]> => current((await readState()).records, today()).reverse(),

  /** Deletes these records, or all. */
  deleteRecords: (ids: number[] | null): Promise<void> =>
    changeState((state) => {
      state.records = ids ? state.records.filter(({ id }) => !ids.includes(id)) : [];
    }),

  /** A report as it might be drawn now. It is shown and forgotten: nothing is sent, written down or spent. */
  async rehearse(campaign: string): Promise<Rehearsal> {
    const kept = current((await readState()).records, today());
    const seen = await withDevice(null, (_, store) => store.read((work) => work.get("campaigns", campaign)));
    if (!seen?.manifest || !seen.list) throw new RefusedError("not-published", `${campaign} has no list.`);
    const manifest = await readManifest(readEnvelope(seen.manifest).payload);
    const list = await readList(seen.list);
    const usable = campaignRecords(
      kept.map(({ query, url }) => [query, url]),
      manifest.terms,
    );
    const scheme = schemeOf(manifest, list);
    const { question, data } = scheme.randomise(usable, systemChooser());
    const body = text(reportBody(manifest.sha256, "0".repeat(32), question, data, await scheme.id()));
    const view = reportView({ manifest, list, question, data });
    return { ...view, body, usable: usable.length, kept: kept.length, epsilon: manifest.terms.epsilon };
  },

  async items(): Promise<ItemView[]> {
    if (!(await isThere())) return [];
    return (await withDevice(null, (device) => device.items())).map(itemView).reverse();
  },

  explain: (campaign: string): Promise<ReportView> =>
    withDevice(null, async (device) => reportView(await device.report(campaign))),

  /** Tries what is due now. */
  send: (): Promise<void> => tick(),

  /** Drops what waits, and asks for the deletion of what was sent. */
  async forget(campaign: string): Promise<void> {
    await withDevice(null, async (device, store) => {
      await device.forget(campaign);
      await keepCopy(store);
    });
    await setPlan({ campaign, skipped: true });
    await tick();
  },

  async ledger(): Promise<LedgerView | null> {
    return (await isThere()) ? withDevice(null, async (device) => ledgerView(await device.ledger())) : null;
  },

  async lowerCap(which: "year" | "life", epsilon: number): Promise<void> {
    await withDevice(null, async (device, store) => {
      const { cap, yearly } = await device.ledger();
      await device.lowerCap(which === "year" ? { yearly: { ...yearly, epsilon } } : { cap: { ...cap, epsilon } });
      await keepCopy(store);
    });
  },

  async evidence(): Promise<EvidenceView[]> {
    return (await isThere()) ? withDevice(null, (_, store) => evidenceViews(store)) : [];
  },

  /** Everything that the extension knows, but for secrets. */
  async export(): Promise<Record<string, unknown>> {
    const { consent, pausedUntil, collector, maxCost, engines, records, plans, indexes } = await readState();
    return {
      format: "blendp/extension-export/1",
      exported: new Date().toISOString(),
      version: api.runtime.getManifest().version,
      consent,
      paused_until: pausedUntil ? new Date(pausedUntil * 1000).toISOString() : null,
      collector,
      max_cost: maxCost,
      engines,
      records,
      plans,
      campaigns: await acts.campaigns(),
      // what asks for a deletion proves whose report it was
      items: (await acts.items()).map((item) => (item.kind === "deletion" ? { ...item, body: null } : item)),
      ledger: await acts.ledger(),
      evidence: await acts.evidence(),
      indexes,
    };
  },

  /** Leaves, or goes on with it: asks for deletions, and wipes everything once they are settled. */
  async leave(): Promise<LeaveView> {
    await withdraw();
    return acts.leaveOn();
  },

  async leaveOn(isWantedNow = false): Promise<LeaveView> {
    const view = await leaveNow(isWantedNow === true);
    await showState();
    return view;
  },

  /** Wipes everything although deletions wait: they can then never be asked for. */
  async leaveAnyway(): Promise<void> {
    await wipe();
    await showState();
  },

  uninstall: (): Promise<void> => api.management.uninstallSelf({ showConfirmDialog: true }),
};

export type Acts = typeof acts;

async function allowedHost(host: string): Promise<string | null> {
  return (await api.permissions.contains({ origins: [host] })) ? host : null;
}

// A person's device: asks for consent, keeps the ledger, randomises once, sends and forgets.
//
// What is drawn becomes real in one step, in which it is written down with its cost and with the bytes to be sent,
// before anything is sent; after that nothing is ever drawn again for the campaign. All that takes its time (fetching,
// verifying, hashing) comes before that step, and the draw is in it. Records are never written down, but for those that
// an opt-in person agreed to send, until they have arrived.
import { type Bytes, hex } from "./bytes.ts";
import { collectorOf, isSamePayload, type Campaign, type Collector, type CollectorOptions, type Offer } from "./collector.ts";
import { dayOf } from "./days.ts";
import { mediaType, readEnvelope } from "./envelope.ts";
import { type Budget, EquivocationError, ParameterError, RefusedError } from "./errors.ts";
import { shareCoin } from "./exact.ts";
import type { DrawnReport } from "./explanation.ts";
import type { Fetch } from "./http.ts";
import { deletionKey, pseudonym } from "./install.ts";
import { CAP, daysPassed, Ledger, YEARLY } from "./ledger.ts";
import { readList } from "./list.ts";
import { readManifest } from "./manifest.ts";
import { deletionBody, enrolmentBody, reportBody } from "./messages.ts";
import { covers, drop, outboxOf, type Request, type Summary } from "./outbox.ts";
import { requireTerms } from "./policy.ts";
import { systemChooser, type Chooser } from "./random.ts";
import { campaignRecords } from "./records.ts";
import { schemeOf } from "./scheme.ts";
import { openStore, type Consent, type Item, type KeptParticipation, type Participation, type Work } from "./store.ts";
import { choice } from "./terms.ts";

export interface DeviceOptions {
  /** Needed to look at campaigns and to take part; all else works without. */
  collector?: CollectorOptions;
  /** The name of the database: one for each person. */
  name?: string;
  /** What a life may cost, and a year; counts only when the device is new. */
  cap?: Budget;
  yearly?: Budget;
  /**
   * Take part even if the browser does not promise to keep what is stored. A web page's storage cannot promise much:
   * who clears site data also clears the ledger, its caps, the install secret and all that was done, and the same person
   * may then take part again, and can no longer delete what was sent before. Persistent storage is only safe from the
   * browser's own tidying up.
   */
  acceptVolatileStorage?: boolean;
  /** Seconds since 1970. */
  clock?: () => number;
  /** Uniform on [0, 1): spreads retries, and hides nothing. */
  jitter?: () => number;
  /** Random bytes for ids, nonces and the install secret. */
  entropy?: (count: number) => Bytes;
  /** What draws reports. */
  chooser?: Chooser;
  fetch?: Fetch;
}

/** One install. It may be opened again and again, also by several tabs at once. */
export interface Device {
  close(): void;
  /** What the person agreed to. */
  consent(): Promise<Consent>;
  /** Writes down what the person agrees to; what it no longer covers is dropped or asked to be deleted. */
  setConsent(consent: Consent): Promise<Summary>;
  /** What the person has spent, and the caps. */
  ledger(): Promise<Ledger>;
  /** Lowers the cap for life, or that for a year; they can never be raised again. */
  lowerCap(caps: { cap?: Budget; yearly?: Budget }): Promise<void>;
  /** Everything that was ever queued, exactly as it is or was sent, and its fate. */
  items(): Promise<Item[]>;
  /** What this device did in a campaign; null if nothing. */
  participation(campaign: string): Promise<Participation | null>;
  /** The contradicting envelopes of a campaign, if its collector was caught, and where each came from. */
  evidence(campaign: string): Promise<readonly (readonly [source: string, envelope: Bytes])[]>;
  /** The verified terms of a campaign. They may be looked at before consent: people decide by them. */
  terms(campaign: string): Promise<Offer>;
  /** A verified campaign that asks clients. It may be looked at before consent: people decide by it. */
  look(campaign: string): Promise<Campaign>;
  /**
   * Draws whether to take part, and the report, once: later calls give back what was drawn, and draw nothing.
   *
   * The records, pairs of query and URL, decide what the report says, never whether there is one: those that the campaign
   * cannot use are as if not there, and without any the report is that of somebody who holds nothing of the list.
   */
  takePart(campaign: string, records: Iterable<unknown>): Promise<Participation>;
  /**
   * Queues at most `terms.opt_in_records` of the records, drawn at random, for the campaign's curator, once.
   *
   * Records that the campaign cannot use are as if not there; a person without any enrols with an empty list.
   */
  enrol(campaign: string, token: string, records: Iterable<unknown>): Promise<Participation>;
  /** Tries what is due, of all campaigns. */
  send(): Promise<Summary>;
  /** Drops what was not sent, and asks the collector to delete what was; what it cost stays in the ledger. */
  forget(campaign: string): Promise<Summary>;
  /** The report that was drawn for a campaign, with what it was drawn for: for `explain` of "@blendp/client/explain". */
  report(campaign: string): Promise<DrawnReport>;
}

export const Device = {
  /** Opens the device of this name, or makes one. */
  async open(options: DeviceOptions = {}): Promise<Device> {
    const {
      name = "blendp",
      cap = CAP,
      yearly = YEARLY,
      clock = () => Date.now() / 1000,
      jitter = () => crypto.getRandomValues(new Uint16Array(1))[0]! / 2 ** 16,
      entropy = (count) => crypto.getRandomValues(new Uint8Array(count)),
      chooser = systemChooser(),
      fetch = globalThis.fetch,
    } = options;
    const collector = options.collector && (await collectorOf(options.collector, fetch));
    new Ledger(cap, yearly);
    const store = await openStore(name);
    const outbox = outboxOf(store, `blendp ${name}`, fetch, clock, jitter);
    await store.whole(async (work) => {
      if (!(await work.get("install", 1)))
        work.put("install", { id: 1, secret: entropy(32), consent: "off", cap, yearly, lastDay: null, counted: 0 });
    });

    const today = () => dayOf(clock());

    const chosen = () => {
      if (!collector) throw new ParameterError("collector", collector, "given");
      return collector;
    };

    /** What the collector shows, remembered; if it contradicts what was seen before or by others, the proof is. */
    const visited = async <T extends "terms" | "look">(campaign: string, what: T): Promise<Awaited<ReturnType<Collector[T]>>> => {
      const server = await store.read(async (work) => {
        await requireHonest(work, campaign);
        return work.get("servers", chosen().url);
      });
      try {
        const seen: any = await chosen()[what](campaign, today(), server?.keys);
        await store.whole((work) => remember(work, seen));
        return seen;
      } catch (error) {
        if (error instanceof EquivocationError)
          await store.whole((work) => {
            work.put("evidence", { campaign, envelopes: error.envelopes });
            return drop(work, campaign, "equivocation");
          });
        throw error;
      }
    };

    /** What was done in this campaign before, if anything; raises if it cannot be done now. */
    const before = async (work: Work, campaign: string, group: Participation["group"]): Promise<Participation | null> => {
      const done = await work.get("participations", campaign);
      if (done && done.group !== group) throw new ParameterError("campaign", campaign, `new to the group ${done.group}`);
      if (done) return shown(done);
      const { consent } = await work.install();
      if (!covers(consent, group)) throw new ParameterError("consent", consent, "given first");
      await requireHonest(work, campaign);
      return null;
    };

    /** Counts the days that have passed since the latest that was ever seen; how many there were in all. */
    const countDays = () =>
      store.whole(async (work) => {
        const install = await work.install();
        const day = today();
        if ((install.lastDay ?? "") < day) {
          install.counted += daysPassed(install.lastDay, day);
          install.lastDay = day;
          work.put("install", install);
        }
        return install.counted;
      });

    /**
     * What was done in this campaign, or is done now. All that takes its time is prepared; then comes the one step in
     * which what is drawn, its cost and what is to be sent become true together.
     */
    const once = async (
      campaign: string,
      group: Participation["group"],
      prepare: () => Promise<[Offer, draw: (done: KeptParticipation) => Request | null]>,
    ): Promise<Participation> => {
      const earlier = await store.read((work) => before(work, campaign, group));
      if (earlier) return earlier;
      // asks for storage that the browser does not tidy up, and refuses without
      const storage = globalThis.navigator?.storage;
      const ask = async () => (await storage?.persisted?.()) || storage?.persist?.();
      const persistent = ask().catch(() => false);
      if (!options.acceptVolatileStorage && !(await persistent))
        throw new ParameterError("storage", "volatile", "persistent: see acceptVolatileStorage");
      const [{ server, terms }, draw] = await prepare();
      const isClient = group === "client";
      const { epsilon, delta } = isClient ? terms.client_budget : terms;
      const lastDay = isClient ? terms.reports_until : terms.opt_in_until;
      const counted = await countDays();
      return store.whole(async (work) => {
        const earlier = await before(work, campaign, group);
        if (earlier) return earlier;
        const day = today();
        if ((!isClient && day < terms.opens) || day > lastDay)
          throw new ParameterError("campaign", campaign, `one from ${terms.opens} until ${lastDay}`);
        const entry = { campaign, group, day, epsilon, delta, counted };
        (await ledgerOf(work)).spending(entry);
        const done = { campaign, group, day, server, reportId: null, question: null, data: null, secret: null };
        const request = draw(done);
        work.put("participations", done);
        if (request) {
          work.put("ledger", entry);
          await outbox.add(work, done, isClient ? "report" : group, request, lastDay);
        }
        return shown(done);
      });
    };

    /** Drops what was not sent; asks for the deletion of what may have arrived, unless that was done. */
    const withdraw = async (work: Work, done: KeptParticipation, reason: string): Promise<void> => {
      const { campaign, group, secret } = done;
      const { arrived, asked } = await drop(work, campaign, reason);
      if (asked) return;
      if (!arrived) work.put("participations", { ...done, secret: null });
      else if (group === "opt-in") await outbox.add(work, done, "opt-in-deletion", ["DELETE", "opt-in", null, null]);
      else await outbox.add(work, done, "deletion", ["POST", "deletions", "application/json", deletionBody(secret!)]);
    };

    const device: Device = {
      close: store.close,
      consent: () => store.read(async (work) => (await work.install()).consent),
      items: () => store.read((work) => work.all("queue")),
      send: () => outbox.send(),

      async setConsent(consent) {
        choice("off", "local", "opt-in")("consent", consent);
        await store.whole(async (work) => {
          work.put("install", { ...(await work.install()), consent });
          for (const done of await work.all("participations"))
            if (!covers(consent, done.group)) await withdraw(work, done, "consent withdrawn");
        });
        return outbox.send(true);
      },

      async forget(campaign) {
        await store.whole(async (work) => {
          const done = await work.get("participations", campaign);
          if (!done) throw new ParameterError("campaign", campaign, "taken part in");
          await withdraw(work, done, "forgotten");
        });
        return outbox.send(true);
      },

      async ledger() {
        await countDays();
        return store.read(ledgerOf);
      },

      lowerCap: (caps) =>
        store.whole(async (work) => {
          const { cap, yearly } = (await ledgerOf(work)).lowered(caps.cap, caps.yearly);
          work.put("install", { ...(await work.install()), cap, yearly });
        }),

      async participation(campaign) {
        const done = await store.read((work) => work.get("participations", campaign));
        return done ? shown(done) : null;
      },

      evidence: async (campaign) => (await store.read((work) => work.get("evidence", campaign)))?.envelopes ?? [],

      terms: (campaign) => visited(campaign, "terms"),
      look: (campaign) => visited(campaign, "look"),

      takePart: (campaign, records) =>
        once(campaign, "client", async () => {
          const seen = await device.look(campaign);
          const { terms, manifest, list } = seen;
          const usable = campaignRecords(records, terms);
          const scheme = schemeOf(manifest, list);
          const id = await scheme.id();
          const { secret } = await store.read((work) => work.install());
          const key = await deletionKey(secret, campaign);
          const name = hex(await pseudonym(key));
          const draw = (done: KeptParticipation): Request | null => {
            if (!chooser.coin(shareCoin(terms.participation))) return null;
            const { question, data } = scheme.randomise(usable, chooser);
            const reportId = hex(entropy(16));
            Object.assign(done, { reportId, question, data, secret: hex(key) });
            return ["PUT", `reports/${reportId}`, mediaType("report"), reportBody(manifest.sha256, name, question, data, id)];
          };
          return [seen, draw];
        }),

      enrol: (campaign, token, records) =>
        once(campaign, "opt-in", async () => {
          if (!/^blendp-in-[0-9a-f]{64}$/.test(token)) throw new ParameterError("token", "(hidden)", "copied whole");
          const seen = await device.terms(campaign);
          const { terms } = seen;
          requireTerms(options.collector?.policy, terms);
          const usable = campaignRecords(records, terms);
          const draw = (done: KeptParticipation): Request => {
            done.secret = token;
            return ["PUT", "opt-in", mediaType("opt-in"), enrolmentBody(terms, usable, chooser, entropy(16))];
          };
          return [seen, draw];
        }),

      async report(campaign) {
        const [done, seen] = await store.read((work) =>
          Promise.all([work.get("participations", campaign), work.get("campaigns", campaign)]),
        );
        if (!done?.data) throw new ParameterError("campaign", campaign, "one with a report");
        const { question, data } = done;
        const manifest = await readManifest(readEnvelope(seen!.manifest!).payload);
        return { manifest, list: await readList(seen!.list!), question: question!, data };
      },
    };
    return device;
  },
};

async function ledgerOf(work: Work): Promise<Ledger> {
  const { cap, yearly, counted } = await work.install();
  return new Ledger(cap, yearly, await work.all("ledger"), counted);
}

async function requireHonest(work: Work, campaign: string): Promise<void> {
  if (await work.get("evidence", campaign))
    throw new RefusedError("equivocation", `There are two versions of ${campaign}.`);
}

/** Without what is for the store alone. */
function shown({ secret, ...done }: KeptParticipation): Participation {
  return done;
}

/** Keeps a verified campaign; raises if another was seen under this name. */
async function remember(work: Work, seen: Offer & Partial<Campaign>): Promise<void> {
  const { server, trust, termsEnvelope: terms, manifestEnvelope: manifest = null, listBytes: list = null } = seen;
  const { campaign } = seen.terms;
  const known = await work.get("campaigns", campaign);
  if (known) requireSame(seen, known.server, "terms", known.terms, terms);
  if (known?.manifest && manifest) requireSame(seen, known.server, "manifest", known.manifest, manifest);
  work.put("servers", { url: server, keys: trust });
  if (!known || (manifest && !known.manifest)) work.put("campaigns", { campaign, server, terms, ...known, manifest, list });
}

/** Raises unless two envelopes hold the same document; who signed may differ, for keys rotate. */
function requireSame(seen: Offer, source: string, what: string, before: Bytes, now: Bytes): void {
  if (isSamePayload(before, now)) return;
  const { campaign } = seen.terms;
  // what another collector serves under this name proves nothing about this one
  if (source !== seen.server) throw new RefusedError("terms", `${source} runs another campaign ${campaign}.`);
  throw new EquivocationError(campaign, what, [
    [source, before],
    [seen.server, now],
  ]);
}

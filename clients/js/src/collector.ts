// A collector as a device sees it: fetched, verified, and compared with what others were told.
import { isRetryable } from "./answers.ts";
import { type Bytes, hex, text } from "./bytes.ts";
import { requireDay } from "./days.ts";
import { envelopeOf, mediaType, readEnvelope, readKey, verified, type VerifyKey } from "./envelope.ts";
import { EquivocationError, NetworkError, ParameterError, RefusedError } from "./errors.ts";
import { MAX_LIST_BYTES, request, type Fetch } from "./http.ts";
import { following, trustedOn, type Trust } from "./keys.ts";
import { readList, type HeadList } from "./list.ts";
import { readManifest, type Manifest } from "./manifest.ts";
import { requireTerms, serverUrl, type Policy } from "./policy.ts";
import { schemeOf } from "./scheme.ts";
import { isSameTerms, readTerms, requireCampaign, type Terms } from "./terms.ts";

const MAX_KEYS = 1000;
const NOTHING = new Uint8Array();

/** Where a campaign is run, whose signatures count, and who else is asked what it says. */
export interface CollectorOptions {
  url: string;
  /** Public keys known from elsewhere, in hexadecimal digits; later keys are followed from these. */
  keys?: readonly string[];
  /** Other addresses that serve the same manifests, such as mirrors. */
  witnesses?: readonly string[];
  policy?: Partial<Policy>;
  /** Believe the keys that the collector itself names, if none are known. */
  trustOnFirstUse?: boolean;
  /** Whether addresses other than this machine's may do without encryption. */
  allowHttp?: boolean;
}

/** The verified terms of a campaign, and the keys that are believed for them. */
export interface Offer {
  server: string;
  trust: Trust;
  terms: Terms;
  termsEnvelope: Bytes;
}

/** A verified campaign that asks clients. */
export interface Campaign extends Offer {
  manifest: Manifest;
  manifestEnvelope: Bytes;
  list: HeadList;
  listBytes: Bytes;
  /** How many others were told the same; 0 means that nobody was asked. */
  witnesses: number;
}

/** A collector, whose answers are verified; `known` are keys that an earlier visit led to. */
export interface Collector {
  url: string;
  terms(campaign: string, day: string, known: Trust | undefined): Promise<Offer>;
  /** A campaign that asks clients, verified as far as a device can. */
  look(campaign: string, day: string, known: Trust | undefined): Promise<Campaign>;
}

export async function collectorOf(options: CollectorOptions, fetch: Fetch): Promise<Collector> {
  const { allowHttp = false, policy, trustOnFirstUse } = options;
  const url = serverUrl("server", options.url, allowHttp);
  const witnesses = (options.witnesses ?? []).map((witness) => serverUrl("witness", witness, allowHttp));
  const keys = await Promise.all((options.keys ?? []).map(readKey));

  /** The body at this address; null if there is no such thing. */
  const get = async (url: string, maxBytes?: number): Promise<Bytes | null> => {
    const { status, body } = await request(fetch, { url, maxBytes });
    if (status === 200) return body;
    if (status === 404) return null;
    const sentence = `${url} answers ${status}.`;
    throw isRetryable(status) ? new NetworkError(sentence) : new RefusedError("document", sentence);
  };
  const document = (campaign: string, name: string, server = url, maxBytes?: number) =>
    get(`${server}/v1/campaigns/${campaign}/${name}`, maxBytes);

  /** The document in an envelope that one of the keys signed. */
  const signed = <T>(envelope: Bytes, name: string, keys: VerifyKey[], read: (payload: Bytes) => Promise<T>): Promise<T> =>
    refusing("document", async () => read(await payloadOf(envelope, name, keys)));

  const terms: Collector["terms"] = async (campaign, day, known) => {
    requireCampaign("campaign", campaign);
    if (!known && !keys.length && !trustOnFirstUse) throw new ParameterError("key", null, `given: ask who runs ${url}`);
    const index = await get(`${url}/v1/keys`);
    // the keys that are believed: known ones, given ones, or those of the first visit, and what follows them
    const trust = await refusing("document", async () => {
      const { keys: named, statements } = JSON.parse(text(index ?? NOTHING));
      const envelopes = objects(statements).map(envelopeOf);
      const listed = objects(named);
      let start: Trust = keys.map((key) => [key, null]);
      if (known && keys.every((key) => known.some(([{ text }]) => text === key.text))) start = known;
      else if (!keys.length) {
        const counts = listed.filter(({ until }) => until === null || day <= requireDay("until", until));
        start = await Promise.all(counts.map(async ({ key }) => [await readKey(key), null] as const));
      }
      return following(start, envelopes);
    });
    const termsEnvelope = await document(campaign, "terms");
    if (!termsEnvelope) throw new ParameterError("campaign", campaign, `known to ${url}`);
    const terms = await signed(termsEnvelope, "terms", trustedOn(trust, day), readTerms);
    if (terms.campaign !== campaign) throw new RefusedError("terms", `${campaign} does not keep its terms.`);
    return { server: url, trust, terms, termsEnvelope };
  };

  return {
    url,
    terms,

    async look(campaign, day, known) {
      const seen = await terms(campaign, day, known);
      const keys = trustedOn(seen.trust, day);
      const manifestEnvelope = await document(campaign, "manifest");
      if (!manifestEnvelope) throw new RefusedError("not-published", `${campaign} has no list.`);
      const manifest = await signed(manifestEnvelope, "manifest", keys, readManifest);
      if (!isSameTerms(manifest.terms, seen.terms)) throw new RefusedError("terms", `${campaign} does not keep its terms.`);
      if (await document(campaign, "release", url, MAX_LIST_BYTES)) throw new RefusedError("released", `${campaign} is released.`);
      for (const witness of witnesses) {
        // one that was shown nothing, or what nobody signed, is no witness
        const other = (await document(campaign, "manifest", witness)) ?? NOTHING;
        const differs = await refusing("witness", async () => {
          if (isSamePayload(manifestEnvelope, other)) return false;
          const theirs = await readManifest(await payloadOf(other, "manifest", keys));
          if (theirs.terms.campaign !== campaign) throw 0; // it says nothing about this one
          return true;
        });
        if (differs)
          throw new EquivocationError(campaign, "manifest", [
            [url, manifestEnvelope],
            [witness, other],
          ]);
      }
      requireTerms(policy, manifest.terms, manifest);
      const listBytes = (await document(campaign, "list", url, MAX_LIST_BYTES)) ?? NOTHING;
      const list = await refusing("list", async () => {
        const read = await readList(listBytes);
        schemeOf(manifest, read);
        return read;
      });
      return { ...seen, manifest, manifestEnvelope, list, listBytes, witnesses: witnesses.length };
    },
  };
}

const payloadOf = (envelope: Bytes, name: string, keys: VerifyKey[]): Promise<Bytes> =>
  verified(readEnvelope(envelope), mediaType(name), keys);

/** The first objects of a list in a collector's answer; throws if it is none. */
function objects(list: any): any[] {
  if (!list.every((item: any) => Object(item) === item)) throw 0;
  return list.slice(0, MAX_KEYS);
}

/** Whether two envelopes hold the same document. */
export const isSamePayload = (one: Bytes, other: Bytes): boolean =>
  hex(readEnvelope(one).payload) === hex(readEnvelope(other).payload);

/** Turns whatever is wrong with a document into a refusal. */
async function refusing<T>(reason: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    const { reason: known, message } = error as RefusedError;
    throw new RefusedError((reason === "document" && known) || reason, message ?? "It is malformed.");
  }
}

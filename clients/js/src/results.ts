// What a collector released: fetched, and believed only if a trusted key signed it.
import { isRetryable } from "./answers.ts";
import type { Bytes } from "./bytes.ts";
import type { Offer } from "./collector.ts";
import { dayOf } from "./days.ts";
import { mediaType, readEnvelope, verified, type VerifyKey } from "./envelope.ts";
import { NetworkError, RefusedError } from "./errors.ts";
import { type Fetch, MAX_LIST_BYTES, request } from "./http.ts";
import { trustedOn } from "./keys.ts";
import { readRelease } from "./release.ts";
import type { IndexDescriptor } from "./search_descriptor.ts";
import type { SearchIndex } from "./search_index.ts";
import { describedIndex, signedDescriptor } from "./signed_index.ts";

export { NetworkError, ParameterError, RefusedError } from "./errors.ts";
export type { IndexDescriptor } from "./search_descriptor.ts";
export type { SearchIndex } from "./search_index.ts";

/** A campaign, and the keys that are believed for it: what `device.terms(campaign)` gives. */
export type Source = Pick<Offer, "server" | "trust"> & { readonly terms: Pick<Offer["terms"], "campaign"> };

export interface ResultsOptions {
  fetch?: Fetch;
  /** The time in seconds since 1970. */
  clock?: () => number;
}

/** An index that was verified; keep the bytes, and `readIndex` them whenever something is searched. */
export interface FetchedIndex {
  readonly bytes: Bytes;
  readonly index: SearchIndex;
  readonly descriptor: IndexDescriptor;
}

/** The index of a released campaign, if a believed key signed its descriptor and it is the one that is described. */
export async function fetchIndex(source: Source, options: ResultsOptions = {}): Promise<FetchedIndex> {
  const envelope = await get(source, "index-descriptor", options);
  const descriptor = await signedDescriptor(source.terms.campaign, envelope, keysOf(source, options));
  const bytes = await get(source, "index", options);
  return { bytes, index: await describedIndex(descriptor, bytes), descriptor };
}

/** The bytes of a campaign's release, if a believed key signed them: what `buildIndex` takes. */
export async function fetchRelease(source: Source, options: ResultsOptions = {}): Promise<Bytes> {
  const { campaign } = source.terms;
  const envelope = readEnvelope(await get(source, "release", options));
  const payload = await verified(envelope, mediaType("release"), keysOf(source, options));
  if ((await readRelease(payload)).campaign !== campaign) throw new RefusedError("release", `This is no release of ${campaign}.`);
  return payload;
}

/** The keys that are believed today. */
const keysOf = ({ trust }: Source, { clock = () => Date.now() / 1000 }: ResultsOptions): VerifyKey[] => trustedOn(trust, dayOf(clock()));

async function get({ server, terms: { campaign } }: Source, name: string, { fetch = globalThis.fetch }: ResultsOptions): Promise<Bytes> {
  const url = `${server}/v1/campaigns/${campaign}/${name}`;
  const { status, body } = await request(fetch, { url, maxBytes: MAX_LIST_BYTES });
  if (status === 200) return body;
  const sentence = `${url} answers ${status}.`;
  if (isRetryable(status)) throw new NetworkError(sentence);
  throw new RefusedError(status === 404 ? "not-released" : "document", sentence);
}

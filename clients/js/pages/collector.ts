/** The collector that served this page, and what it says about a campaign, verified in this browser. */
import { type Bytes, text } from "../src/bytes.ts";
import { collectorOf } from "../src/collector.ts";
import { dayOf } from "../src/days.ts";
import { mediaType, readEnvelope, verified, type VerifyKey } from "../src/envelope.ts";
import { NetworkError, RefusedError } from "../src/errors.ts";
import { MAX_LIST_BYTES, request } from "../src/http.ts";
import { trustedOn, type Trust } from "../src/keys.ts";
import { readList, type HeadList } from "../src/list.ts";
import { readManifest, type Manifest } from "../src/manifest.ts";
import { readRelease, type Release } from "../src/release.ts";
import { isSameTerms, type Terms } from "../src/terms.ts";

/** The collector's address, without a slash at the end: this script is in its folder of assets. */
export const BASE = new URL("..", import.meta.url).href.replace(/\/$/, "");

export const today = (): string => dayOf(Date.now() / 1000);

/** The campaign that the page's address names. */
export const campaignOfAddress = (): string => /\/campaigns\/([^/]*)/.exec(location.pathname)?.[1] ?? "";

export const documentAddress = (campaign: string, name: string): string => `${BASE}/v1/campaigns/${campaign}/${name}`;

/** Where a campaign stands; "unknown" of those that are not there. Nobody signs this: it only says what to ask for. */
export interface CampaignLine {
  readonly campaign: string;
  readonly title: string;
  readonly state: string;
}

const ask = globalThis.fetch?.bind(globalThis);

/** The body at an address of the collector; a refusal with the collector's own words if there is none. */
export async function get(url: string, maxBytes?: number): Promise<Bytes> {
  const { status, body } = await request(ask, { url, maxBytes });
  if (status === 200) return body;
  if (status === 429 || status >= 500) throw new NetworkError(`${url} answers ${status}.`);
  let detail = `${url} answers ${status}.`;
  try {
    detail = String(JSON.parse(text(body)).detail).slice(0, 300);
  } catch {
    // no words
  }
  throw new RefusedError(status === 404 ? "not-found" : "document", detail);
}

export async function campaigns(): Promise<CampaignLine[]> {
  const { campaigns: lines } = JSON.parse(text(await get(`${BASE}/v1/campaigns`, MAX_LIST_BYTES)));
  return lines.map(({ campaign, title, state }: CampaignLine) => ({
    campaign: String(campaign),
    title: String(title),
    state: String(state),
  }));
}

/** Where this campaign stands. If there is none, the refusal says what became of it. */
export async function stateOf(campaign: string): Promise<string> {
  const line = (await campaigns()).find((one) => one.campaign === campaign);
  if (!line) await get(documentAddress(encodeURIComponent(campaign), "terms"));
  return line?.state ?? "opt-in";
}

/** A signed document, whose signature this browser has checked. */
export interface SignedDocument {
  readonly name: string;
  readonly sha256: string;
  /** What to keep: the bytes with their signatures. */
  readonly bytes: Bytes;
  /** The keys whose signatures are right. */
  readonly signers: readonly VerifyKey[];
}

/** All of a campaign that is public. What is not there yet is null. */
export interface PublicCampaign {
  readonly campaign: string;
  readonly state: string;
  readonly terms: Terms;
  readonly manifest: Manifest | null;
  readonly list: HeadList | null;
  readonly release: Release | null;
  readonly documents: readonly SignedDocument[];
  /** The list, which has no signature: the manifest names it by its hash. */
  readonly listBytes: Bytes | null;
  readonly trust: Trust;
  /** Whether the first of these keys came from the person, not from the collector. */
  readonly isKeyKnown: boolean;
}

/** Verifies a campaign from a key that the person knows; without one from those that the collector names. */
export async function publicCampaign(campaign: string, state: string, keys: readonly string[]): Promise<PublicCampaign> {
  const day = today();
  // pages that are not encrypted have no cryptography to verify with, so there is no reason to refuse their addresses
  const collector = await collectorOf({ url: BASE, keys, trustOnFirstUse: true, allowHttp: true }, ask);
  const { trust, terms, termsEnvelope } = await collector.terms(campaign, day, undefined);
  const believed = trustedOn(trust, day);
  const documents = [await signedDocument("terms", terms.sha256, termsEnvelope, believed)];

  const read = async <T extends { sha256: string }>(name: string, reader: (bytes: Uint8Array) => Promise<T>): Promise<T> => {
    const envelope = await get(documentAddress(campaign, name), MAX_LIST_BYTES);
    const document = await naming(name, async () => reader(await verified(readEnvelope(envelope), mediaType(name), believed)));
    documents.push(await signedDocument(name, document.sha256, envelope, believed));
    return document;
  };

  let manifest: Manifest | null = null;
  let list: HeadList | null = null;
  let listBytes: Bytes | null = null;
  let release: Release | null = null;
  if (["reporting", "closing", "signing", "released"].includes(state)) {
    manifest = await read("manifest", readManifest);
    if (!isSameTerms(manifest.terms, terms))
      throw new RefusedError("terms", "The manifest has other terms than those signed before.");
    listBytes = await get(documentAddress(campaign, "list"), MAX_LIST_BYTES);
    list = await naming("list", () => readList(listBytes!));
    if (list.sha256 !== manifest.list_sha256 || list.records !== manifest.records || list.levels !== terms.levels) {
      throw new RefusedError("list", "The list is not the one that the manifest names.");
    }
  }
  if (manifest && state === "released") {
    release = await read("release", readRelease);
    if (release.campaign !== campaign || release.manifest_sha256 !== manifest.sha256) {
      throw new RefusedError("release", "The result is not one of this campaign's list.");
    }
  }
  return { campaign, state, terms, manifest, list, listBytes, release, documents, trust, isKeyKnown: keys.length > 0 };
}

/** Turns whatever is wrong with a document into a refusal that names it. */
async function naming<T>(name: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw new RefusedError(name, `The ${name}: ${(error as Error).message}`);
  }
}

async function signedDocument(name: string, sha256: string, bytes: Bytes, keys: readonly VerifyKey[]): Promise<SignedDocument> {
  const envelope = readEnvelope(bytes);
  const signers: VerifyKey[] = [];
  for (const key of keys) {
    try {
      await verified(envelope, mediaType(name), [key]);
      signers.push(key);
    } catch {
      // not by this one
    }
  }
  return { name, sha256, bytes, signers };
}

/** The index of a release: fetched, held against its signed descriptor, and read. */
import { type Bytes, sha256 } from "../src/bytes.ts";
import type { VerifyKey } from "../src/envelope.ts";
import { MAX_LIST_BYTES } from "../src/http.ts";
import type { SearchIndex } from "../src/search.ts";
import { describedIndex, signedDescriptor } from "../src/signed_index.ts";
import { documentAddress, get } from "./collector.ts";

export interface IndexDocuments {
  /** The signed descriptor: an envelope. */
  readonly descriptor: Bytes;
  readonly index: Bytes;
}

/** The documents of a campaign's index; the index itself is only fetched if it is another than the one at hand. */
export async function fetchIndex(
  campaign: string,
  keys: readonly VerifyKey[],
  known?: IndexDocuments,
): Promise<IndexDocuments> {
  const descriptor = await get(documentAddress(campaign, "index-descriptor"));
  const { sha256: name } = await signedDescriptor(campaign, descriptor, keys);
  if (known && (await sha256(known.index)) === name) return { descriptor, index: known.index };
  return { descriptor, index: await get(documentAddress(campaign, "index"), MAX_LIST_BYTES) };
}

/** The index, if it is the one that a believed key signed for this campaign. */
export const verifiedIndex = async (campaign: string, documents: IndexDocuments, keys: readonly VerifyKey[]): Promise<SearchIndex> =>
  describedIndex(await signedDescriptor(campaign, documents.descriptor, keys), documents.index);

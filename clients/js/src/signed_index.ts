// An index is believed if a trusted key signed its descriptor, and if it is the one that is described.
import { type Bytes, sha256 } from "./bytes.ts";
import { mediaType, readEnvelope, verified, type VerifyKey } from "./envelope.ts";
import { RefusedError } from "./errors.ts";
import { type IndexDescriptor, readIndexDescriptor } from "./search_descriptor.ts";
import { readIndex, type SearchIndex } from "./search_index.ts";

/** The descriptor of a campaign's index, if one of the keys signed it. */
export async function signedDescriptor(campaign: string, envelope: Bytes, keys: readonly VerifyKey[]): Promise<IndexDescriptor> {
  const descriptor = await readIndexDescriptor(await verified(readEnvelope(envelope), mediaType("search-index"), keys));
  return descriptor.campaign === campaign ? descriptor : refuse(campaign);
}

/** The index that is described; refuses any other bytes. */
export async function describedIndex(descriptor: IndexDescriptor, index: Bytes): Promise<SearchIndex> {
  const { campaign, bytes, sha256: hash, release_sha256: release } = descriptor;
  if (index.length !== bytes || (await sha256(index)) !== hash) refuse(campaign);
  const read = await readIndex(index);
  return read.campaign === campaign && read.releaseHash === release ? read : refuse(campaign);
}

function refuse(campaign: string): never {
  throw new RefusedError("index", `The index of ${campaign} is not the one that was signed.`);
}

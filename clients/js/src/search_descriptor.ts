/** What a collector signs about an index: of which release it is, and which bytes it has. */
import { unhex } from "./bytes.ts";
import { checked, readCanonical } from "./canonical.ts";
import { requireCampaign, whole } from "./terms.ts";

export interface IndexDescriptor {
  readonly campaign: string;
  readonly release_sha256: string;
  /** The name of the index, and how many bytes it has. */
  readonly sha256: string;
  readonly bytes: number;
}

export async function readIndexDescriptor(payload: Uint8Array): Promise<IndexDescriptor> {
  const hash = (name: string, digits: any): string => {
    unhex(digits, name, 32);
    return digits;
  };
  const { format: _, ...value } = readCanonical(payload, "index descriptor", ["blendp/search-index-descriptor/1"]);
  const fields = { campaign: requireCampaign, release_sha256: hash, sha256: hash, bytes: whole(1, 8 << 20) };
  return checked(value, "index descriptor", fields);
}

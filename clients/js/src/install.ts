/** How an install is known to a campaign, and to nobody else. */
import { type Bytes, digest, utf8 } from "./bytes.ts";

/** What proves that a deletion request comes from the install that reported. */
export async function deletionKey(secret: Uint8Array, campaign: string): Promise<Bytes> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", secret as Bytes, algorithm, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, utf8(`blendp/deletion/1 ${campaign}`)));
}

/** The pseudonym that belongs to a deletion key: 16 bytes. */
export const pseudonym = async (key: Uint8Array): Promise<Bytes> => (await digest(key)).slice(0, 16);

/** Signed documents: Ed25519 signatures in a DSSE envelope, version 1. */
import { base64, type Bytes, hex, joined, LONE, sha256, text, unhex, utf8 } from "./bytes.ts";
import { ParameterError, RefusedError } from "./errors.ts";

export const mediaType = (name: string): string => `application/vnd.blendp.${name}.v1+json`;

/** A public key and the first 16 digits of its hash. */
export interface VerifyKey {
  readonly text: string;
  readonly id: string;
}

export interface Envelope {
  readonly type: string;
  readonly payload: Bytes;
  readonly signatures: readonly { readonly key: string; readonly value: Bytes }[];
}

/** The digits of a key; throws at points that anybody can sign for, and at second spellings. */
export function requireKey(parameter: string, digits: any): string {
  const field = 2n ** 255n - 19n;
  const y = BigInt.asUintN(255, BigInt(`0x${hex(unhex(digits, parameter, 32).reverse())}`));
  const square = y * y;
  // the orders 4; 1 and 2; 8, where the double has y = 0: -x^2 + y^2 = 1 + dx^2y^2 with x^2 = -y^2, d = -121665/121666
  const weak = y * (square - 1n) * (121_665n * square ** 2n - 243_332n * square + 121_666n);
  if (y >= field || !(weak % field)) {
    throw new ParameterError(parameter, digits, "a sound Ed25519 key");
  }
  return digits;
}

/** A key from its 64 hexadecimal digits. */
export async function readKey(digits: string): Promise<VerifyKey> {
  return { text: requireKey("key", digits), id: (await sha256(unhex(digits, ""))).slice(0, 16) };
}

/** From JSON; verifies nothing. */
export function readEnvelope(bytes: Uint8Array): Envelope {
  try {
    return envelopeOf(JSON.parse(text(bytes)));
  } catch {
    throw new ParameterError("envelope", `${bytes.length} bytes`, "a DSSE envelope");
  }
}

/** From the value of JSON; throws whatever comes if it is none. */
export function envelopeOf({ payload, payloadType, signatures }: any): Envelope {
  if (!(signatures.length < 17)) throw 0;
  return {
    type: string(payloadType),
    payload: base64(string(payload)),
    signatures: signatures.map(({ keyid, sig }: any) => ({ key: string(keyid), value: base64(string(sig)) })),
  };
}

function string(value: unknown): string {
  if (typeof value !== "string" || LONE.test(value)) throw 0;
  return value;
}

/** The payload; throws unless it is of this type and one of the keys signed it. */
export async function verified(envelope: Envelope, type: string, keys: readonly VerifyKey[]): Promise<Bytes> {
  const { payload } = envelope;
  const covered = joined([utf8(`DSSEv1 ${utf8(type).length} ${type} ${payload.length} `), payload]);
  for (const { key, value } of envelope.signatures) {
    const signer = keys.find(({ id }) => id === key);
    try {
      const imported = await crypto.subtle.importKey("raw", unhex(signer!.text, ""), "Ed25519", false, ["verify"]);
      if (envelope.type === type && (await crypto.subtle.verify("Ed25519", imported, value, covered))) return payload;
    } catch {
      // not signed by it, or by nobody that is known
    }
  }
  throw new RefusedError("signature", "No trusted key signed this.");
}

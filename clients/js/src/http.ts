// Requests that say as little as a browser allows about who sends them: no cookies, no redirects, no referrer.
import { type Bytes, joined } from "./bytes.ts";
import { NetworkError, RefusedError } from "./errors.ts";

export const MAX_BYTES = 1 << 20;
export const MAX_LIST_BYTES = 32 << 20;

/** A request takes at most so many milliseconds, from connecting to the last byte of the answer. */
const MAX_TIME = 300_000;

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface Answer {
  status: number;
  body: Bytes;
  retryAfter: string | null;
}

export interface Sending {
  url: string;
  method?: string;
  body?: Bytes | null;
  mediaType?: string | null;
  token?: string | null | undefined;
  maxBytes?: number | undefined;
}

/** The answer to one request; a NetworkError if there is none. The bytes are counted after decompression. */
export async function request(fetch: Fetch, sending: Sending): Promise<Answer> {
  const { url, method = "GET", body = null, mediaType, token, maxBytes = MAX_BYTES } = sending;
  const headers: Record<string, string> = {};
  if (mediaType) headers["Content-Type"] = mediaType;
  if (token) headers["Authorization"] = `Bearer ${token}`;
  try {
    const response = await fetch(url, {
      method,
      headers,
      body,
      credentials: "omit",
      redirect: "manual",
      cache: "no-store",
      referrerPolicy: "no-referrer",
      signal: AbortSignal.timeout(MAX_TIME),
    });
    const parts: Bytes[] = [];
    let room = maxBytes;
    const write = (part: Bytes): void => {
      room -= part.length;
      if (room < 0) throw new RefusedError("document", `${url} sent more than ${maxBytes} bytes.`);
      parts.push(part);
    };
    await response.body?.pipeTo(new WritableStream({ write }));
    return { status: response.status || 302, body: joined(parts), retryAfter: response.headers.get("retry-after") };
  } catch (error) {
    throw error instanceof RefusedError ? error : new NetworkError(`${url} does not answer.`);
  }
}

/** What runs by itself ends when the person says so, and takes no longer than it may. */
import type { Fetch } from "../../src/http.ts";
import { plainFetch } from "./headers.ts";

let running = new AbortController();

/** Ends what runs by itself now: the person agreed to less, or to something else. */
export function stop(): void {
  running.abort();
  running = new AbortController();
}

/** Aborted by `stop`, or after so many seconds. */
export const stoppedAfter = (seconds: number): AbortSignal =>
  AbortSignal.any([running.signal, AbortSignal.timeout(seconds * 1000)]);

/** Asks until this signal is aborted. */
export const fetchUntil =
  (signal: AbortSignal): Fetch =>
  (url, init) =>
    plainFetch(url, { ...init, signal: AbortSignal.any([signal, init.signal!]) });

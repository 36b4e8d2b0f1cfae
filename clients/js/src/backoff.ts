/** When to try again: delay = retry_after + u min(max_delay, 5 s 2^(n-1)). */

export const MAX_DELAY = 3600;
/** If the collector said that it is too late, which its clock may be wrong about. */
export const MAX_DELAY_IF_LATE = 6 * 3600;
export const MAX_WAIT = 14 * 86_400;

/** Seconds until the next attempt, for u uniform on [0, 1). */
export const delay = (attempts: number, u: number, asked = 0, maxDelay = MAX_DELAY): number =>
  asked + u * Math.min(maxDelay, 5 * 2 ** Math.min(attempts - 1, 30));

/**
 * Seconds that a Retry-After header asks for, as digits or as a date in its one form; 0 if it says nothing sensible. Spaces
 * around it are gone already: `Headers` drops them.
 */
export function retryAfter(header: string | null, now: number): number {
  const text = header ?? "";
  const date = new Date(text);
  const isDate = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), /.test(text) && date.toUTCString().slice(5) === text.slice(5);
  const seconds = /^\d+$/.test(text) ? +text.slice(0, 12) : isDate ? +date / 1000 - now : 0;
  return Math.min(Math.max(0, seconds || 0), MAX_WAIT);
}

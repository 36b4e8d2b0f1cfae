/** Asking again and again: only while somebody can see the page, and more and more rarely while nobody answers. */
import { delay } from "../src/backoff.ts";
import { jitter } from "../ui/jitter.ts";

export const EVERY_SECONDS = 10;
export const MAX_SECONDS = 300;

export interface Poll {
  /** Asks now, whatever the clock says. */
  now(): Promise<void>;
  stop(): void;
}

/**
 * Calls `ask` now, and then again so many seconds after each answer. `ask` throws if it failed; what it throws may say in
 * `retryAfter` for how many seconds not to ask. A hidden page asks nothing, and asks at once when it is seen again, if it is
 * time. Nothing more is asked once an answer says that nothing goes on.
 */
export function poll(ask: () => Promise<void>, goesOn: () => boolean = () => true, everySeconds = EVERY_SECONDS): Poll {
  let [failures, due, timer, isStopped] = [0, 0, 0, false];
  let asking: Promise<void> | null = null;
  let isAskedAgain = false;

  async function asked(): Promise<void> {
    let wait = everySeconds;
    try {
      await ask();
      failures = 0;
    } catch (error) {
      const { retryAfter = 0 } = error as { retryAfter?: number };
      wait += Math.min(MAX_SECONDS, delay(++failures, jitter(), retryAfter, MAX_SECONDS));
    }
    asking = null;
    due = Date.now() + 1000 * wait;
    if (!isAskedAgain) return plan();
    isAskedAgain = false;
    return now();
  }
  function now(): Promise<void> {
    clearTimeout(timer);
    isAskedAgain = asking !== null; // an answer that is on its way may be out of date
    return (asking ??= asked());
  }
  function plan(): void {
    clearTimeout(timer);
    if (isStopped || asking || document.hidden || (due && !failures && !goesOn())) return;
    timer = window.setTimeout(() => void now(), Math.max(0, due - Date.now()));
  }

  document.addEventListener("visibilitychange", plan);
  plan();
  return {
    now,
    stop() {
      isStopped = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", plan);
    },
  };
}

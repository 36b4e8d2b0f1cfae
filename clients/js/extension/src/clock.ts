/** Moments in seconds since 1970. */
export const HOUR = 3600;
export const DAY = 24 * HOUR;

export const seconds = (): number => Date.now() / 1000;

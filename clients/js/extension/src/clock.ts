/** Moments in seconds since 1970, and how they are spread. */
export const HOUR = 3600;
export const DAY = 24 * HOUR;

export const seconds = (): number => Date.now() / 1000;

/** Uniform on [0, 1): spreads what many devices do, and hides nothing. */
export const jitter = (): number => crypto.getRandomValues(new Uint32Array(1))[0]! / 2 ** 32;

/** Uniform on [0, 1): spreads what many devices or pages do, and hides nothing. */
export const jitter = (): number => crypto.getRandomValues(new Uint32Array(1))[0]! / 2 ** 32;

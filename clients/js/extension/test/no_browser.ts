// What modules of the extension look for where there is no browser: its interface, with a memory, and its locks.
import "fake-indexeddb/auto";

/** What the fake browser remembers, and what tests make it do. */
export const browser = {
  stored: {} as Record<string, any>,
  rules: [] as any[],
  /** Origins that the person does not allow. */
  forbidden: new Set<string>(),
  /** The data that the person agreed to share, where the browser asks about that; null where it does not. */
  data: null as string[] | null,
  /** Whether the browser refuses to show the state. */
  isBadgeBroken: false,

  /** As after a new install. */
  reset(): Promise<void> {
    Object.assign(browser, { stored: {}, rules: [], forbidden: new Set(), data: null, isBadgeBroken: false });
    return browser.loseDatabase();
  },

  loseDatabase: (): Promise<void> =>
    new Promise((resolve, reject) => {
      const request = indexedDB.deleteDatabase("blendp");
      request.onsuccess = () => resolve();
      request.onerror = () => reject(request.error);
    }),
};

const event = { addListener() {} };
const nothing = async (): Promise<void> => {};
const keysOf = (keys: string | string[] | null): string[] => (keys === null ? Object.keys(browser.stored) : [keys].flat());

(globalThis as any).chrome = {
  action: {
    async setBadgeText() {
      if (browser.isBadgeBroken) throw new Error("no badge");
    },
    setBadgeBackgroundColor: nothing,
    setTitle: nothing,
  },
  alarms: { create: nothing, clearAll: nothing, onAlarm: event },
  declarativeNetRequest: {
    getDynamicRules: async () => browser.rules,
    async updateDynamicRules({ addRules }: { addRules: unknown[] }) {
      browser.rules = addRules;
    },
  },
  permissions: {
    contains: async ({ origins }: { origins: string[] }) => !origins.some((origin) => browser.forbidden.has(origin)),
    getAll: async () => ({ origins: [], ...(browser.data && { data_collection: browser.data }) }),
    onAdded: event,
    onRemoved: event,
  },
  runtime: {
    id: "extension",
    getURL: (path: string) => `chrome-extension://extension/${path}`,
    getManifest: () => ({ version: "0" }),
  },
  scripting: { getRegisteredContentScripts: async () => [], registerContentScripts: nothing, unregisterContentScripts: nothing },
  storage: {
    local: {
      get: async (keys: string | string[] | null) =>
        structuredClone(Object.fromEntries(keysOf(keys).map((key) => [key, browser.stored[key]]))),
      async set(items: object) {
        Object.assign(browser.stored, structuredClone(items));
      },
      async remove(keys: string[]) {
        for (const key of keys) delete browser.stored[key];
      },
      async clear() {
        browser.stored = {};
      },
    },
    onChanged: event,
  },
};

/** Locks as a browser has them: who asks later waits. */
const lines = new Map<string, Promise<unknown>>();
const request = (name: string, act: () => Promise<unknown>): Promise<unknown> => {
  const turn = (lines.get(name) ?? Promise.resolve()).then(act);
  lines.set(name, turn.catch(() => {}));
  return turn;
};
Object.defineProperty(globalThis, "navigator", { value: { locks: { request } }, configurable: true });

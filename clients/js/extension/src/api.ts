/** What the extension uses of a browser's interface, which Chromium calls `chrome` and Firefox `browser`. */

export interface Origins {
  origins?: string[];
  /** Firefox asks about data beside hosts. */
  data_collection?: string[];
}

/** What Firefox asks about, beside hosts, for what this extension does. */
export const DATA: readonly string[] = ["searchTerms", "browsingActivity"];

/** Who sent a message; the browser says so, not the sender. */
export interface Sender {
  id?: string;
  url?: string;
}

interface Event<Listener> {
  addListener(listener: Listener): void;
}

export interface ContentScript {
  id: string;
  matches: string[];
  js: string[];
  runAt: "document_start";
  persistAcrossSessions: boolean;
}

export interface Rule {
  id: number;
  action: { type: "modifyHeaders"; requestHeaders: { header: string; operation: "remove" | "set"; value?: string }[] };
  condition: { requestDomains: string[]; initiatorDomains: string[]; resourceTypes: string[] };
}

export interface Suggestion {
  content: string;
  description: string;
}

interface Api {
  action: {
    setBadgeText(details: { text: string }): Promise<void>;
    setBadgeBackgroundColor(details: { color: string }): Promise<void>;
    setBadgeTextColor?(details: { color: string }): Promise<void>;
    setTitle(details: { title: string }): Promise<void>;
  };
  alarms: {
    create(name: string, details: { when: number }): Promise<void>;
    clearAll(): Promise<boolean>;
    onAlarm: Event<() => void>;
  };
  declarativeNetRequest: {
    getDynamicRules(): Promise<Rule[]>;
    updateDynamicRules(change: { addRules?: Rule[]; removeRuleIds?: number[] }): Promise<void>;
  };
  management: { uninstallSelf(options: { showConfirmDialog: boolean }): Promise<void> };
  /** Not in every browser. */
  omnibox?: {
    setDefaultSuggestion(suggestion: { description: string }): void;
    onInputChanged: Event<(text: string, suggest: (suggestions: Suggestion[]) => void) => void>;
    onInputEntered: Event<(text: string, where: "currentTab" | "newForegroundTab" | "newBackgroundTab") => void>;
  };
  permissions: {
    contains(wanted: Origins): Promise<boolean>;
    getAll(): Promise<Origins>;
    request(wanted: Origins): Promise<boolean>;
    remove(unwanted: Origins): Promise<boolean>;
    onAdded: Event<() => void>;
    onRemoved: Event<() => void>;
  };
  runtime: {
    id: string;
    getURL(path: string): string;
    getManifest(): { version: string };
    sendMessage(message: unknown): Promise<any>;
    onInstalled: Event<(details: { reason: string }) => void>;
    onStartup: Event<() => void>;
    onMessage: Event<(message: any, sender: Sender, reply: (answer: unknown) => void) => true | void>;
  };
  scripting: {
    getRegisteredContentScripts(): Promise<ContentScript[]>;
    registerContentScripts(scripts: ContentScript[]): Promise<void>;
    unregisterContentScripts(): Promise<void>;
  };
  storage: {
    local: {
      get(keys: string | string[] | null): Promise<Record<string, any>>;
      set(items: Record<string, unknown>): Promise<void>;
      remove(keys: string[]): Promise<void>;
      clear(): Promise<void>;
      /** Chromium only: without it content scripts could read what is kept. */
      setAccessLevel?(access: { accessLevel: "TRUSTED_CONTEXTS" }): Promise<void>;
    };
    onChanged: Event<() => void>;
  };
  tabs: {
    create(details: { url: string; active?: boolean }): Promise<unknown>;
    update(details: { url: string }): Promise<unknown>;
  };
}

const { browser, chrome } = globalThis as unknown as { browser?: Api; chrome: Api };

export const api: Api = browser ?? chrome;

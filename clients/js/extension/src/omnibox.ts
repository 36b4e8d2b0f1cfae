/** Suggestions in the address bar, from the latest release that is kept. This sends nothing; the bar is the browser's own. */
import { utf8 } from "../../src/bytes.ts";
import { readIndex, type SearchIndex } from "../../src/search.ts";
import { visible, webAddress, withError } from "../../ui/texts.ts";
import { api, type Suggestion } from "./api.ts";
import { indexKey, readState } from "./state.ts";

const MAX_SUGGESTIONS = 6;

let latest: { sha256: string; index: SearchIndex } | null = null;

/** The latest release that is kept; null if there is none. */
async function latestIndex(): Promise<SearchIndex | null> {
  const [line] = (await readState()).indexes;
  if (!line) return null;
  if (latest?.sha256 !== line.sha256) {
    const key = indexKey(line);
    latest = { sha256: line.sha256, index: await readIndex(utf8((await api.storage.local.get(key))[key])) };
  }
  return latest.index;
}

/** Chromium reads descriptions as XML. */
const escaped = (text: string): string =>
  api.runtime.getURL("").startsWith("chrome") ? text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`) : text;

export async function suggestionsFor(text: string): Promise<Suggestion[]> {
  const index = await latestIndex();
  if (!index) return [];
  const suggestions = new Map<string, Suggestion>();
  for (const { query, url, share, error } of index.search(text, MAX_SUGGESTIONS).results) {
    const content = webAddress(url) ?? query;
    const address = url === null ? "" : ` – ${visible(url)}`;
    if (!suggestions.has(content))
      suggestions.set(content, {
        content,
        description: escaped(`${visible(query)}${address} · ${withError(share, error)} · ${index.released}`),
      });
  }
  return [...suggestions.values()];
}

/** Opens the address that was chosen, or the search page with what was typed. */
async function open(text: string, where: string): Promise<void> {
  const url = webAddress(text) ?? api.runtime.getURL(`page.html#search=${encodeURIComponent(text)}`);
  if (where === "currentTab") await api.tabs.update({ url });
  else await api.tabs.create({ url, active: where === "newForegroundTab" });
}

export function offerSuggestions(): void {
  api.omnibox?.setDefaultSuggestion({ description: "Popular searches that are kept on this device" });
  api.omnibox?.onInputChanged.addListener((text, suggest) => {
    suggestionsFor(text).then(suggest, () => suggest([]));
  });
  api.omnibox?.onInputEntered.addListener((text, where) => void open(text, where));
}

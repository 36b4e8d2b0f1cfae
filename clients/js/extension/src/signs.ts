/** What the browser is told of the state: which pages are observed, whose headers are kept back, and the badge. */
import { api, type ContentScript } from "./api.ts";
import { seconds } from "./clock.ts";
import { condition } from "./condition.ts";
import { keepHeaders } from "./headers.ts";
import { isActive, readState, type State } from "./state.ts";

const BADGES = { off: "off", on: "on", paused: "hold", stopped: "stop", leaving: "bye" };

/** The addresses of engines that are on and allowed. */
export async function observed({ engines }: State): Promise<string[]> {
  const hosts = [...new Set(engines.filter(({ on }) => on).flatMap((engine) => engine.hosts))];
  const allowed = await Promise.all(hosts.map((host) => api.permissions.contains({ origins: [host] })));
  return hosts.filter((_, i) => allowed[i]);
}

/** Brings the browser to what the state says, one caller after the other. */
export const showState = (): Promise<void> =>
  navigator.locks.request("blendp signs", async () => {
    const state = await readState();
    const now = seconds();
    const { word, reason } = await condition(state, now);
    await keepHeaders(state.hosts);
    const isObserving = isActive(state, now) && word === "on";
    await observe(isObserving ? await observed(state) : []);
    await api.action.setBadgeText({ text: BADGES[word] });
    await api.action.setBadgeBackgroundColor({ color: word === "on" ? "#005f96" : word === "stopped" ? "#8a1c00" : "#5c6670" });
    await api.action.setBadgeTextColor?.({ color: "#ffffff" });
    await api.action.setTitle({ title: `blendp: ${word}${reason ? `. ${reason}` : ""}` });
  });

/** Runs the content script on these pages and no others. */
async function observe(matches: string[]): Promise<void> {
  const [before] = await api.scripting.getRegisteredContentScripts();
  if (JSON.stringify(before?.matches ?? []) === JSON.stringify(matches)) return;
  if (before) await api.scripting.unregisterContentScripts();
  const script: ContentScript = {
    id: "engines",
    matches,
    js: ["content.js"],
    runAt: "document_start",
    persistAcrossSessions: true,
  };
  if (matches.length) await api.scripting.registerContentScripts([script]);
}

/**
 * What a collector learns from a request: no more than from the client in Python. A browser would add the language, itself,
 * and in Firefox an origin that names this very install, by which all campaigns of a person could be put together.
 */
import type { Fetch } from "../../src/http.ts";
import { NetworkError } from "../../src/errors.ts";
import { api, type Rule } from "./api.ts";

const REMOVED = [
  "accept-language", "cookie", "dnt", "origin", "priority", "referer", "sec-ch-ua", "sec-ch-ua-mobile",
  "sec-ch-ua-platform", "sec-fetch-dest", "sec-fetch-mode", "sec-fetch-site", "sec-fetch-storage-access",
  "sec-fetch-user", "sec-gpc", "te", "upgrade-insecure-requests", "x-client-data",
]; // prettier-ignore
const SET = { "user-agent": "blendp", "accept-encoding": "identity" };

/** The match pattern by which a browser is asked for permission to talk to a host. */
export const originPattern = (url: string): string => {
  const { protocol, hostname } = new URL(url);
  return `${protocol}//${hostname}/*`;
};

/** One rule for what this extension, and nobody else, sends to these hosts. */
export const ruleFor = (hosts: string[]): Rule => ({
  id: 1,
  action: {
    type: "modifyHeaders",
    requestHeaders: [
      ...REMOVED.map((header) => ({ header, operation: "remove" as const })),
      ...Object.entries(SET).map(([header, value]) => ({ header, operation: "set" as const, value })),
    ],
  },
  condition: {
    requestDomains: hosts,
    initiatorDomains: [new URL(api.runtime.getURL("")).host],
    resourceTypes: ["xmlhttprequest", "other"],
  },
});

/** Puts the rule in force for these hosts, instead of what was in force before. */
export async function keepHeaders(hosts: string[]): Promise<void> {
  const before = await api.declarativeNetRequest.getDynamicRules();
  await api.declarativeNetRequest.updateDynamicRules({
    removeRuleIds: before.map(({ id }) => id),
    addRules: hosts.length ? [ruleFor(hosts)] : [],
  });
}

/**
 * Sends nothing unless the browser will keep the headers back: that needs the person's permission and the rule. What is
 * written is never cached, so it needs no header that says so; the priority is that which no header names.
 */
export const plainFetch: Fetch = async (url, init) => {
  const { hostname } = new URL(url);
  const isAllowed = await api.permissions.contains({ origins: [originPattern(url)] });
  const [rule] = await api.declarativeNetRequest.getDynamicRules();
  if (!isAllowed || !rule?.condition.requestDomains.includes(hostname))
    throw new NetworkError(`The browser does not allow to talk to ${hostname} without headers that tell about you.`);
  return fetch(url, { ...init, priority: "high", cache: init.method === "GET" ? "no-store" : "default" });
};

/** Search engines as data: where their result pages are, what was asked there, and which links are results. */
import { ParameterError } from "../../src/errors.ts";
import { HIDDEN } from "../../src/terms.ts";

export interface Engine {
  readonly name: string;
  /** Match patterns of whole hosts, as a browser asks for permission. */
  readonly hosts: readonly string[];
  /** The parameter of a result page's address that holds the query. */
  readonly query: string;
  /** A CSS selector of the links that are results. */
  readonly results: string;
  /** The parameter that holds the result's address where a link leads over the engine's own host; null if none does. */
  readonly redirect: string | null;
}

/** An engine, and whether the person switched it on. */
export interface SwitchedEngine extends Engine {
  readonly on: boolean;
}

export const MAX_ENGINES = 30;
export const MAX_HOSTS = 20;
export const MAX_SELECTOR = 500;

/** A whole host, or all below a domain of at least two labels; without encryption only this machine. */
const HOST =
  /^(https):\/\/(\*\.)?((?:[a-z0-9-]+\.)+[a-z0-9-]*[a-z][a-z0-9-]*)\/\*$|^(http):\/\/()(127\.0\.0\.1|localhost)\/\*$/;
const PARAMETER = /^[\w.~-]{1,60}$/;

const isText = (value: unknown, max: number): value is string =>
  typeof value === "string" && value.length <= max && value.trim() !== "" && !HIDDEN.test(value);

/** The engine that a value describes; refuses every other. Whether the selector is one, only a page can tell. */
export function requireEngine(value: any): Engine {
  const { name, hosts, query, results, redirect = null } = Object(value);
  if (!isText(name, 40)) throw new ParameterError("name", name, "1 to 40 visible characters");
  if (!Array.isArray(hosts) || !hosts.length || hosts.length > MAX_HOSTS)
    throw new ParameterError("hosts", hosts, `1 to ${MAX_HOSTS} patterns such as https://www.example.org/*`);
  for (const host of hosts)
    if (typeof host !== "string" || !HOST.test(host))
      throw new ParameterError("hosts", host, "of the form https://www.example.org/* or https://*.example.org/*");
  if (typeof query !== "string" || !PARAMETER.test(query))
    throw new ParameterError("query", query, "the name of a parameter, such as q");
  if (!isText(results, MAX_SELECTOR))
    throw new ParameterError("results", results, `a CSS selector of 1 to ${MAX_SELECTOR} characters`);
  if (redirect !== null && (typeof redirect !== "string" || !PARAMETER.test(redirect)))
    throw new ParameterError("redirect", redirect, "the name of a parameter, such as url, or nothing");
  return { name: name.trim(), hosts: [...hosts], query, results: results.trim(), redirect };
}

/** Engines of different names; refuses the first that is none. */
export function requireEngines(values: any): SwitchedEngine[] {
  if (!Array.isArray(values) || values.length > MAX_ENGINES)
    throw new ParameterError("engines", values, `at most ${MAX_ENGINES}`);
  const engines = values.map((value) => ({ ...requireEngine(value), on: value.on === true }));
  engines.forEach(({ name }, i) => {
    if (engines.findIndex((one) => one.name === name) < i) throw new ParameterError("name", name, "of one engine only");
  });
  return engines;
}

function isOnHost(pattern: string, { protocol, hostname }: URL): boolean {
  const [, secure, wild, domain, plain, , local] = HOST.exec(pattern) ?? [];
  if (protocol !== `${secure ?? plain}:`) return false;
  return hostname === (domain ?? local) || (!!wild && hostname.endsWith(`.${domain}`));
}

const urlOf = (text: unknown): URL | null => (typeof text === "string" && URL.canParse(text) ? new URL(text) : null);

/** The first engine whose pages have this address. */
export function engineAt<E extends Engine>(engines: readonly E[], address: unknown): E | undefined {
  const url = urlOf(address);
  return url ? engines.find(({ hosts }) => hosts.some((host) => isOnHost(host, url))) : undefined;
}

/** What was asked on a result page; null if it is none. */
export const queryAt = (engine: Engine, address: unknown): string | null =>
  urlOf(address)?.searchParams.get(engine.query)?.trim() || null;

/**
 * Where a result leads, spelt as the link spells it. A link to the engine's own host leads over it, to the address in its
 * parameter; without one it is no result.
 */
export function targetOf(engine: Engine, link: unknown): string | null {
  const url = urlOf(link);
  if (!url || !/^https?:$/.test(url.protocol)) return null;
  if (!engineAt([engine], link)) return link as string;
  const target = engine.redirect && url.searchParams.get(engine.redirect);
  return target && /^https?:\/\//i.test(target) && urlOf(target) && !engineAt([engine], target) ? target : null;
}

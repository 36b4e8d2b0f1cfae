/** The service worker of a search page: keeps the page and what it is made of, and answers with it. It sees no other page. */

export {};

/** Put in when this is built: the files beside the page, and a name that changes with any of them. */
declare const ASSETS: readonly string[];
declare const VERSION: string;

const worker = self as unknown as EventTarget & {
  readonly registration: { readonly scope: string };
  readonly clients: { claim(): Promise<void> };
  skipWaiting(): Promise<void>;
};

const page = worker.registration.scope;
const beside = [new URL("search.webmanifest", page).href, ...ASSETS.map((name) => new URL(`../../assets/${name}`, page).href)];
const prefix = `${page} page `;
const current = prefix + VERSION;

/** All files, or none: a page of two versions would not work. */
async function install(): Promise<void> {
  const cache = await caches.open(current);
  await cache.addAll([page, ...beside].map((url) => new Request(url, { cache: "no-cache", credentials: "omit" })));
  await worker.skipWaiting();
}

async function activate(): Promise<void> {
  for (const other of await caches.keys()) if (other.startsWith(prefix) && other !== current) await caches.delete(other);
  await worker.clients.claim();
}

async function answer(url: string, request: Request): Promise<Response> {
  return (await (await caches.open(current)).match(url)) ?? fetch(request);
}

worker.addEventListener("install", (event: any) => event.waitUntil(install()));
worker.addEventListener("activate", (event: any) => event.waitUntil(activate()));
worker.addEventListener("fetch", (event: any) => {
  const { request } = event;
  const url = request.url.replace(/[?#].*$/s, "");
  if (request.method === "GET" && (beside.includes(url) || url === page)) event.respondWith(answer(url, request));
});

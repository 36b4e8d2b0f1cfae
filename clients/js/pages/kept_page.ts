/** Keeps the search page itself in the browser, by a service worker that knows this page and no other. */

/** The page's address, and all that its worker may see. */
export const PAGE = new URL("search", location.href).href;

const WORKER = new URL("search-worker.js", location.href).href;

/** The worker's address as browsers that know Trusted Types want it, before they run a script from there. */
function trusted(): string {
  const { trustedTypes } = globalThis as any;
  const createScriptURL = (url: string): string => {
    if (url !== WORKER) throw new TypeError(`${url}: not the worker of this page`);
    return url;
  };
  return trustedTypes?.createPolicy("blendp-search-worker", { createScriptURL }).createScriptURL(WORKER) ?? WORKER;
}

const { serviceWorker } = navigator;
let worker: string | undefined; // a policy is made once
let isNewer = false;
let tell = (): void => {};

// a page that a worker brought may see the next one take over at any time
if (serviceWorker?.controller) {
  serviceWorker.addEventListener("controllerchange", () => {
    isNewer = true;
    tell();
  });
}

/** Has the page kept; whether a newer version of it is by now, and a call when that comes later. Throws where nothing is kept. */
export async function keepPage(onUpdate: () => void): Promise<boolean> {
  tell = onUpdate;
  await serviceWorker.register((worker ??= trusted()), { scope: PAGE, updateViaCache: "none" });
  await serviceWorker.ready;
  return isNewer;
}

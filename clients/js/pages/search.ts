/** The search page of a campaign: once it was loaded it works without a network. What is typed never leaves it. */
import type { Bytes } from "../src/bytes.ts";
import { collectorOf, type Offer } from "../src/collector.ts";
import { mediaType, readEnvelope, readKey, verified } from "../src/envelope.ts";
import { NetworkError, RefusedError } from "../src/errors.ts";
import { trustedOn, type Trust } from "../src/keys.ts";
import type { SearchIndex } from "../src/search.ts";
import { readTerms, type Terms } from "../src/terms.ts";
import { element, fill } from "../ui/elements.ts";
import { searchBox } from "../ui/search_box.ts";
import { count, visible } from "../ui/texts.ts";
import { BASE, campaignOfAddress, documentAddress, stateOf, today } from "./collector.ts";
import { failure } from "./outcome.ts";
import { fetchIndex, type IndexDocuments, verifiedIndex } from "./released_index.ts";
import { keepPage, PAGE } from "./kept_page.ts";

const main = document.querySelector("main")!;
const campaign = campaignOfAddress();
const DOCUMENTS = `${PAGE} documents`;
const KEYS = `${BASE}/v1/keys`;

/** What a visit leaves in the browser: verified documents, and the keys that they were verified with. */
interface Kept extends IndexDocuments {
  readonly trust: Trust;
  readonly terms: Bytes;
}

const NEWER = "A new version of this page is ready, and is used when you open the page again.";
const NAMES = { descriptor: "index-descriptor", index: "index", terms: "terms" } as const;

async function keptDocuments(): Promise<Kept | null> {
  const cache = await caches.open(DOCUMENTS);
  const read = async (url: string): Promise<Bytes | null> => {
    const response = await cache.match(url);
    return response ? new Uint8Array(await response.arrayBuffer()) : null;
  };
  const [keys, descriptor, index, terms] = await Promise.all([
    read(KEYS),
    ...Object.values(NAMES).map((name) => read(documentAddress(campaign, name))),
  ]);
  if (!keys || !descriptor || !index || !terms) return null;
  const lines: [string, string | null][] = JSON.parse(new TextDecoder().decode(keys));
  const trust = await Promise.all(lines.map(async ([key, until]) => [await readKey(key), until] as const));
  return { trust, descriptor, index, terms };
}

/** The keys come last: without them nothing that was kept is used. */
async function keep({ trust, ...documents }: Kept): Promise<void> {
  const cache = await caches.open(DOCUMENTS);
  await cache.delete(KEYS);
  for (const [part, name] of Object.entries(NAMES)) {
    await cache.put(documentAddress(campaign, name), new Response(documents[part as keyof typeof NAMES]));
  }
  await cache.put(KEYS, new Response(JSON.stringify(trust.map(([key, until]) => [key.text, until]))));
}

/** What is kept, verified again. Its keys counted when it was fetched; whether they still do is seen at the next visit. */
async function opened(kept: Kept): Promise<[Terms, SearchIndex]> {
  const keys = kept.trust.map(([key]) => key);
  const terms = await readTerms(await verified(readEnvelope(kept.terms), mediaType("terms"), keys));
  return [terms, await verifiedIndex(campaign, kept, keys)];
}

/** What the collector has now, verified with keys that follow from the kept ones; null before the release. */
async function fetched(kept: Kept | null): Promise<[Offer, Kept | null]> {
  const state = await stateOf(campaign);
  const collector = await collectorOf({ url: BASE, trustOnFirstUse: true, allowHttp: true }, fetch.bind(globalThis));
  const offer = await collector.terms(campaign, today(), kept?.trust);
  if (state !== "released") return [offer, null];
  const keys = trustedOn(offer.trust, today());
  const documents = await fetchIndex(campaign, keys, kept ?? undefined);
  await verifiedIndex(campaign, documents, keys);
  return [offer, { ...documents, trust: offer.trust, terms: offer.termsEnvelope }];
}

/** The kept copy at once, if there is one; then what is new. */
async function show(): Promise<void> {
  main.setAttribute("aria-busy", "true");
  let kept: Kept | null = null;
  let isShown = false;
  try {
    kept = await keptDocuments();
    if (kept) {
      showSearch(...(await opened(kept)));
      isShown = true;
    }
  } catch {
    kept = null; // what is not whole is as good as nothing
  }
  try {
    const [{ terms }, current] = await fetched(kept);
    if (!current) showWaiting(terms);
    else {
      if (!kept || !isSame(kept.index, current.index)) showSearch(...(await opened(current)));
      isShown = true;
      await offline(current);
    }
  } catch (error) {
    if (!isShown) fill(main, ...failure(error, { label: "Try again", go: show }));
    else if (error instanceof NetworkError) tell("The collector cannot be reached. This is the copy that your browser keeps.");
    else if (error instanceof RefusedError && error.reason === "not-found")
      tell("The collector has this campaign no more. This is the copy that your browser keeps.");
    else warn(error as Error);
  }
  main.removeAttribute("aria-busy");
}

/** Has the browser keep it all, and says whether it does. */
async function offline(current: Kept): Promise<void> {
  fill(warning);
  const kept = "Kept in this browser: it works without a network from now on.";
  try {
    await keep(current);
    tell((await keepPage(() => tell(`${kept} ${NEWER}`))) ? `${kept} ${NEWER}` : kept);
  } catch {
    tell("This browser does not keep the page, so it needs a network the next time.");
  }
}

const isSame = (one: Bytes, other: Bytes): boolean => one.length === other.length && one.every((byte, i) => byte === other[i]);

const status = element("p", { class: "quiet", role: "status" });
const warning = element("div", { "aria-live": "assertive" });

function tell(sentence: string): void {
  status.textContent = sentence;
}

/** The new documents are not believed; the old ones still are. */
function warn(error: Error): void {
  fill(
    warning,
    element(
      "div",
      { class: "bad" },
      element("h2", {}, "What the collector sends now is not believed"),
      element("p", {}, visible(error.message)),
      element(
        "p",
        {},
        "It is not signed as what your browser keeps, so the search goes on with that copy. If the organisation says that it " +
          "has changed its keys, remove the search below and load it again.",
      ),
    ),
  );
}

function showSearch(terms: Terms, index: SearchIndex): void {
  const { box, input } = searchBox({
    search: (text) => index.search(text),
    released: index.released,
    label: "Search what is popular",
    hint: "Type: answers come from this browser. What you type is sent to nobody.",
  });
  document.title = `Search: ${visible(terms.title)}`;
  fill(
    main,
    heading(terms),
    warning,
    box,
    element(
      "section",
      { class: "card", "aria-labelledby": "about" },
      element("h2", { id: "about" }, "About these answers"),
      element(
        "p",
        {},
        `${count(index.records)} records, released on ${index.released}. Every share is an estimate from randomised reports, with its standard error.`,
      ),
      element("p", {}, "✓ The index is signed, and this browser verified it."),
      status,
      element("p", {}, element("button", { type: "button", onclick: forget }, "Remove this search from the browser")),
    ),
  );
  if (matchMedia("(hover: hover)").matches) input.focus(); // a keyboard on the screen would hide the page
}

function heading(terms: Terms): HTMLElement {
  return element(
    "div",
    {},
    element("h1", {}, element("bdi", {}, visible(terms.title))),
    element(
      "p",
      {},
      "Asked by ",
      element("bdi", {}, visible(terms.organisation)),
      ". ",
      element("a", { href: `${BASE}/campaigns/${campaign}` }, "About this campaign"),
    ),
  );
}

function showWaiting(terms: Terms): void {
  fill(
    main,
    heading(terms),
    element(
      "div",
      { class: "card" },
      element("h2", {}, "There is no result yet"),
      element(
        "p",
        {},
        `Devices report until ${terms.reports_until}; the result comes after that. Then you can search it here, also offline.`,
      ),
      element("p", {}, element("button", { type: "button", onclick: show }, "Look again")),
    ),
  );
}

/** Removes all that visits left in the browser. */
async function forget(): Promise<void> {
  const registration = await navigator.serviceWorker?.getRegistration(PAGE);
  await registration?.unregister();
  for (const name of await caches.keys()) if (name.startsWith(`${PAGE} `)) await caches.delete(name);
  fill(
    main,
    element("h1", {}, "Removed"),
    element("p", { class: "lead" }, "This browser keeps nothing of this search any more."),
    element("p", {}, element("button", { type: "button", onclick: show }, "Load it again")),
  );
}

await show();

// What surrounds the extension in tests: a collector over real HTTP that can die and lie, and a search engine.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Bytes, sha256, utf8 } from "../../src/bytes.ts";
import { buildIndex } from "../../src/search.ts";
import { canonical, FakeCollector, type Fields, Float, sealed, URL_ } from "../../test/device_fake.ts";

const DAY = 86_400_000;

/** The day so many days from now. */
export const dayFromNow = (days: number): string => new Date(Date.now() + days * DAY).toISOString().slice(0, 10);

/** Days of a campaign that takes reports now, and of one that takes opt-in records. */
export const REPORTING: Fields = { opens: dayFromNow(-20), opt_in_until: dayFromNow(-9), reports_until: dayFromNow(13) };
export const OPTING: Fields = { opens: dayFromNow(-2), opt_in_until: dayFromNow(5), reports_until: dayFromNow(20) };

export interface Seen {
  readonly method: string;
  readonly path: string;
  /** Names in lower case, as they came. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

async function bodyOf(incoming: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of incoming) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

abstract class LocalServer {
  private server: Server | null = null;
  protected port = 0;

  abstract answer(incoming: IncomingMessage, answer: ServerResponse): Promise<void>;

  /** On a port of its own, and on the same one again after it died. */
  async live(): Promise<this> {
    this.server = createServer((incoming, answer) => void this.answer(incoming, answer).catch(() => answer.destroy()));
    this.server.keepAliveTimeout = 1000;
    await new Promise<void>((resolve) => this.server!.listen(this.port, "127.0.0.1", resolve));
    this.port = (this.server.address() as AddressInfo).port;
    return this;
  }

  async die(): Promise<void> {
    const { server } = this;
    this.server = null;
    server?.closeAllConnections();
    await new Promise((resolve) => (server ? server.close(resolve) : resolve(null)));
  }
}

/** Campaigns that are signed by one key, and what was asked of them. */
export class CollectorServer extends LocalServer {
  readonly campaigns = new Map<string, { fake: FakeCollector; phase: string }>();
  /** What was asked since this was emptied, and everything that was ever written. */
  seen: Seen[] = [];
  readonly writes: Seen[] = [];
  /** Runs before a request is answered. */
  before: (seen: Seen) => Promise<void> | void = () => {};

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get key(): string {
    return this.first.key.text;
  }

  get first(): FakeCollector {
    return [...this.campaigns.values()][0]!.fake;
  }

  fake(campaign: string): FakeCollector {
    return this.campaigns.get(campaign)!.fake;
  }

  async add(campaign: string, terms: Fields = {}, phase = "reporting", manifest: Fields = {}): Promise<FakeCollector> {
    const days = phase === "opt-in" ? OPTING : REPORTING;
    const fake = await FakeCollector.new({ ...days, campaign, title: `What is searched: ${campaign}`, ...terms }, undefined, {
      published: dayFromNow(-8),
      ...manifest,
    });
    if (this.campaigns.size) {
      fake.key = this.first.key;
      fake.keysDocument = this.first.keysDocument;
      await fake.publish();
    }
    if (phase === "opt-in") fake.served.delete(fake.path("manifest"));
    this.campaigns.set(campaign, { fake, phase });
    return fake;
  }

  /** Releases a result about the campaign's list, with its index. */
  async release(campaign: string, released = dayFromNow(0)): Promise<void> {
    const fake = this.fake(campaign);
    this.campaigns.get(campaign)!.phase = "released";
    const queries = (fake.list as { queries: { query: string; urls: string[] }[] }).queries;
    const estimates = queries.flatMap(({ query, urls }, i) =>
      urls.map((url) => ({ query, url, probability: new Float(String(0.05 / (i + 1))), std_error: new Float("0.001") })),
    );
    const release = utf8(
      canonical({
        format: "blendp/release/1", campaign, manifest_sha256: await sha256(fake.manifestBytes), released, card: {},
        estimates, trends: [], groups: {},
      }), // prettier-ignore
    );
    const index = await buildIndex(release);
    fake.serve("release", await sealed("release", release, fake.key));
    await this.serveIndex(campaign, index, await sha256(release));
  }

  async serveIndex(campaign: string, index: Bytes, release: string, served = index): Promise<void> {
    const fake = this.fake(campaign);
    const descriptor = {
      format: "blendp/search-index-descriptor/1",
      campaign,
      release_sha256: release,
      sha256: await sha256(index),
      bytes: index.length,
    };
    fake.serve("index-descriptor", await sealed("search-index", utf8(canonical(descriptor)), fake.key));
    fake.served.set(fake.path("index"), served);
  }

  async answer(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    const headers = Object.fromEntries(
      incoming.rawHeaders.flatMap((name, i, all) => (i % 2 ? [] : [[name.toLowerCase(), all[i + 1]!]])),
    );
    const body = await bodyOf(incoming);
    const seen: Seen = { method: incoming.method!, path: incoming.url!, headers, body: body.toString() };
    this.seen.push(seen);
    if (seen.method !== "GET") this.writes.push(seen);
    await this.before(seen);
    const name = /^\/v1\/campaigns\/([^/]+)\//.exec(seen.path)?.[1];
    if (seen.path === "/v1/campaigns") {
      const lines = [...this.campaigns].map(([campaign, { fake, phase }]) => ({
        campaign,
        title: fake.terms["title"],
        state: phase,
      }));
      answer.setHeader("content-type", "application/json").end(JSON.stringify({ campaigns: lines }));
      return;
    }
    const fake = name ? this.campaigns.get(name)?.fake : this.first;
    if (!fake) return void answer.writeHead(404).end();
    const init = { method: seen.method, headers, ...(body.length && { body: new Uint8Array(body) }) };
    const response = await fake.fetch(URL_ + seen.path, init);
    answer.writeHead(response.status, { "content-type": "application/json" }).end(Buffer.from(await response.arrayBuffer()));
  }
}

const escaped = (text: string): string => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** A search engine with results of all kinds; what is chosen leads to another host name of the same server. */
export class EngineServer extends LocalServer {
  get url(): string {
    return `http://localhost:${this.port}`;
  }

  get target(): string {
    return `http://127.0.0.1:${this.port}/target`;
  }

  readonly data = { name: "Fake", hosts: ["http://localhost/*"], query: "q", results: "#results a.result", redirect: "to" };

  async answer(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    const url = new URL(incoming.url!, this.url);
    answer.setHeader("content-type", "text/html; charset=utf-8");
    if (url.pathname !== "/search") return void answer.end("<!doctype html><title>elsewhere</title><p>elsewhere");
    const link = (id: string, href: string, more = ""): string =>
      `<p><a class=result id=${id} href="${escaped(href)}" ${more}>${id}</a></p>`;
    const over = `/out?x=1&to=${encodeURIComponent(`${this.target}/over`)}`;
    answer.end(`<!doctype html><title>${escaped(url.searchParams.get("q") ?? "")}</title>
<p><a id=own href="/search?q=other">more results</a> <a id=advert href="${this.target}/advert">advert</a></p>
<div id=results>${link("plain", `${this.target}/plain`)}${link("over", over)}${link("blind", "/out?x=1")}
${link("blank", `${this.target}/blank`, "target=_blank")}${link("middle", `${this.target}/middle`)}
${link("key", `${this.target}/key`)}${link("nested", `${this.target}/nested`).replace(">nested<", "><b id=bold>nested</b><")}</div>
<button id=fake>fire clicks</button>
<script>
  document.getElementById("fake").onclick = () => {
    for (const type of ["click", "auxclick"])
      document.getElementById("plain").dispatchEvent(new MouseEvent(type, { bubbles: true, cancelable: true, button: type === "click" ? 0 : 1 }));
    document.getElementById("blank").click();
  };
  const results = document.getElementById("results");
  for (const type of ["click", "auxclick"])
    results.addEventListener(type, (event) => { if (new URLSearchParams(location.search).has("stay")) event.preventDefault(); event.stopPropagation(); });
  setTimeout(() => { const more = document.createElement("a"); Object.assign(more, { className: "result", id: "later", href: "${this.target}/later", textContent: "later" }); results.append(more); });
</script>`);
  }
}

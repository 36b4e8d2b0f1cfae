// The calls of the vectors: each takes the input of a case and gives its output, or throws with a reason.
import { readAnswer } from "../src/answers.ts";
import { wildcardApart } from "../src/apart.ts";
import { delay, MAX_DELAY, MAX_DELAY_IF_LATE, retryAfter } from "../src/backoff.ts";
import { hex, sha256, text, unhex, utf8 } from "../src/bytes.ts";
import { requireDay } from "../src/days.ts";
import { readEnvelope, readKey, verified } from "../src/envelope.ts";
import { ParameterError } from "../src/errors.ts";
import { shareCoin } from "../src/exact.ts";
import { explain, oddsSentence, optInSentence, promiseSentence } from "../src/explanation.ts";
import { deletionKey, pseudonym } from "../src/install.ts";
import { following, readKeyStatement, trustedOn } from "../src/keys.ts";
import { type Amount, daysPassed, Ledger } from "../src/ledger.ts";
import { namedItems, reportNumber } from "../src/likelihood.ts";
import { readList } from "../src/list.ts";
import { readManifest } from "../src/manifest.ts";
import { deletionBody, enrolmentBody, reportBody } from "../src/messages.ts";
import { normalQuery, normalUrl } from "../src/normal.ts";
import { requireTerms, serverUrl } from "../src/policy.ts";
import { type Chooser, wordChooser } from "../src/random.ts";
import { binomial, rank, unrank } from "../src/ranks.ts";
import { campaignRecords } from "../src/records.ts";
import { readRelease } from "../src/release.ts";
import { bigEndian, schemeOf } from "../src/scheme.ts";
import { buildIndex, readIndex } from "../src/search.ts";
import { readIndexDescriptor } from "../src/search_descriptor.ts";
import { type Randomiser, subsetSelection } from "../src/subset.ts";
import { readTerms } from "../src/terms.ts";
import { type TwoStage, twoStage } from "../src/two_stage.ts";
import { channelOf, ofFraction } from "./enumerator.ts";
import { replayed } from "./transcript.ts";

type Given = any;

const bytesOf = (input: { text?: string; hex?: string }): Uint8Array =>
  input.hex === undefined ? utf8(input.text!) : unhex(input.hex, "hex");

const ofAmount = (amount: Amount): string[] => amount.map(ofFraction);

/** Choices from a tape of 64-bit numbers in hexadecimal digits, the least significant byte first. */
export function tapeChooser(tape: string): { chooser: Chooser; used: () => number } {
  const bytes = unhex(tape, "tape");
  const view = new DataView(bytes.buffer);
  let used = 0;
  const chooser = wordChooser(() => {
    if (8 * used + 8 > bytes.length) throw new Error("the tape has run out");
    return view.getBigUint64(8 * used++, true);
  });
  return { chooser, used: () => used };
}

const documents: Record<string, (bytes: Uint8Array) => Promise<unknown>> = {
  async terms(bytes) {
    const { sha256, campaign, client_budget, records_kept_until, reports_kept_until } = await readTerms(bytes);
    return { sha256, campaign, ...client_budget, records_kept_until, reports_kept_until };
  },
  async manifest(bytes) {
    const { sha256, list_sha256, records, query_share } = await readManifest(bytes);
    return { sha256, list_sha256, records, query_share };
  },
  async list(bytes) {
    const { sha256, levels, queries, records, cells } = await readList(bytes);
    return { sha256, levels, queries: queries.length, records, cells };
  },
  async release(bytes) {
    const { sha256, campaign, manifest_sha256, released, estimates } = await readRelease(bytes);
    return { sha256, campaign, manifest_sha256, released, estimates: estimates.length };
  },
  async key(bytes) {
    const { key, since, replaces, replaced_until } = await readKeyStatement(bytes);
    return { key, since, replaces, replaced_until };
  },
  "index-descriptor": readIndexDescriptor,
};

const manifestOf = (input: Given) => readManifest(utf8(input.manifest));
const listOf = (input: Given) => readList(utf8(input.list));

const twoStageOf = ({ epsilon, delta, query_share, cells_per_query }: Given): TwoStage =>
  twoStage({ epsilon, delta }, query_share, cells_per_query);

function requireOf(items: number, size: number, members: number[]): void {
  const fine = members.length === size && members.every((item, i) => item >= 0 && item < items && (!i || item > members[i - 1]!));
  if (!fine) throw new ParameterError("subset", members, `${size} different items from 0 to ${items - 1}`);
}

const setChannel = ({ items, count, draw }: Randomiser): Record<string, string[]> =>
  channelOf(items, (item, chooser) => hex(bigEndian(draw(item, chooser), count)));

function drawnSet(randomiser: Randomiser, { item, tape }: Given) {
  const { chooser, used } = tapeChooser(tape);
  const number = randomiser.draw(item, chooser);
  return { members: namedItems(randomiser, number), data: hex(bigEndian(number, randomiser.count)), used: used() };
}

export const calls: Record<string, (input: any) => Promise<any>> = {
  document: (input: Given) => documents[input.type]!(bytesOf(input)),

  async envelope(input: Given) {
    const keys = await Promise.all((input.keys as string[]).map(readKey));
    return { payload_sha256: await sha256(await verified(readEnvelope(bytesOf(input)), input.type, keys)) };
  },

  async keys({ keys, statements, day }: Given) {
    const start = await Promise.all((keys as string[]).map(async (key) => [await readKey(key), null] as const));
    const trust = await following(start, (statements as string[]).map((statement) => readEnvelope(utf8(statement))));
    return {
      trusted: trust.map(([key, until]) => [key.text, until]),
      on_day: trustedOn(trust, requireDay("day", day)).map((key) => key.text),
    };
  },

  key: async ({ key }: Given) => ({ id: (await readKey(key)).id }),

  async normalise({ rule = "blendp-1", level, text }: Given) {
    return { text: (level === "query" ? normalQuery : normalUrl)(rule, text) };
  },

  records: async ({ records, levels, normalise }: Given) => ({ records: campaignRecords(records, { levels, normalise }) }),

  async cell(input: Given) {
    const list = await listOf(input);
    const cell = list.cellOf(input.query, input.url);
    return { cell, row: list.rows[cell] };
  },

  async subset({ epsilon, items }: Given) {
    const { size, coins, count } = subsetSelection(epsilon, items);
    return { size, coin: String(coins[0]), report_bytes: bigEndian(0n, count).length };
  },

  async apart({ epsilon, items }: Given) {
    const { size, coins, count } = wildcardApart(epsilon, items);
    const [own, other, among] = coins.map(String);
    return { size, own, other, among, report_bytes: bigEndian(0n, count).length };
  },

  async "two-stage"(input: Given) {
    const { coins, urlCoins } = twoStageOf(input);
    return { query_coin: String(coins[0]), url_coins: urlCoins.map(String) };
  },

  "channel-subset": async ({ epsilon, items }: Given) => setChannel(subsetSelection(epsilon, items)),

  "channel-apart": async ({ epsilon, items }: Given) => setChannel(wildcardApart(epsilon, items)),

  async "channel-two-stage"(input: Given) {
    const { draw } = twoStageOf(input);
    const cells = (input.cells_per_query as number[]).reduce((sum, one) => sum + one, 0);
    return channelOf(cells, (cell, chooser) => String(draw(cell, chooser)));
  },

  "draw-subset": async (input: Given) => drawnSet(subsetSelection(input.epsilon, input.items), input),

  "draw-apart": async (input: Given) => drawnSet(wildcardApart(input.epsilon, input.items), input),

  async "draw-two-stage"(input: Given) {
    const { chooser, used } = tapeChooser(input.tape);
    return { cell: Number(twoStageOf(input).draw(input.cell, chooser)), used: used() };
  },

  async rank({ items, size, members }: Given) {
    requireOf(items, size, members);
    const number = rank(members, items);
    return { rank: String(number), data: hex(bigEndian(number, binomial(items, size))) };
  },

  async unrank({ items, size, data }: Given) {
    return { members: unrank(reportNumber(unhex(data, "data"), binomial(items, size)), items, size) };
  },

  async scheme(input: Given) {
    return { scheme: await schemeOf(await manifestOf(input), await listOf(input)).id() };
  },

  async report(input: Given) {
    const manifest = await manifestOf(input);
    const { campaign, participation } = manifest.terms;
    const scheme = schemeOf(manifest, await listOf(input));
    const { chooser, used } = tapeChooser(input.tape);
    const records = campaignRecords(input.records, manifest.terms);
    if (!chooser.coin(shareCoin(participation))) return { silent: true, used: used() };
    const { question, data } = scheme.randomise(records, chooser);
    const name = hex(await pseudonym(await deletionKey(unhex(input.secret, "secret", 32), campaign)));
    const body = reportBody(manifest.sha256, name, question, data, await scheme.id());
    return { address: `/v1/campaigns/${campaign}/reports/${input.id}`, body: text(body), used: used() };
  },

  async enrol(input: Given) {
    const terms = await readTerms(utf8(input.terms));
    const { chooser, used } = tapeChooser(input.tape);
    const body = enrolmentBody(terms, campaignRecords(input.records, terms), chooser, unhex(input.nonce, "nonce", 16), input.max_bytes);
    return { body: text(body), used: used() };
  },

  async install({ secret, campaign }: Given) {
    const key = await deletionKey(unhex(secret, "secret", 32), campaign);
    const deletion_key = hex(key);
    return { deletion_key, pseudonym: hex(await pseudonym(key)), body: text(deletionBody(deletion_key)) };
  },

  async explain(input: Given) {
    const [manifest, list] = [await manifestOf(input), await listOf(input)];
    const explained = explain({ manifest, list, question: input.question, data: unhex(input.data, "data") });
    return {
      likelihoods: explained.likelihoods.map(({ description, cells, probability }) => ({
        description,
        cells: cells.length,
        probability: ofFraction(probability),
      })),
      ratio: ofFraction(explained.ratio),
      sentences: explained.sentences,
    };
  },

  async odds(input: Given) {
    const manifest = await manifestOf(input);
    const { terms } = manifest;
    const sentence = input.list === null ? promiseSentence(terms) : oddsSentence(manifest, await listOf(input));
    return { sentence, opt_in: optInSentence(terms) };
  },

  async ledger({ cap, yearly, entries, counted, entry }: Given) {
    const budget = ([epsilon, delta]: number[]) => ({ epsilon: epsilon!, delta: delta! });
    const after = new Ledger(budget(cap), budget(yearly), entries, counted).spending(entry);
    return { remaining: ofAmount(after.remaining), remaining_this_year: ofAmount(after.remainingThisYear) };
  },

  async days({ last, today }: Given) {
    if (last !== null) requireDay("last", last);
    return { passed: daysPassed(last, requireDay("today", today)) };
  },

  async backoff({ attempts, u, retry_after, now, late }: Given) {
    return { delay: delay(attempts, u, retryAfter(retry_after, now), late ? MAX_DELAY_IF_LATE : MAX_DELAY) };
  },

  async answer({ kind, status, body, in_time }: Given) {
    const { state, reason } = readAnswer(kind, status, utf8(body), in_time);
    return { state, reason };
  },

  async policy(input: Given) {
    const names = { min_records: "minRecords", max_records: "maxRecords", min_opt_in: "minOptIn", max_epsilon: "maxEpsilon" };
    const given = Object.entries(input.policy).map(([name, value]) => [names[name as keyof typeof names], value]);
    const manifest = await manifestOf(input);
    requireTerms(Object.fromEntries(given), manifest.terms, manifest);
    return {};
  },

  server: async ({ url, allow_http }: Given) => ({ url: serverUrl("server", url, allow_http) }),

  index: async ({ release }: Given) => ({ index: text(await buildIndex(utf8(release))) }),

  search: async ({ index, text, limit }: Given) => (await readIndex(utf8(index))).search(text, limit),

  device: (input: Given) => replayed(input, tapeChooser(input.tape).chooser),
};

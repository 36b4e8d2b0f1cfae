/** Wires the browser's events: messages of our own pages and content scripts, alarms, permissions, the omnibox. */
import { ParameterError, RefusedError } from "../../src/errors.ts";
import { acts, type Acts } from "./acts.ts";
import { api, type Sender } from "./api.ts";
import { chose, resultsOn } from "./observer.ts";
import { offerSuggestions } from "./omnibox.ts";
import { sentenceOf } from "./sentences.ts";
import { showState } from "./signs.ts";
import { tick } from "./visit.ts";

/** What content scripts say. */
export type Observed = { observed: "page" } | { observed: "choice"; page: string; link: string };

/** What our own pages ask. */
export interface Asked<Name extends keyof Acts = keyof Acts> {
  readonly act: Name;
  readonly values: Parameters<Acts[Name]>;
}

export type Reply = { value: unknown } | { error: { sentence: string; reason: string } };

async function answered(message: any, sender: Sender): Promise<Reply> {
  if (sender.id !== api.runtime.id) throw new ParameterError("sender", sender.id, "this extension");
  if (message?.observed === "page") return { value: await resultsOn(sender) };
  if (message?.observed === "choice") return { value: await chose(sender, message.page, message.link) };
  // pages of the web run our content script: only our own pages may ask for more
  if (!sender.url?.startsWith(api.runtime.getURL("")))
    throw new ParameterError("sender", sender.url, "a page of this extension");
  const { act, values } = message as Asked;
  if (!Object.hasOwn(acts, act) || !Array.isArray(values)) throw new ParameterError("act", act, "known");
  return { value: await (acts[act] as (...values: any[]) => Promise<unknown>)(...values) };
}

api.runtime.onMessage.addListener((message, sender, reply) => {
  answered(message, sender).then(reply, (error) => {
    const reason =
      error instanceof RefusedError ? error.reason : error instanceof ParameterError ? error.parameter : error?.name;
    reply({ error: { sentence: sentenceOf(error), reason: String(reason) } });
  });
  return true;
});

async function wake(): Promise<void> {
  await showState();
  await tick();
}

api.alarms.onAlarm.addListener(wake);
api.permissions.onAdded.addListener(showState);
api.permissions.onRemoved.addListener(showState);
api.runtime.onStartup.addListener(wake);
api.runtime.onInstalled.addListener(async ({ reason }) => {
  await wake();
  if (reason === "install") await api.tabs.create({ url: api.runtime.getURL("page.html#settings") });
});
// content scripts, and so a page that took over its process, must not read what is kept
void api.storage.local.setAccessLevel?.({ accessLevel: "TRUSTED_CONTEXTS" });
offerSuggestions();

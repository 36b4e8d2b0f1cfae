/** How pages ask the background, which owns everything. */
import type { Acts } from "./acts.ts";
import { api, DATA } from "./api.ts";
import type { Asked, Reply } from "./background.ts";

export class AskError extends Error {
  constructor(
    readonly reason: string,
    sentence: string,
  ) {
    super(sentence);
  }
}

export async function ask<Name extends keyof Acts>(
  act: Name,
  ...values: Parameters<Acts[Name]>
): Promise<Awaited<ReturnType<Acts[Name]>>> {
  const message: Asked<Name> = { act, values };
  const reply: Reply = await api.runtime.sendMessage(message);
  if ("error" in reply) throw new AskError(reply.error.reason, reply.error.sentence);
  return reply.value as Awaited<ReturnType<Acts[Name]>>;
}

/** Asks the browser to ask the person about these pages; only a click may do that. */
export const allow = (origins: readonly string[]): Promise<boolean> => api.permissions.request({ origins: [...origins] });

/** Firefox asks about data as well; elsewhere our own question is the only one. */
let asksAboutData = false;
api.permissions.getAll().then(
  (all) => (asksAboutData = "data_collection" in all),
  () => {},
);

export const allowData = async (): Promise<boolean> =>
  !asksAboutData || api.permissions.request({ data_collection: [...DATA] });

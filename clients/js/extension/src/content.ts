/**
 * Observes which results the person chooses: one listener on the document, for clicks, middle clicks and the keyboard (a
 * link that is followed by a key is clicked). It changes nothing on the page, and leaves aside what the page's own code does.
 */
import { api } from "./api.ts";
import type { Observed } from "./background.ts";

const send = (message: Observed): Promise<any> => api.runtime.sendMessage(message);

let results: string | null = null;

function chosen(event: MouseEvent): void {
  if (!event.isTrusted || !results || (event.type === "auxclick" && event.button !== 1)) return;
  const link = event.composedPath().find((node) => node instanceof HTMLAnchorElement) as HTMLAnchorElement | undefined;
  try {
    if (link?.matches(results)) send({ observed: "choice", page: location.href, link: link.href }).catch(stop);
  } catch {
    stop(); // the extension is gone, or the selector is none
  }
}

function stop(): void {
  for (const type of ["click", "auxclick"] as const) document.removeEventListener(type, chosen, true);
}

for (const type of ["click", "auxclick"] as const) document.addEventListener(type, chosen, true);
send({ observed: "page" }).then((reply) => (results = reply.value), stop);

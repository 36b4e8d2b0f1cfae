/** Parts of the screen that are drawn anew without being felt: focus, scrolling and what is open stay. */
import { type Child, fill } from "../ui/elements.ts";

/** Replaces what an element holds. Elements are the same before and after if they have the same id. */
export function redraw(host: Element, ...children: Child[]): void {
  const focused = host.contains(document.activeElement) ? document.activeElement!.id : "";
  const scrolled = [...host.querySelectorAll(".scroll[id]")].map(
    ({ id, scrollTop, scrollLeft }) => [id, scrollTop, scrollLeft] as const,
  );
  const open = [...host.querySelectorAll("details[id][open]")].map(({ id }) => id);
  fill(host, ...children);
  const again = (id: string): HTMLElement | null => (id ? host.querySelector<HTMLElement>(`#${CSS.escape(id)}`) : null);
  for (const [id, top, left] of scrolled) again(id)?.scrollTo({ top, left, behavior: "instant" });
  for (const id of open) again(id)?.setAttribute("open", "");
  again(focused)?.focus({ preventScroll: true });
}

/** Draws a part only if what it shows has changed since it was drawn last. */
export class Part {
  private key = "";

  constructor(readonly host: Element) {}

  show(key: unknown, draw: () => Child): void {
    const text = JSON.stringify(key);
    if (text === this.key) return;
    this.key = text;
    redraw(this.host, draw());
  }
}

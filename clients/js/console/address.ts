/**
 * What is looked at, in the part of the address behind the #, which browsers send to nobody: so a view can be kept and
 * shared. The token is never a part of it.
 */
import { afterDays } from "../src/days.ts";

/** A view of the console. Empty texts filter nothing. */
export interface View {
  /** The campaign on the screen; empty for all of them. */
  readonly campaign: string;
  /** The part of the screen that was gone to. */
  readonly panel: string;
  /** What queries and addresses of records contain. */
  readonly find: string;
  /** What became of reports. */
  readonly reason: string;
  /** The first and the last day, in UTC. */
  readonly from: string;
  readonly to: string;
  /** The plots that are shown as tables. */
  readonly tables: readonly string[];
  /** Whether single keys act. */
  readonly keys: boolean;
}

const like = (form: RegExp) => (text: string) => form.test(text);
const isDay = (text: string): boolean => /^\d{4}-\d\d-\d\d$/.test(text) && afterDays(text, 0) === text;
const isName = like(/^[a-z-]{1,20}$/);
const FORMS: Readonly<Record<string, (text: string) => boolean>> = {
  campaign: like(/^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$/),
  panel: isName,
  find: like(/^.{1,200}$/u),
  reason: like(/^[a-z-]{1,40}$/),
  from: isDay,
  to: isDay,
};
const NAMES = Object.keys(FORMS) as (keyof View)[];

export function readView(hash: string): View {
  const values = new URLSearchParams(hash.replace(/^#/, ""));
  const texts = Object.fromEntries(NAMES.map((name) => [name, FORMS[name]!(values.get(name) ?? "") ? values.get(name) : ""]));
  const tables = (values.get("tables") ?? "").split(",").filter(isName);
  return { ...texts, tables, keys: values.get("keys") !== "off" } as unknown as View;
}

export function hashOf(view: View): string {
  const values = new URLSearchParams(
    NAMES.map((name) => [name, String(view[name])]).filter(([, value]) => value) as string[][],
  );
  if (view.tables.length) values.set("tables", view.tables.join(","));
  if (!view.keys) values.set("keys", "off");
  return `#${values}`;
}

export const currentView = (): View => readView(location.hash);

/** The address of this view with something changed; another campaign starts without filters. */
export function linkTo(change: Partial<View>): string {
  const view = currentView();
  const isOther = change.campaign !== undefined && change.campaign !== view.campaign;
  const kept = isOther ? { ...readView(""), tables: view.tables, keys: view.keys } : view;
  return hashOf({ ...kept, ...change });
}

/** Goes to another view; what is typed replaces the view before, so that "back" does not go through every letter. */
export function go(change: Partial<View>, isTyped = false): void {
  const hash = linkTo(change);
  if (hash === hashOf(currentView())) return;
  history[isTyped ? "replaceState" : "pushState"](null, "", hash);
  dispatchEvent(new Event("viewchange"));
}

/** Hears of every change of the view, whoever changed it. */
export function onView(changed: () => void): void {
  addEventListener("viewchange", changed);
  addEventListener("hashchange", changed);
}

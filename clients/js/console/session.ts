/** The operator's token: in this page's memory, or in the tab's own storage if the operator wants it to survive a reload. */

const NAME = "blendp-token";
let inMemory: string | null = null;

export const token = (): string | null => inMemory ?? sessionStorage.getItem(NAME);

export function remember(given: string, throughReloads: boolean): void {
  forget();
  if (throughReloads) sessionStorage.setItem(NAME, given);
  else inMemory = given;
}

export function forget(): void {
  inMemory = null;
  sessionStorage.removeItem(NAME);
}

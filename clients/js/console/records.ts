/** Records that a filter lets through. */

/** Rows whose query or address, their first two cells, contains the text; the wildcard only if nothing is looked for. */
export function matching<Row extends readonly (string | number | null)[]>(rows: readonly Row[], find: string): readonly Row[] {
  const wanted = find.trim().toLowerCase();
  if (!wanted) return rows;
  return rows.filter(([query, url]) => `${query ?? ""} ${url ?? ""}`.toLowerCase().includes(wanted));
}

/** The checks of a result: whether the groups agree, and what lying clients could have done. */
import type { HeadList } from "../src/list.ts";
import type { Release } from "../src/release.ts";
import { type Child, element } from "../ui/elements.ts";
import { count, percent, visible } from "../ui/texts.ts";
import { recordName } from "../pages/estimates.ts";
import type { Checks, FlaggedRecord, Influence } from "./api.ts";
import { cautionList } from "./dialog.ts";
import { type Cell, labelColumn, type Sheet, table } from "./sheet.ts";

const MAX_FLAGGED = 20;

/** The checks of a result that is released, from the signed document. */
export function checksOf({ card, groups }: Release, list: HeadList): Checks {
  const check = card.cross_check;
  const number = (value: unknown): number | null => (typeof value === "number" ? value : null);
  const flagged = (check?.flagged_cells ?? []).slice(0, MAX_FLAGGED).map((cell: number): FlaggedRecord => {
    const [query, url] = list.labels[cell] ?? [null, null];
    return {
      query,
      url,
      opt_in: number(groups.opt_in.cells[cell]),
      client: number(groups.client.cells[cell]),
      z: number(check.z[cell]),
    };
  });
  return {
    opt_in_people: card.users.opt_in_head_list + card.users.opt_in_estimate,
    clients: card.users.client,
    records: list.records,
    agreement: check && { statement: check.statement, flagged_records: check.flagged_cells.length, flagged },
    influence: card.influence,
    cautions: card.cautions,
  };
}

const share = (cell: Cell): Child => (typeof cell === "number" ? `${percent(cell, 2)} %` : "nothing");

/** The cross-check in plain words, and the records about which the groups differ. */
export function agreementParts({ agreement }: Checks): Child {
  if (!agreement) return element("p", {}, "This campaign's method does not compare the groups.");
  const { statement, flagged, flagged_records } = agreement;
  const lead = element("p", {}, visible(statement));
  if (!flagged.length) return [lead, element("p", { class: "quiet" }, "No record stands out.")];
  return [
    lead,
    element(
      "p",
      {},
      `${count(flagged_records)} ${flagged_records === 1 ? "record differs" : "records differ"} by more than chance allows. Look at these first: an ` +
        "opt-in group unlike the others, clients who lie, or a broken randomiser.",
    ),
    element(
      "ul",
      { class: "flagged" },
      flagged.map(({ query, url, opt_in, client, z }) =>
        element(
          "li",
          {},
          recordName([query, url]),
          element(
            "span",
            { class: "quiet" },
            `opt-in people say ${share(opt_in)}, clients ${share(client)}`,
            z !== null && ` (z = ${z.toFixed(1)})`,
          ),
        ),
      ),
    ),
  ];
}

export const flaggedSheet = (campaign: string, { agreement }: Checks): Sheet | null =>
  agreement?.flagged.length
    ? {
        name: `${campaign}-flagged`,
        caption: "Records about which the groups differ",
        columns: [
          labelColumn("query", "Query"),
          labelColumn("url", "Address"),
          { name: "opt_in", label: "Opt-in people", shown: share },
          { name: "client", label: "Clients", shown: share },
          { name: "z", label: "z" },
        ],
        rows: agreement.flagged.map(({ query, url, opt_in, client, z }) => [query, url, opt_in, client, z]),
      }
    : null;

const pointsOf = (cell: Cell): Child => (typeof cell === "number" ? `+${+(100 * cell).toPrecision(2)}` : "unknown");

export const liarsSheet = (campaign: string, influence: readonly Influence[]): Sheet => ({
  name: `${campaign}-liars`,
  caption: "By how many percentage points lying clients could raise one record or query",
  columns: [
    { name: "share", label: "Liars", shown: (cell) => `${+(100 * (cell as number)).toPrecision(2)} %` },
    { name: "clients", label: "Clients alone", shown: pointsOf },
    { name: "blended", label: "Blended", shown: pointsOf },
    { name: "capped", label: "As released", shown: pointsOf },
  ],
  rows: influence.map(({ share, clients, blended, capped }) => [share, clients, blended, capped]),
});

/** All checks, as the command line shows them before a release. */
export const allChecks = (campaign: string, checks: Checks): Child => [
  cautionList(checks.cautions),
  element(
    "p",
    {},
    `${count(checks.opt_in_people)} opt-in people and ${count(checks.clients)} clients; a list of ${count(checks.records)} records. `,
    checks.cautions.length ? null : "No cautions.",
  ),
  element("h3", {}, "Do the two groups agree?"),
  agreementParts(checks),
  checks.influence.length > 0 && [
    element("h3", {}, "What lying clients could do"),
    table(liarsSheet(campaign, checks.influence), true),
  ],
];

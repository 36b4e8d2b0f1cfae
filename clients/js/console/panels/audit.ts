/** The audit trail: who did what, and when. */
import { type Child, element } from "../../ui/elements.ts";
import { count } from "../../ui/texts.ts";
import type { AuditEntry } from "../api.ts";
import { saveButtons } from "../files.ts";
import { type Cell, type Sheet, table } from "../sheet.ts";
import type { Panel } from "./panel.ts";

export const audit = (older: () => void): Panel => ({
  id: "audit",
  title: "Audit trail",
  key: ({ audit, isAuditLonger }, { from, to }) => [audit[0]?.number, audit.length, isAuditLonger, from, to],
  draw({ status, audit, isAuditLonger }, { from, to }) {
    const sheet = sheetOf(status.campaign, audit);
    return [
      audit.length
        ? [element("div", { class: "tools" }, saveButtons(sheet)), table(sheet)]
        : element("p", { class: "quiet" }, from || to ? "No act on these days." : "Nobody has done anything yet."),
      isAuditLonger &&
        element(
          "p",
          { class: "row" },
          element("button", { type: "button", id: "older-acts", onclick: older }, "Older acts"),
          element("span", { class: "quiet" }, `The latest ${count(audit.length)} are here.`),
        ),
    ];
  },
});

export const whoActed = ({ actor, name, token }: AuditEntry): string =>
  actor === "token" ? (name ?? token ?? "a token") : actor === "local" ? "the collector's machine" : "by itself";

/** Day and time, which a narrow table puts below each other. */
const moment = (cell: Cell): Child =>
  String(cell)
    .replace("Z", "")
    .split("T")
    .map((part) => [element("span", { class: "day" }, part), " "]);

const sheetOf = (campaign: string, entries: readonly AuditEntry[]): Sheet => ({
  name: `${campaign}-audit`,
  caption: "Acts, the latest first (UTC)",
  columns: [
    { name: "time", label: "Time (UTC)", shown: moment },
    { name: "who", label: "Who" },
    { name: "act", label: "Act" },
    {
      name: "outcome",
      label: "Outcome",
      shown: (cell) => element("span", { class: cell === "done" ? null : "removed" }, cell),
    },
    { name: "detail", label: "Detail" },
  ],
  rows: entries.map((entry) => [entry.time, whoActed(entry), entry.act, entry.outcome, entry.detail]),
});

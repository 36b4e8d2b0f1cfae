/** The manifest of a campaign: its terms, the name of its list, and how clients report against it. */
import { unhex } from "./bytes.ts";
import { type Fields, readDocument } from "./canonical.ts";
import { requireDay } from "./days.ts";
import { requireNumber } from "./errors.ts";
import { choice, type TermsFields, termsOf, whole } from "./terms.ts";

export interface Manifest {
  readonly terms: TermsFields;
  readonly list_sha256: string;
  readonly records: number;
  readonly opt_in_people: number;
  /** blendp: the share of the clients who report the query; published: the share of the budget that protects it. */
  readonly query_share: number;
  readonly published: string;
  /** How clients of the method blendp answer, if not by subset selection. */
  readonly randomiser?: "apart";
  readonly sha256: string;
}

const FIELDS: Fields = {
  terms: (_, value) => termsOf(value),
  list_sha256(name, digits) {
    unhex(digits, name, 32);
    return digits;
  },
  records: whole(0),
  opt_in_people: (name, value, { terms }) => whole(terms.min_opt_in)(name, value),
  query_share: (name, share) => requireNumber(name, share, 0, 1),
  published: requireDay,
};

export const readManifest = (bytes: Uint8Array): Promise<Manifest> =>
  readDocument(bytes, "manifest", {
    "blendp/manifest/1": FIELDS,
    "blendp/manifest/2": {
      ...FIELDS,
      // of this method alone
      randomiser: (name, value, { terms }) => choice("apart")(name, terms.method === "blendp" ? value : terms.method),
    },
  });

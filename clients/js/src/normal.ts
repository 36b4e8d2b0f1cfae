/** The rules that make two spellings of the same query or URL one record. */

/** Runs of all but the letters that got a lower case after Unicode 14. */
const OLD = /[^\u1c89\ua7cb\ua7cc\ua7ce\ua7d2\ua7d4\ua7da\ua7dc\u{10d50}-\u{10d65}\u{16ea0}-\u{16eb8}]+/gu;

const nfc = (text: string): string => text.normalize();

/** Code point by code point: without a look at the neighbours of a sigma. */
const lower = (text: string): string =>
  text
    .replace(/\u0130/g, "i")
    .replace(/\u03a3/g, "\u03c3")
    .replace(OLD, (piece) => piece.toLowerCase());

/** A query under a rule. */
export function normalQuery(rule: string, text: string): string {
  const query = nfc(text);
  if (rule === "none") return query;
  return nfc(lower(query.replace(/\p{White_Space}+/gu, " ").replace(/^ | $/g, "")));
}

/** A URL under a rule. */
export function normalUrl(rule: string, text: string): string {
  const url = nfc(text);
  if (rule === "none") return url;
  const bare = url.replace(/#.*/s, "").replace(/^\p{White_Space}+|\p{White_Space}+$/gu, "");
  const parts =
    /^([A-Za-z][A-Za-z\d+.-]*:\/\/)([^/?]*@)?(\[[^\]/?@\p{White_Space}]*\]|[^[\]/?:@\p{White_Space}]+)(:\d*)?([/?].*)?$/su.exec(bare);
  if (!parts) return bare;
  const [, scheme = "", person = "", host = "", port = "", rest = ""] = parts;
  const start = scheme.toLowerCase();
  const isUsual = /^(http:..:80|https:..:443)$/.test(start + port);
  return nfc(start + person + lower(host) + (isUsual ? "" : port) + (rest === "/" ? "" : rest));
}

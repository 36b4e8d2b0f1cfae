"""A second client, written from docs/specification.md alone, without a look at our code.

It shares nothing with the package, so both can be wrong only in the same way if the text is. Short rules are lambdas.
"""
# ruff: noqa: E731

import base64
import bisect
import datetime
import functools
import hashlib
import hmac
import itertools
import json
import math
import re
import sys
import unicodedata
from decimal import Decimal, getcontext
from fractions import Fraction
from math import comb

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

getcontext().prec, ONE, PRIME, TINY, BELOW_1 = 900, 2**53, 2**255 - 19, math.ulp(0.0), 1 - 2**-53
SMALL = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
WHITE = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
HIDDEN = "[\0-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
NEW_CAPITAL = "[\u1c89\ua7cb\ua7cc\ua7ce\ua7d2\ua7d4\ua7da\ua7dc\U00010d50-\U00010d65\U00016ea0-\U00016eb8]"
URL = rf"([A-Za-z][A-Za-z0-9+.-]*://)([^/?]*@)?(\[[^\]/?@{WHITE}]*\]|[^\[\]/?:@{WHITE}]+)(:[0-9]*)?([/?].*)?"
SERVER = r"(https?)://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::([0-9]{1,5}))?(/[^?#\s]*)?"
DATE = "(Mon|Tue|Wed|Thu|Fri|Sat|Sun), [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-5][0-9] GMT"
AGAIN, NAME, CAPS = (408, 421, 425, 429, 431), "[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?", ((48, 4e-5), (12, 1e-5))
COSTS, KEPT, HASH = ("epsilon", "delta"), ("report", "opt-in"), "[0-9a-f]{64}"
TYPE, PASSING = "application/vnd.blendp.{}.v1+json", (*AGAIN, 500, 502, 503, 504, 507)
PROBLEM, EARLY = "urn:blendp:problem:([a-z-]{1,40})", ("late", "wrong-state")
BELIEF, WHO, SO = """If somebody thought something about you was true with a probability of 1 %, {} can bring them to
 {:.3g} % at most; it never proves anything.|Who holds {} ({} of the {} possibilities) sends exactly this report with
 a probability of {:.4g}.|So no possibility is more than {:.4g} times as likely to have made it as another; the promise
 is {}""".replace("\n", "").split("|")
PROMISES = ("at most e^{:.6g}.", "e^{:.6g}, but for a probability of {:.6g} (delta).")
GROUPS = {"cell": ("the record that it names", "another URL of the query that it names", "another query")}
GROUPS |= {"query": ("one of the queries that it names", "a query that it does not name")}
GROUPS |= {"record": ("one of the records that it names", "a record that it does not name")}
SHOWN = {"manifest": "sha256 list_sha256 records query_share", "list": "sha256 levels queries records cells"}
SHOWN |= {"terms": "sha256 campaign epsilon delta records_kept_until reports_kept_until"}
SHOWN |= {"release": "sha256 campaign manifest_sha256 released estimates", "key": "key since replaces replaced_until"}


class Doc(dict):
    """An object of JSON whose members are attributes as well."""

    __getattr__, __setattr__ = dict.__getitem__, dict.__setitem__


def need(fine, reason):
    """Refuse unless it is fine."""
    if not fine:
        raise PermissionError(reason)
    return fine


def attempt(act, *args):
    """What the act gives, or None if it fails in any way."""
    try:
        return act(*args)
    except Exception:
        return None


nfc = functools.partial(unicodedata.normalize, "NFC")
sha = lambda data: hashlib.sha256(data).hexdigest()
canon = lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False)
load = lambda data: json.loads(data.decode(), parse_constant=int, object_hook=Doc)  # int() takes no NaN
lower = lambda text: "".join(c if re.match(NEW_CAPITAL, c) else c.lower()[0] for c in text)
day = lambda v: datetime.date.fromisoformat(v if re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", v) else "")
later = lambda v, days: str(day(v) + datetime.timedelta(days))
like = lambda pattern: lambda v: type(v) is str and re.fullmatch(pattern, v)
whole = lambda low, high: lambda v: type(v) is int and low <= v <= high
number = lambda low, high: lambda v: type(v) in (int, float) and low <= v <= high
prose = lambda most: lambda v: len(v) <= most and v.strip(WHITE) and not re.search(HIDDEN, v)
rising = lambda v: type(v) is list and all(type(t) is str for t in v) and all(a < b for a, b in itertools.pairwise(v))
y_of = lambda key: int.from_bytes(bytes.fromhex(key), "little") % 2**255
strong = lambda v: like(HASH)(v) and y_of(v) < PRIME and y_of(v) not in (0, 1, PRIME - 1, SMALL, PRIME - SMALL)
key_id = lambda key: sha(bytes.fromhex(key))[:16]
fraction = lambda x: f"{x.numerator}/{x.denominator}"
heads_fine = lambda v: rising([q.query for q in v]) and all(len(q) == 2 and rising(q.urls) for q in v)
cost = lambda terms: (terms.epsilon, terms.delta if terms.method == "published" else 0)
kept = lambda d: [later(last, d.grace_days) for last in (d.opt_in_until, d.reports_until)]
in_order = lambda d: d.opens <= d.opt_in_until and kept(d)[0] < d.reports_until
verify = lambda key, *signed: Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(*signed) is None
unbase = lambda text: exact(text, base64.b64decode(text, validate=True))
exact = lambda text, data: need(base64.b64encode(data).decode() == text, "envelope") and data
signers_of = lambda e: [(s.keyid + "", unbase(s.sig)) for s in list.copy(e.signatures)]
parts = lambda e: (unbase(e.payload), e.payloadType + "", signers_of(e))
on_day = lambda trusted, today: [key for key, end in trusted.items() if (end or today) >= today]
query_form = lambda text: nfc(lower(re.sub(f"[{WHITE}]+", " ", nfc(text)).strip(" ")))
url_parts = lambda text: re.fullmatch(f"{URL}|.*", text, re.S).groups("")
port_of = lambda scheme, port: "" if scheme + port in ("http://:80", "https://:443") else port
path_of = lambda rest: "" if rest == "/" else rest
joined = lambda scheme, user, host, port, rest: scheme + user + lower(host) + port_of(scheme, port) + path_of(rest)
cut_url = lambda text: nfc(text).split("#")[0].strip(WHITE)
url_form = lambda text: nfc(joined(lower((p := url_parts(cut_url(text)))[0]), *p[1:])) or cut_url(text)
usable = lambda records, terms: [r for r in (attempt(clean, r, terms.levels, terms.normalise) for r in records) if r]
listed = lambda heads: [(q.query, url) for q in heads.queries for url in q.urls or [None]]
rows_of = lambda heads: [len(q.urls) + 1 for q in heads.queries] + [1]
cells_of = lambda heads: [(q.query, url, row) for row, q in enumerate(heads.queries) for url in [*q.urls, None]]
all_cells = lambda heads: enumerate([*cells_of(heads), (None, None, len(heads.queries))])
index_of = lambda heads: {(query, url): (cell, row) for cell, (query, url, row) in all_cells(heads)}
cell_in = lambda index, query, url: index.get((query, url)) or index.get((query, None)) or index[None, None]
cell_and_row = lambda heads, query, url: cell_in(index_of(heads), query, url)
chunks = lambda text: [text[i : i + 16] for i in range(0, len(text), 16)]
tape = lambda text: iter([int.from_bytes(bytes.fromhex(chunk), "little") for chunk in chunks(text)])
used = lambda i, source: len(i.tape) // 16 - source.__length_hint__()
coin = lambda source, n: next(source) >> 11 < n
below = lambda source, n: m >> 32 if (m := next(source) % 2**32 * n) % 2**32 >= 2**32 % n else below(source, n)
other = lambda source, n, i: (r := below(source, n - 1)) + (r >= i)
mixed = lambda z, shift, factor: (z ^ z >> shift) * factor % 2**64
word = lambda z: mixed(mixed(mixed(z % 2**64, 30, 0xBF58476D1CE4E5B9), 27, 0x94D049BB133111EB), 31, 1)
known_words = lambda s: (word(s + i * 0x9E3779B97F4A7C15) for i in itertools.count(1))
grown = lambda eps, w, delta, others: ((up := w * Decimal(eps).exp()) + Decimal(delta) * others / 2) / (up + others)
bounded = lambda w, k: max(1, min(k - 1, w))
error = lambda k, w, p: k > 1 and (w - p) * (k - 1 - w + p) / (p * k - w) ** 2
coin_of = functools.cache(lambda *given: int(ONE * grown(*given)))
with_item = lambda x, k, hit, others: sorted({*[x] * hit, *(k - 1 if c == x else c for c in others)})
draw_set = lambda source, k, w, p, x: with_item(x, k, hit := coin(source, p), floyd(source, k - w - (not hit), k - 1))
sizes = lambda w, a, b: sorted(range(max(0, w - a), min(w, b) + 1), key=lambda i: (abs(i - w * b // (a + b)), -i))
blocks = lambda w, a, b: itertools.accumulate((comb(a, w - i) * comb(b, i) for i in sizes(w, a, b)), initial=0)
starts = lambda w, a, b: zip(sizes(w, a, b), blocks(w, a, b), strict=False)
rank = lambda n, s: sum(map(comb, s, itertools.count(1))) if comb(n, len(s)) < 2**64 else rank_parts(n // 2, n, s)
rank_parts = lambda a, n, s: rank_both(a, n - a, [c for c in s if c < a], [c - a for c in s if c >= a])
start = lambda a, b, w, j: next(begin for i, begin in starts(w, a, b) if i == j)
rank_both = lambda a, b, s, t: start(a, b, len(s + t), len(t)) + rank(a, s) * comb(b, len(t)) + rank(b, t)
unrank = lambda n, w, r: unrank_one(n, w, r) if comb(n, w) < 2**64 else unrank_parts(n // 2, n - n // 2, w, r)
top = lambda n, w, r: bisect.bisect_right(range(n), r, key=lambda c: comb(c, w)) - 1
unrank_one = lambda n, w, r: [*unrank_one(c := top(n, w, r), w - 1, r - comb(c, w)), c] if w else []
last_start = lambda a, b, w, r: [*itertools.takewhile(lambda pair: pair[1] <= r, starts(w, a, b))][-1]
unrank_parts = lambda a, b, w, r: unrank_both(a, b, w, r, *last_start(a, b, w, r))
both = lambda a, b, w, j, r, t: unrank(a, w - j, r) + [a + c for c in unrank(b, j, t)]
unrank_both = lambda a, b, w, r, j, begin: both(a, b, w, j, *divmod(r - begin, comb(b, j)))
width = lambda n: max(1, ((n - 1).bit_length() + 7) // 8)
sets_of = lambda k, w: comb(k - 1, w)
encode_apart = lambda k, w, s: (
    (sets_of(k, w) if s == [k - 1] else rank(k - 1, s)).to_bytes(apart_width(k, w), "big").hex()
)
apart_width = lambda k, w: width(sets_of(k, w) + 1)
encode = lambda k, members: rank(k, members).to_bytes(width(comb(k, len(members))), "big").hex()
right = lambda n, data: like(f"([0-9a-f]{{2}}){{{width(n)}}}")(data) and int(data, 16) < n
read_apart = lambda k, w, r: [k - 1] if r == sets_of(k, w) else unrank(k - 1, w, r)
decode_apart = lambda k, w, data: need(right(sets_of(k, w) + 1, data), "report") and read_apart(k, w, int(data, 16))
decode = lambda k, w, data: need(right(comb(k, w), data), "report") and unrank(k, w, int(data, 16))
row_of = lambda rows, cell: bisect.bisect_right([*itertools.accumulate(rows)], cell)
near = lambda source, rows, coins, q, y: sum(rows[:q]) + (y if coin(source, coins[1][q]) else other(source, rows[q], y))
of_row = lambda source, rows, q: sum(rows[:q]) + below(source, rows[q])
far = lambda source, rows, _ts, q, _y: of_row(source, rows, other(source, len(rows), q))
draw_row = lambda source, rows, coins, *spot: (near if coin(source, coins[0]) else far)(source, rows, coins, *spot)
spot = lambda rows, x: ((q := row_of(rows, x)), x - sum(rows[:q]))
draw_cell = lambda source, rows, coins, x: x if len(rows) == 1 else draw_row(source, rows, coins, *spot(rows, x))
set_odds = lambda k, w, p: (Fraction(p, ONE) / comb(k - 1, w - 1), Fraction(ONE - p, ONE) / max(1, comb(k - 1, w)))
row_odds = lambda t, u, k, n: (t * u, t * (1 - u) / max(1, n - 1), (1 - t) / max(1, k - 1) / n)
cell_odds = lambda rows, coins, q: row_odds(Fraction(coins[0], ONE), Fraction(coins[1][q], ONE), len(rows), rows[q])
deletion_key = lambda secret, name: hmac.digest(bytes.fromhex(secret), b"blendp/deletion/1 " + name.encode(), "sha256")
pseudonym = lambda secret, name: sha(deletion_key(secret, name))[:32]
deletion = lambda secret, name: canon({"deletion_key": deletion_key(secret, name).hex()})
in_bounds = lambda p, m: p.min_records <= m.records <= p.max_records and p.min_opt_in <= m.opt_in_people
cheap = lambda p, m: p.max_epsilon is None or m.terms.epsilon <= p.max_epsilon
policy = lambda p, manifest: need(in_bounds(p, manifest) and cheap(p, manifest), "policy") and {}
safe = lambda form, http: form[1] == "https" or http or form[2] in ("localhost", "127.0.0.1", "[::1]")
server_fine = lambda form, http: form and safe(form, http) and int(form[3] or 0) < 2**16
server = lambda url, http=False: need(server_fine(like(SERVER)(url), http), "server") and url.rstrip("/")
sealed = lambda c, question, data: {"data": data, "manifest": c.sha, "question": question, "scheme": scheme(c)}
with_name = lambda c, body, secret: canon(body | {"pseudonym": pseudonym(secret, c.terms.campaign)})
drawn_body = lambda c, source, records: sealed(c, *answer(c, source, usable(records, c.terms)))
takes_part = lambda c, source: coin(source, round(c.terms.participation * ONE))
report = lambda c, source, records, key: takes_part(c, source) and with_name(c, drawn_body(c, source, records), key)
belief = lambda what, r: BELIEF.format(what, float(100 * r / (r + 99)))
over = lambda ratio, epsilon: Decimal(ratio.numerator) / ratio.denominator > Decimal(epsilon).exp()
passed = lambda last, today: min(90, max(0, (day(today) - day(last)).days)) if last else 0
total = lambda entries, member: sum(Fraction(entry[member]) for entry in entries)
left = lambda cap, entries: [max(0, Fraction(cap[i]) - total(entries, COSTS[i])) for i in (0, 1)]
of_year = lambda entries, counted: [entry for entry in entries if counted - entry.counted < 365]
date = lambda text: datetime.datetime.strptime(text[5:-4] + " +0000", "%d %b %Y %H:%M:%S %z").timestamp()
until = lambda text, now: like(DATE)(text) and attempt(lambda: max(0, date(text) - now))
retry_after = lambda text, now: min(1209600, int(text[:12]) if like("[0-9]+")(text) else until(text, now) or 0)
delay = lambda n, u, after, now, early: retry_after(after, now) + u * spread(5 * 2 ** min(n - 1, 30), early)
spread = lambda seconds, early: min(21600 if early else 3600, seconds)
remaining = lambda caps, entries, counted: with_least(left(caps[0], entries), left(caps[1], of_year(entries, counted)))
with_least = lambda life, year: (life, [*map(min, life, year)])
chosen = lambda i: campaign_of(i.manifest.encode(), i.list.encode())
data_of = lambda i: bytes.fromhex(i.hex) if "hex" in i else i.text.encode()
size_of = lambda i: subset(i.epsilon, i["items"])
coins_of = lambda i: two_stage(i.epsilon, i.delta, i.query_share, i.cells_per_query)
hit_or_miss = lambda k, w, p, s: [fraction(set_odds(k, w, p)[x not in s]) for x in range(k)]
channel = lambda k, w, p: {encode(k, [*s]): hit_or_miss(k, w, p, s) for s in itertools.combinations(range(k), w)}
relation = lambda rows, x, y: 0 if x == y else 1 if row_of(rows, x) == row_of(rows, y) else 2
chance = lambda rows, coins, x, y: fraction(cell_odds(rows, coins, row_of(rows, x))[relation(rows, x, y)])
chances = lambda rows, coins, x: [chance(rows, coins, x, y) for y in range(sum(rows))]
channel_two_stage = lambda rows, coins: {str(x): chances(rows, coins, x) for x in range(sum(rows))}
trust = lambda i: follow(dict.fromkeys(i["keys"]), [text.encode() for text in i.statements])
named = lambda names, values: dict(zip(names.split(), values, strict=False))
sent = lambda c, i, body: {"address": f"/v1/campaigns/{c.terms.campaign}/reports/{i.id}", "body": body}
tried = lambda c, i, source: (body := report(c, source, i.records, i.secret)) and sent(c, i, body)
reported = lambda c, i, source: (tried(c, i, source) or {"silent": True}) | {"used": used(i, source)}
sized = lambda k, w, p: (w, str(p), width(comb(k, w)))
drawn_cell = lambda i, source: (draw_cell(source, i.cells_per_query, coins_of(i), i.cell), used(i, source))
installed = lambda *install: (deletion_key(*install).hex(), pseudonym(*install), deletion(*install))
spent = lambda i: spend(lowered(CAPS, (i.cap, i.yearly)), i.entries, i.counted, i.entry)
believed = lambda payload, signers: need(signers, "signature") and payload
drawn = lambda i, source, s: {"members": s, "data": encode(i["items"], s), "used": used(i, source)}
terms_of = lambda i: (document("terms", i.terms.encode()), sha(i.terms.encode()))
enrolment_of = lambda i, source: enrolment(*terms_of(i), source, i.records, i.nonce, i.max_bytes)
enrolled = lambda i, source: (enrolment_of(i, source), used(i, source))
TERMS = dict.fromkeys(("title", "organisation", "contact"), prose(200)) | {"purpose": prose(1000)}
TERMS |= dict.fromkeys(("opens", "opt_in_until", "reports_until"), day) | {"method": like("blendp|published")}
TERMS |= dict.fromkeys(("opt_in_records", "min_opt_in", "min_clients", "expected_clients"), whole(1, 10**9))
TERMS |= {"size": lambda v: v is None or whole(1, 10**9)(v), "normalise": like("blendp-1|none"), "levels": whole(1, 2)}
TERMS |= {"campaign": like(NAME), "grace_days": whole(3, 90), "participation": number(TINY, 1)}
TERMS |= {"epsilon": number(TINY, 50), "delta": number(0, BELOW_1)}
ADDED = {"terms": {"objective": like("long-list|trends"), "records_per_person": number(TINY, 10**9)}}
TERMS |= ADDED["terms"]
MEMBERS = {"terms": TERMS, "list": {"levels": whole(1, 2), "queries": heads_fine}}
MEMBERS["manifest"] = {"terms": bool, "list_sha256": like(HASH), "query_share": number(0, 1), "published": day}
MEMBERS["manifest"] |= dict.fromkeys(("records", "opt_in_people"), whole(0, math.inf))
MEMBERS["release"] = {"released": day, "estimates": lambda v: type(v) is list}
MEMBERS["release"] |= dict.fromkeys(("campaign", "manifest_sha256", "card", "trends", "groups"), lambda _: True)
MEMBERS["key"] = {"key": strong, "since": day, "replaces": like("[0-9a-f]{16}"), "replaced_until": day}
SAFE, MARKS = whole(1 - ONE, ONE - 1), r"[ -/:-@\[-`{-~]+"
MEMBERS["index"] = {"campaign": lambda v: v == "" or like(NAME)(v), "released": day, "release_sha256": like(HASH)}
MEMBERS["index"] |= {"queries": lambda v: rising(v) or v == [], "urls": lambda v: type(v) is list and columns_fine(v)}
MEMBERS["index"] |= dict.fromkeys(("shares", "errors"), lambda v: type(v) is list and all(map(SAFE, v)))
MEMBERS["index-descriptor"] = {"campaign": like(NAME), "bytes": whole(1, 2**23)}
MEMBERS["index-descriptor"] |= dict.fromkeys(("release_sha256", "sha256"), like(HASH))
FORMATS = {"list": "head-list", "index": "search-index", "index-descriptor": "search-index-descriptor"}
NAMES = {"key": "key statement", "index-descriptor": "index descriptor"}
WAYS = ("exact", "prefix", "word", "typo", "nearest")
columns_fine = lambda v: all(map(rising, v)) and any(v) == bool(v)
urls_of = lambda d: d.urls or [[]] * len(d.queries)
labels = lambda d: [(q, u) for q, us in zip(d.queries, urls_of(d), strict=True) for u in us or [None]]
index_fine = lambda d: len(d.shares) == len(d.errors) == len(labels(d)) <= 20000
edits = lambda n: (n > 2) + (n > 5)
leads = lambda t, b: distances(t, b)[-1] <= edits(len(t))
reach = lambda t, b: max(i for i, n in enumerate(distances(t, b)) if n <= edits(i))
begins = lambda t, b: b.startswith(t)
split = lambda text: [part for part in re.split(MARKS, text) if part]
by_words = lambda t, f, fits: split(t) and all(any(fits(a, b) for b in split(f)[:16]) for a in split(t)[:8])
ACROSS = {"terms": ("reports_until", in_order), "key": ("replaced_until", lambda d: d.since <= d.replaced_until)}
ACROSS["manifest"] = ("opt_in_people", lambda d: d.opt_in_people >= d.terms.min_opt_in)
ACROSS["index"] = ("index", index_fine)
ACROSS["list"] = ("list", lambda d: all(d.levels == 2 or not q.urls for q in d.queries))


def check(kind, doc):
    """Refuse a document, without its format, whose members are not as they should be."""
    name, (reason, fine) = NAMES.get(kind, kind), ACROSS.get(kind, ("", bool))
    need(isinstance(doc, dict) and doc.keys() | ADDED.get(kind, {}).keys() == MEMBERS[kind].keys(), name)
    for member, good in MEMBERS[kind].items():
        need(member not in doc or attempt(good, doc[member]), name if kind in ("list", "release", "index") else member)
    return need(kind != "manifest" or check("terms", doc.terms), "") and need(attempt(fine, doc), reason) and doc


def document(kind, data):
    """The document in these bytes (B1, B5), without its format; a manifest may have the second one (D4)."""
    doc, form = attempt(load, data), f"blendp/{FORMATS.get(kind, kind)}/1"
    second = kind == "manifest" and isinstance(doc, dict) and doc.get("format") == "blendp/manifest/2"
    fine = attempt(
        lambda: canon(doc).encode() == data and doc.pop("format") == ("blendp/manifest/2" if second else form)
    )
    if not (fine and second):
        return check(kind, doc if fine else None)
    how = need("randomiser" in doc and [doc.pop("randomiser")], "manifest")[0]
    check(kind, doc)
    need(how == "apart" and doc.terms.method == "blendp", "randomiser")
    return Doc(doc, randomiser=how)


def shown(kind, data):
    doc = document(kind, data)
    if kind == "terms":
        doc.delta, (doc.records_kept_until, doc.reports_kept_until) = cost(doc)[1], kept(doc)
    if kind == "index-descriptor":
        return doc
    counts = kind == "list" and {"queries": len(doc.queries), "records": len(listed(doc)), "cells": sum(rows_of(doc))}
    doc |= (counts or {}) | {"sha256": sha(data), "estimates": len(doc.get("estimates", ()))}
    return {member: doc[member] for member in SHOWN[kind].split()}


def record(estimate):
    """A record with its numbers; None for one that is left out (I2, I3)."""
    query, url, *numbers = (estimate[name] for name in ("query", "url", "probability", "std_error"))
    need(all(text is None or type(text) is str for text in (query, url)), "release")
    need(all(n is None or type(n) is float or SAFE(n) for n in numbers), "release")
    return (query, url, *numbers)


def index(data):
    """The index of a release (I2)."""
    release = document("release", data)
    records = need(attempt(lambda: [[record(estimate) for estimate in release.estimates]]), "release")[0]
    have_urls = {query for query, url, *_ in records if url is not None}
    is_listed = lambda query, url: query is not None and (url is not None or query not in have_urls)
    rows = [r for r in records if is_listed(*r[:2]) and None not in r[2:]]
    rows = need(attempt(lambda: [[(q, u, round(p * 1e9), round(s * 1e9)) for q, u, p, s in rows]]), "release")[0]
    rows = sorted(rows, key=lambda r: (-r[2], r[0], r[1] or ""))[:20000]
    rows.sort(key=lambda r: (r[0], r[1] or ""))
    queries = sorted({query for query, *_ in rows})
    doc = Doc(campaign=release.campaign, released=release.released, release_sha256=sha(data), queries=queries)
    doc.urls = [[url for query, url, *_ in rows if query == one and url is not None] for one in queries]
    doc.urls = doc.urls if any(doc.urls) else []
    doc.shares, doc.errors = [share for *_, share, _ in rows], [error for *_, error in rows]
    need(attempt(check, "index", doc), "release")
    text = canon(doc | {"format": "blendp/search-index/1"})
    return need(len(text.encode()) <= 2**23, "release") and text


def distances(a, b):
    """The smallest distance of every beginning of a from a beginning of b (I6)."""
    d = {(i, j): i + j for i in range(len(a) + 1) for j in range(len(b) + 1)}
    for i, j in itertools.product(range(1, len(a) + 1), range(1, len(b) + 1)):
        d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + (a[i - 1] != b[j - 1]))
        if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
            d[i, j] = min(d[i, j], d[i - 2, j - 2] + 1)
    return [min(d[i, j] for j in range(len(b) + 1)) for i in range(len(a) + 1)]


def way(t, f):
    """How a form matches a typed text, as a number; None if it does not (I7)."""
    if begins(t, f):
        return int(t != f)
    return 2 if by_words(t, f, begins) else 3 if leads(t, f) or by_words(t, f, leads) else None


def search(data, text, limit):
    """What is found (I5 to I9)."""
    doc = need(len(data) <= 2**23, "index") and document("index", data)
    need(whole(1, 1000)(limit), "limit")
    t, forms = query_form(text[:256]), {query: query_form(query) for query in doc.queries}
    ways = {query: way(t, form) for query, form in forms.items()}
    if not {*ways.values()} - {None}:
        far = {query: reach(t, form) for query, form in forms.items()}
        ways = {query: 4 if i == max(far.values()) else None for query, i in far.items()}
    rows = [(ways[query], -doc.shares[n], n, query, url) for n, (query, url) in enumerate(labels(doc))]
    best = sorted(row for row in rows if row[0] is not None)[:limit]
    result = lambda w, n, q, u: named(
        "query url share error match", (q, u, *(c[n] / 1e9 for c in (doc.shares, doc.errors)), WAYS[w])
    )
    return {"results": [result(w, *rest) for w, _, *rest in best], "nearest": bool(best) and best[0][0] == 4}


def opened(data, kind, keys):
    """The payload of an envelope, and those of the keys that signed it (S1 to S3)."""
    payload, stated, signatures = need(attempt(lambda: parts(load(data))), "envelope")
    need(len(signatures) <= 16 and all(map(strong, keys)), "envelope" if len(signatures) > 16 else "key")
    message = b"DSSEv1 %d %b %d %b" % (len(kind), kind.encode(), len(payload), payload)
    by = lambda key: any(i == key_id(key) and attempt(verify, key, s, message) for i, s in signatures)
    return payload, [key for key in keys if stated == kind and by(key)]


def follow(trusted, statements):
    """Trusted keys with their last days, after the statements (S7)."""
    for data in statements[:1000]:
        new = attempt(lambda data: document("key", opened(data, TYPE.format("key"), [])[0]), data)
        old = new and next((key for key in trusted if key_id(key) == new.replaces), None)
        both = old and len({*opened(data, TYPE.format("key"), [old, new.key])[1]}) == len({old, new.key})
        if both and (trusted[old] is None or new.key in trusted):
            trusted[old] = min(new.replaced_until, trusted[old] or "9999-12-31")
            trusted.setdefault(new.key)
    return trusted


def clean(record, levels, rule):
    """A record in its normal form; it fails if the record is not usable (N5)."""
    need(type(record) is list and len(record) == 2, "record")
    texts, rules = record[:levels], (query_form, url_form) if rule == "blendp-1" else (nfc, nfc)
    forms = [form(text) for form, text in zip(rules, texts, strict=False)]
    need(all(text and len(text.encode()) <= 8192 and "\0" not in text for text in texts + forms), "record")
    return [*forms, None][:2]


def floyd(source, low, high):
    chosen = set()
    for j in range(low, high):
        chosen.add(j if (t := below(source, j + 1)) in chosen else t)
    return chosen


def subset(epsilon, k):
    """The size w and its coin (R2 to R4)."""
    need(number(TINY, 50)(epsilon), "epsilon") and need(whole(1, 10**6)(k), "items")
    a = k / (math.exp(epsilon) + 1)
    pairs = [(w, coin_of(epsilon, w, 0, k - w)) for w in {bounded(math.floor(a), k), bounded(math.ceil(a), k)}]
    able = [(error(k, w, Fraction(p, ONE)), w, p) for w, p in pairs if p * k > w * ONE or k == 1]
    return min(need(able, "epsilon"))[1:]


def apart(epsilon, k):
    """The size w and the coins own, other and among of wildcard apart (R14, R15)."""
    need(number(2**-40, 50)(epsilon), "epsilon") and need(whole(1, 10**6)(k), "items")
    if k == 1:
        return 1, ONE, 0, 0
    listed, power = k - 1, Decimal(epsilon).exp()
    x = math.floor(ONE / power)
    value = lambda w: Fraction((w * ONE + listed * x) * (10 * listed * x + w * (ONE - x)), w * (listed - w))
    low, high = 1, max(1, listed - 1)
    while low < high:
        low, high = (low, m) if value(m := (low + high) // 2) <= value(m + 1) else (m + 1, high)
    own, other = (math.floor(ONE * low * top / (low * power + listed)) for top in (power, 1))
    return low, own, other + 1, ONE if k == 2 else coin_of(epsilon, low, 0, listed - low)


def draw_apart(source, k, w, own, other, among, x):
    if coin(source, own if x == k - 1 else other):
        return [k - 1]
    return draw_set(source, k - 1, w, among, below(source, k - 1) if x == k - 1 else x)


def apart_shown(k, w, *coins):
    return {"size": w, **named("own other among", map(str, coins)), "report_bytes": apart_width(k, w)}


def channel_apart(k, w, *coins):
    own, other, inside, outside, unlisted = map(fraction, map(Fraction, apart_odds(k, w, *coins)))
    sets = itertools.combinations(range(k - 1), w)
    rows = {encode_apart(k, w, [*s]): [inside if x in s else outside for x in range(k - 1)] + [unlisted] for s in sets}
    return rows | {encode_apart(k, w, [k - 1]): [other] * (k - 1) + [own]}


def drawn_apart(i, source, k, w, *coins):
    members = draw_apart(source, k, w, *coins, i.item)
    return {"members": members, "data": encode_apart(k, w, members), "used": used(i, source)}


def two_stage(epsilon, delta, f, rows):
    """The query coin, and the URL coin of every row (R8, R9)."""
    need(number(TINY, 50)(epsilon), "epsilon") and need(number(0, BELOW_1)(delta), "delta")
    share = need(number(TINY, BELOW_1)(f), "query_share") and (1 if max(rows) == 1 else f)
    query = coin_of(epsilon * share, 1, delta * share, len(rows) - 1)
    urls = [coin_of(epsilon * (1 - f), 1, delta * (1 - f), n - 1) for n in rows]
    need(query * len(rows) >= ONE and all(coin * n >= ONE for coin, n in zip(urls, rows, strict=True)), "epsilon")
    return query, urls


def campaign_of(manifest, heads):
    """A manifest with its list, and the chance, k, w and coin of each question that is asked (R11)."""
    c = Doc(document("manifest", manifest), heads=document("list", heads), sha=sha(manifest))
    bound = sha(heads), len(listed(c.heads)), c.heads.levels
    need(bound == (c.list_sha256, c.records, c.terms.levels), "head list")
    c.rows, n, (epsilon, delta) = rows_of(c.heads), round(c.query_share * ONE), cost(c.terms)
    c.coins = c.terms.method == "published" and two_stage(epsilon, delta, c.query_share, c.rows)
    asked = {} if c.coins else {"query": (n, len(c.rows)), "record": (ONE - n, sum(c.rows))}
    c.apart = "randomiser" in c
    sized = apart if c.apart else subset
    c.asked = {question: (n, k, *sized(epsilon, k)) for question, (n, k) in asked.items()}
    c.asked |= {"cell": (ONE, sum(c.rows), 1, c.coins[0])} if c.coins else {}
    return c


def answer(c, source, records):
    question = "cell" if c.coins else "query" if coin(source, c.asked["query"][0]) else "record"
    cell, row = cell_and_row(c.heads, *(records[below(source, len(records))] if records else (None, None)))
    (_, k, w, *_), item = c.asked[question], row if question == "query" else cell
    if c.apart:
        return question, encode_apart(k, w, draw_apart(source, *c.asked[question][1:], item))
    drawn = [draw_cell(source, c.rows, c.coins, cell)] if c.coins else draw_set(source, *c.asked[question][1:], item)
    return question, encode(k, drawn)


def scheme(c):
    source, some, n = known_words(int(c.sha[:16], 16)), listed(c.heads), c.records
    people = [[some[i * n // 6]] for i in range(6)] + [[(some[0][0], None)], []] if n else [[]] * 8
    lines = [["blendp/scheme/1", c.sha], *([question, *rest] for question, rest in c.asked.items())]
    lines += [["urls", *c.coins[1]]] if c.coins else []
    lines += [answer(c, source, person) for person in people]
    return sha("".join(" ".join(map(str, line)) + "\n" for line in lines).encode())[:16]


def enrolment(terms, terms_sha, source, records, nonce, max_bytes=2**20):
    records, body = usable(records, terms), {"nonce": nonce, "records": [], "terms": terms_sha}
    room = max_bytes - len(canon(body))
    for i in sorted(floyd(source, max(0, len(records) - terms.opt_in_records), len(records))):
        record = {"query": records[i][0], "url": records[i][1]}
        if room >= (size := len(canon(record).encode()) + 1):
            room -= size
            body["records"].append(record)
    return canon(body)


def apart_odds(k, w, own, other, among):
    """P({L} | L), P({L} | listed), and P(set | item in it), P(set | another listed item), P(set | L) (R13)."""
    a, c, listed = Fraction(own, ONE), Fraction(other, ONE), k - 1
    inside, outside = set_odds(listed, w, among) if listed else (0, 0)
    return a, c, (1 - c) * inside, (1 - c) * outside, (1 - a) / comb(listed, w) if listed else 0


def groups_apart(c, question, data):
    chance, k, w, *coins = c.asked[question]
    members, cells = need(chance, "report") and decode_apart(k, w, data), sum(c.rows)
    own, other, *of_set = (x * chance / ONE for x in apart_odds(k, w, *coins))
    n = sum(c.rows[i] for i in members) if question == "query" else len(members)
    names = (*GROUPS[question], "no listed query")
    groups = [*zip(names, (n, cells - 1 - n, 1), of_set, strict=True)]
    if members == [k - 1]:
        groups = [("no listed query", 1, own), ("a listed query", cells - 1, other)]
    return sorted((g for g in groups if g[1]), key=lambda g: -g[2])


def groups_of(c, question, data):
    if need(c.asked.get(question), "question") and c.apart:
        return groups_apart(c, question, data)
    chance, k, w, p = need(c.asked.get(question), "question")
    members, cells = need(chance, "report") and decode(k, w, data), sum(c.rows)
    n, q = sum(c.rows[i] for i in members) if question == "query" else w, row_of(c.rows, members[0])
    counts = (1, c.rows[q] - 1, cells - c.rows[q]) if c.coins else (n, cells - n)
    odds = cell_odds(c.rows, c.coins, q) if c.coins else [x * chance / ONE for x in set_odds(k, w, p)]
    return sorted((g for g in zip(GROUPS[question], counts, odds, strict=True) if g[1]), key=lambda g: -g[2])


def explain(c, question, data):
    groups, (epsilon, delta) = groups_of(c, question, data), cost(c.terms)
    ratio, about = groups[0][2] / groups[-1][2], "the query of " * (question == "query") + "one of your records"
    said = [f"This report is an answer about {about}, drawn at random on your device."]
    promise = PROMISES[over(ratio, epsilon)].format(epsilon, delta)
    said += [" ".join(WHO.format(name, n, sum(c.rows), float(x)) for name, n, x in groups)]
    said += [SO.format(float(ratio), promise), belief("this report", ratio)]
    said[1:] = said[1:] if groups[1:] else ["Everybody sends the same one, so it tells nothing about you."]
    likely = [{"description": name, "cells": n, "probability": fraction(x)} for name, n, x in groups]
    return {"likelihoods": likely, "ratio": fraction(ratio), "sentences": said}


def odds(manifest, heads):
    """The sentence of E5."""
    epsilon, delta = cost(document("manifest", manifest.encode()).terms)
    if heads is None:
        return belief("your part in this", Decimal(epsilon).exp()) + slack(delta)
    c = campaign_of(manifest.encode(), heads.encode())
    if c.apart:
        laws = [apart_odds(*rest) for chance, *rest in c.asked.values() if chance]
        pairs = [ps for own, other, *of_set in laws for ps in ((own, other), of_set) if any(ps)]
        return belief("your report", max(max(ps) / min(p for p in ps if p) for ps in pairs))
    sets = [set_odds(*rest) for chance, *rest in c.asked.values() if chance]
    rows = c.coins and [cell_odds(c.rows, c.coins, q) for q in range(len(c.rows))]
    return belief("your report", max(max(ps) / min(p for p in ps if p) for ps in rows or sets))


def opt_in_odds(manifest):
    """The sentence of E6."""
    terms = document("manifest", manifest.encode()).terms
    sentence = belief("what is published", Decimal(terms.epsilon).exp()) + slack(terms.delta)
    return f"The curator sees the records that you send. For everybody else: {sentence}"


slack = lambda delta: f" All that up to a slack of δ = {delta:.6g}." if delta else ""


def spend(caps, entries, counted, entry):
    """What remains after the entry, if it fits (L1 to L3)."""
    need(all(e.campaign != entry.campaign for e in entries), "campaign")
    for rest, i in itertools.product(remaining(caps, entries, counted), (0, 1)):
        need(entry[COSTS[i]] <= rest[i], COSTS[i])
    return [[*map(fraction, rest)] for rest in remaining(caps, [*entries, entry], counted)]


def lowered(old, new):
    for cap, i in itertools.product((0, 1), (0, 1)):
        need(number(0, old[cap][i])(new[cap][i]), f"{('cap', 'yearly')[cap]} {COSTS[i]}")
    return new


def verdict(kind, status, body, in_time):
    doc = attempt(lambda: load(body.encode()) | {}) or {}
    deleted, outcome = doc.get("deleted"), doc.get("outcome") in ("accepted", "duplicate") and doc["outcome"]
    done = outcome if "deletion" not in kind else {"True": "deleted", "False": "nothing to delete"}.get(repr(deleted))
    problem = like(PROBLEM)(doc.get("type"))
    final = problem and 400 <= status <= 499 and status not in AGAIN and not (in_time and problem[1] in EARLY)
    waits = "refused" if final else "waiting", problem[1] if problem else f"http-{status}"
    return ("sent", done) if status in (200, 201) and done else waits


class Device:
    """A device: consent, ledger and queue, with the collectors of a vector."""

    def __init__(self, given):
        self.answers, self.now, self.source = given.answers, given.now, tape(given.tape)
        self.secret, self.entropy = given.entropy[:64], given.entropy[64:]
        self.collector(**given.collector)
        self.level, self.caps, self.counted, self.last = "off", CAPS, 0, ""
        self.requests, self.entries, self.queue, self.groups, self.seen, self.forked = [], [], [], {}, {}, set()
        for step in given.steps:
            do, refused = step.pop("do"), step.pop("refused", None)
            try:
                getattr(self, do.replace("-", "_").replace("enrol", "take_part"))(**step)
            except PermissionError as refusal:
                need(refusal.args[0] == refused, refusal.args[0])

    def collector(self, url, keys, witnesses=(), trust_on_first_use=False):
        self.url, self.witnesses = server(url), [*map(server, witnesses)]
        self.trusted, self.first_use = dict.fromkeys(keys), trust_on_first_use

    today = lambda self: str(datetime.datetime.fromtimestamp(self.now, datetime.UTC).date())
    wait = lambda self, seconds: setattr(self, "now", self.now + seconds)
    covers = lambda self, group: self.level == "opt-in" or (self.level == "local" and group == "client")
    opened = lambda self, data, kind: opened(data, TYPE.format(kind), on_day(self.trusted, self.today()))

    def ledger(self):  # counts the days (L4)
        self.counted, self.last = self.counted + passed(self.last, self.today()), max(self.last, self.today())

    def consent(self, level):
        self.level = level
        for campaign in [campaign for campaign, group in self.groups.items() if not self.covers(group)]:
            self.forget(campaign, "consent withdrawn")

    def lower_cap(self, life=None, year=None):
        self.caps = lowered(self.caps, (life or self.caps[0], year or self.caps[1]))

    def ask(self, method_and_url):
        answers = self.answers.get(method_and_url) or [Doc(status=404, body="")]
        return answers.pop(0) if answers[1:] else answers[0]

    def fetch(self, path, missing="document", base=None, most=2**20):
        answer = self.ask(f"GET {base or self.url}/v1/{path}")
        need(answer.status and answer.status not in PASSING, "network") and need(answer.status != 404, missing)
        return need(answer.status == 200 and len(answer.body.encode()) <= most, "document") and answer.body.encode()

    def learn(self, data):
        """Take over keys at a first visit (end of S8), and follow the statements."""
        doc = load(data)
        fine = all(strong(k.key) and day(k.since) and day(k.until or k.since) for k in doc["keys"])
        ends = need(fine, "document") and {k.key: k.until for k in doc["keys"]}
        self.trusted = self.trusted or dict.fromkeys(on_day(ends, self.today()) if self.first_use else [])
        return [follow(self.trusted, [json.dumps(statement).encode() for statement in doc.statements])]

    def believe(self, campaign, kind, missing):
        envelope = self.fetch(f"campaigns/{campaign}/{kind}", missing)
        payload, signers = need(attempt(self.opened, envelope, kind), "document")
        return payload, need(signers, "signature") and need(attempt(document, kind, payload), "document")

    def same(self, campaign, first, payload):
        """Refuse a second truth about a campaign (P4)."""
        if first != payload:
            self.forked.add(campaign)
            self.drop(campaign, "equivocation")
            raise PermissionError("equivocation")

    def look(self, campaign, group="client"):
        """Terms and Campaign, or to enrol terms and their bytes (P3)."""
        need(like(NAME)(campaign), "campaign") and need(campaign not in self.forked, "equivocation")
        need((self.trusted or self.first_use) and all(map(strong, self.trusted)), "key")
        need(attempt(self.learn, self.fetch("keys")), "document")
        payload, terms = self.believe(campaign, "terms", "campaign")
        payloads = need(terms.campaign == campaign, "terms") and {"terms": payload}
        if group == "opt-in":
            result = need(terms.min_opt_in >= 100, "policy") and payload
        else:
            payload, manifest = self.believe(campaign, "manifest", "not-published")
            payloads["manifest"] = need(manifest.terms == terms, "terms") and payload
            for base in self.witnesses:
                data = attempt(self.fetch, f"campaigns/{campaign}/manifest", "", base)
                other_payload, signers = need(attempt(self.opened, data, "manifest"), "witness")
                theirs = other_payload == payload or (
                    signers and json.loads(other_payload)["terms"]["campaign"] == campaign
                )
                need(theirs, "witness")
                self.same(campaign, payload, other_payload)
            need(self.ask(f"GET {self.url}/v1/campaigns/{campaign}/release").status != 200, "released")
            policy(Doc(min_records=10, max_records=20000, min_opt_in=100, max_epsilon=None), manifest)
            heads = self.fetch(f"campaigns/{campaign}/list", "list", most=2**25)
            result = need(attempt(campaign_of, payload, heads), "list")
        for kind, payload in payloads.items():
            first, source = self.seen.setdefault((campaign, kind), (payload, self.url))
            need(first == payload or source == self.url, "terms")  # another collector's campaign of this name
            self.same(campaign, first, payload)
        return terms, result

    def take_part(self, campaign, records, token=None):
        """Report, or enrol with a token (P6)."""
        group = "client" if token is None else "opt-in"
        if self.groups.get(campaign) == group:
            return
        need(campaign not in self.groups, "campaign") and need(self.covers(group), "consent")
        need(token is None or like("blendp-in-[0-9a-f]{64}")(token), "token")
        terms, result = self.look(campaign, group)
        first, last = (terms.opens, terms.opt_in_until) if token else ("", terms.reports_until)
        need(first <= self.today() <= last, "campaign")
        self.ledger()
        price = (terms.epsilon, terms.delta) if token else cost(terms)
        entry = Doc(zip(COSTS, price, strict=True), campaign=campaign, group=group, counted=self.counted)
        spend(self.caps, self.entries, self.counted, entry)
        unique, self.groups[campaign] = self.entropy[:32], group
        if token:
            kind, path, body = "opt-in", "opt-in", enrolment(terms, sha(result), self.source, records, unique)
        else:
            kind, path, body = "report", f"reports/{unique}", report(result, self.source, records, self.secret)
        if body:
            self.entropy, self.entries = self.entropy[32:], [*self.entries, entry]
            self.put(campaign, last, kind, "PUT", path, TYPE.format(kind), token and f"Bearer {token}", body)

    def put(self, campaign, last, kind, method, path, media_type, token, body):
        url = f"{self.url}/v1/campaigns/{campaign}/{path}"
        request = {"method": method, "url": url, "type": media_type, "token": token, "body": body}
        item = Doc(kind=kind, campaign=campaign, last=last, since=self.now, due=self.now, tried=self.now, tries=0)
        item |= {"old_since": None, "state": "waiting", "reason": "", "request": request}
        self.queue.append(item)
        for item in [i for i in self.queue if i.state == "waiting" and i.kind in KEPT][:-500]:
            item |= {"state": "dropped", "reason": "quota"}

    def send(self, only=""):
        """Look at the queue (Q6)."""
        for item in [item for item in self.queue if item.state == "waiting" and only in item.kind]:
            old = self.now - item.since > 14 * 86400 and later(item.last, 1) < self.today() and item.kind in KEPT
            item.old_since = (item.old_since or self.now) if old else None
            if old and self.now - item.old_since > 86400:
                item |= {"state": "dropped", "reason": "too old"}
            elif item.due <= self.now or self.now < item.tried:
                self.try_item(item)

    def try_item(self, item):
        item.tries, item.tried = item.tries + 1, self.now
        self.requests.append(item.request)
        answer, in_time = self.ask(f"{item.request['method']} {item.request['url']}"), self.today() <= item.last
        item.state, item.reason = verdict(item.kind, answer.status, answer.body, in_time)
        item.reason = item.reason if answer.status else "network"
        after = {name.lower(): value for name, value in answer.get("headers", {}).items()}.get("retry-after")
        item.due = self.now + delay(item.tries, 0.5, after, self.now, in_time and item.reason in EARLY)

    def drop(self, campaign, reason):
        for item in self.queue:
            if item.campaign == campaign and item.state == "waiting" and item.kind in KEPT:
                item |= {"state": "dropped", "reason": reason}

    def forget(self, campaign, reason="forgotten"):
        need(campaign in self.groups, "campaign")
        self.drop(campaign, reason)
        items = [item for item in self.queue if item.campaign == campaign]
        asked = any("deletion" in item.kind and item.state in ("waiting", "sent") for item in items)
        for item in [item for item in items if item.tries and item.kind in KEPT and not asked]:
            token, body = item.request["token"], deletion(self.secret, campaign)
            how = ("deletion", "POST", "deletions", "application/json", None, body)
            how = how if item.kind == "report" else ("opt-in-deletion", "DELETE", "opt-in", None, token, None)
            self.put(campaign, item.last, *how)
        self.send("deletion")

    def result(self):
        entries = [[entry[member] for member in ("campaign", "group", *COSTS)] for entry in self.entries]
        queue = [[item.kind, item.state, item.reason] for item in self.queue]
        return {"requests": self.requests, "ledger": entries, "queue": queue}


CALLS = {
    "document": lambda i: shown(i.type, data_of(i)),
    "envelope": lambda i: {"payload_sha256": sha(believed(*opened(data_of(i), i.type, i["keys"])))},
    "keys": lambda i: {"trusted": [*map(list, trust(i).items())], "on_day": on_day(trust(i), i.day)},
    "key": lambda i: need(strong(i.key), "key") and {"id": key_id(i.key)},
    "normalise": lambda i: {"text": (query_form if i.level == "query" else url_form)(i.text)},
    "records": lambda i: {"records": usable(i.records, i)},
    "cell": lambda i: named("cell row", cell_and_row(document("list", i.list.encode()), i.query, i.url)),
    "subset": lambda i: named("size coin report_bytes", sized(i["items"], *size_of(i))),
    "apart": lambda i: apart_shown(i["items"], *apart(i.epsilon, i["items"])),
    "channel-apart": lambda i: channel_apart(i["items"], *apart(i.epsilon, i["items"])),
    "draw-apart": lambda i: drawn_apart(i, tape(i.tape), i["items"], *apart(i.epsilon, i["items"])),
    "two-stage": lambda i: {"query_coin": str((c := coins_of(i))[0]), "url_coins": [*map(str, c[1])]},
    "channel-subset": lambda i: channel(i["items"], *size_of(i)),
    "channel-two-stage": lambda i: channel_two_stage(i.cells_per_query, coins_of(i)),
    "draw-subset": lambda i: drawn(i, source := tape(i.tape), draw_set(source, i["items"], *size_of(i), i.item)),
    "draw-two-stage": lambda i: named("cell used", drawn_cell(i, tape(i.tape))),
    "rank": lambda i: {"rank": str(rank(i["items"], i.members)), "data": encode(i["items"], i.members)},
    "unrank": lambda i: {"members": decode(i["items"], i.size, i.data)},
    "scheme": lambda i: {"scheme": scheme(chosen(i))},
    "report": lambda i: reported(chosen(i), i, tape(i.tape)),
    "enrol": lambda i: named("body used", enrolled(i, tape(i.tape))),
    "install": lambda i: named("deletion_key pseudonym body", installed(i.secret, i.campaign)),
    "explain": lambda i: explain(chosen(i), i.question, i.data),
    "odds": lambda i: named("sentence opt_in", (odds(i.manifest, i.list), opt_in_odds(i.manifest))),
    "ledger": lambda i: named("remaining remaining_this_year", spent(i)),
    "days": lambda i: {"passed": passed(i.last, i.today)},
    "backoff": lambda i: {"delay": delay(i.attempts, i.u, i.retry_after, i.now, i.late)},
    "answer": lambda i: named("state reason", verdict(i.kind, i.status, i.body, i.in_time)),
    "policy": lambda i: policy(i.policy, document("manifest", i.manifest.encode())),
    "server": lambda i: {"url": server(i.url, i.allow_http)},
    "index": lambda i: {"index": index(i.release.encode())},
    "search": lambda i: search(i.index.encode(), i.text, i.limit),
    "device": lambda i: Device(i).result(),
}
sys.setrecursionlimit(10**5)  # unrank_one is as deep as its set is large
for line in sys.stdin:
    request = json.loads(line, object_hook=Doc)
    try:
        reply = {"output": CALLS[request.call](request.input)}
    except PermissionError as refusal:
        reply = {"refused": refusal.args[0]}
    print(json.dumps({"id": request.id} | reply), flush=True)

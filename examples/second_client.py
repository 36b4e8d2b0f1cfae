"""The heart of a client of blendp, to show how little it takes; R6 and so on are rules of docs/specification.md.

It trusts the manifest and the list that it is given: a whole client checks them first (S1 to S8, D1 to D6, P3).
"""

import base64
import hashlib
import hmac
import json
import math
import re
import sys
from bisect import bisect_left, bisect_right
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache
from math import comb
from unicodedata import normalize

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

ONE, PRIME, SMALL = 2**53, 2**255 - 19, 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
WHITE = "\t\n\v\f\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
URL = rf"([A-Za-z][A-Za-z0-9+.-]*://)([^/?]*@)?(\[[^\]/?@{WHITE}]*\]|[^\[\]/?:@{WHITE}]+)(:[0-9]*)?([/?].*)?"


def need(fine, reason):
    if not fine:
        raise PermissionError(reason)


def sha(data):
    return hashlib.sha256(data).hexdigest()


def key_id(key):
    """S4, S5."""
    need(re.fullmatch("[0-9a-f]{64}", key), "key")
    y = int.from_bytes(bytes.fromhex(key), "little") % 2**255
    need(y < PRIME and y not in (0, 1, PRIME - 1, SMALL, PRIME - SMALL), "key")
    return sha(bytes.fromhex(key))[:16]


def unbase(text):
    """B7."""
    data = base64.b64decode(text, validate=True)
    need(base64.b64encode(data).decode() == text, "envelope")
    return data


def envelope(type, keys, text=None, hex=""):
    """S1 to S3."""
    try:
        given = json.loads(bytes.fromhex(hex).decode() if text is None else text, parse_constant=int)
        payload, stated = unbase(given["payload"]), str.strip(given["payloadType"], "")
        signatures = [(str.strip(s["keyid"], ""), unbase(s["sig"])) for s in list.copy(given["signatures"])]
    except (ValueError, TypeError, KeyError):
        raise PermissionError("envelope") from None
    need(len(signatures) <= 16, "envelope")
    key_of = {key_id(key): Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)) for key in keys}
    message = b"DSSEv1 %d %b %d %b" % (len(type), type.encode(), len(payload), payload)
    for keyid, signature in signatures:
        try:
            key_of[keyid].verify(signature, message)
            need(stated == type, "signature")
            return {"payload_sha256": sha(payload)}
        except (KeyError, InvalidSignature):
            continue
    raise PermissionError("signature")


def lower(text):
    """N2, with the Unicode 14.0 of Python 3.11."""
    return "".join(c.lower()[0] for c in text)


def normal(level, text, rule="blendp-1"):
    """N3, N4."""
    text = normalize("NFC", text)
    if rule == "none":
        return text
    if level == "query":
        return normalize("NFC", lower(re.sub(f"[{WHITE}]+", " ", text).strip(" ")))
    text = re.sub(rf"^[{WHITE}]+|[{WHITE}]+\Z", "", text.split("#")[0])
    parts = re.fullmatch(URL, text, re.S)
    if not parts:
        return text
    scheme, user, host, port, rest = parts.groups("")
    port = "" if lower(scheme) + port in ("http://:80", "https://:443") else port
    return normalize("NFC", lower(scheme) + user + lower(host) + port + ("" if rest == "/" else rest))


def usable(records, levels, normalise):
    """N5."""
    result = []
    for record in records:
        try:
            texts = [normalize("NFC", text) and text for text in list.copy(record)[:levels]]
            forms = [normal(level, text, normalise) for level, text in zip(("query", "url"), texts, strict=False)]
            sizes = [len(text.encode()) for text in texts + forms if "\0" not in text]
        except (TypeError, ValueError):
            continue
        if len(record) == 2 and len(sizes) == 2 * levels and min(sizes) > 0 and max(sizes) <= 8192:
            result.append([*forms, None][:2])
    return result


def cell_and_row(queries, query, url):
    """D7, D8."""
    index = {}
    for row, head in enumerate(queries):
        for listed in [*head["urls"], None]:
            index[head["query"], listed] = len(index), row
    return index.get((query, url)) or index.get((query, None)) or (len(index), len(queries))


class Words:
    """C1 to C3."""

    def __init__(self, stream):
        self.stream, self.used = iter(stream), 0

    def word(self):
        self.used += 1
        return next(self.stream)

    def coin(self, n):
        return self.word() >> 11 < n

    def below(self, n):
        m = self.word() % 2**32 * n
        return m >> 32 if m % 2**32 >= 2**32 % n else self.below(n)

    def other(self, n, i):
        r = self.below(n - 1)
        return r + (r >= i)


def words_of(tape):
    data = bytes.fromhex(tape)
    return Words(int.from_bytes(data[i : i + 8], "little") for i in range(0, len(data), 8))


def known_words(s):
    """C4."""
    while True:
        s = (s + 0x9E3779B97F4A7C15) % 2**64
        z = (s ^ s >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        yield z ^ z >> 31


@cache
def power(epsilon):
    return Fraction(Decimal(epsilon).exp(Context(prec=900)))


@cache
def coin_of(n, epsilon, delta=0.0, w=1):
    """R3, R9."""
    up = w * power(epsilon)
    return int(ONE * (up + Fraction(delta) * (n - 1) / 2) / (up + n - w))


def subset(epsilon, k):
    """R2 to R4."""
    need(0 < epsilon <= 50, "epsilon")
    need(1 <= k <= 10**6, "items")
    a, sizes = k / (math.exp(epsilon) + 1), []
    for w in {max(1, min(k - 1, size)) for size in (math.floor(a), math.ceil(a))}:
        coin = coin_of(k, epsilon, 0.0, w)
        p = Fraction(coin, ONE)
        if p * k > w:
            sizes.append(((w - p) * (k - 1 - w + p) / (p * k - w) ** 2, w, coin))
    need(sizes or k == 1, "epsilon")
    return min(sizes)[1:] if sizes else (1, ONE)


def draw_set(stream, k, w, coin, item):
    """R5."""
    hit, chosen = stream.coin(coin), set()
    for j in range(k - w - (not hit), k - 1):
        t = stream.below(j + 1)
        chosen.add(j if t in chosen else t)
    return sorted({k - 1 if c == item else c for c in chosen} | ({item} if hit else set()))


def apart(epsilon, k):
    """R14, R15."""
    need(2**-40 <= epsilon <= 50, "epsilon")
    need(1 <= k <= 10**6, "items")
    listed, x = k - 1, int(ONE / power(epsilon))

    def noise(w):
        return Fraction((w * ONE + listed * x) * (10 * listed * x + w * (ONE - x)), w * (listed - w))

    w = 1 + bisect_left(range(1, listed - 1), True, key=lambda w: noise(w + 1) >= noise(w))
    if not listed:
        return w, ONE, 0, 0
    up = w * power(epsilon)
    among = coin_of(listed, epsilon, 0.0, w) if listed > 1 else ONE
    return w, int(ONE * up / (up + listed)), int(ONE * w / (up + listed)) + 1, among


def draw_apart(stream, k, w, own, other, among, item):
    """R16."""
    if stream.coin(own if item == k - 1 else other):
        return [k - 1]
    return draw_set(stream, k - 1, w, among, stream.below(k - 1) if item == k - 1 else item)


def blocks(a, b, w):
    """The numbers j of R6 in their order, each with the sum before it."""
    m, start = w * b // (a + b), 0
    for j in sorted(range(max(0, w - a), min(w, b) + 1), key=lambda j: (abs(j - m), -j)):
        yield j, start
        start += comb(a, w - j) * comb(b, j)


def rank(n, members):
    """R6."""
    if comb(n, len(members)) < 2**64:
        return sum(comb(c, i + 1) for i, c in enumerate(members))
    a, b = n // 2, n - n // 2
    first, second = [c for c in members if c < a], [c - a for c in members if c >= a]
    start = dict(blocks(a, b, len(members)))[len(second)]
    return start + rank(a, first) * comb(b, len(second)) + rank(b, second)


def unrank(n, w, r):
    """R6, the other way."""
    if w == 0:
        return []
    if comb(n, w) < 2**64:
        c = bisect_right(range(n), r, key=lambda c: comb(c, w)) - 1
        return [*unrank(c, w - 1, r - comb(c, w)), c]
    a, b = n // 2, n - n // 2
    start, j = max((start, j) for j, start in blocks(a, b, w) if start <= r)
    first, second = divmod(r - start, comb(b, j))
    return unrank(a, w - j, first) + [a + c for c in unrank(b, j, second)]


def digits(n):
    """R7: how many hexadecimal digits a number below n has."""
    return 2 * max(1, ((n - 1).bit_length() + 7) // 8)


def encode(k, members):
    return f"{rank(k, members):0{digits(comb(k, len(members)))}x}"


def encode_apart(k, w, members):
    """R17."""
    sets = comb(k - 1, w)
    return f"{sets if members == [k - 1] else rank(k - 1, members):0{digits(sets + 1)}x}"


def decode(items, size, data):
    """R7."""
    n = comb(items, size)
    need(re.fullmatch(f"[0-9a-f]{{{digits(n)}}}", data) and int(data, 16) < n, "report")
    return unrank(items, size, int(data, 16))


def two_stage(epsilon, delta, query_share, cells_per_query):
    """R8, R9."""
    f, rows = query_share, cells_per_query
    need(0 < epsilon <= 50, "epsilon")
    need(0 <= delta < 1, "delta")
    need(0 < f < 1, "query_share")
    share = 1 if max(rows) == 1 else f
    query = coin_of(len(rows), epsilon * share, delta * share)
    urls = [coin_of(n, epsilon * (1 - f), delta * (1 - f)) for n in rows]
    need(query * len(rows) >= ONE and all(coin * n >= ONE for coin, n in zip(urls, rows, strict=True)), "epsilon")
    return query, urls


def draw_cell(stream, rows, coins, cell):
    """R10."""
    row = next(row for row in range(len(rows)) if cell < sum(rows[: row + 1]))
    number = cell - sum(rows[:row])
    if len(rows) > 1 and not stream.coin(coins[0]):
        row = stream.other(len(rows), row)
        number = stream.below(rows[row])
    elif len(rows) > 1 and not stream.coin(coins[1][row]):
        number = stream.other(rows[row], number)
    return sum(rows[:row]) + number


class Campaign:
    """D4 (how clients report), R11, R12, W2."""

    def __init__(self, manifest, heads):
        m, self.sha, self.queries = json.loads(manifest), sha(manifest.encode()), json.loads(heads)["queries"]
        self.terms, self.rows = m["terms"], [len(q["urls"]) + 1 for q in self.queries] + [1]
        epsilon, cells, chance, self.coins = self.terms["epsilon"], sum(self.rows), round(m["query_share"] * ONE), None
        self.apart = m["format"] == "blendp/manifest/2"
        need(m.get("randomiser") == "apart" if self.apart else m["format"] == "blendp/manifest/1", "manifest")
        if self.terms["method"] == "published":
            self.coins = two_stage(epsilon, self.terms["delta"], m["query_share"], self.rows)
            self.questions = {"cell": (ONE, cells, 1, self.coins[0])}
        else:
            numbers = apart if self.apart else subset
            self.questions = {"query": (chance, len(self.rows), *numbers(epsilon, len(self.rows)))}
            self.questions["record"] = (ONE - chance, cells, *numbers(epsilon, cells))

    def answer(self, stream, records):
        question = "cell" if self.coins else "query" if stream.coin(self.questions["query"][0]) else "record"
        record = records[stream.below(len(records))] if records else (None, None)
        (cell, row), (_, k, w, *coins) = cell_and_row(self.queries, *record), self.questions[question]
        item = row if question == "query" else cell
        if self.coins:
            return question, encode(k, [draw_cell(stream, self.rows, self.coins, cell)])
        if self.apart:
            return question, encode_apart(k, w, draw_apart(stream, k, w, *coins, item))
        return question, encode(k, draw_set(stream, k, w, *coins, item))

    def scheme(self):
        stream, people = Words(known_words(int(self.sha[:16], 16))), [[]] * 8
        listed = [(q["query"], url) for q in self.queries for url in q["urls"] or [None]]
        if listed:
            people = [[listed[i * len(listed) // 6]] for i in range(6)] + [[(listed[0][0], None)], []]
        lines = [("blendp/scheme/1", self.sha), *((question, *rest) for question, rest in self.questions.items())]
        lines += [("urls", *self.coins[1])] if self.coins else []
        lines += [self.answer(stream, person) for person in people]
        return sha("".join(" ".join(map(str, line)) + "\n" for line in lines).encode())[:16]


def install(secret, campaign):
    """W3, W4."""
    key = hmac.digest(bytes.fromhex(secret), f"blendp/deletion/1 {campaign}".encode(), "sha256")
    return {"deletion_key": key.hex(), "pseudonym": sha(key)[:32], "body": f'{{"deletion_key":"{key.hex()}"}}'}


def report(manifest, heads, records, tape, secret, report_id):
    """C5, W1, W2."""
    campaign, stream = Campaign(manifest, heads), words_of(tape)
    terms = campaign.terms
    if not stream.coin(round(terms["participation"] * ONE)):
        return {"silent": True, "used": stream.used}
    question, data = campaign.answer(stream, usable(records, terms["levels"], terms["normalise"]))
    body = {"data": data, "manifest": campaign.sha, "pseudonym": install(secret, terms["campaign"])["pseudonym"]}
    body |= {"question": question, "scheme": campaign.scheme()}
    address = f"/v1/campaigns/{terms['campaign']}/reports/{report_id}"
    return {"address": address, "body": json.dumps(body, separators=(",", ":")), "used": stream.used}


def subset_call(epsilon, items):
    w, coin = subset(epsilon, items)
    return {"size": w, "coin": str(coin), "report_bytes": digits(comb(items, w)) // 2}


def apart_call(epsilon, items):
    w, *coins = apart(epsilon, items)
    named = dict(zip(("own", "other", "among"), map(str, coins), strict=True))
    return {"size": w, **named, "report_bytes": digits(comb(items - 1, w) + 1) // 2}


def two_stage_call(**given):
    query, urls = two_stage(**given)
    return {"query_coin": str(query), "url_coins": [str(coin) for coin in urls]}


def draw_subset_call(epsilon, items, item, tape):
    stream = words_of(tape)
    members = draw_set(stream, items, *subset(epsilon, items), item)
    return {"members": members, "data": encode(items, members), "used": stream.used}


def draw_apart_call(epsilon, items, item, tape):
    stream, numbers = words_of(tape), apart(epsilon, items)
    members = draw_apart(stream, items, *numbers, item)
    return {"members": members, "data": encode_apart(items, numbers[0], members), "used": stream.used}


def draw_two_stage_call(cell, tape, **given):
    stream = words_of(tape)
    drawn = draw_cell(stream, given["cells_per_query"], two_stage(**given), cell)
    return {"cell": drawn, "used": stream.used}


def cell_call(query, url, **given):
    cell, row = cell_and_row(json.loads(given["list"])["queries"], query, url)
    return {"cell": cell, "row": row}


CALLS = {
    "envelope": envelope,
    "key": lambda key: {"id": key_id(key)},
    "normalise": lambda level, text: {"text": normal(level, text)},
    "records": lambda **given: {"records": usable(**given)},
    "cell": cell_call,
    "subset": subset_call,
    "apart": apart_call,
    "two-stage": two_stage_call,
    "draw-subset": draw_subset_call,
    "draw-apart": draw_apart_call,
    "draw-two-stage": draw_two_stage_call,
    "rank": lambda items, members, **_: {"rank": str(rank(items, members)), "data": encode(items, members)},
    "unrank": lambda **given: {"members": decode(**given)},
    "scheme": lambda manifest, list: {"scheme": Campaign(manifest, list).scheme()},
    "report": lambda manifest, list, id, **given: report(manifest, list, report_id=id, **given),
    "install": install,
}
for line in sys.stdin:
    request = json.loads(line)
    try:
        call = CALLS.get(request["call"])
        reply = {"output": call(**request["input"])} if call else {"unsupported": True}
    except PermissionError as refusal:
        reply = {"refused": refusal.args[0]}
    print(json.dumps({"id": request["id"], **reply}), flush=True)

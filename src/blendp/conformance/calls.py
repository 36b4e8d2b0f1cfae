"""What every client computes, by name: the reference for all languages, made of the code that devices run.

A call takes and gives plain values of JSON. Whole numbers that may exceed 2^53 are decimal texts, fractions are
"numerator/denominator", bytes are hexadecimal digits. What is refused raises; ``reasons`` tells programs why.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from blendp.canonical import sha256
from blendp.client.backoff import MAX_DELAY, MAX_DELAY_IF_LATE, delay, retry_after
from blendp.client.explanation import exact_odds, explain, opt_in_sentence, promised_odds
from blendp.client.http import HttpAnswer, server_url
from blendp.client.ledger import Ledger, LedgerEntry, days_passed
from blendp.client.outbox import verdict_on
from blendp.client.personal import campaign_records, enrolment_body, participates
from blendp.client.policy import Policy
from blendp.conformance.samples import TERMS
from blendp.conformance.tape import Tape
from blendp.conformance.transcript import replayed
from blendp.errors import ParameterError
from blendp.headlist import HeadList
from blendp.mechanisms import TwoStage
from blendp.mechanisms.subset_selection.ranks import Ranks
from blendp.normalise import normalise_query, normalise_url
from blendp.privacy import Budget
from blendp.reports import QUESTION_NUMBER, apart_randomiser, subset_randomiser, two_stage_randomiser
from blendp.search import SearchIndex, build_index
from blendp.wire import Envelope, Manifest, Terms, UploadedReport, VerifyKey
from blendp.wire.addresses import of_report
from blendp.wire.deletions import DeletionRequest
from blendp.wire.install import deletion_key, pseudonym
from blendp.wire.keys import KeyStatement, Trust
from blendp.wire.releases import read_release
from blendp.wire.reports import write_report
from blendp.wire.search_index import IndexDescriptor
from blendp.wire.text_forms import require_day

Value = Any
"""A value of JSON."""


def _data(given: Mapping[str, Value]) -> bytes:
    """The bytes of a document: a text, or hexadecimal digits where it is none."""
    return bytes.fromhex(given["hex"]) if "hex" in given else str(given["text"]).encode("utf-8")


def _document(given: Mapping[str, Value]) -> Value:
    return _READERS[given["type"]](_data(given))


def _terms(data: bytes) -> Value:
    terms = Terms.from_bytes(data)
    cost = terms.client_budget
    kept = {"records_kept_until": terms.records_kept_until, "reports_kept_until": terms.reports_kept_until}
    return {"sha256": terms.sha256, "campaign": terms.campaign, "epsilon": cost.epsilon, "delta": cost.delta, **kept}


def _manifest(data: bytes) -> Value:
    manifest = Manifest.from_bytes(data)
    return {
        "sha256": manifest.sha256,
        "list_sha256": manifest.list_sha256,
        "records": manifest.records,
        "query_share": manifest.query_share,
    }


def _list(data: bytes) -> Value:
    head_list = _head_list(data)
    return {
        "sha256": head_list.sha256,
        "levels": head_list.levels,
        "queries": head_list.queries,
        "records": head_list.records,
        "cells": head_list.cells,
    }


def _head_list(data: bytes) -> HeadList:
    try:
        return HeadList.from_bytes(data)
    except ParameterError as error:
        raise ParameterError("list", error.value, error.legal, error.remedy) from error


def _release(data: bytes) -> Value:
    release, names = read_release(data), ("campaign", "manifest_sha256", "released")
    return {"sha256": sha256(data), **{name: release[name] for name in names}, "estimates": len(release["estimates"])}


def _key_statement(data: bytes) -> Value:
    statement = KeyStatement.from_bytes(data)
    return {name: getattr(statement, name) for name in ("key", "since", "replaces", "replaced_until")}


def _index_descriptor(data: bytes) -> Value:
    one = IndexDescriptor.from_bytes(data)
    return {"campaign": one.campaign, "release_sha256": one.release_sha256, "sha256": one.sha256, "bytes": one.size}


_READERS = {
    "terms": _terms,
    "manifest": _manifest,
    "list": _list,
    "release": _release,
    "key": _key_statement,
    "index-descriptor": _index_descriptor,
}


def _envelope(given: Mapping[str, Value]) -> Value:
    keys = [VerifyKey.of_text(key) for key in given["keys"]]
    return {"payload_sha256": sha256(Envelope.from_bytes(_data(given)).verified(given["type"], keys))}


def _keys(given: Mapping[str, Value]) -> Value:
    start = Trust.of(*(VerifyKey.of_text(key) for key in given["keys"]))
    trust = start.following([Envelope.from_bytes(text.encode("utf-8")) for text in given["statements"]])
    return {
        "trusted": [[key.text, None if until is None else until.isoformat()] for key, until in trust.keys],
        "on_day": [key.text for key in trust.on(require_day("day", given["day"]))],
    }


def _key(given: Mapping[str, Value]) -> Value:
    return {"id": VerifyKey.of_text(given["key"]).id}


def _normalise(given: Mapping[str, Value]) -> Value:
    return {"text": {"query": normalise_query, "url": normalise_url}[given["level"]](given["text"])}


def _records(given: Mapping[str, Value]) -> Value:
    terms = replace(TERMS, levels=given["levels"], normalise=given["normalise"])
    return {"records": [list(record) for record in campaign_records(given["records"], terms)]}


def _cell(given: Mapping[str, Value]) -> Value:
    head_list = _head_list(given["list"].encode("utf-8"))
    cell = head_list.cell_of(given["query"], given["url"])
    return {"cell": cell, "row": int(head_list.query_of_cell[cell])}


def _subset(given: Mapping[str, Value]) -> Value:
    randomiser = subset_randomiser(given["epsilon"], given["items"])
    return {"size": randomiser.size, "coin": str(randomiser.coin), "report_bytes": randomiser.report_bytes}


def _apart(given: Mapping[str, Value]) -> Value:
    randomiser = apart_randomiser(given["epsilon"], given["items"])
    among = randomiser.among.coin if randomiser.listed else 0
    return {
        "size": randomiser.size,
        "own": str(randomiser.own_coin),
        "other": str(randomiser.other_coin),
        "among": str(among),
        "report_bytes": randomiser.report_bytes,
    }


def _two_stage_of(given: Mapping[str, Value]) -> TwoStage:
    cells = np.array(given["cells_per_query"])
    return two_stage_randomiser(Budget(given["epsilon"], given["delta"]), cells, given["query_share"])


def _two_stage(given: Mapping[str, Value]) -> Value:
    randomiser = _two_stage_of(given)
    return {"query_coin": str(randomiser.query_coin), "url_coins": [str(coin) for coin in randomiser.url_coins]}


def _channel_subset(given: Mapping[str, Value]) -> Value:
    randomiser = subset_randomiser(given["epsilon"], given["items"])
    inside, outside = (_text(probability) for probability in randomiser.cell_probabilities())
    items = range(given["items"])
    sets = combinations(items, randomiser.size)
    return {randomiser.encode(some).hex(): [inside if item in some else outside for item in items] for some in sets}


def _channel_apart(given: Mapping[str, Value]) -> Value:
    randomiser = apart_randomiser(given["epsilon"], given["items"])
    own, other, inside, outside, unlisted = (_text(probability) for probability in randomiser.cell_probabilities())
    listed = range(randomiser.listed)
    sets = combinations(listed, randomiser.size) if randomiser.listed else ()
    of_sets = {
        randomiser.encode(some).hex(): [*(inside if item in some else outside for item in listed), unlisted]
        for some in sets
    }
    return {**of_sets, randomiser.encode([randomiser.listed]).hex(): [*(other for _ in listed), own]}


def _channel_two_stage(given: Mapping[str, Value]) -> Value:
    randomiser = _two_stage_of(given)
    rows: list[int] = randomiser.query_of_cell.tolist()
    laws = randomiser.cell_probabilities()
    cells = range(len(rows))

    def probability(report: int, cell: int) -> Fraction:
        own, sibling, stranger = laws[rows[report]]
        if report == cell:
            return own
        return sibling if rows[report] == rows[cell] else stranger

    return {str(report): [_text(probability(report, cell)) for cell in cells] for report in cells}


def _draw_subset(given: Mapping[str, Value]) -> Value:
    randomiser, tape = subset_randomiser(given["epsilon"], given["items"]), Tape(bytes.fromhex(given["tape"]))
    members = randomiser.release([given["item"]], tape)[0].nonzero()[0].tolist()
    return {"members": members, "data": randomiser.encode(members).hex(), "used": tape.used}


def _draw_apart(given: Mapping[str, Value]) -> Value:
    randomiser, tape = apart_randomiser(given["epsilon"], given["items"]), Tape(bytes.fromhex(given["tape"]))
    members = randomiser.release([given["item"]], tape)[0].nonzero()[0].tolist()
    return {"members": members, "data": randomiser.encode(members).hex(), "used": tape.used}


def _draw_two_stage(given: Mapping[str, Value]) -> Value:
    tape = Tape(bytes.fromhex(given["tape"]))
    return {"cell": int(_two_stage_of(given).release([given["cell"]], tape)[0]), "used": tape.used}


def _rank(given: Mapping[str, Value]) -> Value:
    ranks, items = Ranks(), given["items"]
    rank, last = ranks.rank(given["members"], items), ranks.binomial(items, given["size"]) - 1
    return {"rank": str(rank), "data": rank.to_bytes(max(1, (last.bit_length() + 7) // 8), "big").hex()}


def _unrank(given: Mapping[str, Value]) -> Value:
    ranks, data, items, size = Ranks(), bytes.fromhex(given["data"]), given["items"], given["size"]
    last = ranks.binomial(items, size) - 1
    if len(data) != max(1, (last.bit_length() + 7) // 8) or int.from_bytes(data, "big") > last:
        raise ParameterError("report", given["data"], f"a rank below C({items}, {size})", "Drop it.")
    return {"members": ranks.members(int.from_bytes(data, "big"), items, size)}


def _campaign(given: Mapping[str, Value]) -> tuple[Manifest, HeadList]:
    return Manifest.from_bytes(given["manifest"].encode("utf-8")), _head_list(given["list"].encode("utf-8"))


def _scheme(given: Mapping[str, Value]) -> Value:
    manifest, head_list = _campaign(given)
    return {"scheme": manifest.binding(head_list).scheme}


def _report(given: Mapping[str, Value]) -> Value:
    (manifest, head_list), tape = _campaign(given), Tape(bytes.fromhex(given["tape"]))
    terms = manifest.terms
    records = campaign_records(given["records"], terms)
    if not participates(terms, tape):
        return {"silent": True, "used": tape.used}
    report = manifest.scheme(head_list).randomise(records, tape)
    name = pseudonym(deletion_key(bytes.fromhex(given["secret"]), terms.campaign))
    report_id = bytes.fromhex(given["id"])
    upload = UploadedReport(report_id, name, QUESTION_NUMBER[report.question], report.data)
    body = write_report(manifest.binding(head_list), upload).decode("utf-8")
    return {"address": of_report(terms.campaign, report_id), "body": body, "used": tape.used}


def _enrol(given: Mapping[str, Value]) -> Value:
    terms, tape = Terms.from_bytes(given["terms"].encode("utf-8")), Tape(bytes.fromhex(given["tape"]))
    records = campaign_records(given["records"], terms)
    body = enrolment_body(terms, records, bytes.fromhex(given["nonce"]), tape, given["max_bytes"])
    return {"body": body.decode("utf-8"), "used": tape.used}


def _install(given: Mapping[str, Value]) -> Value:
    key = deletion_key(bytes.fromhex(given["secret"]), given["campaign"])
    body = DeletionRequest.of(key).to_bytes().decode("utf-8")
    return {"deletion_key": key.hex(), "pseudonym": pseudonym(key).hex(), "body": body}


def _explain(given: Mapping[str, Value]) -> Value:
    (manifest, head_list), question = _campaign(given), QUESTION_NUMBER.get(given["question"])
    if question is None:
        raise ParameterError("question", given["question"], "one of " + ", ".join(QUESTION_NUMBER), "Name another.")
    upload = UploadedReport(bytes(16), bytes(16), question, bytes.fromhex(given["data"]))
    explanation = explain(upload, manifest, head_list)
    likelihoods = [
        {"description": one.description, "cells": len(one.cells), "probability": _text(one.probability)}
        for one in explanation.likelihoods
    ]
    return {"likelihoods": likelihoods, "ratio": _text(explanation.ratio), "sentences": list(explanation.sentences)}


def _odds(given: Mapping[str, Value]) -> Value:
    terms = Manifest.from_bytes(given["manifest"].encode("utf-8")).terms
    odds = promised_odds(terms) if given["list"] is None else exact_odds(*_campaign(given))
    return {"sentence": odds.sentence, "opt_in": opt_in_sentence(terms)}


def _ledger(given: Mapping[str, Value]) -> Value:
    entries = tuple(_entry(entry) for entry in given["entries"])
    ledger = Ledger(Budget(*given["cap"]), entries, Budget(*given["yearly"]), given["counted"])
    after = ledger.spending(_entry(given["entry"]))
    return {
        "remaining": [_text(amount) for amount in after.remaining],
        "remaining_this_year": [_text(amount) for amount in after.remaining_this_year],
    }


def _entry(given: Mapping[str, Value]) -> LedgerEntry:
    budget = Budget(given["epsilon"], given["delta"])
    return LedgerEntry(given["campaign"], given["group"], budget, given["day"], given["counted"])


def _days(given: Mapping[str, Value]) -> Value:
    last: datetime.date | None = None if given["last"] is None else require_day("last", given["last"])
    return {"passed": days_passed(last, require_day("today", given["today"]))}


def _backoff(given: Mapping[str, Value]) -> Value:
    asked = retry_after(given["retry_after"], given["now"])
    max_delay = MAX_DELAY_IF_LATE if given["late"] else MAX_DELAY
    return {"delay": delay(given["attempts"], given["u"], asked, max_delay)}


def _answer(given: Mapping[str, Value]) -> Value:
    answer = HttpAnswer(given["status"], {}, given["body"].encode("utf-8"))
    verdict = verdict_on(answer, given["kind"], given["in_time"])
    return {"state": verdict.state, "reason": verdict.reason}


def _policy(given: Mapping[str, Value]) -> Value:
    Policy(**given["policy"]).require_manifest(Manifest.from_bytes(given["manifest"].encode("utf-8")))
    return {}


def _server(given: Mapping[str, Value]) -> Value:
    return {"url": server_url("server", given["url"], allow_http=given["allow_http"])}


def _index(given: Mapping[str, Value]) -> Value:
    return {"index": build_index(given["release"].encode("utf-8")).decode("utf-8")}


def _search(given: Mapping[str, Value]) -> Value:
    index = SearchIndex.from_bytes(given["index"].encode("utf-8"))
    answer = index.search(given["text"], given["limit"])
    return {"results": [asdict(result) for result in answer.results], "nearest": answer.nearest}


def _text(fraction: Fraction) -> str:
    return f"{fraction.numerator}/{fraction.denominator}"


CALLS: Mapping[str, Callable[[Mapping[str, Value]], Value]] = {
    "document": _document,
    "envelope": _envelope,
    "keys": _keys,
    "key": _key,
    "normalise": _normalise,
    "records": _records,
    "cell": _cell,
    "subset": _subset,
    "apart": _apart,
    "two-stage": _two_stage,
    "channel-subset": _channel_subset,
    "channel-apart": _channel_apart,
    "channel-two-stage": _channel_two_stage,
    "draw-subset": _draw_subset,
    "draw-apart": _draw_apart,
    "draw-two-stage": _draw_two_stage,
    "rank": _rank,
    "unrank": _unrank,
    "scheme": _scheme,
    "report": _report,
    "enrol": _enrol,
    "install": _install,
    "explain": _explain,
    "odds": _odds,
    "ledger": _ledger,
    "days": _days,
    "backoff": _backoff,
    "answer": _answer,
    "policy": _policy,
    "server": _server,
    "index": _index,
    "search": _search,
    "device": replayed,
}
"""Every call: from its input to its output."""

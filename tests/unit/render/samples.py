"""Outcomes to report on, made without a log: people draw cells of a given list from a given law."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from html import unescape

import numpy as np

from blendp.curator import add_noise
from blendp.estimate import Tally, blend, client_estimate, opt_in_estimate
from blendp.headlist import HeadList
from blendp.headlist.head_list import Record
from blendp.mechanisms import ThresholdList, TwoStage
from blendp.methods import GroupSizes, Outcome, Parameters, Release
from blendp.methods.guarantee import Guarantee
from blendp.randomness import SimulationRandom
from blendp.render.release.page import KnownTruth

HOSTILE: tuple[Record, ...] = (
    ("<script>alert('ran')</script>", "https://example.org/?a=1&b=<b>\"'"),
    ("*", "*"),
    ("costs $5 and $x_1^2$ \\frac{1}{2} under_score", "http://example.com/$y$"),
    ("погода в москве", "https://пример.рф/погода"),
    ("مرحبا بالعالم", "https://example.com/مرحبا"),
    ("שלום עולם", "https://example.co.il/"),
    ("party 🎉👩‍👩‍👧 time", "https://emoji.example/🎉"),
    ("tab\tnull\x00bell\x07line\nend\x9b\u202eevil\ufffe", "http://control.example/\r\n"),
    ("w" * 1500, "http://long.example/" + "path/" * 300),
    ("", "http://empty.example/"),
    ("  spaces   kept  ", "http://space.example/"),
    ("東京 天気 予報 " * 6, "https://example.jp/天気"),
    ("{{ 7 * 7 }} {% raw %}", "javascript:alert(1)"),
)


def plain_records(count: int, per_query: int = 2) -> list[Record]:
    """So many records, with some URLs for every query."""
    return [
        (f"query number {i // per_query}", f"http://www.site{i // per_query}.com/{i % per_query}") for i in range(count)
    ]


def make_outcome(
    records: Sequence[Record],
    *,
    kind: type[Outcome] = Release,
    levels: int = 2,
    estimating: int = 2_000,
    clients: int = 40_000,
    parameters: Parameters | None = None,
    seed: int = 1,
) -> tuple[Outcome, KnownTruth]:
    """An outcome about these records and its truth: a falling law in which a third is not listed."""
    parameters = (parameters or Parameters(method="published")).fitted(1000 + estimating + clients)
    head_list = HeadList.of_records(records, levels)
    random = SimulationRandom(seed)
    law = np.random.default_rng(seed)
    weights = law.permutation(1 / np.arange(1, head_list.cells + 1))
    weights[-1] = weights[:-1].sum() / 2 or 1.0
    truth = weights / weights.sum()

    list_maker = ThresholdList(parameters.budget, parameters.max_opt_in_records)
    cells_of_people = law.choice(head_list.cells, size=(estimating, parameters.max_opt_in_records), p=truth)
    noisy = add_noise(head_list, cells_of_people, list_maker.noise, random, parameters.wildcard)
    of_opt_in = opt_in_estimate(noisy, parameters.variance)
    randomiser = TwoStage(parameters.budget, head_list.cells_per_query, parameters.client_query_share)
    reports = randomiser.draw(law.choice(head_list.cells, size=clients, p=truth), random).reshape(clients, 1)
    tally = Tally.of_reports(reports, head_list.cells_per_query)
    of_clients = client_estimate(tally, randomiser, parameters.variance)
    outcome = kind(
        parameters=parameters,
        groups=GroupSizes(19 * estimating, estimating, clients),
        guarantee=Guarantee.of_two_stage(parameters, list_maker, randomiser),
        candidates=2 * head_list.records,
        head_list=head_list,
        opt_in=of_opt_in,
        client=of_clients,
        cells=blend(of_opt_in.cells, of_clients.cells, estimating, parameters.variance),
        queries=blend(of_opt_in.queries, of_clients.queries, estimating, parameters.variance),
    )
    queries = np.bincount(head_list.query_of_cell, weights=truth).astype(np.float64)
    scores = {"L1": 0.1234567, "NDCG": 0.9512, "NDCG (random order)": 0.4321}
    return outcome, KnownTruth(truth, queries, scores)


def scripts(page: str) -> list[str]:
    """The scripts of a page, each by how its policy names it."""
    assert page.count("<script") == page.count("</script>")
    bodies = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    return [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in bodies]


def only_script(page: str) -> bool:
    """Whether the page's one script is the one that its policy allows, and nothing else runs."""
    return [f"'sha256-{digest}'" for digest in scripts(page)] == re.findall(r"script-src ([^;]*);", unescape(page))

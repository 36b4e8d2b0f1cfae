"""Rules, scrape configuration and dashboard: correct, as promtool finds, and about numbers that a collector gives."""

from __future__ import annotations

import datetime
import importlib
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from blendp.service.door import Door
from blendp.wire import addresses
from blendp.wire.media_types import BATCH_TYPE
from blendp.wire.reports import Binding, write_batch
from tests.deploy.tools import KIT, replaced, require_success, run_tool, tool
from tests.service.helpers import DAY, bearer, open_collector, published_campaign, terms_of, with_client

PROMETHEUS = KIT / "prometheus"
RULES = PROMETHEUS / "rules"
DASHBOARD = json.loads((KIT / "grafana/blendp.json").read_text())
VARIABLES = {"$campaign": ".*", "$__rate_interval": "5m"}
"""What Grafana puts instead of its variables."""


def _yaml(text: str) -> Any:
    return importlib.import_module("yaml").safe_load(text)


def rules() -> Iterator[dict[str, Any]]:
    for name in ("recording.yml", "alerts.yml"):
        for group in _yaml((RULES / name).read_text())["groups"]:
            yield from group["rules"]


def panels() -> list[dict[str, Any]]:
    return [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def dashboard_expressions() -> list[str]:
    written = [target["expr"] for panel in panels() for target in panel["targets"]]
    for variable, value in VARIABLES.items():
        assert any(variable in one for one in written)
        written = [one.replace(variable, value) for one in written]
    return written


class Day:
    """A clock that is set."""

    day = DAY

    def __call__(self) -> datetime.date:
        return self.day


@pytest.fixture(scope="module")
def metrics(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What /metrics says once everything has happened that it counts."""
    clock = Day()
    collector = open_collector(tmp_path_factory.mktemp("collector"), clock)
    token = collector.tokens.create("prometheus", {"read"})
    published = published_campaign(collector)
    collector.lifecycle.create(terms_of("forgotten"))
    clock.day += datetime.timedelta(days=12)
    collector.meet_deadlines()  # deletes the forgotten one
    collector.lifecycle.create(terms_of("new", opt_in_until="2026-12-20", reports_until="2026-12-30"))
    Door(collector.settings, collector.metrics.refused_connection).refused("head time")
    collector.metrics.deadline("release", "internal")
    for status in (503, 507):
        collector.metrics.request("PUT", addresses.REPORT, status, 0.1)

    async def talk(client: httpx.AsyncClient) -> str:
        for manifest in ("00" * 32, published.binding.manifest):
            batch = write_batch(Binding(manifest, published.binding.scheme), published.make(2))
            await client.post("/v1/campaigns/c1/reports", content=batch, headers={"content-type": BATCH_TYPE})
        await client.get("/metrics")
        return (await client.get("/metrics", headers=bearer(token))).text

    return with_client(collector, talk)


def samples(metrics: str) -> Iterator[Sample]:
    for family in text_string_to_metric_families(metrics):
        yield from family.samples


def selectors() -> list[str]:
    """All series that the alerts look at."""
    expressions = [rule["expr"] for rule in rules() if "alert" in rule]
    return sorted({one for text in expressions for one in re.findall(r"\b(?:up|blendp[\w:]+)(?:\{[^}]*\})?", text)})


def gives_something(folder: Path, metrics: str, expressions: list[str]) -> bool:
    """Whether each expression gives at least one number over an hour and a half of a collector's own series."""
    series = [
        {"series": _series(sample), "values": f"{sample.value}+{int(sample.name.endswith(_COUNTED))}x100"}
        for sample in samples(metrics)
    ]
    series.append({"series": 'up{job="blendp", instance="c"}', "values": "1x100"})
    wanted = [{"labels": "{}", "value": 1}]
    tried = [
        {"expr": f"count({expression}) > bool 0", "eval_time": "90m", "exp_samples": wanted}
        for expression in expressions
    ]
    test = {"interval": "1m", "input_series": series, "promql_expr_test": tried}
    cases = {"rule_files": [str(RULES / "recording.yml")], "evaluation_interval": "5m", "tests": [test]}
    (folder / "cases.yml").write_text(json.dumps(cases))
    done = run_tool("promtool", "test", "rules", folder / "cases.yml")
    print(done.stdout, done.stderr)
    return done.returncode == 0


_COUNTED = ("_total", "_bucket", "_count", "_sum")


def _series(sample: Sample) -> str:
    labels = {**sample.labels, "job": "blendp", "instance": "c"}
    return sample.name + "{" + ", ".join(f"{name}={json.dumps(value)}" for name, value in labels.items()) + "}"


def test_the_rules_are_correct() -> None:
    require_success("promtool", "check", "rules", RULES / "recording.yml", RULES / "alerts.yml")


def test_the_rules_do_what_their_tests_say() -> None:
    require_success("promtool", "test", "rules", "alerts_test.yml", cwd=PROMETHEUS)


def test_every_alert_has_a_test_a_severity_and_a_remedy() -> None:
    tested = (PROMETHEUS / "alerts_test.yml").read_text()
    alerts = [rule for rule in rules() if "alert" in rule]
    assert len(alerts) > 10
    for rule in alerts:
        assert f'alertname="{rule["alert"]}"' in tested, rule["alert"]
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert set(rule["annotations"]) == {"summary", "remedy"}


def test_the_scrape_configuration_is_correct(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("blendp-token")
    changes = {"/etc/prometheus/blendp.token": str(tmp_path / "token"), "rules/*.yml": str(RULES / "*.yml")}
    (tmp_path / "prometheus.yml").write_text(replaced((PROMETHEUS / "prometheus.yml").read_text(), changes))
    require_success("promtool", "check", "config", tmp_path / "prometheus.yml")


def test_prometheus_likes_the_numbers(metrics: str) -> None:
    """But for days, which it would have in seconds."""
    command = [tool("promtool"), "check", "metrics"]
    complaints = subprocess.run(command, input=metrics, capture_output=True, text=True, check=False).stderr
    assert [line for line in complaints.splitlines() if 'instead of "days"' not in line] == []


def test_every_panel_shows_numbers_that_a_collector_gives(tmp_path: Path, metrics: str) -> None:
    assert gives_something(tmp_path, metrics, dashboard_expressions())


def test_every_alert_looks_at_numbers_that_a_collector_gives(tmp_path: Path, metrics: str) -> None:
    assert gives_something(tmp_path, metrics, selectors())


@pytest.mark.parametrize(
    "wrong", ["blendp_store_upp", 'blendp_campaign_state{status="reporting"}', 'blendp_requests_total{status="418"}']
)
def test_a_number_that_no_collector_gives_is_noticed(tmp_path: Path, metrics: str, wrong: str) -> None:
    assert not gives_something(tmp_path, metrics, [wrong])


def test_every_number_of_a_collector_is_looked_at(metrics: str) -> None:
    texts = " ".join([*dashboard_expressions(), *(rule["expr"] for rule in rules())])
    names = {family.name for family in text_string_to_metric_families(metrics)}
    assert {name for name in names if name not in texts} == set()


def test_the_dashboard_is_one_that_grafana_can_import() -> None:
    """The parts that its schema requires; panels have their own numbers, and none lies upon another."""
    assert {"title", "uid", "schemaVersion", "panels", "templating", "time", "timezone"} <= set(DASHBOARD)
    assert DASHBOARD["timezone"] == "utc"
    numbers = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(numbers) == len(set(numbers))
    cells = [cell for panel in DASHBOARD["panels"] for cell in _cells(panel["gridPos"])]
    assert len(cells) == len(set(cells))
    for panel in panels():
        assert panel["description"]
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        assert all(target["datasource"] == panel["datasource"] for target in panel["targets"])


def test_the_dashboard_knows_the_campaigns_by_their_label(metrics: str) -> None:
    queries = [variable["query"] for variable in DASHBOARD["templating"]["list"] if variable["type"] == "query"]
    assert queries == ["label_values(blendp_campaign_state, campaign)"]
    states = [sample for sample in samples(metrics) if sample.name == "blendp_campaign_state"]
    assert {sample.labels["campaign"] for sample in states} == {"c1", "new"}


def _cells(position: dict[str, int]) -> Iterator[tuple[int, int]]:
    for x in range(position["x"], position["x"] + position["w"]):
        assert x < 24
        for y in range(position["y"], position["y"] + position["h"]):
            yield x, y

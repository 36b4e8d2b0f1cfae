"""The benchmark of liars: what they forge are possible reports, and the statement holds against them."""

import numpy as np
import pytest

from benchmarks.poisoning import Lie, main
from blendp.headlist import HeadList
from blendp.randomness import SimulationRandom
from blendp.reports import ORACLES, SubsetScheme

LIST = HeadList.of_records([(f"q{i:02}", f"u{j}") for i in range(20) for j in range(3)])


@pytest.mark.parametrize("oracle", ORACLES)
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.parametrize("cell", [5, None])
def test_liars_send_what_a_device_can_send(oracle: str, epsilon: float, cell: int | None) -> None:
    """So many reports more of each question, which name as many items as they must, and the target first."""
    scheme = SubsetScheme(LIST, epsilon, 0.5, oracle)
    honest = scheme.draw(np.full((100, 1), LIST.cells - 1), SimulationRandom(1))
    poisoned = Lie(of_record=40, of_query=7, query=1, cell=cell).among(honest, LIST)  # refused if it did not add up
    assert poisoned.reports == {"query": honest.reports["query"] + 7, "record": honest.reports["record"] + 40}
    record, query = (poisoned.supports[name] - honest.supports[name] for name in ("record", "query"))
    assert query[1] == 7
    named = record[LIST.query_of_cell == 1]
    size = scheme.randomisers["record"].size
    assert named.tolist() == ([0, 40, 0, 0] if cell == 5 else [10 * min(size, 4)] * 4)
    assert record.max() <= 40
    assert record.min() >= 0


def test_a_short_run_has_every_figure(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--runs", "2", "--epsilon", "4", "--share", "chosen", "--liars", "0.01"])
    head, figures = capsys.readouterr().out.splitlines()
    assert head.count("stated") == head.count("exceeded") == 2
    assert len(figures.replace("|", "").split()) == 14
    own, blend = figures.split("|")[1:3]
    assert own.split()[2] == blend.split()[3] == "0"

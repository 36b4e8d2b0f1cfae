"""The benchmark of sizes runs, and tells what it should; how fast anything is, no test asserts."""

from benchmarks.sizing import HEAD, SQLITE, measure


def test_a_short_run_has_every_figure() -> None:
    cost = measure(SQLITE, 10, 2_000)
    assert cost.records == 10
    assert 32 < cost.disk_bytes < 200
    assert 32 < cost.backup_bytes < 200
    assert cost.release_seconds > 0
    assert str(cost).count(" | ") == len(HEAD) - 1

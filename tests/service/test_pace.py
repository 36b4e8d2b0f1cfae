"""When a minimum is reached, by clocks that stand still: computed by hand."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blendp.service.board.pace import MAX_FULL_DAYS, Arrivals
from blendp.wire.pace import OUTLOOKS, Pace

TODAY = datetime.date(2026, 11, 16)


def day(number: int) -> datetime.date:
    """So many days from today."""
    return TODAY + datetime.timedelta(days=number)


def pace(
    by_day: Mapping[int, int],
    *,
    minimum: int = 100,
    there: int | None = None,
    first: int | None = -3,
    last: int = 10,
    ended: bool = False,
) -> Pace:
    """The pace today of a group that so many came to on each day, counted from today."""
    counts = {day(number): count for number, count in by_day.items()}
    return Arrivals(
        counts,
        sum(counts.values()) if there is None else there,
        minimum,
        None if first is None else day(first),
        day(last),
        ended,
    ).pace(TODAY)


def test_full_days_tell_the_pace_and_today_may_still_bring_some() -> None:
    """30 in 3 days are 10 a day; 4 came today, so 6 more may: 66 are left, less 6, at 10 a day: 6 days."""
    shown = pace({-3: 5, -2: 15, -1: 10, 0: 4})
    assert (shown.outlook, shown.per_day, shown.full_days, shown.today) == ("on-course", 10.0, 3, 4)
    assert shown.reached == day(6).isoformat()
    assert shown.by_deadline == 34 + 6 + 10 * 10
    assert shown.sentence == f"At 10 a day the minimum is reached on {day(6)}."


def test_today_counts_where_it_raises_the_mean() -> None:
    """30 in 3 days, and 50 today: 20 a day, nothing more is expected today, and 20 are left."""
    shown = pace({-3: 5, -2: 15, -1: 10, 0: 50})
    assert (shown.per_day, shown.reached) == (20.0, day(1).isoformat())


def test_a_morning_without_anybody_does_not_lower_the_mean() -> None:
    shown = pace({-3: 5, -2: 15, -1: 10})
    assert (shown.per_day, shown.today) == (10.0, 0)
    assert shown.reached == day(6).isoformat(), "70 are left, 10 of them today"


def test_the_minimum_may_be_reached_today() -> None:
    shown = pace({-3: 20, -2: 20, -1: 20}, minimum=80)
    assert (shown.reached, shown.sentence) == (TODAY.isoformat(), "At 20 a day the minimum is reached today.")
    assert pace({-3: 20, -2: 20, -1: 20}, minimum=81).reached == day(1).isoformat()


def test_no_more_than_seven_full_days_are_looked_at() -> None:
    old = dict.fromkeys(range(-30, -MAX_FULL_DAYS), 1000)
    shown = pace({**old, -7: 7, -1: 7}, first=-30, minimum=10**6)
    assert (shown.per_day, shown.full_days) == (2.0, 7)


def test_days_on_which_nobody_came_count() -> None:
    assert pace({-3: 30}).per_day == 10.0


def test_the_first_day_has_nothing_else_to_go_by() -> None:
    shown = pace({0: 20}, first=0)
    assert (shown.outlook, shown.per_day, shown.full_days, shown.reached) == ("on-course", 20.0, 0, day(4).isoformat())


@pytest.mark.parametrize(("last", "outlook", "reached"), [(6, "on-course", day(6).isoformat()), (5, "too-late", None)])
def test_after_the_last_day_it_is_too_late(last: int, outlook: str, reached: str | None) -> None:
    shown = pace({-3: 5, -2: 15, -1: 10, 0: 4}, last=last)
    assert (shown.outlook, shown.reached, shown.by_deadline) == (outlook, reached, 40 + 10 * last)
    assert (str(day(last)) in shown.sentence) == (outlook == "too-late" or last == 6)


def test_nobody_is_nothing_and_not_a_day_far_away() -> None:
    shown = pace({-30: 5}, first=-30)
    assert (shown.outlook, shown.reached, shown.by_deadline, shown.per_day) == ("nothing", None, 5, 0.0)


@pytest.mark.parametrize(
    ("group", "outlook"),
    [
        ({"by_day": {-1: 100}}, "reached"),
        ({"by_day": {-1: 100}, "ended": True}, "reached"),
        ({"by_day": {-1: 99}, "ended": True}, "closed"),
        ({"by_day": {-2: 99}, "last": -1}, "closed"),
        ({"by_day": {}, "first": None}, "not-open"),
        ({"by_day": {}, "first": 1}, "not-open"),
        ({"by_day": {}, "first": None, "last": -1}, "closed"),
    ],
)
def test_groups_that_do_not_send_have_no_day(group: dict[str, object], outlook: str) -> None:
    shown = pace(**group)  # type: ignore[arg-type]
    assert (shown.outlook, shown.reached, shown.by_deadline) == (outlook, None, None)


def test_what_was_deleted_is_missing_again() -> None:
    assert pace({-1: 60, 0: 50}, first=-1, there=99).outlook == "on-course"
    assert pace({-1: 60, 0: 50}, first=-1, there=100).outlook == "reached"


def test_days_before_arrivals_were_counted_tell_nothing() -> None:
    """500 were there when counting began yesterday: the days before are not empty, only unknown."""
    shown = pace({-1: 10}, first=-20, there=510, minimum=600)
    assert (shown.per_day, shown.full_days) == (10.0, 1)
    shown = pace({}, first=-20, there=510, minimum=600)
    assert (shown.outlook, shown.full_days) == ("nothing", 0)


@given(
    st.dictionaries(st.integers(-12, 0), st.integers(0, 50)),
    st.integers(1, 2000),
    st.integers(-12, 2),
    st.integers(-1, 40),
    st.integers(0, 30),
)
def test_the_day_is_the_first_on_which_the_pace_is_enough(
    by_day: dict[int, int], minimum: int, first: int, last: int, deleted: int
) -> None:
    came = {number: count for number, count in by_day.items() if number >= first}
    there = max(0, sum(came.values()) - deleted)
    shown = pace(came, minimum=minimum, there=there, first=first, last=last)
    assert shown.outlook in OUTLOOKS
    assert (shown.reached is not None) == (shown.outlook == "on-course")
    if shown.reached is not None:
        days = (datetime.date.fromisoformat(shown.reached) - TODAY).days
        still_today = max(0.0, shown.per_day - shown.today)
        assert 0 <= days <= last
        assert there + still_today + shown.per_day * days >= minimum - 1e-6
        assert days == 0 or there + still_today + shown.per_day * (days - 1) < minimum + 1e-6
    if shown.outlook == "too-late":
        assert shown.by_deadline is not None
        assert there <= shown.by_deadline < minimum
    assert math.isfinite(shown.per_day)

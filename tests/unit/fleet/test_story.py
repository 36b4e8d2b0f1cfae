"""The demonstration's story: days in order, terms that can be kept, and people who come once."""

from __future__ import annotations

import datetime
from itertools import pairwise

import pytest

from blendp.errors import ParameterError
from blendp.fleet.story import MAX_PEOPLE, MIN_PEOPLE, Story
from blendp.wire.enrolments import MAX_ENROLMENTS

TODAY = datetime.date(2027, 1, 6)
STORY = Story(TODAY, MIN_PEOPLE)


def test_weeks_follow_one_another_also_over_the_turn_of_a_year() -> None:
    campaigns = (*STORY.released, STORY.live)
    assert [one.name for one in campaigns] == [
        "searches-2026-w50",
        "searches-2026-w51",
        "searches-2026-w52",
        "searches-2026-w53",
    ]
    for before, after in pairwise(campaigns):
        assert before.late_day < after.opens


def test_terms_are_kept_by_the_days_on_which_people_come() -> None:
    for campaign in (*STORY.released, STORY.live):
        terms = campaign.terms
        assert terms.opens <= campaign.list_day.isoformat() <= terms.opt_in_until
        assert {day.isoformat() for day in campaign.reports} <= {
            (campaign.list_day + datetime.timedelta(days=number)).isoformat() for number in range(5)
        }
        assert max(campaign.reports).isoformat() == terms.reports_until < campaign.late_day.isoformat()
        assert terms.min_opt_in <= len(campaign.opt_in) < campaign.tokens
        assert terms.min_clients < len(campaign.clients)


def test_the_largest_crowd_can_be_enrolled() -> None:
    assert Story(TODAY, MAX_PEOPLE).live.tokens <= MAX_ENROLMENTS


def test_everybody_comes_once() -> None:
    campaign = STORY.live
    assert campaign.opt_in + campaign.clients == campaign.records
    assert sum(campaign.reports.values(), ()) == campaign.clients


def test_the_live_campaign_has_days_behind_it_and_people_to_come() -> None:
    days = sorted(STORY.live.reports)
    assert len([day for day in days if day < TODAY]) == 2
    assert days[-1] > TODAY


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"people": MIN_PEOPLE - 1}, "users"),
        ({"people": MAX_PEOPLE + 1}, "users"),
        ({"like": "bing"}, "name"),
        ({"seed": -1}, "seed"),
    ],
)
def test_what_cannot_be_shown_is_refused(fields: dict[str, object], named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        Story(TODAY, **fields)  # type: ignore[arg-type]

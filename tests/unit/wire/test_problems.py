"""The table of refusals."""

from blendp.wire.problems import PREFIX, PROBLEMS, RETRYABLE


def test_types_are_stable_and_statuses_are_of_refusals() -> None:
    for slug, problem in PROBLEMS.items():
        assert problem.slug == slug
        assert problem.type == PREFIX + slug
        assert 400 <= problem.status < 600
        assert problem.title


def test_what_may_be_tried_again() -> None:
    again = {slug for slug, problem in PROBLEMS.items() if problem.retryable}
    assert again == {
        "request-timeout",
        "misdirected",
        "rate-limited",
        "head-too-large",
        "internal",
        "busy",
        "storage-full",
    }
    assert {PROBLEMS[slug].status for slug in again} <= set(RETRYABLE)

"""Faults that named quick tests have to notice in every run, and mutants that no test can be asked to kill.

A fault is a fragment that occurs once in its module, and what stands there instead.
"""

from __future__ import annotations

from typing import NamedTuple

_ESTIMATE, _CURATOR, _SURVEY = "tests/unit/estimate", "tests/unit/curator", "tests/unit/survey"
_NORMAL = f"{_ESTIMATE}/test_hybrid_exact.py::test_normal_densities_are_blended_by_precision_and_least_squares"
_CAP = f"{_ESTIMATE}/test_hybrid_exact.py::test_the_cap_counts_standard_errors_of_the_difference"
_LOPSIDED = f"{_ESTIMATE}/test_hybrid_exact.py::test_lopsided_densities_are_integrated_and_their_intervals_are_narrowed"
_PREDICTED = f"{_ESTIMATE}/test_prediction.py::test_the_posterior_is_the_stated_density"
_CONJUGATE = f"{_ESTIMATE}/test_posterior.py::test_one_more_observation_is_the_conjugate_formula_for_a_normal"
_QUANTILES = f"{_ESTIMATE}/test_posterior.py::test_quantiles_are_those_of_the_normal_law_row_by_row"
_SQUARES = f"{_ESTIMATE}/test_split.py::test_it_is_generalised_least_squares"
_ENDS = f"{_ESTIMATE}/test_split.py::test_frequencies_beyond_their_range_have_the_variance_of_its_end"
_REST = f"{_ESTIMATE}/test_split.py::test_what_is_expected_of_the_others_leaves_the_rest"
_INVERTED = (
    f"{_ESTIMATE}/test_client.py::test_the_estimate_is_the_channel_inverted_and_its_variance_that_of_single_clients"
)
_OPT_IN = f"{_ESTIMATE}/test_opt_in.py::test_the_stated_formulas_with_several_records_and_folded_cells"
_AS_THEY_STAND = f"{_ESTIMATE}/test_opt_in.py::test_counts_as_they_stand_are_estimates_with_their_dispersion"
_BLEND = f"{_ESTIMATE}/test_blending.py::test_the_blend_is_the_stated_formula"
_RESTS = f"{_ESTIMATE}/test_rests.py::test_the_prior_of_rests_against_quadrature"
_FROM_ZERO = f"{_ESTIMATE}/test_rests.py::test_an_interval_begins_at_zero_where_zero_is_likely"
_ONE_FAR_OFF = f"{_ESTIMATE}/test_agreement.py::test_one_record_however_far_off_hardly_moves_kappa"
_NO_JUMP = f"{_ESTIMATE}/test_agreement.py::test_kappa_has_no_jump"
_FIT = f"{_CURATOR}/test_by_weight.py::test_the_prediction_solves_its_equations"
_FOLDED = f"{_CURATOR}/test_opt_in_counts.py::test_trimming_folds_people_and_their_noise"


class Fault(NamedTuple):
    """What must be noticed, and by which test: a function or a file."""

    module: str
    fragment: str
    instead: str
    test: str


class Survivor(NamedTuple):
    """A mutant that lives, and why nobody need kill it."""

    module: str
    fragment: str
    instead: str
    why: str


FAULTS = (
    Fault("estimate/hybrid.py", "self.own.variance + self.v, cap)", "self.own.variance, cap)", _CAP),
    Fault(
        "estimate/hybrid.py",
        "_sums(cells.variance, rows) + parts.v_y, guard.cap)",
        "_sums(cells.variance, rows), guard.cap)",
        _CAP,
    ),
    Fault("estimate/hybrid.py", "y[rows] - others[0], parts.v_y[rows]", "cells.mean, np.inf", _LOPSIDED),
    Fault("estimate/hybrid.py", "y[rows] - others[0]", "y[rows]", _NORMAL),
    Fault("estimate/hybrid.py", "(1 - share_opt_in) * between))", "between))", _NORMAL),
    Fault("estimate/hybrid.py", "return x, v + between, y", "return x, v, y", _NORMAL),
    Fault("estimate/hybrid.py", "v_y + _sums(between, rows)", "v_y", _NORMAL),
    Fault("estimate/posterior.py", "tail = (1 - confidence) / 2", "tail = 1 - confidence", _NORMAL),
    Fault("estimate/posterior.py", "zero + (1 - zero) * confidence", "zero + confidence", _FROM_ZERO),
    Fault("estimate/rests.py", "(each * (1 - EMPTY)).sum(axis=2)", "each.sum(axis=2)", _RESTS),
    Fault("estimate/rests.py", "known / known.sum()", "known * 0 + 1 / known.size", _RESTS),
    Fault("estimate/agreement.py", "_FARTHEST**2", "np.inf", _ONE_FAR_OFF),
    Fault("estimate/agreement.py", "prior[0] += _ALIKE", "pass", _NO_JUMP),
    Fault("estimate/hybrid.py", "weight = np.minimum(own * variance", "weight = np.minimum(variance", _NORMAL),
    Fault("estimate/posterior.py", "grid + slope * (p - grid), grid)", "grid, grid)", _PREDICTED),
    Fault("estimate/posterior.py", "sampling - slope * c * grid", "sampling", _PREDICTED),
    Fault("estimate/posterior.py", "np.log(grid / p) + u * u / 2)", "np.log(grid / p))", _PREDICTED),
    Fault("estimate/posterior.py", "(precision[:, None] / 2)", "precision[:, None]", _CONJUGATE),
    Fault("estimate/posterior.py", "np.cumsum(weight, axis=1) - weight / 2", "weight", _QUANTILES),
    Fault("estimate/split.py", "spread / (spread + v_y))", "v_y / (spread + v_y))", _SQUARES),
    Fault("estimate/split.py", "v * (1 - share * gain[..., rows])", "v * (1 - gain[..., rows])", _SQUARES),
    Fault("estimate/split.py", "inside = np.clip(p, 0.0, 1.0)", "inside = p", _ENDS),
    Fault("estimate/split.py", "np.clip(expected, 0.0, 1.0)", "expected", _ENDS),
    Fault("estimate/split.py", "max(1.0 - float(expected.sum()), 0.0)", "1.0 - float(expected.sum())", _REST),
    Fault("estimate/blending.py", "both = v_c / (v_o(x) + v_c)", "both = v_o(x) / (v_o(x) + v_c)", _BLEND),
    Fault("estimate/blending.py", "    w = weight(_mean(w, p_o, p_c))\n", "", _BLEND),
    Fault("estimate/blending.py", "v_o(p, more=w**2)", "v_o(p)", _BLEND),
    Fault("estimate/blending.py", "np.maximum(client.variance, client.floor)", "client.variance", _BLEND),
    Fault(
        "estimate/client.py", "+ self.A**2 * query[rows] + 2 * self.A * moments", "+ 2 * self.A * moments", _INVERTED
    ),
    Fault("estimate/client.py", "r * (1 - a) / reports", "-r * a / reports", _INVERTED),
    Fault("estimate/client.py", "tally.users - 1\n", "tally.users\n", _INVERTED),
    Fault("estimate/opt_in.py", "(p * (1 - p) + users * floor)", "(p * (1 - p) + floor)", _OPT_IN),
    Fault(
        "estimate/opt_in.py", "terms * noisy.noise.variance / records**2", "noisy.noise.variance / records**2", _OPT_IN
    ),
    Fault("estimate/opt_in.py", "dispersion * inside * (1 - inside) / n", "inside * (1 - inside) / n", _AS_THEY_STAND),
    Fault(
        "estimate/simplex.py",
        "np.cumsum(descending) - 1",
        "np.cumsum(descending)",
        f"{_ESTIMATE}/test_blending.py::test_a_probability_vector_stays_as_it_is",
    ),
    Fault(
        "estimate/tally.py",
        "scale = users * per_user, users * per_user**2",
        "scale = users * per_user, users * per_user",
        f"{_ESTIMATE}/test_client.py::test_the_tally_of_several_reports_is_that_of_a_loop_over_people",
    ),
    Fault("curator/by_weight.py", "(weight_noise / weights) ** 2 + _ADDED / weights", "_ADDED / weights", _FIT),
    Fault("curator/by_weight.py", "** 2 + _ADDED / weights", "** 2", _FIT),
    Fault("curator/by_weight.py", "gap**2 - variance - of_weight + unsure", "gap**2 - variance - of_weight", _FIT),
    Fault("curator/by_weight.py", "gap**2 - variance - of_weight + unsure", "gap**2 - variance + unsure", _FIT),
    Fault("curator/by_weight.py", "times * square * alike", "times * square", _FIT),
    Fault("curator/opt_in_counts.py", "noise[-1] = noise[:-1].sum()", "pass", _FOLDED),
    Fault(
        "curator/opt_in_counts.py",
        "people[-1] = users - people[:-1].sum()",
        "pass",
        f"{_CURATOR}/test_opt_in_counts.py::test_totals_stand_in_their_cells_and_the_rest_in_the_last",
    ),
    Fault(
        "curator/mean_records.py",
        "DiscreteLaplace(epsilon / MAX_COUNTED)",
        "DiscreteLaplace(epsilon)",
        f"{_CURATOR}/test_shares.py::test_the_mean_counts_a_bounded_part_of_everybody",
    ),
    Fault(
        "curator/noisy_counts.py",
        "falling_order(totals)[:size]",
        "falling_order(-totals)[:size]",
        f"{_CURATOR}/test_noisy_counts.py::test_trimming_by_query_keeps_whole_queries",
    ),
    Fault(
        "survey/clients.py",
        "np.clip(each, 0.0, 1.0) for each",
        "each for each",
        f"{_SURVEY}/test_clients.py::test_frequencies_beyond_their_range_have_the_variance_of_its_end",
    ),
)

_SAME_SHAPES = "All shapes have to be equal, in whichever order they are compared."
_CONVERGED = "A fit that has converged does not show where it began, or how long its steps were."
_NO_ELEMENTS = "An array without elements."
_OVERWRITTEN = "Every element is written afterwards."
_ALONE = "Of a cell that is alone in its query it is not used."
_SYMMETRIC = "The law of the noise is symmetric."

SURVIVORS = (
    Survivor(
        "estimate/group.py",
        "freeze_alike(self.probability, self.variance, ",
        "freeze_alike(self.variance, self.probability, ",
        _SAME_SHAPES,
    ),
    Survivor("estimate/group.py", "arrays[0].ndim", "arrays[1].ndim", _SAME_SHAPES),
    Survivor(
        "estimate/blending.py",
        "freeze_alike(self.probability, self.variance, ",
        "freeze_alike(self.variance, self.probability, ",
        _SAME_SHAPES,
    ),
    Survivor(
        "estimate/blending.py",
        "max(opt_in_users, 1)",
        "max(opt_in_users, 2)",
        "Of one opt-in person the error is unknown, and this is not used.",
    ),
    Survivor(
        "estimate/simplex.py",
        "descending > excess",
        "descending >= excess",
        "Where both are equal the shift is the same.",
    ),
    Survivor(
        "estimate/hybrid.py",
        "own * variance / cells.variance, 1.0",
        "own * variance / cells.variance, 2.0",
        "Neither factor exceeds 1, but for rounding.",
    ),
    Survivor(
        "estimate/split.py",
        "return np.zeros(len(expected))",
        "return np.ones(len(expected))",
        "The infinite variance beside it says that it counts for nothing.",
    ),
    Survivor(
        "estimate/split.py",
        "np.isfinite(v).all()",
        "np.isfinite(v).any()",
        "Variances of an arm are all infinite, or none.",
    ),
    Survivor("estimate/client.py", "np.where(self.alone, 1, ", "np.where(self.alone, 2, ", _ALONE),
    Survivor("estimate/client.py", "np.where(self.alone, 0.0, ", "np.where(self.alone, 1.0, ", _ALONE),
    Survivor("estimate/client.py", "np.where(self.alone, 1.0, ", "np.where(self.alone, 2.0, ", _ALONE),
    Survivor("curator/by_weight.py", "_ROUNDS = 25", "_ROUNDS = 26", _CONVERGED),
    Survivor("curator/by_weight.py", "people.mean()), 0.05)", "people.mean()), 0.1)", _CONVERGED),
    Survivor("curator/by_weight.py", "1.0, _USUAL**2", "1.0, _USUAL*2", _CONVERGED),
    Survivor("curator/by_weight.py", "1.0, _USUAL**2", "1.0, _USUAL**3", _CONVERGED),
    Survivor("curator/by_weight.py", "_between(tilt, -0.3", "_between(tilt, -0.6", _CONVERGED),
    Survivor("curator/by_weight.py", "_between(tilt, -0.3, 0.3)", "_between(tilt, -0.3, 0.6)", _CONVERGED),
    Survivor("curator/by_weight.py", "total, -0.5, 0.5)", "total, -1.0, 0.5)", _CONVERGED),
    Survivor("curator/by_weight.py", "total, -0.5, 0.5)", "total, -0.5, 1.0)", _CONVERGED),
    Survivor("curator/by_weight.py", "1e-9)", "2e-09)", "Binds only where all weights are equal."),
    Survivor(
        "curator/by_weight.py", "weights, 1e-3)", "weights, 0.002)", "Weights below a person's noise predict nothing."
    ),
    Survivor("curator/by_weight.py", "(np.zeros(0) for _", "(np.ones(0) for _", _NO_ELEMENTS),
    Survivor("curator/noisy_counts.py", "counts + drawn * terms", "counts - drawn * terms", _SYMMETRIC),
    Survivor("curator/mean_records.py", "draw(1, random)[0]", "draw(2, random)[0]", "The first of two is drawn alike."),
    Survivor(
        "curator/opt_in_counts.py",
        "rest_noise is not None and mechanism",
        "rest_noise is not None or mechanism",
        "Both are known, or neither.",
    ),
    Survivor(
        "curator/opt_in_counts.py", "min_people: float = 0.02", "min_people: float = 0.04", "Both are next to nobody."
    ),
    Survivor(
        "curator/opt_in_counts.py",
        "    people = np.zeros(candidates.cells)",
        "    people = np.ones(candidates.cells)",
        _OVERWRITTEN,
    ),
    Survivor(
        "curator/opt_in_counts.py",
        "    noise = np.zeros(candidates.cells)",
        "    noise = np.ones(candidates.cells)",
        _OVERWRITTEN,
    ),
)

"""Tails of every law that a verifier of replays knows, and of what is rounded or clipped."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dpaudit.errors import DataError
from dpaudit.reals import Real, log
from dpaudit.replaying.laws import KINDS
from dpaudit.verification import replay_certificates
from dpaudit.verification.replay_certificates import _half_line, _no_sum, _OutputLaw
from dpaudit.verification.replay_events import EventCondition, StatedEvent
from dpaudit.verification.tails import (
    bound_log_slope,
    compute_lower_tail,
    compute_upper_tail,
    find_unrounded_threshold,
)

LAWS = {
    "laplace": stats.laplace,
    "normal": stats.norm,
    "uniform": stats.uniform,
    "exponential": stats.expon,
    "logistic": stats.logistic,
    "gumbel": stats.gumbel_r,
}
POSTS = {"round": np.round, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc}


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("z", [-3.5, -1.0, -0.25, 0.0, 0.3, 0.75, 1.0, 2.5, 12.0])
def test_tails_are_those_of_the_law_in_both_directions(kind, z):
    law = LAWS[kind]
    assert float(compute_upper_tail(kind, Real(z))) == pytest.approx(law.sf(z), rel=1e-9, abs=1e-15)
    assert float(compute_lower_tail(kind, Real(z))) == pytest.approx(
        law.cdf(z), rel=1e-9, abs=1e-15
    )
    above, below = KINDS[kind]  # as replays know them
    assert above(z) == pytest.approx(law.sf(z), rel=1e-9, abs=1e-15)
    assert below(z) == pytest.approx(law.cdf(z), rel=1e-9, abs=1e-15)


def test_a_law_without_a_verifier_is_none():
    with pytest.raises(DataError, match="a law that has a verifier"):
        compute_upper_tail("cauchy", Real(1))


@pytest.mark.parametrize("post", POSTS)
@pytest.mark.parametrize("threshold", [-3.0, -2.0, -1.5, -1.0, 0.0, 0.5, 1.0, 2.0, 2.5])
def test_an_edge_parts_numbers_as_their_rounding_does(post, threshold):
    numbers = np.arange(-400, 401) / 100 + 0.0013  # at no edge
    made = POSTS[post](numbers)
    at_least = numbers >= find_unrounded_threshold(post, threshold, above=True)
    at_most = numbers <= find_unrounded_threshold(post, threshold, above=False)
    assert np.array_equal(at_least, made >= threshold)
    assert np.array_equal(at_most, made <= threshold)


@pytest.mark.parametrize("post", ["", *POSTS])
@pytest.mark.parametrize("factor", [1.5, -1.5])
@pytest.mark.parametrize("above", [True, False])
@pytest.mark.parametrize("threshold", [-2.5, -1.0, 0.0, 1.0, 3.5])
def test_a_half_line_has_the_share_of_draws_that_are_in_it(post, factor, above, threshold):
    law = _OutputLaw(0.2, factor, "gumbel", post, 0.0, -2.0, 3.0)
    draws = stats.gumbel_r.ppf((np.arange(40_000) + 0.5) / 40_000)
    made = law.centre + factor * draws
    made = np.clip(POSTS[post](made) if post else made, law.low, law.high)
    share = (made >= threshold if above else made <= threshold).mean()
    assert float(_half_line(law, threshold, above=above)) == pytest.approx(share, abs=1e-4)


# A run against what its noise says


def told(law, above, steps, favours, side):
    """Return what is said of three runs whose numbers are right, and where one of them is not."""
    other = _OutputLaw(law.centre + 1.0, law.factor, law.kind, law.post, 0.0, law.low, law.high)
    own = [[law], [other]]
    condition = EventCondition(0, above, steps, (("a", 0, ""), ("a", 0, "")), ("", ""))
    event = StatedEvent("all of", favours, (condition,))
    threshold = law.centre + steps * abs(law.factor)

    def failures(wrong):
        seen = []
        for place, one in enumerate((law, other)):
            draws = [-2.0, -0.5, 0.1, 0.5, 2.0]
            numbers = [
                float(np.clip(one.centre + one.factor * z, one.low, one.high)) for z in draws
            ]
            if wrong and place == side:
                moved = threshold - 1 if numbers[-1] >= threshold else threshold + 1
                numbers[-1] = float(moved)
            seen.append([{"numbers": numbers, "draws": draws}])
        return replay_certificates._not_equivalent(event, own, seen[::-1] if favours else seen)

    return failures(False), failures(True)


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("above", [True, False])
@pytest.mark.parametrize("favours", [0, 1])
@pytest.mark.parametrize("factor", [2.0, -2.0])
def test_a_run_that_is_not_where_its_noise_says_is_seen_on_either_side(
    side, above, favours, factor
):
    right, wrong = told(_OutputLaw(0.0, factor, "normal", "", 0.0), above, 0.7, favours, side)
    assert right == []
    assert wrong == ["event: an output is in it, or not, against what its noise says"]


@pytest.mark.parametrize("steps", [-3.0, 3.0])
@pytest.mark.parametrize("above", [True, False])
def test_beyond_the_ends_of_a_clip_all_runs_are_in_an_event_or_none(above, steps):
    law = _OutputLaw(0.0, 1.0, "normal", "", 0.0, -1.5, 2.5)
    right, wrong = told(law, above, steps, 0, 0)
    assert right == []
    assert wrong != []


@pytest.mark.parametrize("factor", [2.0, -2.0, 1000.0])
@pytest.mark.parametrize("threshold", [1000.0, -1000.0, 2.0])
@pytest.mark.parametrize("above", [True, False])
@pytest.mark.parametrize(("share", "seen"), [(0.9, False), (1.1, True)])
def test_a_run_at_an_edge_may_be_on_either_side_by_what_rounding_moves(
    factor, threshold, above, share, seen
):
    """By 1e-7 of scale and edge together, and no more."""
    law = _OutputLaw(0.0, factor, "normal", "", 0.0)
    steps = threshold / factor if factor > 0 else -threshold / factor
    condition = EventCondition(0, above, steps, (("a", 0, ""), ("a", 0, "")), ("", ""))
    event = StatedEvent("all of", 0, (condition,))
    away = share * 1e-7 * (abs(factor) + abs(threshold)) * (1 if above else -1)
    beyond = math.copysign(1.0, threshold) * abs(threshold) * 1e-9
    number = threshold - abs(beyond) if above else threshold + abs(beyond)  # not in the event
    runs = [{"numbers": [number], "draws": [(threshold + away) / factor]}]  # its noise says it is
    failures = replay_certificates._not_equivalent(event, [[law], [law]], [runs, runs])
    assert bool(failures) is seen


# Sums


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"low": -1.0}, "clipped"),
        ({"high": 1.0}, "clipped"),
        ({"post": "round"}, "rounded"),
        ({"kind": "laplace"}, "Gaussian"),
        ({"factor": 1.001}, "scales"),
    ],
)
def test_one_number_of_one_side_that_is_no_line_makes_no_sum(side, change, words):
    def law(**given):
        plain = {"centre": 0.0, "factor": 1.0, "kind": "normal", "post": "", "error": 0.0}
        return _OutputLaw(**plain | given)

    own = [[law(), law()], [law(centre=1.0, factor=-1.0), law(centre=1.0)]]
    assert _no_sum(own) is None
    own[side][1] = law(**change)
    assert words in _no_sum(own)


@pytest.mark.parametrize("centres", [(0.0, 1.0), (1.0, 0.0), (-2.0, 3.0)])
def test_a_sum_is_as_far_as_its_numbers_are_together(centres):
    first, second = ([_OutputLaw(c, f, "normal", "", 0.0) for f in (0.5, -4.0)] for c in centres)
    condition = EventCondition(0, True, 0.8, (("a", 0, ""), ("a", 0, "")), ("", ""))
    probable, other = replay_certificates._compute_half_space_probability(
        StatedEvent("sum", 0, (condition,)), [first, second]
    )
    apart = abs(centres[0] - centres[1]) * math.hypot(1 / 0.5, 1 / 4.0)
    assert float(probable) == pytest.approx(stats.norm.sf(0.8))
    assert float(other) == pytest.approx(stats.norm.sf(0.8 + apart))


@pytest.mark.parametrize(
    ("kind", "z"),
    [("gumbel", -3.0), ("gumbel", -4.0), ("normal", -3.0), ("normal", -14.0), ("laplace", -30.0)],
)
def test_the_slope_of_a_tail_is_bounded(kind, z):
    tail, moved = compute_lower_tail(kind, Real(z)), compute_lower_tail(kind, Real(z + 1e-3))
    slope = float(log(moved / tail)) / 1e-3
    assert slope < bound_log_slope(kind, tail)
    assert (slope > 10) is (kind == "gumbel" or (kind == "normal" and z < -10))


def test_rounding_of_steep_tails_is_taken_off(monkeypatch):
    """Moved by 0.001 each, towards each other, the laws prove an epsilon of 34.437."""
    law = {"problem": None, "post": "", "low": None, "high": None, "factor": 1.0, "error": 1e-3}
    law |= {"kind": "gumbel", "numbers": [], "draws": [], "declared": False}
    seen = {"failures": [], "laws": [[law | {"centre": 0.0}], [law | {"centre": 1.0}]]}
    monkeypatch.setattr(replay_certificates, "_run_reader_code", lambda *_: seen)
    monkeypatch.setattr(replay_certificates, "find_rerun_disagreements", lambda *_: [])
    event = StatedEvent(
        "all of", 0, (EventCondition(0, False, -3.0, (("a", 0, ""),) * 2, ("", "")),)
    )
    least = math.exp(4 - 1e-3) - math.exp(3 + 1e-3)
    for claimed, fails in ((least + 0.01, True), (least - 0.2, False)):
        found = replay_certificates._by_event(None, event, (claimed, 0.0), None, None)
        assert bool(found.failures) is fails

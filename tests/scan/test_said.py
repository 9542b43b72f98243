"""What a certification says of its event: a test that holds as often as it was counted."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dpaudit.auditing.explain.event_words import FeatureEvent
from dpaudit.estimation.score_events import ThresholdEvent
from dpaudit.guarantees.kinds import ApproximateDP, PureDP
from dpaudit.mechanisms.outputs.features import OneOf, OnePart, OneValue
from dpaudit.mechanisms.outputs.layout import INFINITE, NAN, layout_of
from dpaudit.scan.candidates.screen import list_claim_points
from dpaudit.scan.certification import certify
from dpaudit.scan.certification.certify import (
    SampleSizes,
    _choose_certified_events,
    _choose_output_count,
    _classify_event,
    _compute_event_nats,
    _describe_event,
    _estimate_output_budget,
    _make_event_test,
    _test_event_on_fresh,
    certify_claim,
)

from .test_certify import PAIR, Local, coin

RNG = np.random.default_rng(21)


def tried(score, above=True, threshold=0.5, columns=(0,)):
    return FeatureEvent(score, columns, ThresholdEvent(above, threshold, 1.0))


class Words:
    """Words of a layout of numbers, which say the event or its complement."""

    def __init__(self, flipped=False, fresh=(), discrete=(False,), ratios=None):
        self.flipped, self.fresh = flipped, fresh
        self.features = SimpleNamespace(ratios=ratios or {})
        columns = [
            SimpleNamespace(discrete=one, path=f"part {n}") for n, one in enumerate(discrete)
        ]
        self.layout = SimpleNamespace(columns=columns)

    def of(self, tried, hits):
        return "words", self.flipped


@pytest.mark.parametrize("flipped", [False, True])
def test_counts_are_of_what_the_words_say(flipped):
    seen, turned = _describe_event(tried(OnePart(0)), (70, 20), Words(flipped), 100)
    assert turned is flipped
    assert (seen.on_dataset, seen.on_neighbour) == ((30, 80) if flipped else (70, 20))
    assert (seen.runs, seen.words, seen.part) == (100, "words", "part 0")
    several = tried(OnePart(0), columns=(0, 1))
    assert (
        _describe_event(several, (1, 2), Words(flipped, discrete=(False, False)), 9)[0].part == ""
    )


@pytest.mark.parametrize("above", [True, False])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("flipped", [False, True])
def test_a_threshold_is_of_the_part_and_not_of_its_score(above, sign, flipped):
    """The score is the part, or minus it; the event is of the score, the test of the part."""
    values = RNG.normal(size=(50, 1))
    event = tried(OnePart(0, sign), above, 0.3)
    test, value = _make_event_test(event, flipped, Words())
    counted = event.event.happened(event.score(values)) > 0
    told = values[:, 0] > value if test == "above" else values[:, 0] < value
    assert (told == (~counted if flipped else counted)).all()
    assert 0 < counted.sum() < 50


def test_how_far_from_a_centre_or_several_parts_are_no_test_of_one():
    assert _make_event_test(tried(OnePart(0, 1.0, 2.0)), False, Words()) == ("several", None)
    assert _make_event_test(tried(lambda rows: rows[:, 0]), False, Words()) == ("several", None)


@pytest.mark.parametrize(
    ("value", "said"), [(NAN, "nan"), (INFINITE, "inf"), (-INFINITE, "-inf"), (-0.0, "-0.0")]
)
def test_what_is_no_usual_number_is_named(value, said):
    assert _make_event_test(tried(OneValue(0, value, 1.0)), False, Words()) == ("equals", said)


@pytest.mark.parametrize(
    ("threshold", "seen", "found"),
    [
        (0.9 * NAN, [1.0, NAN], ("equals", "nan")),
        (0.9 * INFINITE, [1.0, INFINITE], ("equals", "inf")),
        (-0.9 * INFINITE, [1.0, -INFINITE], ("equals", "-inf")),
        (0.5 * min(NAN, INFINITE), [NAN, INFINITE], ("several", None)),
    ],
)
def test_a_threshold_beyond_all_numbers_names_the_one_that_is_there(threshold, seen, found):
    fresh = [np.array([[one] for one in seen])]
    assert _make_event_test(tried(OnePart(0), True, threshold), False, Words(fresh=fresh)) == found


@pytest.mark.parametrize(
    ("above", "flipped", "found"),
    [
        (True, False, ("equals", 7.0)),
        (True, True, ("several", None)),
        (False, False, ("several", None)),
        (False, True, ("equals", 7.0)),
    ],
)
def test_one_value_of_a_few_is_named_where_it_is_alone(above, flipped, found):
    """Codes 3, 5 and 7; the last is likelier on the dataset, the others are not."""
    ratios = SimpleNamespace(codes=np.array([3.0, 5.0, 7.0]), ratios=np.array([-1.0, -1.0, 2.0]))
    event = tried(OneOf(0, ratios), above, 0.5)
    assert _make_event_test(event, flipped, Words()) == found


@pytest.mark.parametrize(
    ("discrete", "columns", "score", "threshold", "kind"),
    [
        ((True,), (0,), OnePart(0), 0.5, "structure"),
        ((False,), (0,), OnePart(0), 0.5, "distribution"),
        ((True, False), (0, 1), OnePart(0), 0.5, "distribution"),
        ((True, True), (0, 1), OnePart(0), 0.5, "structure"),
        ((False,), (0,), OnePart(0), 1e299, "structure"),
        ((False,), (0,), OnePart(0), -1e299, "structure"),
        ((False,), (0,), OneValue(0, NAN, 1.0), 0.5, "structure"),
    ],
)
def test_an_event_is_of_structure_where_all_its_parts_are_or_a_value_is_odd(
    discrete, columns, score, threshold, kind
):
    layout = Words(discrete=discrete).layout
    assert _classify_event(tried(score, True, threshold, columns), layout, []) == kind


# Counts


@pytest.mark.parametrize("above", [True, False])
def test_an_event_is_counted_on_either_side_for_the_one_that_it_favours(above):
    fresh = [np.array([[float(n < 90)] for n in range(100)]), np.zeros((100, 1))]
    favoured = fresh if above else [-fresh[1], -fresh[0]]
    found = _test_event_on_fresh(
        tried(OnePart(0), above, 0.5 if above else -0.5), favoured, 0.1, 1e-3
    )
    assert (found.on_dataset, found.on_neighbour) == ((90, 0) if above else (0, 90))
    assert (found.favours, found.runs) == ("dataset" if above else "neighbour", 100)
    assert (found.delta, found.alpha) == (0.1, 1e-3)
    assert found.lower == found.recomputed() > 1.5


def coins(rate, count=100):
    return np.array([[float(n < round(rate * count))] for n in range(count)])


@pytest.mark.parametrize("most", [60, 120, 100_000])
def test_no_more_outputs_are_drawn_than_there_may_be(most):
    clear = tried(OnePart(0)), (coins(0.9), coins(0.1))
    assert _choose_output_count([clear[0]], clear[1], (1.0, 0.0), most, 1e-3) <= most
    sure = (coins(1.0), coins(0.0))
    assert _choose_output_count([clear[0]], sure, (1.0, 0.0), most, 1e-3) == min(most, 100)
    unclear = (coins(0.5), coins(0.5))
    assert _choose_output_count([clear[0]], unclear, (1.0, 0.0), most, 1e-3) == most


def test_a_smaller_error_probability_and_a_larger_claim_or_delta_take_more_outputs():
    on, event = (coins(0.9), coins(0.1)), [tried(OnePart(0))]
    usual = _choose_output_count(event, on, (1.0, 0.0), 100_000, 1e-3)
    assert usual < _choose_output_count(event, on, (1.0, 0.0), 100_000, 1e-9)
    assert usual < _choose_output_count(event, on, (1.0, 0.3), 100_000, 1e-3)


def test_the_event_that_speaks_most_decides_how_many_are_drawn():
    on = tuple(np.hstack([coins(one), coins(two)]) for one, two in ((0.9, 0.6), (0.1, 0.3)))
    clear, weak = tried(OnePart(0)), tried(OnePart(1), columns=(1,))
    alone = _choose_output_count([clear], on, (0.5, 0.0), 100_000, 1e-3)
    assert _choose_output_count([weak, clear], on, (0.5, 0.0), 100_000, 1e-3) == alone
    assert _choose_output_count([weak], on, (0.5, 0.0), 100_000, 1e-3) > alone


@pytest.mark.parametrize(
    ("seconds", "pace", "count"), [(10.0, 0.01, 500.0), (0.1, 0.01, 50), (-5.0, 0.01, 50)]
)
def test_half_of_the_time_that_is_left_is_for_counting_and_a_few_in_any_case(
    monkeypatch, seconds, pace, count
):
    monkeypatch.setattr(certify, "time", SimpleNamespace(monotonic=lambda: 100.0))
    assert _estimate_output_budget(100.0 + seconds, pace) == count
    assert _estimate_output_budget(math.inf, 0.0) == math.inf


@pytest.mark.parametrize("claim", [PureDP(1.0), ApproximateDP(1.0, 1e-3)])
def test_a_claim_with_a_point_of_its_own_has_events_for_that(claim):
    p, q = coins(0.6, 100), coins(0.1, 100)
    layout = layout_of([p[:, 0].tolist(), q[:, 0].tolist()])
    point, found = _choose_certified_events(layout, p, q, claim)
    assert (point,) == list_claim_points(claim)
    assert max(_compute_event_nats(event, p, q, point) for event in found) > 2


def test_the_point_is_that_of_the_best_event_and_not_of_the_worst(monkeypatch):
    """At one delta an event speaks much and another little; at the other both speak some."""
    nats = {(1, 0.02): 9.0, (2, 0.02): 1.0, (1, 0.2): 5.0, (2, 0.2): 4.0}
    monkeypatch.setattr(certify, "list_claim_points", lambda _: ((0.5, 0.2), (1.0, 0.02)))
    monkeypatch.setattr(certify, "make_event_attempts", lambda layout, p, q, delta: iter([1, 2]))
    monkeypatch.setattr(
        certify, "_compute_event_nats", lambda tried, p, q, point: nats[tried, point[1]]
    )
    assert _choose_certified_events(None, None, None, None) == ((1.0, 0.02), [1, 2])


# All of it


@pytest.mark.parametrize("claim", [PureDP(0.5), PureDP(9.0)])
def test_all_outputs_are_counted_and_those_that_carry_the_bound_are_kept(claim):
    """20 of each side lay out, 40 choose; then those that count."""
    found = certify_claim(coin(0.9, 0.1), PAIR, claim, SampleSizes(40, 400), 1e-3, seed=1)
    assert found.drawn == 2 * (20 + 40 + found.counting)
    assert found.refuted is (claim.at_epsilon < 1)
    assert (found.tested.runs, found.tested.lower) == (found.counting, found.lower)
    assert found.tested.alpha == pytest.approx(1e-3 / 2 / certify.ATTEMPTS)
    if found.refuted:
        assert found.tested.complement is (found.event.on_dataset != found.tested.on_dataset)


def test_counts_say_whether_the_words_are_of_their_complement(monkeypatch):
    monkeypatch.setattr(certify.Words, "of", lambda self, tried, hits: ("it is not so", True))
    found = certify_claim(coin(0.9, 0.1), PAIR, PureDP(0.2), SampleSizes(40, 400), 1e-3, seed=5)
    assert found.tested.complement
    assert found.tested.on_dataset + found.event.on_dataset == found.tested.runs
    assert found.tested.on_neighbour + found.event.on_neighbour == found.tested.runs
    assert found.tested.recomputed() == found.lower > 0.2


def test_how_many_may_be_counted_is_by_the_pace_of_what_chose_and_the_share_of_an_event(
    monkeypatch,
):
    now, asked = iter([10.0, 14.0]), []
    monkeypatch.setattr(certify, "time", SimpleNamespace(monotonic=lambda: next(now)))

    def by(until, pace):
        asked.append(pace)
        return math.inf

    def enough(found, on, point, most, alpha):
        asked.append((most, alpha))
        return 50

    monkeypatch.setattr(certify, "_estimate_output_budget", by)
    monkeypatch.setattr(certify, "_choose_output_count", enough)
    certify_claim(coin(0.9, 0.1), PAIR, PureDP(9.0), SampleSizes(40, 400), 1e-2, seed=1)
    assert asked == [0.1, (400, pytest.approx(1e-2 / 2 / certify.ATTEMPTS))]


@pytest.mark.slow
def test_of_what_refutes_nothing_the_largest_bound_is_shown(monkeypatch):
    seen = []
    original = certify._test_event_on_fresh

    def counting(*given):
        seen.append(original(*given))
        return seen[-1]

    monkeypatch.setattr(certify, "_test_event_on_fresh", counting)

    def draw(value, count, rng):
        return rng.laplace(size=(count, 3)) + value * np.array([2.0, 1.5, 1.0])

    found = certify_claim(Local(draw), PAIR, PureDP(9.0), SampleSizes(100, 200), 0.1, seed=2)
    assert len({one.lower for one in seen}) > 1
    assert found.lower == max(one.lower for one in seen) > 0


def test_what_may_be_kept_certifies_nothing(monkeypatch):
    monkeypatch.setattr(certify, "_why_kept", lambda *_: "it is kept")
    found = certify_claim(coin(0.9, 0.1), PAIR, PureDP(0.5), SampleSizes(40, 400), 1e-3, seed=1)
    assert (found.refuted, found.kept, found.why) == (False, True, "it is kept")
    assert (found.lower, found.event, found.tested) == (0.0, None, None)
    assert (found.claimed, found.drawn) == (0.5, 2 * (20 + 40 + found.counting))
    assert not certify_claim(
        coin(0.9, 0.1), PAIR, PureDP(9.0), SampleSizes(40, 400), 1e-3, seed=1
    ).kept


def test_where_each_output_has_a_request_of_its_own_few_are_drawn():
    mechanism = replace(coin(0.9, 0.1), alone=True)
    found = certify_claim(mechanism, PAIR, PureDP(9.0), SampleSizes(40, 400), 1e-3, seed=1)
    assert (found.counting, found.drawn) == (120, 2 * (8 + 16 + 120))


def test_where_nothing_differs_nothing_is_counted():
    found = certify_claim(coin(0.0, 0.0), PAIR, PureDP(0.5), SampleSizes(40, 400), 1e-3, seed=1)
    assert (found.refuted, found.lower, found.counting) == (False, 0.0, 0)
    assert (found.drawn, found.tested, found.claimed) == (2 * (20 + 40), None, 0.5)

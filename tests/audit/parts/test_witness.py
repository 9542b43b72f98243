"""What leaked, by hand: counted on fresh outputs, each try at a share of what may err."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import dpaudit.auditing.explain.witness as witness
from dpaudit.auditing.explain.event_words import FeatureEvent
from dpaudit.auditing.explain.witness import ATTEMPTS, _FeatureSum, _WitnessCount
from dpaudit.estimation.joint import joint_lower_bound
from dpaudit.estimation.score_events import ThresholdEvent
from dpaudit.guarantees.kinds import ApproximateDP, GaussianDP
from dpaudit.mechanisms.outputs.features import OnePart
from dpaudit.mechanisms.outputs.layout import LayoutColumn, PartLayout

from .common import ALPHA, case_of

REST = (LayoutColumn("the rest", True), LayoutColumn("the values of the rest", True))
LAYOUT = PartLayout((LayoutColumn("a", False), LayoutColumn("b", False), *REST), {})
RUNS = 400


def features(on_p, on_q):
    """Return features of both sides: a column that tells, one that does not, and the rest."""
    rng = np.random.default_rng(0)
    sides = [np.column_stack([side, rng.normal(size=len(side))]) for side in (on_p, on_q)]
    return [np.hstack([side, np.zeros((len(side), 2))]) for side in sides]


def counted_of(hits, above=True, lower=1.0, refutes=True):
    tried = FeatureEvent(OnePart(0), (0,), ThresholdEvent(above, 0.5, 0.0))
    return _WitnessCount(tried, hits, lower, refutes)


@pytest.mark.parametrize("swapped", [False, True])
def test_each_try_is_counted_on_fresh_runs_at_its_share(swapped):
    sides = [(np.arange(RUNS) < hits).astype(float) for hits in (300, 10)]
    on = features(*(sides[::-1] if swapped else sides))
    fewer = [(np.arange(RUNS) < hits).astype(float) for hits in (200, 20)]
    fresh = features(*(fewer[::-1] if swapped else fewer))
    found = next(witness._count_tried_events(LAYOUT, on, fresh, case_of(), ALPHA))
    alike = found.hits[::-1] if swapped else found.hits
    assert alike in ((200, 20), (RUNS - 200, RUNS - 20))
    expected = [
        joint_lower_bound(*hits, RUNS, RUNS, delta=0.0, alpha=ALPHA / ATTEMPTS)
        for hits in ((200, 20), (RUNS - 20, RUNS - 200))
    ]
    assert found.lower in expected
    assert found.refutes is (found.lower > 1.0)
    assert ATTEMPTS == 5


def test_no_more_is_tried_once_something_refutes():
    on = features(np.ones(RUNS), np.zeros(RUNS))
    assert len(list(witness._count_tried_events(LAYOUT, on, on, case_of(), ALPHA))) == 1
    lenient = case_of(ApproximateDP(50.0, 0.0))
    found = list(witness._count_tried_events(LAYOUT, on, on, lenient, ALPHA))
    assert [one.refutes for one in found] == [False] * len(found)
    assert len(found) == 2
    assert found[1].tried.columns == (0, 1)


def test_nothing_that_varies_is_nothing_to_try():
    on = [np.zeros((RUNS, 4)), np.zeros((RUNS, 4))]
    assert list(witness.make_event_attempts(LAYOUT, *on, 0.0)) == []


@pytest.mark.parametrize("swapped", [False, True])
def test_values_among_few_are_scored_by_where_they_are_more_frequent(swapped):
    """Odd numbers come out on one side, even ones on the other: no threshold tells them."""
    sides = [np.tile([1.0, 3.0, 5.0, 7.0], RUNS), np.tile([0.0, 2.0, 4.0, 6.0], RUNS)]
    sides = sides[::-1] if swapped else sides
    on = [np.column_stack([side, np.zeros((len(side), 3))]) for side in sides]
    found = next(witness.make_event_attempts(LAYOUT, *on, 0.0))
    hits = [found.event.hits(found.score(side)) for side in on]
    assert sorted(hits) == [0, 4 * RUNS]
    assert found.event.above == (hits[0] > 0)
    odd = np.array([[1.0, 0.0, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0]])
    more, less = found.score(odd)[:: -1 if swapped else 1]
    assert more > 0 > less


def test_a_curve_is_compared_in_its_own_number():
    case = case_of(GaussianDP(1.0), 0.01)
    epsilon = GaussianDP(1.0).epsilon(0.01)
    assert witness._get_claimed_number(case) == 1.0
    assert witness._in_currency(case, epsilon) == pytest.approx(1.0)
    assert witness._get_claimed_number(case_of(ApproximateDP(0.7, 0.01), 0.01)) == 0.7
    assert witness._in_currency(case_of(), 0.3) == 0.3


@pytest.mark.parametrize("above", [True, False])
@pytest.mark.parametrize("lower", [0.1, 9.0])
def test_the_complement_has_its_own_counts_and_certifies_the_lesser_bound(above, lower):
    hits = (390, 100) if above else (100, 390)
    best = counted_of(hits, above, lower)
    words = SimpleNamespace(of=lambda tried, hits: ("the event", True))
    _, found = witness._choose_plain_event(best, words, case_of(), RUNS, ALPHA)
    assert found.hits == (RUNS - hits[0], RUNS - hits[1])
    share = ALPHA / ATTEMPTS
    # the complement favours the other side, so its hits there come first
    favoured = found.hits[::-1] if above else found.hits
    again = joint_lower_bound(*favoured, RUNS, RUNS, delta=0.0, alpha=share)
    assert found.lower == min(lower, again)
    plainly = SimpleNamespace(of=lambda tried, hits: ("the event", False))
    assert witness._choose_plain_event(best, plainly, case_of(), RUNS, ALPHA) == ("the event", best)


@pytest.mark.parametrize(
    ("hits", "refutes", "said"),
    [
        ((RUNS, 0), True, "on the neighbour: 5000 outputs on each dataset can certify at most "),
        ((0, RUNS), True, "on the dataset: 5000 outputs on each dataset can certify at most "),
        (
            (RUNS - 1, 0),
            True,
            "The event never occurred on the neighbour: the true value may be infinite.",
        ),
        ((RUNS, 1), True, None),
        ((RUNS, 0), False, None),
    ],
)
def test_an_event_never_seen_on_one_side_is_said_to_be_so(hits, refutes, said):
    best = counted_of(hits, lower=2.34567, refutes=refutes)
    found = witness._make_witness(best, "`a` > 1", LAYOUT, case_of(), (RUNS, 5000), ALPHA)
    assert (said is not None) is ("never occurred" in found.sentence)
    assert said is None or said in found.sentence
    assert (found.on_dataset, found.on_neighbour, found.runs) == (*hits, RUNS)
    assert found.sentence.startswith("What leaked" if refutes else "Where it shows best")
    assert ("certifies no bound above the claim" in found.sentence) is not refutes
    assert "at least 2.345 at delta 0 with an error probability of 0.01" in found.sentence
    assert found.success == pytest.approx(0.5 + abs(hits[0] - hits[1]) / (2 * RUNS))
    assert (found.lower, found.refutes) == (2.34567, refutes)
    assert found.confidence == pytest.approx(1 - ALPHA)
    assert found.parts == ["`a`"]


def test_the_sum_of_parts_is_the_linear_discriminant():
    rng = np.random.default_rng(3)
    mixed = np.array([[1.0, 0.4], [0.0, 0.7]])
    p, q = (shift + rng.normal(size=(500, 2)) @ mixed for shift in ([1.0, -0.5], [0.0, 0.0]))
    within = np.cov(p, rowvar=False) + np.cov(q, rowvar=False)
    expected = np.linalg.solve(within, p.mean(axis=0) - q.mean(axis=0))
    found = _FeatureSum.of([2, 0], *(np.insert(side[:, ::-1], 1, 0.0, axis=1) for side in (p, q)))
    np.testing.assert_allclose(found.weights, expected, rtol=1e-6)
    row = np.array([[5.0, 9.0, 3.0]])
    np.testing.assert_allclose(found(row), 3.0 * found.weights[0] + 5.0 * found.weights[1])


def result_of(favoured, other, runs, **more):
    names = ("favoured hits", "other hits", "favoured trials")
    counts = {f"event, {n}": v for n, v in zip(names, (favoured, other, runs), strict=True)}
    return SimpleNamespace(counts=counts, trials=runs, **more)


def test_a_rare_event_is_given_twice_the_runs_that_would_refute():
    case, trials = case_of(), 10**6
    usual = result_of(trials // 2, 0, trials)
    assert witness._estimate_witness_runs(usual, case, ALPHA) == 3000
    assert witness._get_certified_counts(usual) == (trials // 2, 0, trials)
    rare = result_of(2000, 100, trials)
    runs = witness._estimate_witness_runs(rare, case, ALPHA)
    doubled = [3000 * 2**k for k in range(9)]

    def refutes(size):
        hits, others = int(0.002 * size), -int(-0.0001 * size // 1)
        share = ALPHA / ATTEMPTS
        return joint_lower_bound(hits, others, size, size, delta=0.0, alpha=share) > 1.0

    assert runs == 2 * next(size for size in doubled if refutes(size))
    assert witness._get_certified_counts(SimpleNamespace(counts={})) is None
    assert (
        witness._estimate_witness_runs(SimpleNamespace(counts={}, trials=trials), case, ALPHA)
        == 3000
    )


def test_what_meets_the_claim_explains_and_refutes_nothing():
    on = features(*[(np.arange(RUNS) < hits).astype(float) for hits in (300, 10)])
    lower = next(witness._count_tried_events(LAYOUT, on, on, case_of(), ALPHA)).lower
    for claimed, refutes in ((lower, False), (np.nextafter(lower, 0), True)):
        case = case_of(ApproximateDP(float(claimed), 0.0))
        assert next(witness._count_tried_events(LAYOUT, on, on, case, ALPHA)).refutes is refutes

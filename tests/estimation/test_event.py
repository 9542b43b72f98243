"""The event bound: exact intervals, the right direction, delta counted, and close to the best."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy.stats import norm

from dpaudit.errors import InvalidArgument
from dpaudit.estimation.event import choose_event, error_rates, event_bound, score_counts
from dpaudit.estimation.exact_loss import best_tilt, upper_end
from dpaudit.estimation.joint import joint_lower_bound
from dpaudit.estimation.likelihood import likelihood_bound
from dpaudit.estimation.orders import exponent
from dpaudit.estimation.score_events import ThresholdEvent
from dpaudit.guarantees import gaussian

ALPHA, DELTA = 0.05, 1e-5


def tail(k, n, p):
    """Return P(Bin(n, p) >= k) in 50 digits."""
    with mpmath.workdps(50):
        return mpmath.betainc(k, n - k + 1, 0, mpmath.mpf(p), regularized=True) if k else 1


def bisect(beyond):
    """Return where a test on (0, 1) turns true."""
    low, high = 0.0, 1.0
    for _ in range(55):
        middle = (low + high) / 2
        low, high = (low, middle) if beyond(middle) else (middle, high)
    return high


def event_of(above, threshold):
    return ThresholdEvent(above, threshold, promised=0.0)


def events(hits_p, hits_q, trials=1000, delta=0.0, alpha=ALPHA):
    """Return the bound for scores that are 1 on ``hits`` trials and 0 on the rest."""
    scores = [(np.arange(trials) < hits).astype(float) for hits in (hits_p, hits_q)]
    return event_bound(scores[0], scores[1], event_of(True, 0.5), delta, alpha)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("alpha", [0.2, 0.05, 1e-6, 1e-12])
@pytest.mark.parametrize(("hits", "other"), [(1000, 0), (1000, 1), (900, 37), (3, 0), (500, 499)])
def test_one_test_is_sharper_than_an_interval_for_each_count(hits, other, alpha):
    """Four of Clopper and Pearson's, for both directions, in 50 digits."""
    lower = bisect(lambda p: tail(hits, 1000, p) > alpha / 4)
    upper = bisect(lambda p: 1 - tail(other + 1, 1000, p) < alpha / 4)
    shortfall = 0.03 if alpha < 1e-3 else 0.0  # the worst coins are then far from those observed
    assert events(hits, other, alpha=alpha).lower >= math.log(lower / upper) - shortfall


def test_scores_at_the_threshold_are_in_the_event():
    scores = np.array([1.0, 2.0, 2.0, 3.0])
    assert event_of(True, 2.0).hits(scores) == event_of(False, 2.0).hits(scores) == 3


def test_swapped_scores_give_the_other_direction():
    rng = np.random.default_rng(1)
    # Asymmetric on purpose: an outcome that is likely under p and never seen under q.
    p, q = (rng.random(4000) < 0.5).astype(float), np.zeros(4000)
    for scores in ((p, q), (-q, -p)):
        event = choose_event(*scores, DELTA)
        assert event_bound(*scores, event, DELTA, ALPHA).lower > 5
    backward = choose_event(q, p, DELTA)  # high scores have to favour the dataset
    assert event_bound(q, p, backward, DELTA, ALPHA).lower == 0
    assert event_bound(p, q, event_of(True, 0.5), DELTA, ALPHA).lower > 5
    assert event_bound(q, p, event_of(True, 0.5), DELTA, ALPHA).lower == 0
    assert event_bound(p, q, event_of(False, -0.5), DELTA, ALPHA).lower == 0


def test_the_wrong_side_of_a_threshold_certifies_nothing():
    rng = np.random.default_rng(2)
    p, q = rng.normal(3, 1, 5000), rng.normal(0, 1, 5000)
    assert event_bound(p, q, event_of(True, 1.5), DELTA, ALPHA).lower > 2
    assert event_bound(q, p, event_of(True, 1.5), DELTA, ALPHA).lower == 0
    assert event_bound(q, p, event_of(False, 1.5), DELTA, ALPHA).lower == 0


def test_equal_scores_certify_nothing():
    rng = np.random.default_rng(3)
    for scores in (np.zeros(1000), rng.normal(size=1000), rng.integers(0, 3, 1000).astype(float)):
        event = choose_event(scores, scores, 0.0)
        bound = event_bound(scores, scores, event, 0.0, ALPHA)
        assert (bound.lower, bound.estimate) == (0, 0)


def test_delta_is_subtracted_before_the_logarithm():
    """A mechanism that gives itself away with probability .1 is (0, .1)-private."""
    assert events(100, 0).lower > 2
    assert events(100, 0, delta=0.1).lower == 0
    assert events(100, 0, delta=0.05).lower < events(100, 0).lower
    assert events(100, 0, delta=0.1).estimate == 0


@pytest.mark.parametrize(
    ("hits", "other", "delta"), [(700, 100, 0.0), (700, 100, 0.2), (10, 2, 1e-3)]
)
def test_the_estimate_is_the_plain_ratio(hits, other, delta):
    bound = events(hits, other, delta=delta)
    assert bound.estimate == pytest.approx(math.log((hits / 1000 - delta) / (other / 1000)))
    assert bound.lower < bound.estimate


def test_the_bound_falls_with_alpha_and_delta_and_grows_with_trials():
    by_alpha = [events(900, 10, alpha=a).lower for a in (0.2, 0.05, 1e-6, 1e-300)]
    by_delta = [events(900, 10, delta=d).lower for d in (0.0, 1e-5, 0.1, 0.8, 0.9)]
    by_trials = [events(9 * n, n // 10, trials=10 * n).lower for n in (10, 100, 1000)]
    assert by_alpha == sorted(by_alpha, reverse=True)
    assert by_delta == sorted(by_delta, reverse=True)
    assert by_trials == sorted(by_trials)


def test_one_trial_certifies_nothing():
    assert events(1, 0, trials=1).lower == 0


# Thresholds


def best_single_event(mu, trials, delta, alpha):
    """Return the bound of the best threshold at expected counts: what no choice can much beat."""
    cut = np.linspace(-4, 8, 4000)
    hits = np.floor(norm.sf(cut - mu) * trials).astype(np.int64)
    other = np.rint(norm.sf(cut) * trials).astype(np.int64)
    rates = hits / trials, other / trials
    return likelihood_bound(*rates, trials, trials, delta, exponent(alpha)).max()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mu", "times"),
    [
        (0.3, 3),
        (6.0, 3),
        *(pytest.param(mu, 7, marks=pytest.mark.slow) for mu in (0.3, 1.0, 3.0, 6.0)),
    ],
)
def test_the_threshold_is_close_to_the_best_event(mu, times):
    rng, trials, found, careful = np.random.default_rng(4), 20_000, [], []
    for _ in range(times):
        p, q = rng.normal(mu, 1, (2, trials)), rng.normal(0, 1, (2, trials))
        event = choose_event(p[0], q[0], DELTA)
        found.append(event_bound(p[1], q[1], event, DELTA, ALPHA).lower)
        careful.append(event_bound(p[1], q[1], event, DELTA, 1e-4).lower)
    best, exact = (
        best_single_event(mu, trials, DELTA, ALPHA),
        gaussian.epsilon_at(mu, math.log(DELTA)),
    )
    assert 0.75 * best <= np.median(found)
    assert max(careful) <= exact
    assert max(found) <= 1.25 * exact  # at 95%, one in twenty may be above


def test_outputs_alone_stay_below_the_exact_loss(direction):
    rng, mu = np.random.default_rng(5), 1.0
    p, q = rng.normal(mu, 1, 20_000), rng.normal(0, 1, 20_000)
    tilt = best_tilt(mu, math.log(DELTA))
    upper = upper_end([direction(mu, tilt, 2000, rng) for _ in range(2)], math.log(DELTA), ALPHA)
    event = event_of(True, 2.5)
    assert 0.5 < event_bound(p, q, event, DELTA, ALPHA).lower < upper


@pytest.mark.parametrize("size", [1, 10, 3000])
def test_a_threshold_separates_what_can_be_separated(size):
    p, q = np.arange(size) + 10.0 * size, np.arange(size) * 1.0
    event = choose_event(p, q, 0.0)
    favoured, other = (p, q) if event.above else (q, p)
    assert event.hits(other) + size - event.hits(favoured) <= 4  # some candidates are skipped
    constant = choose_event(np.full(size, 2.0), np.full(size, 1.0), 0.0)
    assert constant.threshold == 1.5  # a fresh score a little off still counts


def test_fresh_scores_in_the_gap_belong_to_the_side_they_are_nearer_to():
    rng = np.random.default_rng(3)
    (p, fresh_p), (q, fresh_q) = rng.random((2, 500)) + 10, rng.random((2, 500))
    event = choose_event(p, q, 0.0)
    favoured, other = (fresh_p, fresh_q) if event.above else (fresh_q, fresh_p)
    assert (event.hits(favoured), event.hits(other)) == (500, 0)
    assert event_bound(fresh_p, fresh_q, event, 0.0, ALPHA).lower > math.log(1000 / 3.2)


def test_infinite_scores_are_scores():
    """A likelihood ratio may be infinite: an output the neighbour never gives."""
    finite = np.random.default_rng(6).normal(size=3000)
    p = np.concatenate([np.full(3000, np.inf), finite])
    q = np.concatenate([np.full(3000, -np.inf), -finite])
    event = choose_event(p, q, 0.0)
    assert event_bound(p, q, event, 0.0, ALPHA).lower > 6
    assert event_bound(p, q, event_of(True, math.inf), 0.0, ALPHA).lower > 6
    assert event_bound(p, q, event_of(False, -math.inf), 0.0, ALPHA).lower > 6


@pytest.mark.parametrize("bad", [np.array([]), np.array([0.0, np.nan])])
def test_scores_that_are_none_are_refused_by_side(bad):
    good = np.zeros(2)
    with pytest.raises(InvalidArgument, match=r"^scores_p: got"):
        event_bound(bad, good, event_of(True, 0.0), 0.0, ALPHA)
    with pytest.raises(InvalidArgument, match=r"^scores_q: got"):
        event_bound(good, bad, event_of(True, 0.0), 0.0, ALPHA)


def test_sides_may_have_different_numbers_of_trials():
    bound = event_bound(np.ones(500), np.zeros(2000), event_of(True, 0.5), 0.0, ALPHA)
    # All right on both sides; of the pairs that are allowed the likeliest has
    # p^500 (1 - q)^2000 with p = e^eps q and 1 - q = e^eps (1 - p).
    p = (1 - math.exp(-bound.lower)) / (1 - math.exp(-2 * bound.lower))
    chance = p**500 * (1 - p * math.exp(-bound.lower)) ** 2000
    assert 0.9 * ALPHA < chance <= ALPHA
    assert bound.counts["favoured_trials"] == 500
    assert bound.counts["other_trials"] == 2000


def test_error_rates_trace_the_gaussian_curve():
    rng = np.random.default_rng(7)
    rates = error_rates(rng.normal(1, 1, 50_000), rng.normal(0, 1, 50_000))
    for false_positive, false_negative in zip(*rates, strict=True):
        assert false_negative == pytest.approx(gaussian.trade_off(1.0, false_positive), abs=0.02)
    assert (np.diff(rates[0]) >= 0).all()
    assert (np.diff(rates[1]) <= 0).all()


@pytest.mark.parametrize("above", [True, False])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_a_histogram_of_scores_counts_what_the_event_counts(above, scale):
    rng = np.random.default_rng(0)
    on_p, on_q = scale * rng.normal(1, 1, 5000), scale * rng.normal(0, 1, 5000)
    event = ThresholdEvent(above, 0.7 * scale, 0.0)
    found = score_counts(on_p, on_q, event)
    for side, ones in ((on_p, found.on_dataset), (on_q, found.on_neighbour)):
        inside = sum(
            n for low, n in zip(found.edges, ones, strict=False) if (low >= 0) == found.above
        )
        assert (sum(ones), inside) == (5000, int(event.hits(side)))
    assert 30 < len(found.edges) < 50


@pytest.mark.parametrize(
    ("on_p", "on_q"),
    [
        ([1.0] * 100, [1.0] * 100),
        ([123456.789] * 100, [0.0] * 100),
        ([np.inf] * 50 + [-np.inf] * 50, [0.0] * 100),
        ([np.inf] * 100, [-np.inf] * 100),
        ([1.7e308] * 100, [-1.7e308] * 100),
        ([0.0], [5e-324]),
    ],
    ids=str,
)
@pytest.mark.parametrize("threshold", [0.5, np.inf, -np.inf])
def test_a_histogram_tells_no_score(on_p, on_q, threshold):
    found = score_counts(np.array(on_p), np.array(on_q), ThresholdEvent(True, threshold, 0.0))
    assert np.isfinite(found.edges).all()
    assert max(map(abs, found.edges)) < 100
    assert (sum(found.on_dataset), sum(found.on_neighbour)) == (len(on_p), len(on_q))
    assert "123456" not in str(found)


def test_an_event_of_few_hits_is_left_where_fresh_ones_have_to_be_nearly_certain():
    """A far tail that one side alone was seen in promises more than a quarter of the outputs."""
    p = np.repeat([0.0, 1.0, 2.0], [3750, 1190, 60])
    q = np.repeat([0.0, 1.0], [4830, 170])
    events = [choose_event(p, q, 0.0, sure) for sure in ((0, 1.0), (10_000, 0.05), (10_000, 1e-6))]
    assert [event.threshold for event in events] == [1.5, 1.5, 0.5]
    assert events[0].promised == events[1].promised > events[2].promised > 1
    # What ten thousand certify of both, if the tail has e^-2 of its rate on the other side.
    tail, quarter = (
        joint_lower_bound(2 * hits, others, 10_000, 10_000, delta=0.0, alpha=1e-6)
        for hits, others in ((60, 16), (1250, 340))
    )
    assert tail < 1 < quarter

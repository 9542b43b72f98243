"""Private selection: exact divergences of the best of small mechanisms, and bounds that fail."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy.special import logsumexp

import dpaudit
from dpaudit.accounting.events import (
    SELECTIONS,
    ApproximateRelease,
    GaussianRelease,
    PrivateSelection,
    Sequence,
    repeat_event,
)
from dpaudit.accounting.renyi import RenyiCurveDP, renyi_divergence
from dpaudit.accounting.selection import compute_poisson_divergence, parameter_of
from dpaudit.accounting.strongest_guarantee import proved_guarantee
from dpaudit.errors import InvalidArgument, UnsupportedEvent

ORDERS = np.array([1.3, 2.0, 5.0, 30.0])


def best_of(law, runs, masses):
    """Return the exact law of the best run, its values ascending; first that there was no run."""
    x = np.concatenate([[0.0], np.cumsum(masses)])
    if law == "poisson":
        function = np.exp(runs * (x - 1))
    elif law == "geometric":
        function = x / runs / (1 - (1 - 1 / runs) * x)
    else:
        g = parameter_of(law, runs)
        function = np.log1p(-(1 - g) * x) / math.log(g)
    return np.concatenate([function[:1], np.diff(function)])


def divergence(p, q, order):
    keep = p > 0
    return float(logsumexp(order * np.log(p[keep]) + (1 - order) * np.log(q[keep]))) / (order - 1)


def neighbours(epsilon, rng):
    """Yield pairs of small laws that are epsilon-DP: hard ones, and random ones.

    What is hard: an output is likelier where those that are better than it are rarer.
    """
    for rare in (1e-4, 0.02, 0.1):
        likely = rare * math.exp(epsilon)
        for other in (rare, rare**2, 0.05, 0.3):
            tilted = other * math.exp(epsilon)
            first, second = np.array([likely, other]), np.array([rare, tilted])
            yield tuple(np.array([1 - one.sum(), *one]) for one in (first, second))
    for _ in range(20):
        second = rng.dirichlet(np.ones(4))
        first = second * np.exp(rng.uniform(-epsilon / 2, epsilon / 2, 4))
        yield first / first.sum(), second


@pytest.mark.parametrize("runs", [1.5, 10.0, 300.0])
@pytest.mark.parametrize("law", SELECTIONS)
def test_no_selection_is_further_apart_than_is_proved(law, runs):
    epsilon = 0.7
    bound = renyi_divergence(
        PrivateSelection(base=ApproximateRelease(epsilon=epsilon), runs=runs, law=law), ORDERS
    )
    for pair in neighbours(epsilon, np.random.default_rng(2)):
        first, second = (best_of(law, runs, masses) for masses in pair)
        for order, most in zip(ORDERS, bound, strict=True):
            assert divergence(first, second, order) <= most * (1 + 1e-9)
            assert divergence(second, first, order) <= most * (1 + 1e-9)


@pytest.mark.parametrize("runs", [0.02, 0.2, 0.7, 4.0])
def test_a_poisson_number_that_is_often_none_is_bounded_and_closely(runs):
    """Where there is mostly no run, that there was none is most of what is seen."""
    for epsilon in (0.3, 0.7):
        event = PrivateSelection(base=ApproximateRelease(epsilon=epsilon), runs=runs, law="poisson")
        orders = np.array([1 + 1e-3, 1.2, 1 + 1 / math.expm1(epsilon)])  # where no delta is paid
        bound = renyi_divergence(event, orders)
        assert (bound > 0).all()
        for pair in neighbours(epsilon, np.random.default_rng(2)):
            first, second = (best_of("poisson", runs, masses) for masses in pair)
            for order, most in zip(orders, bound, strict=True):
                assert divergence(first, second, order) <= most * (1 + 1e-9)
                assert divergence(second, first, order) <= most * (1 + 1e-9)


@pytest.mark.parametrize("runs", [0.05, 0.9, 3.0, 50.0])
@pytest.mark.parametrize("order", [1.01, 1.7, 2.0, 40.0, math.inf])
def test_a_poisson_number_by_its_formula_in_fifty_digits(runs, order):
    one, delta = 0.4, 1e-3
    found = compute_poisson_divergence(runs, np.array([one]), np.array([order]), np.array([delta]))[
        0
    ]
    with mpmath.workdps(50):
        m, lost = mpmath.mpf(runs), mpmath.mpf(one) + mpmath.mpf(runs) * mpmath.mpf(delta)
        if order == math.inf:
            assert found == pytest.approx(float(lost), rel=1e-14)
            return
        excess = mpmath.mpf(order) - 1
        exact = mpmath.log(mpmath.exp(-m) + m * mpmath.exp(excess * lost)) / excess
    assert found == pytest.approx(float(exact), rel=1e-12)


def test_one_run_is_not_all_that_is_paid_for():
    """Negative control: the best of many leaks nearly 3 epsilon, and 2 epsilon are refuted."""
    epsilon = 0.7
    pairs = neighbours(epsilon, np.random.default_rng(2))
    best = ((best_of("geometric", 300.0, p), best_of("geometric", 300.0, q)) for p, q in pairs)
    most = max(np.abs(np.log(p[1:] / q[1:])).max() for p, q in best)
    assert 2.7 * epsilon < most <= 3 * epsilon


@pytest.mark.parametrize(("law", "times"), [("geometric", 3.0), ("logarithmic", 2.0)])
def test_pure_privacy_is_paid_for_a_few_times(law, times):
    chosen = PrivateSelection(base=ApproximateRelease(epsilon=0.4), runs=50.0, law=law)
    assert RenyiCurveDP(chosen).epsilon(0.0) == pytest.approx(times * 0.4)


@pytest.mark.parametrize("law", SELECTIONS)
def test_selection_is_cheaper_than_releasing_all_and_dearer_than_one(law):
    one = GaussianRelease(sensitivity=1.0, noise_scale=4.0)
    chosen = proved_guarantee(PrivateSelection(base=one, runs=20.0, law=law)).epsilon(1e-6)
    assert (
        proved_guarantee(one).epsilon(1e-6)
        < chosen
        < RenyiCurveDP(repeat_event(one, 20)).epsilon(1e-6)
    )


def test_more_runs_cost_more():
    def epsilon(runs, law):
        base = GaussianRelease(sensitivity=1.0, noise_scale=4.0)
        return RenyiCurveDP(PrivateSelection(base=base, runs=runs, law=law)).epsilon(1e-6)

    for law in SELECTIONS:
        assert epsilon(2.0, law) < epsilon(20.0, law) < epsilon(200.0, law)


@pytest.mark.parametrize("mean", [1.001, 2.0, 40.0, 1e4])
def test_a_logarithmic_law_has_the_mean_that_is_asked(mean):
    g = parameter_of("logarithmic", mean)
    assert (1 / g - 1) / -math.log(g) == pytest.approx(mean, rel=1e-9)


def test_a_training_that_is_one_of_many_is_accounted_for_as_such():
    given = {"batch_size": 600, "noise_multiplier": 1.0}
    one = dpaudit.account("dp-sgd", **given)
    assert one.remarks[-1].startswith("For one training run.")
    chosen = dpaudit.account("dp-sgd", **given, runs=10, selection="geometric")
    everything = dpaudit.account("dp-sgd", **given, runs=10)
    assert one.proved.upper < chosen.proved.upper
    assert one.proved.upper < everything.proved.upper
    assert "A fixed number of runs is not covered by this." in chosen.remarks[-1]
    assert everything.remarks[-1].startswith("For 10 training runs, all of them released")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"runs": 1.0}, "runs: got 1.0, expected above 1 on average where geometric"),
        ({"runs": 0.0, "law": "poisson"}, "runs: got 0.0"),
        ({"runs": 2.0, "law": "fixed"}, "law: got 'fixed'"),
    ],
)
def test_what_is_no_selection_is_refused(given, message):
    with pytest.raises(InvalidArgument, match=message):
        PrivateSelection(base=ApproximateRelease(epsilon=0.4), **given)


def test_runs_without_a_renyi_curve_are_refused():
    base = Sequence((ApproximateRelease(epsilon=0.1, delta=1e-9),))
    with pytest.raises(UnsupportedEvent, match="whose Renyi divergence is known"):
        proved_guarantee(PrivateSelection(base=base, runs=3.0))
    with pytest.raises(UnsupportedEvent, match="expected a single release"):
        dpaudit.account(PrivateSelection(base=base, runs=3.0))
    with pytest.raises(InvalidArgument, match="an integer where all runs are released"):
        dpaudit.account("dp-sgd", runs=2.5)


def test_a_selection_by_name_is_that_of_the_event():
    base = {"kind": "gaussian", "noise_scale": 4.0}
    named = dpaudit.account("private-selection", base=base, runs=5)
    one = GaussianRelease(sensitivity=1.0, noise_scale=4.0)
    event = dpaudit.account(PrivateSelection(base=one, runs=5.0))
    assert named.proved.upper == event.proved.upper
    assert named.relation == "any"


@pytest.mark.parametrize("runs", [1.001, 1.5, 4.0, 37.3, 1e3, 1e6, 1e9])
def test_the_parameter_of_a_law_has_at_least_the_mean_that_is_asked_for(runs):
    """In 50 digits: fewer runs would lose less than is released."""
    with mpmath.workdps(50):
        inverse = 1 / mpmath.mpf(parameter_of("logarithmic", runs))
        mean = (inverse - 1) / mpmath.log(inverse)
        assert runs <= mean <= runs * (1 + mpmath.mpf("1e-11") * max(1, 1 / (runs - 1)))
        assert 1 / mpmath.mpf(parameter_of("geometric", runs)) >= runs * (1 - mpmath.mpf(2) ** -52)

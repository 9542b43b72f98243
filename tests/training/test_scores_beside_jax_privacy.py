"""Numbers of an attack's scores beside those of jax-privacy, by `make training`."""

import math

import numpy as np
import pytest

import dpaudit
from dpaudit.estimation import roc

auditing = pytest.importorskip("jax_privacy.auditing")
pytestmark = pytest.mark.slow

RNG = np.random.default_rng(9)
SCORES = {
    "gaussian": (RNG.normal(1, 1, 1000), RNG.normal(0, 1, 1200)),
    "tied": (np.round(RNG.normal(1, 1, 1000)), np.round(RNG.normal(0, 1, 800))),
    "apart": (RNG.normal(9, 1, 300), RNG.normal(0, 1, 300)),
    "nothing": (RNG.normal(0, 1, 500), RNG.normal(0, 1, 500)),
}


@pytest.fixture(params=SCORES)
def sides(request):
    return SCORES[request.param]


@pytest.fixture
def theirs(sides):
    return auditing.CanaryScoreAuditor(*sides)


@pytest.mark.parametrize("fpr", [0.001, 0.01, 0.1, 0.5])
def test_the_same_rate_at_a_false_positive_rate(sides, theirs, fpr):
    estimate = roc.hull_tpr(*sides, fpr)
    assert estimate == pytest.approx(float(theirs.tpr_at_given_fpr(fpr)), abs=1e-9)


def test_the_same_area_below_the_hull(sides, theirs):
    assert roc.hull_area(*sides) == pytest.approx(float(theirs.attack_auroc()), abs=1e-9)


def test_the_same_accuracy(sides, theirs):
    found = roc.roc_numbers(*sides, [0.1], 0.05)
    assert found.accuracy.estimate == pytest.approx(float(theirs.max_accuracy(prevalence=0.5)))


@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_no_less_from_raw_counts_than_thresholds_show(sides, theirs, delta):
    """Theirs interpolates to the least count, ours takes thresholds as they are."""
    ours = roc.epsilon_as_counted(*sides, delta)
    other = float(theirs.epsilon_raw_counts(min_count=roc.FEWEST, delta=delta))
    assert ours <= other + 1e-9
    assert other - ours < 0.1 or math.isclose(ours, 0.0, abs_tol=0.1)


def test_both_certify_less_than_the_truth(sides, theirs):
    result = dpaudit.audit_membership(*sides, delta=1e-5)
    other = float(theirs.epsilon_clopper_pearson(0.05, 1e-5))
    if sides is SCORES["gaussian"]:
        truth = roc.gaussian_epsilon(0.7602499389, 1e-5)
        assert 0.3 < result.measured.lower < truth
        assert other < truth
    if sides is SCORES["nothing"]:
        assert result.measured.lower < 0.2

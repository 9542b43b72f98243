"""The interval of a rate: another implementation, its definition, and its ends."""

from __future__ import annotations

import pytest
from scipy.stats import binom
from statsmodels.stats.proportion import proportion_confint

from dpaudit.estimation.clopper_pearson import clopper_pearson

COUNTS = [(1, 2), (1, 10**6), (3, 10), (500, 1000), (999_000, 10**6)]


@pytest.mark.parametrize("alpha", [1e-9, 0.05])
@pytest.mark.parametrize(("hits", "trials"), COUNTS)
def test_it_is_statsmodels_interval(hits, trials, alpha):
    expected = proportion_confint(hits, trials, alpha=alpha, method="beta")
    assert clopper_pearson(hits, trials, alpha) == expected


@pytest.mark.parametrize("alpha", [1e-9, 0.05])
@pytest.mark.parametrize(("hits", "trials"), COUNTS)
def test_at_either_end_what_was_seen_has_half_the_error_probability(hits, trials, alpha):
    low, high = clopper_pearson(hits, trials, alpha)
    assert binom.sf(hits - 1, trials, low) == pytest.approx(alpha / 2, rel=1e-6)
    assert binom.cdf(hits, trials, high) == pytest.approx(alpha / 2, rel=1e-6)


def test_no_hit_and_nothing_but_hits_leave_one_end_open():
    assert clopper_pearson(0, 20, 0.05)[0] == 0.0
    assert clopper_pearson(20, 20, 0.05)[1] == 1.0
    assert clopper_pearson(0, 20, 0.05)[1] == pytest.approx(1 - 0.025 ** (1 / 20))

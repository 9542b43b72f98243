"""Self-checks at 5%: as rare as they say on what is right, and loud on each side of what is wrong.

At 1e-7, the default, nothing that a test draws shows an error probability that is spent twice.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from dpaudit.estimation import self_check
from dpaudit.estimation.self_check import (
    consistency_check,
    digits_check,
    likelihood_ratio_checks,
    payoff_check,
    uniformity_check,
    weight_check,
)

ALPHA, TABLES = 0.05, 400


@pytest.fixture(autouse=True)
def at_five_percent(monkeypatch):
    monkeypatch.setattr(self_check, "FALSE_ALARM", ALPHA)


def losses(rng, mu=1.0, count=400, shift=(0.0, 0.0)):
    """Return losses of N(mu, 1) against N(0, 1) on both datasets, moved by a shift each."""
    z = rng.normal(size=(2, count))
    return mu * z[0] + mu**2 / 2 + shift[0], mu * z[1] - mu**2 / 2 + shift[1]


RIGHT = {
    "uniform residuals": lambda rng: [uniformity_check("x", rng.random((200, 3, 2)))],
    "uniform residuals of one number": lambda rng: [uniformity_check("x", rng.random(300))],
    "losses": lambda rng: likelihood_ratio_checks(*losses(rng)),
    "weights": lambda rng: [weight_check("x", losses(rng)[1])],
    "payoffs": lambda rng: [payoff_check("x", rng.random(300), 3 * rng.random(300) / 3, 3.0)],
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_fails_as_rarely_as_is_said(name):
    rng = np.random.default_rng(11)
    failed: dict[str, int] = {}
    for _ in range(TABLES):
        for one in RIGHT[name](rng):
            failed[one.name] = failed.get(one.name, 0) + (not one.passed)
    assert max(failed.values()) <= binom.ppf(0.99999, TABLES, ALPHA)


def normal_residuals(mean=0.0, scale=1.0, place=None):
    from scipy.special import ndtr

    def draw(rng):
        moved = np.ones((200, 3)) if place is None else np.eye(3)[place] * np.ones((200, 1))
        z = rng.normal(size=(200, 3))
        return [uniformity_check("x", ndtr(z * (1 + (scale - 1) * moved) + mean * moved))]

    return draw


def loss_checks(which, **given):
    return lambda rng: [likelihood_ratio_checks(*losses(rng, **given))[which]]


def half_overlap(side):
    """Return checks of losses that are right on one side of 0 and too frequent on one dataset."""

    def draw(rng):
        on_p, on_q = losses(rng, count=4000)
        kept = on_p[(on_p <= 0) | (rng.random(len(on_p)) < 0.6)] if side == "above" else on_p
        lost = on_q[(on_q > 0) | (rng.random(len(on_q)) < 0.6)] if side == "below" else on_q
        return [likelihood_ratio_checks(kept, lost)[2]]

    return draw


WRONG = {
    "residuals too large": normal_residuals(mean=0.3),
    "residuals too small": normal_residuals(mean=-0.3),
    "noise too wide": normal_residuals(scale=1.3),
    "noise too narrow": normal_residuals(scale=0.7),
    "one place too large": normal_residuals(mean=0.6, place=2),
    "one place too narrow": normal_residuals(scale=0.5, place=0),
    "losses on the neighbour too large": loss_checks(0, mu=0.5, shift=(0.0, 0.3)),
    "losses on the dataset too small": loss_checks(1, mu=0.5, shift=(-0.3, 0.0)),
    "too few losses above on the dataset": half_overlap("above"),
    "too few losses below on the neighbour": half_overlap("below"),
    "weights too large": lambda rng: [weight_check("x", losses(rng, mu=0.5)[1] + 0.3)],
    "payoffs too small": lambda rng: [
        payoff_check("x", rng.random(4000), 0.5 * rng.random(4000), 1.0)
    ],
    "payoffs too large": lambda rng: [
        payoff_check("x", 0.5 * rng.random(4000), rng.random(4000), 1.0)
    ],
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_on_one_side_alone_is_seen(name):
    rng = np.random.default_rng(12)
    seen = sum(not one.passed for _ in range(20) for one in WRONG[name](rng))
    assert seen >= 16


@pytest.mark.parametrize("check", [lambda a, b: consistency_check("x", a, b), digits_check])
@pytest.mark.parametrize("off", [1e-3, -1e-3])
def test_one_number_that_differs_is_enough(check, off):
    one = np.random.default_rng(13).normal(size=50)
    assert check(one, one.copy()).passed
    for place in (0, 25, 49):
        other = one.copy()
        other[place] += off
        assert not check(one, other).passed


def test_a_missing_number_is_no_overlap():
    on_p, on_q = losses(np.random.default_rng(14))
    for broken in ((np.append(on_p, np.nan), on_q), (on_p, np.append(on_q, np.nan))):
        assert not likelihood_ratio_checks(*broken)[2].passed

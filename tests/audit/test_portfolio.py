"""The portfolio: leaks of every kind it looks for are certified, and right mechanisms stand."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom

from dpaudit.auditing.distinguishers.learned_scores import (
    fit_distinguishers,
    for_outputs,
    with_further,
)
from dpaudit.auditing.estimators.event import choose_promising_event
from dpaudit.auditing.estimators.given_outputs import event_evidence
from dpaudit.estimation.event import event_bound
from dpaudit.extension.settings import Settings
from dpaudit.mechanisms.outputs.layout import layout_of


def audited(draw, size, seed=0, delta=0.0, confidence=0.95, which=(1, 0)):
    rng = np.random.default_rng([seed, 7])
    sides = [draw(one, size, rng) for one in which]
    return event_evidence(*sides, Settings(epsilon=1.0, delta=delta, confidence=confidence))


def one_of_100(leaks, size, rng):
    noise = rng.laplace(size=(size, 100))
    noise[:, 37] += leaks
    return noise


def dense(leaks, size, rng):
    return rng.normal(size=(size, 300)) + leaks * 2 / np.sqrt(300)


def correlated(leaks, size, rng):
    noise = rng.normal(size=(size, 10))
    noise[:, 6] = 0.7 * leaks * noise[:, 2] + np.sqrt(1 - 0.49 * leaks) * noise[:, 6]
    return noise


def parity_of_signs(leaks, size, rng):
    noise = rng.normal(size=(size, 3))
    noise[:, 2] *= np.sign(noise.prod(axis=1)) * (1 if leaks else -1)
    return noise


def parity_of_bits(leaks, size, rng):
    bits = rng.integers(0, 2, (size, 8))
    bits[:, 7] = (bits[:, :7].sum(axis=1) + leaks) % 2
    return bits.astype(float)


def modulo_7(leaks, size, rng):
    return (7 * rng.integers(0, 10**5, (size, 1)) + rng.integers(0, 6, (size, 1)) + leaks) * 1.0


def wrong_radius(leaks, size, rng):
    radius, angle = rng.exponential(size=size), rng.uniform(0, 2 * np.pi, size)
    return np.stack([radius * np.cos(angle) + leaks, radius * np.sin(angle)], axis=1)


def rare_spike(leaks, size, rng):
    noise = rng.normal(size=(size, 20))
    noise[:, 13] += 30 * leaks * (rng.random(size) < 1e-2)
    return noise


# What is certified of so many outputs a side, by which attack; the limit of the best event.
LEAKS = [
    (one_of_100, 2000, 0.0, 0.6, "one part"),  # .87
    (dense, 2000, 1e-5, 2.0, "mean difference"),
    (correlated, 5000, 0.0, 2.5, "covariance"),  # 3.8
    (parity_of_signs, 2000, 0.0, 5.0, "signs"),
    (parity_of_bits, 4000, 0.0, 4.0, "histogram"),
    (modulo_7, 4000, 0.0, 3.5, "remainder"),
    (wrong_radius, 4000, 0.0, 2.0, "distance"),
    (rare_spike, 10_000, 0.0, 1.9, ""),  # 3.1
]


@pytest.mark.parametrize(("draw", "size", "delta", "least", "attack"), LEAKS)
def test_a_leak_of_every_kind_is_certified_and_none_where_there_is_none(
    draw, size, delta, least, attack
):
    found = audited(draw, size, delta=delta)
    assert found.lower >= least
    assert attack in found.estimator
    assert audited(draw, size, delta=delta, which=(0, 0)).lower < 0.2


def texts(leaks, size, rng):
    letters = rng.integers(0, 25, (size, 12))
    letters[:, 5] += leaks  # an a there on one side only, and a z on the other
    return ["".join(map(chr, 97 + row)) for row in letters]


def records(leaks, size, rng):
    colours = rng.choice(["plum" if leaks else "grey", "blue"], size)
    return [
        f'{{"id": {n}, "colour": "{c}"}}'
        for n, c in zip(rng.integers(10**11, 10**12, size), colours, strict=True)
    ]


@pytest.mark.parametrize(("draw", "least"), [(texts, 1.5), (records, 3.5)])
def test_what_leaks_inside_of_random_texts_is_certified(draw, least):
    rng = np.random.default_rng(3)
    drawn = [[draw(side, 1500, rng) for side in (1, 0)] for _ in range(3)]
    layout = layout_of([side[:40] for side in drawn[0]])
    mechanism = SimpleNamespace(layout=layout)
    fit, choose, fresh = [[layout.rows(side, len(side)) for side in sides] for sides in drawn]
    scores = fit_distinguishers(
        with_further(for_outputs(None), mechanism, *fit), mechanism, None, *fit, rng
    )
    best = choose_promising_event(
        *[np.stack([score(side) for _, score in scores]) for side in choose], 0.0
    )
    on = [best.rounded(scores[best.index][1](side)) for side in fresh]
    assert event_bound(*on, best.event, 0.0, 0.05).lower >= least


def discrete_laplace(leaks, size, rng):
    noise = rng.geometric(1 - np.exp(-1.0), (2, size, 1))
    return noise[0] - noise[1] + 1.0 * leaks


def laplace_of_three(leaks, size, rng):
    return rng.laplace(size=(size, 3)) + np.eye(3)[0] * leaks


def noisy_bits(leaks, size, rng):
    bits = rng.integers(0, 2, (size, 6))
    bits[:, 0] = (rng.random(size) < 1 / (1 + np.e)) ^ leaks
    return bits.astype(float)


def spread_laplace(leaks, size, rng):
    return rng.laplace(size=(size, 12)) + leaks / 12


RIGHT = [discrete_laplace, laplace_of_three, noisy_bits, spread_laplace]


def lower_of(draw, size, seed, alpha, fresh=True):
    """Return the bound of an event that was chosen on a half; or certified on that half itself."""
    rng = np.random.default_rng([seed, 11])
    first, second = ([draw(side, size // 2, rng) for side in (1, 0)] for _ in range(2))
    scores = fit_distinguishers(
        with_further(for_outputs(None), None, *first), None, None, *first, rng
    )
    best = choose_promising_event(
        *[np.stack([score(side) for _, score in scores]) for side in first], 0.0
    )
    on = [best.rounded(scores[best.index][1](side)) for side in (second if fresh else first)]
    return event_bound(*on, best.event, 0.0, alpha).lower


def test_right_mechanisms_are_refuted_no_oftener_than_they_may_be():
    lower = [lower_of(RIGHT[seed % 4], 600, seed, 0.1) for seed in range(8)]
    assert sum(one > 1 for one in lower) <= binom.ppf(0.999, 8, 0.1)
    assert sum(one > 0.25 for one in lower) > binom.ppf(0.999, 8, 0.1)  # of a quarter they are


def test_outputs_that_choose_an_event_would_refute_a_right_mechanism_far_too_often():
    def wide(leaks, size, rng):
        return rng.laplace(size=(size, 60)) + leaks / 60

    assert min(lower_of(wide, 200, seed, 0.1, fresh=False) for seed in range(3)) > 1
    assert max(lower_of(wide, 200, seed, 0.1) for seed in range(3)) < 1


@pytest.mark.slow
@pytest.mark.parametrize("draw", RIGHT)
def test_of_many_audits_of_a_right_mechanism_a_share_alpha_refutes_at_most(draw):
    for alpha in (0.05, 0.5):
        lower = [lower_of(draw, 800, seed, alpha) for seed in range(200)]
        assert sum(one > 1 for one in lower) <= binom.ppf(0.999, 200, alpha)

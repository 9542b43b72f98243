"""Audits from outputs alone: what is chosen, on how much, and for which mechanisms."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from .test_own_mechanisms import Laplace, audited


@dataclass(frozen=True)
class Outputs:
    """Outputs of either dataset as functions of the number of trials and the generator."""

    of_dataset: Any
    of_neighbour: Any

    def sample(self, dataset, trials, rng):
        return (self.of_neighbour if dataset[0] else self.of_dataset)(trials, rng)


LEAKS = {
    "constants": Outputs(lambda n, rng: np.zeros(n), lambda n, rng: np.ones(n)),
    "intervals far apart": Outputs(lambda n, rng: rng.random(n), lambda n, rng: 10 + rng.random(n)),
    "intervals": Outputs(lambda n, rng: rng.random(n), lambda n, rng: 1.5 + rng.random(n)),
    "normal": Outputs(lambda n, rng: rng.normal(size=n), lambda n, rng: rng.normal(40, 1, n)),
    "vectors": Outputs(lambda n, rng: rng.random((n, 5)), lambda n, rng: 8 + rng.random((n, 5))),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", LEAKS)
@pytest.mark.parametrize("trials", [100, 1000])
def test_a_full_leak_is_certified_up_to_what_so_many_outputs_can_show(name, trials):
    result = audited(LEAKS[name], 0.5, trials=trials)
    assert result.counts["event, favoured hits"] == trials
    assert result.measured.lower >= math.log(2 * trials / 3.2)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["constants", "intervals far apart", "normal", "vectors"])
@pytest.mark.parametrize("trials", [1000, pytest.param(5000, marks=pytest.mark.slow)])
def test_a_leak_that_a_pilot_sees_leaves_nearly_all_outputs_to_certify(name, trials):
    """The physical limit is about ln(N/3): of N outputs in all, those that choose included."""
    result = audited(LEAKS[name], 0.5, trials=trials)
    every = result.counts["outputs in all, of both datasets"]
    assert every < 2.07 * trials
    assert result.measured.lower >= math.log(every / 3.2)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [2, 5])
def test_no_pilot_stands_for_what_only_looks_apart(seeds):
    """Laplace noise: a pilot of a few outputs is often told apart, and its threshold is poor."""
    for seed in range(seeds):
        result = audited(Laplace(1 / 6), 5.0, seed=seed, trials=600)
        assert result.counts["setting thresholds, per dataset"] == 300
        counted = [n for name, n in result.counts.items() if name.endswith("per dataset")]
        assert result.counts["outputs in all, of both datasets"] == 2 * sum(counted)


def test_a_pilot_certifies_nothing():
    """Fewer outputs are shown than are drawn: those of the pilot are not among those counted."""
    result = audited(LEAKS["normal"], 0.5, trials=1200)
    assert result.counts["event, favoured trials"] == 1200
    assert result.counts["fitting attacks, per dataset"] == 20


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seeds", [range(6), pytest.param(range(40), marks=pytest.mark.slow)])
@pytest.mark.parametrize("chance", [0.5, 0.75, 0.99])
def test_coins_are_never_taken_for_a_generator_of_their_own(chance, seeds):
    coin = Outputs(*[lambda n, rng: (rng.random(n) < chance) * 1.0] * 2)
    for seed in seeds:
        assert audited(coin, 0.5, seed=seed, trials=100, confidence=0.999).verdict == "not refuted"


def test_a_mechanism_that_fills_one_array_again_is_audited_like_any_other():
    class Reusing(Laplace):
        def sample(self, dataset, trials, rng):
            kept = _BUFFER[:trials]
            kept[:] = super().sample(dataset, trials, rng)
            return kept

    assert audited(Reusing(), 1.0, trials=1000) == audited(Laplace(), 1.0, trials=1000)


_BUFFER = np.empty(100_000)


def test_a_leak_in_a_pattern_of_few_values_is_found_unasked():
    def pattern(told):
        def drawn(n, rng):
            coins = rng.integers(0, 2, n)
            return np.stack([coins, coins ^ told], axis=1).astype(float)

        return drawn

    result = audited(Outputs(pattern(0), pattern(1)), 1.0, trials=1000)
    assert result.measured.lower > 6
    assert "histogram" in " ".join(result.notes)


@pytest.mark.slow
def test_rare_huge_outputs_do_not_hide_the_others():
    class Heavy(Laplace):
        def sample(self, dataset, trials, rng):
            noisy = super().sample(dataset, trials, rng)
            return np.where(rng.random(trials) < 1e-3, 1e15, noisy)

    result = audited(Heavy(0.5), 1.0, trials=5000)
    assert 1.5 < result.measured.lower <= 2

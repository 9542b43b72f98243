"""What bits of numbers certify: on outputs of their own, of all that were drawn, either side."""

from __future__ import annotations

import numpy as np
import pytest

from dpaudit.estimation.joint import joint_lower_bound
from dpaudit.guarantees.kinds import PureDP
from dpaudit.neighbours import REPLACE_RECORD, Pair
from dpaudit.scan.certification.certify import SampleSizes
from dpaudit.scan.certification.floating import certify_number_bits
from dpaudit.scan.certification.keeping import RefutationLook

PAIR = Pair(np.array([0.0]), np.array([1.0]), REPLACE_RECORD)


def whole(outputs):
    return (np.ravel(outputs) % 1 == 0).astype(float)


class Parity:
    """A distinguisher whose score is whether a number is whole, and so the dataset's."""

    name, statement = "parity", "whether a number is whole"

    def load(self):
        def fit(mechanism, pair, on_p, on_q, rng):
            sign = 1 if whole(on_p).mean() > whole(on_q).mean() else -1
            return lambda outputs: sign * whole(outputs)

        return fit


class Numbers:
    """Whole numbers at one rate on the dataset, and another on its neighbour."""

    def __init__(self, whole, missing=0.0):
        self.whole, self.missing, self.seeds = whole, missing, []

    def observed_in_turn(self, datasets, count, seed):
        self.seeds.append(seed.spawn_key)
        rng = np.random.default_rng(seed)
        return tuple(self._side(float(one[0]), count, rng) for one in datasets)

    def _side(self, value, count, rng):
        numbers = np.where(rng.random(count) < self.whole[int(value)], 3.0, rng.random(count))
        # They are missing only where events are counted.
        if len(self.seeds) > 1:
            numbers[rng.random(count) < self.missing] = np.nan
        return numbers


@pytest.fixture(autouse=True)
def no_look(monkeypatch):
    """Look for no kept noise: these numbers are drawn here, and no process answers."""
    monkeypatch.setattr(RefutationLook, "why_kept", lambda look, seen: "")


def bits(numbers, epsilon=0.5, counting=2000, alpha=1e-3, seed=1):
    sizes = SampleSizes(500, counting)
    return certify_number_bits(numbers, PAIR, PureDP(epsilon), Parity(), sizes, alpha, seed)


@pytest.mark.parametrize("rates", [(0.6, 0.1), (0.1, 0.6), (0.9, 0.4), (0.4, 0.9)])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_bound_is_that_of_the_counts_that_are_shown(rates, missing):
    found = bits(Numbers(rates, missing))
    assert found.refuted
    counts = sorted((found.event.on_dataset, found.event.on_neighbour))
    runs = found.event.runs
    bound = joint_lower_bound(counts[1], counts[0], runs, runs, delta=0.0, alpha=1e-3)
    assert (found.lower, runs) == (bound, 2000)
    events = [[(1 - missing) * abs(side - rate) for rate in rates] for side in (0, 1)]
    seen = [found.event.on_dataset / runs, found.event.on_neighbour / runs]
    assert any(np.allclose(seen, one, atol=0.06) for one in events)


def test_what_counts_was_drawn_for_nothing_else():
    numbers = Numbers((0.5, 0.5))
    assert not bits(numbers).refuted
    assert len(numbers.seeds) == len(set(numbers.seeds)) == 2


def test_numbers_of_one_law_are_refuted_as_rarely_as_is_asked():
    refuted = sum(
        bits(Numbers((0.5, 0.5)), epsilon=1e-9, counting=400, alpha=0.5, seed=seed).refuted
        for seed in range(60)
    )
    assert refuted <= 30  # half of alpha for either direction: 15 of 60


@pytest.mark.parametrize("rates", [(0.9, 0.1), (0.1, 0.9)])
def test_outputs_that_may_share_noise_refute_nothing(monkeypatch, rates):
    monkeypatch.setattr(RefutationLook, "why_kept", lambda look, seen: "a file holds them")
    found = bits(Numbers(rates))
    assert (found.refuted, found.lower, found.kept) == (False, 0.0, True)
    assert (found.why, found.event, found.kind) == ("a file holds them", None, None)
    assert (found.claimed, found.at_delta, found.counting, found.drawn) == (0.5, 0.0, 2000, 6000)
    monkeypatch.setattr(RefutationLook, "why_kept", lambda look, seen: "")
    found = bits(Numbers(rates))
    assert (found.refuted, found.kept, found.kind, found.drawn) == (
        True, False, "floating point", 6000,
    )  # fmt: skip


@pytest.mark.parametrize("epsilon", [0.0, 0.5])
def test_counts_that_certify_no_more_than_the_claim_refute_nothing(epsilon):
    found = bits(Numbers((0.5, 0.5)), epsilon)
    assert (found.refuted, found.lower, found.event, found.kind) == (False, 0.0, None, None)
    assert found.tested.lower == 0.0

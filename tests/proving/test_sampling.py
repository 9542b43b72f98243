"""Poisson samples: loops end at the accountants' number, coins used elsewhere gain nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpaudit.accounting.events import PoissonSubsampledGaussian
from dpaudit.accounting.strongest_guarantee import proved_guarantee
from dpaudit.proving.events.bound import Bound, bound_trace
from dpaudit.proving.program import PathProgram
from dpaudit.proving.refusals import NotProved
from dpaudit.proving.trace import FunctionTrace, Path
from dpaudit.proving.universe import Part, Universe
from tests.proving.sketches import Sketch

RATE, SCALE, STEPS, DELTA = 0.1, 2.0, 6, 1e-5


def _bound(program: PathProgram, *, count: int = 1) -> Bound:
    part = Part("", (None,), np.array(0.0), np.array(1.0))
    universe = Universe((part,), None, "add-remove", count)
    return bound_trace(FunctionTrace(universe, (Path(program),)))


class Sampling(Sketch):
    """A program about records of which each step takes some."""

    def __init__(self) -> None:
        super().__init__(None)

    def coins(self, rate: float = RATE) -> int:
        uniform = self.draw("uniform", (None,))
        return self("less", uniform, self.constant(rate), shape=(None,))

    def step(self, coins: int, centre: int, rows: int | None = None) -> int:
        """Write the noisy sum of what a sample has beyond a public number, clipped."""
        moved = self("subtract", self.records, centre, shape=(None,))
        ends = self.constant(-1.0), self.constant(1.0)
        low = self("maximum", moved, ends[0], shape=(None,))
        clipped = self("minimum", low, ends[1], shape=(None,)) if rows is None else rows
        chosen = self("multiply", clipped, coins, shape=(None,))
        total = self("sum", chosen, axis=0)
        return self("add", total, self.scaled("normal", SCALE))


def _loop(own: Sampling) -> PathProgram:
    state = own.constant(0.0)
    for _ in range(STEPS):
        noisy = own.step(own.coins(), state)
        state = own("add", state, own("multiply", noisy, own.constant(0.05)))
    return own.show(state)


def test_a_loop_of_steps_is_what_accountants_say() -> None:
    event = PoissonSubsampledGaussian(sampling_ratio=RATE, noise_multiplier=SCALE, count=STEPS)
    expected = proved_guarantee(event).epsilon(DELTA)
    assert _bound(_loop(Sampling())).epsilon(DELTA) == pytest.approx(expected, rel=1e-6)


def test_steps_whose_lengths_differ_are_steps_all_the_same() -> None:
    own = Sampling()
    state = own.constant(0.0)
    for n in range(STEPS):
        noisy = own.step(own.coins(), state)
        state = own("add", state, own("multiply", noisy, own.constant(0.7 / (n + 3))))
    event = PoissonSubsampledGaussian(sampling_ratio=RATE, noise_multiplier=SCALE, count=STEPS)
    found = _bound(own.show(state))
    assert len(set(found.events[0])) == 1
    expected = proved_guarantee(event).epsilon(DELTA)
    assert expected <= found.epsilon(DELTA) * (1 + 1e-12) <= expected * (1 + 1e-9)


def test_without_fresh_coins_there_is_no_sample() -> None:
    own = Sampling()
    coins, state = own.coins(), own.constant(0.0)
    for _ in range(STEPS):
        state = own("add", state, own.step(coins, state))
    found = _bound(own.show(state))
    assert found.mu == pytest.approx(math.sqrt(STEPS) / SCALE, rel=1e-9)
    assert found.epsilon(DELTA) > _bound(_loop(Sampling())).epsilon(DELTA) * 2


def _whole(found: Bound) -> bool:
    """Return whether nothing is gained by a sample."""
    return not any(isinstance(one, PoissonSubsampledGaussian) for one in found.events[0])


def test_a_record_that_is_in_the_centre_beside_its_sample_gains_nothing() -> None:
    own = Sampling()
    noisy = own("add", own.step(own.coins(), own.constant(0.0)), own.total())
    assert _whole(_bound(own.show(noisy)))


def test_rows_that_know_of_other_records_gain_nothing() -> None:
    own = Sampling()
    largest = own("minimum", own("max", own.records, axis=None), own.constant(1.0))
    moved = own("minimum", own.records, largest, shape=(None,))
    try:
        found = _bound(own.show(own.step(own.coins(), own.constant(0.0), moved)))
    except NotProved:
        return
    assert _whole(found)


def test_users_with_several_records_gain_nothing() -> None:
    assert _whole(_bound(_loop(Sampling()), count=2))


def test_a_sample_of_replaced_records_gains_nothing() -> None:
    own = Sketch(5)
    coins = own("less", own.draw("uniform", (5,)), own.constant(RATE), shape=(5,))
    total = own("sum", own("multiply", own.records, coins, shape=(5,)), axis=None)
    noisy = own("add", total, own.scaled("normal", SCALE))
    part = Part("", (5,), np.array(0.0), np.array(1.0))
    trace = FunctionTrace(Universe((part,), 5, "replace"), (Path(own.show(noisy)),))
    assert bound_trace(trace).mu == pytest.approx(1 / SCALE, rel=1e-9)


def test_laplace_noise_on_a_sample_costs_less() -> None:
    own = Sampling()
    total = own("sum", own("multiply", own.records, own.coins(0.25), shape=(None,)), axis=0)
    found = _bound(own.show(own("add", total, own.scaled("laplace", 0.5)))).epsilon()
    assert found == pytest.approx(math.log1p(0.25 * math.expm1(2.0)), rel=1e-9)


def test_a_number_of_participants_that_is_shown_is_refused() -> None:
    own = Sampling()
    coins = own.coins()
    noisy = own.step(coins, own.constant(0.0))
    with pytest.raises(NotProved):
        _bound(own.show(noisy, own("sum", coins, axis=None)))

"""Ranks and zeros that are decided modulo primes, and what is proved of them."""

import math
from fractions import Fraction

import numpy as np
import pytest

import dpaudit
from dpaudit.affine import observation
from dpaudit.affine.changes import Direction
from dpaudit.affine.kinds import draw_primes
from dpaudit.affine.program import AffineProgram, BlockTerm
from dpaudit.affine.view import View

LARGEST = (2147483647, 2147483629, 2147483587)  # primes below 2^31


def test_primes_are_others_in_every_process():
    assert len({draw_primes(3) for _ in range(4)}) == 4
    assert draw_primes(3, entropy=7) == draw_primes(3, entropy=7)
    assert all(pow(2, one - 1, one) == 1 and 2**30 < one < 2**31 for one in observation.PRIMES)


def test_a_factor_that_is_a_product_of_primes_is_not_0():
    def scaled(x, rng):
        for prime in LARGEST:
            x = x * prime
        return {"hidden": x / 1e28 + rng.normal(), "seen": x}

    found = dpaudit.views(scaled, private=0.0)
    assert found.mu("hidden").upper == pytest.approx(math.prod(LARGEST) / 1e28, rel=1e-12)
    assert found.mu("seen").lower == math.inf


@pytest.mark.parametrize("place", range(4))
def test_what_is_divided_by_a_prime_is_as_small_as_that(place):
    prime = (*LARGEST, observation.PRIMES[0])[place]

    def divided(x, rng):
        return {"float": x / prime + rng.normal(), "third": Fraction(1, prime) * x + rng.normal()}

    found = dpaudit.views(divided, private=0.0)
    for name in ("float", "third"):
        assert found.mu(name).upper == pytest.approx(1 / prime, rel=1e-12)


@pytest.mark.parametrize("place", range(3))
def test_a_prime_that_divides_is_passed_over(place, monkeypatch):
    program = AffineProgram()
    data, noise = program.add_leaf("data", 1), program.add_leaf("noise", 1)
    prime = float(observation.PRIMES[place])
    small = program.add_sum(BlockTerm(data, np.array([prime]), divides=True))
    view = View(program, program.add_sum(BlockTerm(small), BlockTerm(noise)), Direction([1]))
    assert prime not in view.observation.primes
    assert view.mu.upper == pytest.approx(1 / prime, rel=1e-12)
    with monkeypatch.context() as patch:
        patch.setattr(observation, "PRIMES", (int(prime),) * 3)
        other = View(program, np.concatenate([view.ids, small]), Direction([1]))
        with pytest.raises(dpaudit.DpauditError, match="too many of the primes"):
            assert other.mu


def test_sums_that_cancel_in_decimals_do_not_in_doubles():
    def cancel(x, rng):
        return {"decimal": 0.1 * x + 0.2 * x - 0.3 * x + rng.normal(), "seen": 0.1 * x - 0.1 * x}

    found = dpaudit.views(cancel, private=0.0)
    exact = float(Fraction(0.1) + Fraction(0.2) - Fraction(0.3))
    assert found.mu("decimal").upper == pytest.approx(exact, rel=1e-12)
    assert (found.mu("seen").upper, found.view("seen").proof) == (0.0, "exact")


def test_noise_hides_only_who_is_not_seen_before():
    program = AffineProgram()
    data, noise = program.add_leaf("data", 1), program.add_leaf("noise", 1)
    scaled = program.add_sum(BlockTerm(noise, np.array([2.0])))
    moved = program.add_sum(BlockTerm(data, np.array([3.0])))
    sent = program.add_sum(BlockTerm(moved), BlockTerm(scaled))
    assert program.are_hidden_by_noise(data, noise, sent)
    for early in (data, scaled, moved):
        seen = np.concatenate([sent, early])
        assert not program.are_hidden_by_noise(data, noise, seen)
        assert View(program, seen, Direction([1])).mu.lower == math.inf
    program.add_sum(BlockTerm(scaled))  # used once more
    assert not program.are_hidden_by_noise(data, noise, sent)

"""Both ends of a view hold where they are pressed: roots, primes, proofs."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb_mat

import dpaudit
from dpaudit.affine.changes import _round_down
from dpaudit.affine.kinds import Rationals, Residues, compute_view_ranks, independent_rows
from dpaudit.affine.observation import PRIMES
from dpaudit.reals import precision


def repeated(scale, rounds=2):
    """Return the view of one who hears a number so often, and a share of it once more."""

    def send(x, rng):
        return [(1 + t / 3) * x + scale * rng.normal() for t in range(rounds)]

    return dpaudit.views(send, private=0.0).view("output")


def test_ends_are_rounded_outwards():
    for scale in (1.3, 0.7, 3.0, 1 / 7):
        found = repeated(scale, rounds=1).mu
        assert Fraction(found.lower) <= 1 / Fraction(scale) <= Fraction(found.upper)
        assert found.upper <= math.nextafter(math.nextafter(found.lower, 9), 9)


@pytest.mark.parametrize("n", [2, 3, 5, 7])
def test_doubles_of_balls_are_not_above_them(n):
    with precision(40):
        root = arb_mat([[n]])[0, 0].sqrt()
        assert _round_down(root) <= root
        assert -_round_down(-root) >= root


@pytest.mark.parametrize("prime", PRIMES[:3], ids=range(3))
def test_a_noise_that_vanishes_modulo_one_prime_is_noise(prime):
    seen = repeated(float(prime), rounds=1)
    assert compute_view_ranks(Residues(prime), seen.seen(Residues(prime))) == (0, 1)
    assert not seen.infinite
    assert 0.5 < prime * seen.mu.lower <= prime * seen.mu.upper < 2


@pytest.mark.parametrize(
    ("function", "hidden"),
    [
        (lambda x, n: [x + n], True),
        (lambda x, n: [by * one for one in [3 * x + 2 * n] for by in (1, 5)], True),
        (lambda x, n: [x + n, 2 * x + n], False),
        (lambda x, n: [x + n, 2 * x], False),
        (lambda x, n: [x + n, n], False),
    ],
)
def test_data_used_beside_a_normal_used_once_are_hidden_by_proof(function, hidden):
    def sent(x, rng):
        return function(x, rng.normal())

    seen = dpaudit.views(sent, private=0.0).view("output")
    assert seen._is_drowned() is hidden


@pytest.mark.parametrize("kind", [Rationals(), Residues(2147483647)], ids=["exact", "prime"])
def test_ranks_with_and_without_the_last_column(kind):
    def table(*rows):
        return np.array(rows, dtype=object if kind == Rationals() else np.int64)

    assert compute_view_ranks(kind, table([1, 2, 3], [2, 4, 6])) == (1, 1)
    assert compute_view_ranks(kind, table([1, 2, 3], [2, 4, 7])) == (1, 2)
    assert compute_view_ranks(kind, table([0])) == (0, 0)
    assert compute_view_ranks(kind, table([3])) == (0, 1)
    assert compute_view_ranks(kind, np.zeros((0, 3), dtype=np.int64)) == (0, 0)


def test_the_first_rows_that_span_are_kept():
    rows = np.array([[0, 0], [1, 2], [2, 4], [0, 1]])
    assert independent_rows(Residues(PRIMES[0]), rows).tolist() == [1, 3]
    assert independent_rows(Residues(PRIMES[0]), np.zeros((0, 2), np.int64)).tolist() == []

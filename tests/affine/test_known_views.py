"""Views of recursions whose mu is known from a closed form, or from linear algebra on paper."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import dpaudit
from dpaudit.affine.form import NotAffine
from dpaudit.affine.observers import hear_neighbours

STAR = np.array([[0, 1, 1, 1, 1]] + [[1, 0, 0, 0, 0]] * 4)


def gossip(start, rng):
    """Twenty rounds on a star of five, noise on every message."""
    degrees = STAR.sum(axis=1)
    weights = STAR / (1.0 + np.maximum(degrees[:, None], degrees[None, :]))
    own = 1 - weights.sum(axis=1)
    here, sent = start, []
    for _ in range(20):
        sent.append(here + rng.normal(size=5))
        here = own * here + weights @ sent[-1]
    return np.stack(sent)


def test_gossip_on_a_star_is_what_rational_arithmetic_says():
    found = dpaudit.views(
        gossip, private=np.zeros(5), observers=hear_neighbours(STAR), change=[0, 1, 0, 0, 0]
    )
    assert found.mu("node 0").upper == pytest.approx(1.666555894, abs=1e-9)
    assert found.mu("node 2").upper == pytest.approx(0.3688804, abs=1e-7)
    assert found.view("node 2").proof == "exact"


@pytest.mark.parametrize("rounds", [1, 3, 10])
def test_repeated_messages_add_up_as_the_root_of_their_number(rounds):
    def repeat(x, rng):
        return [x + rng.normal(scale=2.0) for _ in range(rounds)]

    mu = dpaudit.views(repeat, private=0.0).mu("output")
    assert mu.lower <= math.sqrt(rounds) / 2 <= mu.upper
    assert mu.width <= 1e-12


def test_one_draw_in_two_messages_cancels():
    def reuse(x, rng):
        noise = rng.normal()
        return {"one": x + noise, "other": 2 * x + noise, "both": [x + noise, 2 * x + noise]}

    found = dpaudit.views(reuse, private=0.0)
    ends = [found.mu(name).upper for name in ("one", "other", "both")]
    assert ends == pytest.approx([1.0, 2.0, math.inf], rel=1e-15)


def test_a_change_that_cancels_is_not_seen():
    def total(x, rng):
        return x.sum() + rng.normal()

    mu = dpaudit.views(total, private=np.zeros(2), change=[1, -1]).mu("output")
    assert mu.upper == 0.0


def test_thirds_are_thirds_where_they_are_written_so():
    def split(x, rng):
        third = Fraction(1, 3)
        return x + rng.normal() - third * x - third * x - third * x

    assert dpaudit.views(split, private=0.0).mu("output").upper == 0.0


def test_a_ball_is_as_large_as_its_worst_direction():
    def sums(x, rng):
        return np.array([[1.0, 1.0], [1.0, -1.0]]) @ x + rng.normal(scale=[1.0, 2.0])

    def largest(norm):
        return dpaudit.views(sums, private=np.zeros(2), about={"x": slice(None)}, norm=norm).worst

    # M = [[1, 1], [1, 1]] + [[1, -1], [-1, 1]] / 4: eigenvalues 2 and 1/2, diagonal 5/4
    for norm, value in (("l2", math.sqrt(2)), ("l1", math.sqrt(5) / 2), ("box", 2.0)):
        assert largest(norm).lower <= value + 1e-15 <= largest(norm).upper + 2e-15


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x, rng: abs(x) + rng.normal(), "numpy.absolute is not linear"),
        (lambda x, rng: x + rng.laplace(), "not Gaussian"),
        (lambda x, rng: x * x + rng.normal(), "multiplied"),
        (lambda x, rng: x + rng.normal() if x > 0 else x, "numpy.greater is not linear"),
        (lambda x, rng: x + np.random.default_rng(3).normal(), "fixed seed"),
    ],
)
def test_what_is_not_linear_is_refused(function, reason):
    with pytest.raises(NotAffine, match=reason):
        dpaudit.views(function, private=1.0)


def test_data_that_an_observer_has_are_known_to_it_and_say_nothing_of_others():
    def send(x, rng):
        messages = x + rng.normal(size=3)
        return {"owner": [x[0], messages[1:]], "other": messages}

    found = dpaudit.views(send, private=np.zeros(3))
    for about, mu in (("0", math.inf), ("1", 1.0)):
        seen = found.view("owner", about)
        assert (seen.mu.upper, seen.infinite, seen.proof) == (mu, math.isinf(mu), "exact")
    assert found.mu("other", "0").upper == 1.0


def test_who_sees_some_of_what_is_formed_at_once_needs_no_more_than_that():
    """The rest of a vector is made of what nobody who looks has to know."""

    def send(x, rng):
        here = np.concatenate([x[:1] + rng.normal(size=1), 2 * x[1:] + 3 * rng.normal(size=1)])
        return here + rng.normal(size=2)

    first = dpaudit.views(send, private=np.zeros(2), observers={"first": lambda sent: sent[0]})
    assert first.mu("first", "0").upper == pytest.approx(math.sqrt(1 / 2), rel=1e-12)
    assert first.mu("first", "1").upper == 0.0

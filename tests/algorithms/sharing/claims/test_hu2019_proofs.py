"""hu2019's Lemma 2 and Lemma 4 where they have a proof: both sides, to 50 digits.

The iterations (6) to (8) are written down once more, in multiple precision and from the paper
alone, so that nothing here is shared with the searches.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp

DIGITS = 50
ZERO = mp.mpf(10) ** -40
SAMPLES, FEATURES = 3, 2


@dataclass
class Run:
    """A problem, and the states of a run from any start."""

    penalty: Any
    ridge: Any
    weight: Any
    loss: str
    designs: list
    labels: list

    def value(self, z):
        if self.loss == "squared":
            return self.weight * sum((v - b) ** 2 for v, b in zip(z, self.labels, strict=True)) / 2
        return self.weight * sum(
            mp.log(1 + mp.exp(-b * v)) for v, b in zip(z, self.labels, strict=True)
        )

    def slope(self, v, b):
        if self.loss == "squared":
            return self.weight * (v - b)
        return -self.weight * b / (1 + mp.exp(b * v))

    @property
    def smoothness(self):
        return self.weight if self.loss == "squared" else self.weight / 4

    @property
    def modulus(self):
        return self.penalty + (self.weight if self.loss == "squared" else 0)

    def parts(self, models):
        return [design * x for design, x in zip(self.designs, models, strict=True)]

    def step(self, models, z, y):
        parts = self.parts(models)
        total, new = sum(parts[1:], parts[0]), []
        for design, part in zip(self.designs, parts, strict=True):
            pull = y + self.penalty * (total - part - z)
            curved = self.ridge * mp.eye(FEATURES) + self.penalty * design.T * design
            new.append(mp.lu_solve(curved, -(design.T * pull)))
        parts = self.parts(new)
        total = sum(parts[1:], parts[0])
        linear = y + self.penalty * total
        z = mp.matrix([self.minimiser(linear[i], self.labels[i]) for i in range(SAMPLES)])
        return new, z, y + self.penalty * (total - z)

    def minimiser(self, linear, label):
        """Return the root of ``slope(z) + penalty z = linear``, which rises in z."""
        if self.loss == "squared":
            return (linear + self.weight * label) / (self.weight + self.penalty)
        reach = (abs(linear) + self.weight) / self.penalty
        low, high = -reach, reach
        for _ in range(60):
            middle = (low + high) / 2
            above = self.slope(middle, label) + self.penalty * middle > linear
            low, high = (low, middle) if above else (middle, high)
        return mp.findroot(lambda z: self.slope(z, label) + self.penalty * z - linear, low)

    def lagrangian(self, models, z, y):
        parts = self.parts(models)
        gap = sum(parts[1:], parts[0]) - z
        ridges = self.ridge / 2 * sum(square(x) for x in models)
        return self.value(z) + ridges + (y.T * gap)[0] + self.penalty / 2 * square(gap)


def square(vector):
    return sum(entry**2 for entry in vector)


@st.composite
def runs(draw, penalty):
    """Return a problem of any conditioning, and three states from any start."""
    parties = draw(st.integers(1, 4))
    entries = st.integers(-50, 50).map(lambda k: mp.mpf(k) / 16)

    def vector(count):
        return mp.matrix(draw(st.lists(entries, min_size=count, max_size=count)))

    designs = [mp.matrix(SAMPLES, FEATURES) for _ in range(parties)]
    for design in designs:
        for i in range(SAMPLES):
            for j in range(FEATURES):
                design[i, j] = draw(entries)
    labels = draw(st.lists(st.sampled_from([-1, 1]), min_size=SAMPLES, max_size=SAMPLES))
    run = Run(
        penalty=mp.mpf(draw(penalty(parties))),
        ridge=mp.mpf(draw(st.floats(0.01, 2))),
        weight=mp.mpf(draw(st.floats(0.05, 3))),
        loss=draw(st.sampled_from(["squared", "logistic"])),
        designs=designs,
        labels=labels,
    )
    state = [vector(FEATURES) for _ in range(parties)], vector(SAMPLES), vector(SAMPLES)
    states = [state]
    for _ in range(3):
        states.append(run.step(*states[-1]))
    return run, states[1:]


def any_penalty(parties):
    return st.floats(0.05, 40)


def small_penalty(parties):
    """Return penalties with ``(M - 1) rho <= 2``."""
    return st.floats(0.05, min(2.0 / max(parties - 1, 1), 40))


@given(st.data())
def test_lemma_2_after_the_first_iteration(data):
    """By (7) and (8) y is the slope at z, at either end of a step; slopes move L times as far."""
    with mp.workdps(DIGITS):
        run, states = data.draw(runs(any_penalty))
        for (_, z, y), (_, later, dual) in pairwise(states):
            for i in range(SAMPLES):
                assert abs(run.slope(z[i], run.labels[i]) - y[i]) <= ZERO * (1 + abs(y[i]))
            bound = run.smoothness**2 * square(later - z)
            assert square(dual - y) <= bound + ZERO * (1 + bound)


def excess(run, before, after, allowed):
    """Return by how much (*) of the lemma is broken, and a size to compare it with."""
    models, z, _ = before
    new, later, _ = after
    right = mp.mpf(0)
    for design, x, moved in zip(run.designs, models, new, strict=True):
        values = sorted(mp.svd_r(design, compute_uv=False))
        least, largest = values[0] ** 2, values[-1] ** 2
        modulus = run.ridge + run.penalty * least
        right -= (modulus / 2 - allowed * largest) * square(moved - x)
    right -= (run.modulus / 2 - run.smoothness**2 / run.penalty) * square(later - z)
    left, first = run.lagrangian(*after), run.lagrangian(*before)
    return left - first - right, 1 + abs(left) + abs(first) + abs(right)


@given(st.data())
def test_lemma_4_corrected_holds_of_every_number_of_parties(data):
    with mp.workdps(DIGITS):
        run, states = data.draw(runs(any_penalty))
        allowed = (len(run.designs) - 1) * run.penalty / 2
        for before, after in pairwise(states):
            over, size = excess(run, before, after, allowed)
            assert over <= ZERO * size


@given(st.data())
def test_lemma_4_as_published_holds_where_penalties_are_small(data):
    """Its factor 1 is at least the corrected one if (M - 1) rho is at most 2."""
    with mp.workdps(DIGITS):
        run, states = data.draw(runs(small_penalty))
        for before, after in pairwise(states):
            over, size = excess(run, before, after, mp.mpf(1))
            assert over <= ZERO * size


@pytest.mark.parametrize("parties", [2, 3, 5])
def test_the_corrected_factor_is_attained_and_no_smaller_one_is_true(parties):
    """Equal blocks, a multiple of the identity, squared loss: every step is an equality."""
    with mp.workdps(DIGITS):
        design = mp.matrix(SAMPLES, FEATURES)
        design[0, 0] = design[1, 1] = 1
        run = Run(
            penalty=mp.mpf(3), ridge=mp.mpf(0), weight=mp.mpf(1), loss="squared",
            designs=[design] * parties, labels=[1, -1, 1],
        )  # fmt: skip
        x = mp.matrix([mp.mpf(1) / 3, mp.mpf(-2) / 7])
        states = [([x] * parties, mp.matrix([1, 2, 3]), mp.matrix([0, 1, 0]))]
        for _ in range(2):
            states.append(run.step(*states[-1]))
        allowed = (parties - 1) * run.penalty / 2
        over, size = excess(run, *states[1:], allowed)
        assert abs(over) <= ZERO * size
        assert excess(run, *states[1:], mp.mpf("0.999") * allowed)[0] > 0

"""One node on which Theorem 7 fails under every reading of c_2: t = l = 12, D = 1, no noise.

The loss is the largest of 145 affine pieces in 40 features, one for every model that (22) averages
and one for their average. It was found by a search; below it is checked in whole numbers. With one
node no constraint, no dual and no rho is left of the bound, and ``c_2 / n`` is ``c_2``.

==========  ========================================================  ================
``start``   the first model, ``w~^{1,0}``; the origin is ``w*``       in ``1 / 10^4``
``slopes``  gradients of the pieces, in the order of the models       in ``1 / 10^4``
``values``  of the loss at these models, and at their average         in ``1 / 10^6``
==========  ========================================================  ================
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from importlib.resources import files
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from dpaudit.extension.ledger import Finding

# Python's integers: products of 13 and 4 digits with 144 models do not fit into 64 bits.
Whole = NDArray[np.object_]  # of Python's integers, which do not overflow

ITERATIONS = INNER_STEPS = 12
_SLOPE = 10**4
_STEP = 10**9
_VALUE = 10**6
_MODEL = _SLOPE * _STEP
_LOST = Fraction(3, 10**7)  # of a model's place, as 144 steps are each rounded by at most 2e-9


@dataclass(frozen=True)
class Pieces:
    """A loss of affine pieces, and the run of (13a) on it.

    Parameters
    ----------
    start, slopes, values
        As the module says, shapes ``(d,)``, ``(N + 1, d)`` and ``(N + 1,)`` with ``N = t l``.
    """

    start: Whole
    slopes: Whole
    values: Whole

    @cached_property
    def models(self) -> Whole:
        """``w~^{1,0} .. w~^{t,l}`` in ``1 / 10^13``, shape ``(N + 1, d)``."""
        schedule = [(k, r) for k in range(1, ITERATIONS + 1) for r in range(1, INNER_STEPS + 1)]
        models = [self.start * _STEP]
        for (k, r), slope in zip(schedule, self.slopes, strict=False):
            # 1 / eta in units of 1 / 10^9, rounded down: whole numbers all the way. The last slope
            # belongs to the average and takes no step.
            models.append(models[-1] - math.isqrt(_STEP**2 // (2 * k * r)) * slope)
        return np.array(models)

    @property
    def average(self) -> Whole:
        """``w^`` of (22), times the number of models that it averages: all but the last."""
        return np.asarray(self.models[:-1].sum(axis=0))

    @cached_property
    def products(self) -> Whole:
        """Products of points and slopes, ``N`` times ``10^17`` each, shape ``(N + 1, N + 1)``."""
        # Models are multiplied by their number, so that their average is in whole numbers, too.
        points = np.vstack([self.models[:-1] * (len(self.models) - 1), self.average])
        return np.asarray(points @ self.slopes.T)

    def lead(self) -> Fraction:
        """Return by how much the piece of a model is above every other piece there, at least."""
        unit = (len(self.models) - 1) * _MODEL * _SLOPE
        values = self.values * (unit // _VALUE)
        # The value of every piece at every point: its value at its own model, plus slope times the
        # way from there.
        others = values + self.products - np.diagonal(self.products)
        ahead = (values[:, None] - others)[~np.eye(len(values), dtype=bool)]
        return Fraction(int(ahead.min()), unit)

    def error(self) -> Fraction:
        """Return the loss at the average less that at the origin."""
        unit = (len(self.models) - 1) * _MODEL * _SLOPE
        # Every piece, carried from its own model to the origin.
        at_origin = self.values * (unit // _VALUE) - np.diagonal(self.products)
        return Fraction(int(self.values[-1]), _VALUE) - Fraction(int(at_origin.max()), unit)

    def square_of_slope(self) -> Fraction:
        """Return the square of the longest slope."""
        return Fraction(int((self.slopes * self.slopes).sum(axis=1).max()), _SLOPE**2)

    def square_of_diameter(self) -> Fraction:
        """Return the largest square of a distance of two models, or of one and the origin."""
        # The origin is w*, which has to lie within the same set.
        points = [*self.models, 0 * self.start]
        largest = max(int(((a - b) ** 2).sum()) for a, b in combinations(points, 2))
        return Fraction(largest, _MODEL**2)


def load_published_pieces() -> Pieces:
    """Return the loss that was found."""
    folder = files("dpaudit.algorithms.multistep.statements.checks")
    content = json.loads(folder.joinpath("one_node.json").read_text(encoding="utf-8"))
    names = ("start", "slopes", "values")
    return Pieces(*(np.array(content[name], dtype=object) for name in names))


def utility() -> tuple[Finding, ...]:
    """Show that Theorem 7 fails for one node, ``t = l = 12``, ``D = 1`` and ``c_2 = 1``.

    ``L`` is the largest of affine pieces ``v_j + <g_j, w - w_j>``, one for each model ``w_j``: it
    is convex, and 1-Lipschitz, as no slope is longer. At ``w_j`` the piece ``j`` is above all
    others: ``g_j`` is the gradient there, (13a) goes on to ``w_j - g_j / eta``, and noise that is
    small enough changes none of it. All models and the origin are within distance 1 of one
    another; ``W`` is their convex hull. The error is at least that against the origin, and (24) is
    ``sqrt(2) / 12``.

    A network of ``n >= 2`` nodes, of which each has the loss ``L / n``, fails as well: models stay
    equal and duals 0, so that any ``beta > 0`` bounds them, and with ``beta = rho -> 0`` its run
    and its bound tend to those of one node.

    Steps are rounded to ``10^-9``; what this moves is allowed for in every line.
    """
    return judge_pieces(load_published_pieces())


def judge_pieces(pieces: Pieces) -> tuple[Finding, ...]:
    """Return the hypotheses of Theorem 7 on a loss, and the theorem."""
    # sqrt(2) / 12, rounded up; the finding below checks it.
    bound = Fraction(117_852, 10**6)
    # Each number is rounded against the refutation: the error down, distances and slopes up.
    least = Fraction(math.floor((pieces.error() - _LOST) * 10**5), 10**5)
    lead = Fraction(math.floor(pieces.lead() * 10**6), 10**6)
    square = Fraction(math.ceil(pieces.square_of_diameter() * 10**4), 10**4)
    slope = Fraction(math.ceil(pieces.square_of_slope() * 10**4), 10**4)
    return (
        Finding(left=slope, relation="<=", right=1, instance="square of the longest gradient"),
        Finding(left=2 * _LOST, relation="<", right=lead, instance="lead of the active piece"),
        Finding(
            left=square,
            relation="<",
            right=(1 - 2 * _LOST) ** 2,
            instance="square of the largest distance",
        ),
        Finding(
            left=2, relation="<=", right=(12 * bound) ** 2, instance="sqrt(2) / 12, rounded up"
        ),
        Finding(left=least, relation="<=", right=bound, instance="error, t = l = 12, one node"),
    )

r"""Probabilities that the privacy loss exceeds epsilon, by search over laws on a few outcomes.

| paper          | code                 | meaning                                             |
|----------------|----------------------|-----------------------------------------------------|
| epsilon, delta | ``epsilon, delta``   | of the algorithm                                    |
| epsilon'       | ``claimed_epsilon``  | ``multiple epsilon``, to which the loss is compared |
| P, Q           | ``one``, ``other``   | laws of the output on two neighbouring datasets     |

The sentence below eq. (10) says ``Pr_{o ~ P}[P(o) > e^epsilon Q(o)] <= delta``. That implies
(epsilon, delta)-DP and does not follow from it. With ``A = {P > e^{epsilon'} Q}`` and
``p = P(A)``, ``q = Q(A)``, (epsilon, delta)-DP of A and of its complement are

    p - e^epsilon q <= delta,    (1 - q) - e^epsilon (1 - p) <= delta,

and ``q < e^{-epsilon'} p``. Both leave the more room the larger q is, so p is less than

    delta / (1 - e^{epsilon - epsilon'}),    (e^epsilon - 1 + delta) / (e^epsilon - e^{-epsilon'})

(or at most 1), and every smaller p occurs on two outcomes. For epsilon' = epsilon the first term is
infinite, and the other is near ``e^epsilon / (e^epsilon + 1)``, whatever delta is: all outcomes of
A exceed the ratio by next to nothing. The corrected statement is the first term, for
``epsilon' > epsilon`` (Kasiviswanathan & Smith 2014, Lemma 3.3, have it for both directions).
For delta = 0 nothing exceeds epsilon, and the sentence is true.

A Gaussian mechanism whose laws are ``N(0, 1)`` and ``N(mu, 1)`` has a loss of law
``N(mu^2 / 2, mu^2)``: above epsilon' with probability ``Phi(mu / 2 - epsilon' / mu)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.random import Generator
from scipy.special import ndtr

from dpaudit._typing import Array
from dpaudit.algorithms.multistep.claims.composition import (
    CompositionSettings,
    Laws,
    compute_composition_conditions,
    format_finite_law,
    gaussian_condition,
    gaussian_mu,
    worst_laws,
)
from dpaudit.extension.claim import Statement
from dpaudit.refutation import Evidence, Inequality, WorstInstance, searched

_CLEAR = 1 + 1e-9  # by so much a ratio exceeds e^epsilon, whatever rounding does
_BECAUSE = (
    "(epsilon, delta)-DP bounds by how much probability exceeds e^epsilon times the other, summed "
    "over outcomes; the outcomes that exceed it by little may be likely."
)
_LARGE = "The noise is calibrated with a theorem for epsilon below 1."


def compute_exceeded_probability(setting: CompositionSettings, one: Array, other: Array) -> Array:
    """Return ``Pr_P[P > e^epsilon' Q]`` of laws of shape ``(..., k)``, shape ``(...)``.

    Examples
    --------
    >>> setting = CompositionSettings(epsilon=math.log(2), delta=0.01, count=1)
    >>> float(compute_exceeded_probability(setting, np.array([0.6, 0.4]), np.array([0.299, 0.701])))
    0.6
    """
    # exp is held below its overflow.
    above = one > _CLEAR * math.exp(min(setting.claimed_epsilon, 700.0)) * other
    return np.asarray(np.where(above, one, 0.0).sum(axis=-1))


def gaussian_exceeded(setting: CompositionSettings) -> float:
    """Return the same of a Gaussian mechanism with the noise of eq. (20) for one step.

    Examples
    --------
    >>> gaussian_exceeded(CompositionSettings(epsilon=1.0, delta=1e-5, count=1)) < 1e-5
    True
    >>> gaussian_exceeded(CompositionSettings(epsilon=8.0, delta=1e-5, count=1)) > 1e-5
    True
    """
    mu = gaussian_mu(setting)
    return float(ndtr(mu / 2 - setting.claimed_epsilon / mu))


def least_upper_bound(setting: CompositionSettings) -> float:
    """Return the least upper bound of ``Pr_P[P > e^epsilon' Q]`` over (epsilon, delta)-DP pairs.

    Examples
    --------
    >>> round(least_upper_bound(CompositionSettings(epsilon=1.0, delta=1e-5, count=1)), 4)
    0.7311
    >>> least_upper_bound(CompositionSettings(epsilon=1.0, delta=0.0, count=1))
    0.0
    """
    if setting.delta == 0:
        return 0.0
    grown, shrunk = math.exp(setting.epsilon), math.exp(-setting.claimed_epsilon)
    rest = (grown - 1 + setting.delta) / (grown - shrunk) if grown > shrunk else 1.0
    return min(1.0, bound_corrected_tail(setting), rest)


def bound_corrected_tail(setting: CompositionSettings) -> float:
    """Return the corrected bound ``delta / (1 - e^{epsilon - epsilon'})``; infinite if they agree.

    Examples
    --------
    >>> setting = CompositionSettings(epsilon=math.log(2), delta=0.1, count=1, c0=2.0)
    >>> round(bound_corrected_tail(setting), 6)
    0.2
    """
    room = -math.expm1(setting.epsilon - setting.claimed_epsilon)
    return setting.delta / room if room > 0 else math.inf


@dataclass(frozen=True, kw_only=True)
class Gloss:
    """The sentence about one class of mechanisms, and which version of it.

    Examples
    --------
    >>> setting = CompositionSettings(epsilon=math.log(2), delta=0.1, count=1, c0=2.0)
    >>> Gloss(setting=setting).bound, round(Gloss(setting=setting, version="corrected").bound, 6)
    (0.1, 0.2)
    """

    setting: CompositionSettings
    mechanism: str = "finite"
    version: str = "published"
    factor: float = 1.0

    @property
    def bound(self) -> float:
        """The claimed bound on the probability."""
        setting = self.setting
        return self.factor * (
            bound_corrected_tail(setting) if self.version == "corrected" else setting.delta
        )

    def inequality(self, statement: Statement) -> Inequality[Laws]:
        """Return the sentence as an inequality of a pair of laws; empty ones stand for Gaussian."""
        gaussian = self.mechanism == "gaussian"
        return Inequality(
            name=statement.name,
            source=statement.source,
            sides=lambda laws: (self._probability(laws), self.bound),
            conditions=lambda laws: (
                (gaussian_condition(self.setting),)
                if gaussian
                else compute_composition_conditions(self.setting, *laws)
            ),
            scale=None if self.bound > 0 else lambda laws: 1.0,
            words=self._words,
            because=lambda laws: _LARGE if gaussian else _BECAUSE,
            evidence=lambda laws: self._evidence(statement, laws),
        )

    def attained(
        self, statement: Statement, budget: int, rng: Generator, *, seed: int
    ) -> WorstInstance:
        """Return the probability for a search's best pair of laws, or the Gaussian mechanism."""

        def climb(budget: int, rng: Generator) -> Laws:
            if self.mechanism == "gaussian":
                return np.zeros(0), np.zeros(0)
            return worst_laws(
                self.setting, budget, rng, partial(compute_exceeded_probability, self.setting)
            )

        return searched(self.inequality(statement), climb, budget, rng, seed=seed)

    def _probability(self, laws: Laws) -> float:
        if self.mechanism == "gaussian":
            return gaussian_exceeded(self.setting)
        return float(compute_exceeded_probability(self.setting, *laws))

    def _words(self, laws: Laws) -> str:
        pair = (
            f"N(0, 1) and N({gaussian_mu(self.setting):.6g}, 1)"
            if self.mechanism == "gaussian"
            else f"{format_finite_law(laws[0])} and {format_finite_law(laws[1])}"
        )
        return (
            f"laws {pair}: the first is above e^{self.setting.claimed_epsilon:.6g} times the other "
            f"with probability {self._probability(laws):.6g}"
        )

    def _evidence(self, statement: Statement, laws: Laws) -> Evidence:
        setting, gaussian = self.setting, self.mechanism == "gaussian"
        return Evidence(
            kind="property",
            relation=statement.relation,
            parameters={
                "epsilon": setting.epsilon,
                "delta": setting.delta,
                "multiple": setting.c0,
                "mechanism": self.mechanism,
                "version": self.version,
                "factor": self.factor,
            },
            instance={} if gaussian else dict(zip(("one", "other"), laws, strict=True)),
            quantities={"bound": self.bound, "probability": self._probability(laws)},
        )

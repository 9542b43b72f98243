r"""hu2020's Corollary 1: its composition against the one that cannot be improved.

| paper  | name      | meaning                                       | shape |
|--------|-----------|-----------------------------------------------|-------|
| eps    | epsilon   | of an iteration                               | (B,)  |
| delta  | delta     | of an iteration                               | (B,)  |
| T      | count     | iterations                                    | (B,)  |
| delta' | slack     | what is added to T delta                      | (B,)  |
| eps'   |           | ``sqrt(2T ln(1/delta')) eps + T eps (e^eps - 1)`` | (B,)  |

T releases of which each is (eps, delta)-DP, and nothing more is known, are exactly as private as T
randomised responses that each tell the secret with probability delta (Kairouz, Oh & Viswanath
2015, Theorem 3.3). A randomised response has loss +eps with probability ``p = e^eps/(1 + e^eps)``,
else -eps; T of them have loss ``L_j = (T - 2 j) eps`` with binomial probability ``P_j``. With
``g = e^(-2 eps)``,

    G_j = sum_{i <= j} P_i e^(L_j - L_i) = P_j + g G_{j-1}
    D_j = delta(L_j)                     = D_{j-1} + (1 - g) G_{j-1}

and between two losses ``delta(e) = D_j + (1 - e^(e - L_j)) G_j``. All terms are positive, instances
go side by side, and the recurrence stops where D exceeds what was asked for.

**How tight Corollary 1 is.** Let T grow with ``T eps^2 = mu^2`` fixed. The loss of the responses
tends to N(mu^2/2, mu^2), so the optimal epsilon at delta' tends to that of a Gaussian, ``mu q +
O(1)`` with ``q ~ sqrt(2 ln(1/delta'))`` as delta' vanishes; the claim tends to ``mu sqrt(2
ln(1/delta')) + mu^2``. The ratio of the two tends to 1: no factor below 1 is true for all
parameters. For fixed delta' and large mu it tends to 1/2, the drift of (10) being twice too large.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.random import Generator
from scipy.special import gammaln

from dpaudit._typing import Array
from dpaudit.accounting.composition import compose_advanced
from dpaudit.accounting.optimal import OptimalComposition, make_optimal_composition
from dpaudit.extension.claim import Statement
from dpaudit.guarantees.kinds import GaussianDP
from dpaudit.neighbours import REPLACE_COLUMN
from dpaudit.refutation import Condition, Evidence, Inequality, Space, exceeds, maximise
from dpaudit.refutation.search import Batch

_NAMES = ("epsilon", "delta", "count", "slack")
_LEAST_DELTA = 1e-15
MOST_SLACK = 0.5
# So far below, the exact delta exceeds the claimed one by more than the rounding of either.
_BELOW = 1e-6  # how far below the exact epsilon a certificate stays, relatively


@dataclass(frozen=True, kw_only=True)
class Composition:
    """T releases of epsilon and delta each, and the delta' that is added.

    Examples
    --------
    >>> one = Composition(epsilon=0.1, delta=1e-6, count=20, slack=1e-5)
    >>> round(one.claimed, 4), round(one.optimal, 4), round(one.gaussian, 4)
    (2.3563, 1.598, 0.258)
    """

    epsilon: float
    delta: float
    count: int
    slack: float

    @property
    def total(self) -> float:
        """``T delta + delta'``."""
        return self.count * self.delta + self.slack

    @property
    def claimed(self) -> float:
        """Corollary 1's epsilon'."""
        return compose_advanced(self.epsilon, self.delta, self.count, self.slack)[0]

    @property
    def exact(self) -> OptimalComposition:
        """All that follows from the (epsilon, delta)-DP of each release."""
        return make_optimal_composition(self.epsilon, self.delta, self.count)

    @property
    def optimal(self) -> float:
        """The least epsilon that holds for every T releases of this kind."""
        return self.exact.epsilon(self.total)

    @property
    def gaussian(self) -> float:
        """The exact epsilon of T Gaussian messages, with a sensitivity that is a bound."""
        mu = self.epsilon / math.sqrt(2 * math.log(1.25 / self.delta))
        return GaussianDP(math.sqrt(self.count) * mu).epsilon(self.total)

    def words(self) -> str:
        """Return the three numbers in words."""
        return (
            f"epsilon = {self.epsilon:.6g}, delta = {self.delta:.6g}, T = {self.count}, delta' = "
            f"{self.slack:.6g}: claimed {self.claimed:.6g}, optimal composition {self.optimal:.6g} "
            f"({self.optimal / self.claimed:.2%}), exact Gaussian composition with Theorem 1's "
            f"noise {self.gaussian:.6g} ({self.gaussian / self.claimed:.2%})"
        )


def make_usual_composition(epsilon: float, delta: float) -> Composition:
    """Return the composition of the paper: "when T is confined to less than 20"."""
    return Composition(epsilon=epsilon, delta=delta, count=20, slack=delta)


def make_composition_inequality(claim: Statement, factor: float) -> Inequality[Composition]:
    """Return the corollary as an inequality: the optimal epsilon is at most the claimed one."""
    return Inequality(
        name=claim.name,
        source=claim.source,
        sides=lambda found: (found.optimal, factor * found.claimed),
        conditions=lambda found: (),
        words=Composition.words,
        because=lambda found: (
            f"{found.count} randomised responses are a composition of this kind, and their exact "
            "epsilon is above it."
        ),
        evidence=partial(_make_composition_evidence, factor),
    )


def _make_composition_evidence(factor: float, found: Composition) -> Evidence | None:
    """Return an epsilon just below the exact one, where delta is above the claimed one."""
    # The certificate states an epsilon at which delta is above the claimed one, so that no root has
    # to be trusted.
    bound, witness = factor * found.claimed, (1 - _BELOW) * found.optimal
    if not exceeds(witness / bound):
        return None
    exact = found.exact.delta(witness)
    return Evidence(
        parameters={
            "epsilon": found.epsilon,
            "delta": found.delta,
            "iterations": found.count,
            "slack": found.slack,
            "factor": factor,
        },
        instance={"epsilon": witness},
        quantities={
            "claimed epsilon": bound,
            "claimed delta": found.total,
            "exact delta over claimed delta": exact / found.total,
            "ratio": witness / bound,
        },
        kind="approximate-dp",
        relation=REPLACE_COLUMN.name,
        conditions=(Condition(name="claimed delta is exceeded", value=found.total, limit=exact),),
    )


# The search


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The range of the search over compositions: each number between two limits, both above 0."""

    epsilon: tuple[float, float]
    delta: tuple[float, float]
    count: tuple[float, float]
    slack: tuple[float, float]

    @classmethod
    def of(cls, *, epsilon: float, delta: float, count: int, slack: float, least: float) -> Limits:
        """Return limits from the largest epsilon, delta and T, the least delta' and epsilon."""
        return cls(
            epsilon=(min(least, epsilon), epsilon),
            delta=(min(_LEAST_DELTA, delta), delta),
            count=(1, count),
            slack=(min(slack, MOST_SLACK), max(slack, MOST_SLACK)),
        )


def find_tightest_composition(limits: Limits, budget: int, rng: Generator) -> Composition:
    """Return the composition with the largest ratio of optimal to claimed epsilon."""
    found = maximise(composition_space(limits, 1.0), budget, rng)
    epsilon, delta, count, slack = convert_composition_logs(found.instance["logs"])
    return Composition(
        epsilon=float(epsilon), delta=float(delta), count=int(count), slack=float(slack)
    )


def composition_space(limits: Limits, factor: float) -> Space:
    """Return the compositions, on logarithmic scales; ratios are optimal epsilon over claimed.

    Examples
    --------
    >>> from dpaudit.refutation import maximise
    >>> limits = Limits.of(epsilon=1.0, delta=1e-5, count=100, slack=1e-9, least=1e-3)
    >>> found = maximise(composition_space(limits, 1.0), 300, np.random.default_rng(0))
    >>> 0.7 < found.ratio < 1
    True
    """
    low, high = (np.log([getattr(limits, n)[side] for n in _NAMES]) for side in (0, 1))

    def start(count: int, rng: Generator) -> Batch:
        return {"logs": low + (high - low) * rng.random((count, len(_NAMES)))}

    def move(batch: Batch, step: Array, rng: Generator) -> Batch:
        logs = batch["logs"]
        touched = rng.random(logs.shape) < 0.5
        size = step[:, None] * (high - low) / 2
        return {"logs": logs + touched * size * rng.standard_normal(logs.shape)}

    def evaluate(batch: Batch) -> tuple[Batch, Array]:
        logs = np.clip(batch["logs"], low, high)
        # The logarithm of a limit is not the limit to the last digit.
        logs = np.where(logs == high, high - 1e-12, logs)
        epsilon, delta, count, slack = convert_composition_logs(logs)
        claimed = factor * compute_claimed_epsilon(epsilon, count, slack)
        return {"logs": logs}, optimal_epsilon(epsilon, delta, count, slack) / claimed

    return Space(start=start, move=move, evaluate=evaluate)


def convert_composition_logs(logs: Array) -> tuple[Array, Array, Array, Array]:
    """Return epsilon, delta, T (rounded) and delta' of the last axis' logarithms."""
    epsilon, delta, count, slack = np.moveaxis(np.exp(logs), -1, 0)
    return epsilon, delta, np.maximum(np.rint(count), 1.0), slack


def compute_claimed_epsilon(epsilon: Array, count: Array, slack: Array) -> Array:
    """Return Corollary 1's eps'.

    Examples
    --------
    >>> round(float(compute_claimed_epsilon(np.array(0.1), np.array(20.0), np.array(1e-5))), 4)
    2.3563
    """
    drift = count * epsilon * np.expm1(epsilon)
    return np.asarray(np.sqrt(-2 * count * np.log(slack)) * epsilon + drift)


def optimal_epsilon(epsilon: Array, delta: Array, count: Array, slack: Array) -> Array:
    """Return the exact epsilon of T randomised responses at ``T delta + delta'``, shape ``(B,)``.

    Examples
    --------
    >>> one = optimal_epsilon(np.array([0.1]), np.array([0.0]), np.array([20.0]), np.array([1e-5]))
    >>> round(float(one[0]), 4)
    1.598
    """
    # The probability that at least one release tells the secret, which counts in full against
    # delta.
    lost = -np.expm1(count * np.log1p(-delta))
    # What is left of delta for the losses +-epsilon of those that tell nothing.
    target = (count * delta + slack - lost) / (1 - lost)
    found = np.zeros(len(epsilon))
    shrink, log_odds = np.exp(-2 * epsilon), -np.log1p(np.exp(-epsilon))
    tilted, reached = np.zeros(len(epsilon)), np.zeros(len(epsilon))
    # Where the secret alone uses up all of delta, epsilon is 0.
    open_ = target < 1
    for j in range(int(count.max(initial=0)) + 1):
        loss = (count - 2 * j) * epsilon
        # D_j from G_(j-1): the recurrence of the module docstring.
        reached = reached + (1 - shrink) * tilted
        crossed = open_ & ((reached > target) | (j > count))
        open_ &= ~crossed
        if not open_.any():
            break
        mass = np.exp(_log_binomial(count, j) + count * log_odds - j * epsilon)
        tilted = mass + shrink * tilted
        share = (target - reached) / np.maximum(tilted, 1e-300)
        # Where all of G_j is allowed the epsilon is below this loss, and the next step of the
        # recurrence decides.
        here = loss + np.log1p(-np.minimum(share, 1 - 1e-16))
        found = np.where(open_, here, found)
    return np.maximum(found, 0.0)


def _log_binomial(count: Array, successes: int) -> Array:
    inside = np.maximum(count - successes, 0.0)
    log = gammaln(count + 1) - gammaln(successes + 1) - gammaln(inside + 1)
    return np.asarray(np.where(count >= successes, log, -math.inf))

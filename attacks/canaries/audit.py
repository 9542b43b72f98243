r"""One run of multi-step DP-ADMM, a thousand canaries: a certified bound without a second run.

**Threat model.** The attacker crafts m records, the canaries, and knows them, the algorithm's
public parameters and, as the definition of differential privacy grants, every other record. The
auditor tosses a fair coin for each canary and runs the algorithm once, with the canary (+1) or with
its partner (-1) in the same place. The attacker sees one output (every inner model, every
broadcast, or the final models: `dpaudit.attacks.canaries.scores`), scores each canary and guesses
the coins of the most extreme scores. A count of right guesses certifies a lower bound on epsilon
(`dpaudit.estimation.one_run`), whatever the scores are; better scores make it larger.

**Which guarantee is bounded.** The partner decides, since a coin replaces one by the other. How
many records a node holds never changes, because the algorithm takes it to be public.

================  ========================================  =================================
``partner``       coins that differ are datasets where      Gaussian DP that is proved, of
                                                            mu = sqrt(t l) / sigma
================  ========================================  =================================
``flipped``       one record's label is replaced            mu: Lemma 5 of Huang & Gong is for
                                                            any two records
``empty``         one record is replaced by zeros, which    mu / 2: one slope of at most c_1
                  has no gradient: it is there or not       instead of the difference of two
================  ========================================  =================================

Under ``flipped`` the logistic slopes of the two sides sum to -1, half of what Lemma 5 allows, at
any model; hinge slopes reach it while margins are below 1. What one run with a thousand canaries
certifies stays well below the truth: even with every guess right it is about ln(r / 3).
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.random import Generator

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.algorithms.multistep.algorithm import MultiStepADMM
from dpaudit.algorithms.problems.graphs import complete
from dpaudit.algorithms.problems.losses import HINGE, MarginLoss
from dpaudit.attacks.canaries.records import Canaries, Partner
from dpaudit.datasets.dataset import Dataset
from dpaudit.estimation.one_run import (
    claim_p_value,
    draw_coins,
    gaussian_lower_bound,
    make_guesses,
    one_run_bound,
)
from dpaudit.guarantees import gaussian
from dpaudit.guarantees.kinds import GaussianDP, Guarantee
from dpaudit.mechanisms.mechanism import Mechanism, draw_checked_sample

# Numbers of guesses to try. Every plan takes an equal share of the error probability, so the grid
# is coarse.
PLANS = (20, 50, 100, 200, 400)


class Score(Protocol):
    """The attacker's scores of one output."""

    def __call__(self, output: Array, canaries: Canaries) -> Array:
        """Return one score a canary, shape ``(m,)``: higher means rather +1."""
        ...


@dataclass(frozen=True, kw_only=True)
class CanaryAudit:
    """The findings of one run.

    ``lower`` is at most the epsilon of what was run at ``delta``, with probability ``confidence``;
    ``claimed`` is the epsilon that is proved there, and ``p_value`` that of the whole claim. With
    the same confidence, no Gaussian guarantee that has an epsilon below ``if_gaussian`` is true of
    it: a lower bound on epsilon only if its curve is Gaussian, which is an assumption.
    """

    lower: float
    if_gaussian: float
    claimed: float
    p_value: float
    guesses: int
    correct: int
    canaries: int
    delta: float
    confidence: float
    seconds: float

    @property
    def refuted(self) -> bool:
        """Whether the lower bound exceeds the claim."""
        return self.lower > self.claimed

    @property
    def words(self) -> str:
        """The result in one sentence."""
        verdict = "which is refuted" if self.refuted else "which it does not contradict"
        return (
            f"{self.correct} of {self.guesses} guesses about {self.canaries} canaries were right: "
            f"epsilon >= {self.lower:.3f} at delta = {self.delta:g} with {self.confidence:.0%} "
            f"confidence; claimed is {self.claimed:.3f}, {verdict}"
        )


def calibrate_multistep(
    epsilon: float,
    delta: float,
    nodes: int,
    *,
    iterations: int = 10,
    inner_steps: int = 5,
    loss: MarginLoss = HINGE,
) -> MultiStepADMM:
    """Return the algorithm with noise that is exactly (epsilon, delta)-DP under replace-one.

    Examples
    --------
    >>> algorithm = calibrate_multistep(1.0, 1e-5, nodes=3)
    >>> round(claim_of(algorithm, "flipped").epsilon(1e-5), 6)
    1.0
    """
    check.require_positive("epsilon", epsilon)
    mu = gaussian.mu_at(epsilon, math.log(check.require_probability("delta", delta)))
    return MultiStepADMM(
        graph=complete(nodes),
        iterations=iterations,
        inner_steps=inner_steps,
        # Lemma 5 makes every step 1/sigma-Gaussian DP, and t l of them compose to sqrt(t l) /
        # sigma: the noise follows from mu in closed form.
        noise_multiplier=math.sqrt(iterations * inner_steps) / mu,
        loss=loss,
    )


def claim_of(algorithm: MultiStepADMM, partner: Partner) -> GaussianDP:
    """Return the proved guarantee for datasets that differ in one coin (module docstring)."""
    mu = math.sqrt(algorithm.steps) / algorithm.noise_multiplier
    return GaussianDP(mu if partner == "flipped" else mu / 2)


def one_run_audit(
    mechanism: Mechanism[Any],
    score: Score,
    dataset: Dataset,
    canaries: Canaries,
    claim: Guarantee,
    *,
    delta: float,
    confidence: float = 0.95,
    plans: Sequence[int] = PLANS,
    rng: Generator,
) -> CanaryAudit:
    """Run once with coins tossed for the canaries, and certify a bound from the guesses.

    Formal guarantee: with probability ``confidence`` over coins and run, ``lower`` is at most the
    mechanism's epsilon at ``delta`` between datasets in which one coin differs.

    Parameters
    ----------
    mechanism, score
        What is run, and what its output tells the attacker.
    dataset, canaries
        The other records, and those the coins are about.
    claim
        What is claimed for datasets in which one coin differs: `claim_of`.
    delta, confidence, plans
        As in `dpaudit.estimation.one_run.one_run_bound`; ``plans`` of more guesses than there are
        canaries are left out.

    Raises
    ------
    InvalidArgument, MechanismError
        An argument is outside its domain, or the mechanism broke its contract.

    Examples
    --------
    >>> import numpy as np
    >>> from dpaudit.attacks.canaries.records import orthogonal_canaries
    >>> from dpaudit.attacks.canaries.scores import Likelihood
    >>> from dpaudit.datasets import breast_cancer, split_evenly
    >>> rng = np.random.default_rng(0)
    >>> data = split_evenly(breast_cancer(), 10, rng)
    >>> algorithm, canaries = (
    ...     calibrate_multistep(10.0, 1e-5, 10),
    ...     orthogonal_canaries(data, 300, rng),
    ... )
    >>> score, claim = Likelihood(algorithm, data), claim_of(algorithm, "flipped")
    >>> found = one_run_audit(algorithm.inner(), score, data, canaries, claim, delta=1e-5, rng=rng)
    >>> 2 < found.lower < found.if_gaussian < found.claimed
    True
    """
    started = time.perf_counter()
    # The error probability is over these coins, so nothing may see them before the scores are made.
    coins = draw_coins(len(canaries), rng)
    output = draw_checked_sample(mechanism, canaries.insert(dataset, coins), 1, rng)[0]
    scores = score(output, canaries)
    # Which plans are left depends on public numbers alone, so their shares of alpha are fixed
    # before any score is known.
    kept = [plan for plan in plans if plan <= len(canaries)]
    alpha = 1 - check.require_probability("confidence", confidence)
    bound = one_run_bound(scores, coins, kept, delta=delta, alpha=alpha)
    counts = [
        (int((make_guesses(scores, (n + 1) // 2, n // 2) * coins == 1).sum()), n) for n in kept
    ]
    return CanaryAudit(
        lower=bound.lower,
        if_gaussian=_estimate_weakest_gaussian(counts, len(coins), alpha / len(kept)).epsilon(
            delta
        ),
        claimed=claim.epsilon(delta),
        p_value=_p_value(counts, len(coins), claim),
        guesses=bound.guesses,
        correct=bound.correct,
        canaries=len(canaries),
        delta=delta,
        confidence=confidence,
        seconds=time.perf_counter() - started,
    )


def _p_value(counts: Sequence[tuple[int, int]], canaries: int, claim: Guarantee) -> float:
    """Return the least p-value of the claim over the plans, times how many there are."""
    found = [claim_p_value(correct, plan, canaries, claim) for correct, plan in counts]
    return min(1.0, len(counts) * min(found))


def _estimate_weakest_gaussian(
    counts: Sequence[tuple[int, int]], canaries: int, alpha: float
) -> GaussianDP:
    """Return the weakest Gaussian guarantee that no plan refutes at its share of alpha."""
    return GaussianDP(max(gaussian_lower_bound(*one, canaries, alpha=alpha) for one in counts))

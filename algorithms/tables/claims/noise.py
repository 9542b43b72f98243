"""The noise that Theorem 2 on joined tables asks for, and the common part of all audits of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpaudit.algorithms.tables.algorithm import TablesADMM
from dpaudit.algorithms.tables.clients import LocalSGD
from dpaudit.algorithms.tables.guarantees import ROUNDED_UP, compute_published_multiplier
from dpaudit.errors import InvalidArgument
from dpaudit.extension.case import AssumptionOutcome
from dpaudit.refutation import Condition

BOUNDED = "bounded tuples"
BOUNDED_NEIGHBOUR = "bounded tuples of the neighbour"
ONE_TUPLE = "one tuple differs"
PUBLISHED = "published noise"
RANGE = "range of epsilon"
_STATED = (
    "iterations local_steps sampling_ratio first_constant second_constant factor tuple_norm "
    "epsilon delta noise_multiplier"
).split()


@dataclass(frozen=True, kw_only=True)
class Theorem2:
    """The theorem at given public parameters of a run.

    Parameters
    ----------
    epsilon, delta, factor
        ``factor * epsilon`` is claimed at ``delta``, with the noise for ``epsilon``.
    iterations, local_steps, sampling_ratio
        T, tau' and r: rounds, a client's steps in a round, and the share of tuples in a batch.
    first_constant, second_constant
        c_1 and c_2, which the theorem does not give.
    tuple_norm
        The largest norm of a tuple.
    clip_norm, penalty, regulariser_weight
        C, rho and beta.

    Examples
    --------
    >>> round(Theorem2(epsilon=1.0, delta=1e-5).noise_multiplier, 4)
    19.1941
    """

    epsilon: float
    delta: float
    factor: float = 1.0
    iterations: int = 2
    local_steps: int = 1
    sampling_ratio: float = 1.0
    first_constant: float = 1.0
    second_constant: float = 4.0
    tuple_norm: float = 1.0
    clip_norm: float = 1e-3
    penalty: float = 1.0
    regulariser_weight: float = 1e-9

    @property
    def claimed(self) -> float:
        """The claimed epsilon."""
        return self.factor * self.epsilon

    @property
    def steps(self) -> int:
        """All local steps of a client, ``tau``."""
        return self.iterations * self.local_steps

    @property
    def noise_multiplier(self) -> float:
        """The theorem's sigma, rounded up."""
        return self._least * ROUNDED_UP

    @property
    def _least(self) -> float:
        return compute_published_multiplier(
            epsilon=self.epsilon,
            delta=self.delta,
            steps=self.steps,
            sampling_ratio=self.sampling_ratio,
            second_constant=self.second_constant,
        )

    def conditions(self) -> tuple[Condition, Condition]:
        """Return the theorem's conditions on sigma and on epsilon, as numbers."""
        largest = self.first_constant * self.sampling_ratio**2 * self.steps
        return (
            Condition(name=PUBLISHED, value=self._least, limit=self.noise_multiplier),
            Condition(name=RANGE, value=self.epsilon, limit=largest),
        )

    def outcomes(self) -> tuple[AssumptionOutcome, ...]:
        """Return whether sigma and epsilon are those of the theorem.

        Raises
        ------
        InvalidArgument
            Epsilon is beyond the theorem's range.
        """
        noise, wide = self.conditions()
        if not wide.holds:
            expected = f"at most c_1 r^2 tau = {wide.limit:g}: the theorem says nothing beyond"
            raise InvalidArgument("epsilon", self.epsilon, expected)
        constants = f"c_1 = {self.first_constant:g}, c_2 = {self.second_constant:g}"
        shown = (
            f"sigma = {noise.limit:.6g}; {constants}",
            f"epsilon = {wide.value:g}, c_1 r^2 tau = {wide.limit:g}",
        )
        return tuple(
            AssumptionOutcome(name=one.name, holds=one.holds, evidence=words)
            for one, words in zip((noise, wide), shown, strict=True)
        )

    def algorithm(self, learning_rate: float) -> TablesADMM:
        """Return the private algorithm with the published noise on features, none on labels."""
        solver = LocalSGD(
            steps=self.local_steps,
            learning_rate=learning_rate,
            sampling_ratio=self.sampling_ratio,
            clip_norm=self.clip_norm,
            noise_multiplier=self.noise_multiplier,
        )
        return TablesADMM(
            iterations=self.iterations,
            penalty=self.penalty,
            regulariser_weight=self.regulariser_weight,
            solver=solver,
        )

    def stated(self) -> dict[str, Any]:
        """Return the parameters that a certificate states, as its verifier reads them."""
        return {name: getattr(self, name) for name in _STATED}

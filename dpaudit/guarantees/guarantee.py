"""Guarantees: delta at every epsilon, and everything that follows from it.

For an attacker: errors, advantage, success, posterior. For datasets further apart: groups of any
size. For other guarantees: what implies what.

A profile bounds the hockey-stick divergence ``max over S of P(S) - exp(epsilon) Q(S)`` between
the outputs on two neighbours, by ``delta(epsilon)`` and in both directions. Everything an attacker
can hope for follows from that one function.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from scipy.special import expit, logit

import dpaudit._check as check
from dpaudit.errors import InvalidArgument
from dpaudit.guarantees import rounding, tangents

# Of a probability: less than anybody asks or reads.
_UNSEEN = 1e-10


class Guarantee(ABC):
    """A privacy guarantee, for one relation, in both directions: delta at every epsilon.

    A kind states ``delta`` and ``epsilon``; all else follows from them, and is overridden where
    there is a closed form.
    """

    @abstractmethod
    def delta(self, epsilon: float) -> float:
        """Return the smallest delta implied at ``epsilon >= 0``."""

    @abstractmethod
    def epsilon(self, delta: float) -> float:
        """Return the smallest epsilon implied at ``delta`` in [0, 1), or infinity."""

    def log_delta(self, epsilon: float) -> float:
        """Return ``log(delta(epsilon))``, also where delta is too small to be a number.

        Minus infinity only where delta is 0 by ``epsilon(0)``: a delta that was rounded to 0 is
        counted as the smallest number there is.

        Raises
        ------
        InvalidArgument
            ``epsilon`` is not a finite number, at least 0.
        """
        delta = self.delta(epsilon)
        if delta == 0:
            return -math.inf if self.epsilon(0.0) <= epsilon else math.log(math.ulp(0.0))
        return math.log(delta)

    def delta_within(self, epsilon: float, slack: float) -> float:
        """Return a delta implied at ``epsilon >= 0``, at most ``slack`` above the smallest."""
        return self.delta(epsilon)

    def trade_off(self, false_positive_rate: float) -> float:
        """Return the least false-negative rate of any attack at this false-positive rate.

        Every ``(epsilon, delta)`` gives two lines no attack can go below (Wasserman & Zhou 2010);
        the answer is the highest of them at this rate, so it never overstates.

        Raises
        ------
        InvalidArgument
            ``false_positive_rate`` is not a number in [0, 1].
        """
        rate = require_fraction("false_positive_rate", false_positive_rate)
        log_rate = math.log(rate) if rate else tangents.SMALLEST_LOG_RATE
        return max(0.0, -math.expm1(tangents.find_tangent(self.log_delta, log_rate).at(log_rate)))

    def true_positive_rate(self, false_positive_rate: float) -> float:
        """Return the greatest power of any attack at this false-positive rate: 1 - trade-off.

        Raises
        ------
        InvalidArgument
            ``false_positive_rate`` is not a number in [0, 1].
        """
        return 1 - self.trade_off(false_positive_rate)

    def advantage(self) -> float:
        """Return the greatest TPR - FPR of any attack: delta(0), the total variation distance."""
        return self.delta(0.0)

    def success(self, prior: float) -> float:
        r"""Return the greatest probability of telling two neighbours apart, whoever guesses.

        The first neighbour has output law P and prior p, the second Q and 1 - p. Guessing "first"
        on a set S is right with probability

            p P(S) + (1 - p) (1 - Q(S)) = (1 - p) + p (P(S) - exp(l) Q(S)),   l = log((1 - p) / p),

        at most ``(1 - p) + p delta(l)`` for p <= 1/2. For p > 1/2 exchange the two, which a bound
        in both directions allows: ``max(p, 1-p) + min(p, 1-p) delta(|l|)``. At p = 0 and p = 1
        nothing is left to guess, and the answer is 1.

        Parameters
        ----------
        prior
            Probability of the first neighbour before any output is seen.

        Raises
        ------
        InvalidArgument
            ``prior`` is not a number in [0, 1].

        Examples
        --------
        >>> from dpaudit.guarantees.kinds import PureDP
        >>> round(PureDP(1.0).success(0.5), 4)
        0.7311
        """
        prior = require_fraction("prior", prior)
        rare = min(prior, 1 - prior)
        if rare == 0:
            return 1.0
        log_odds = max(0.0, math.log1p(-rare) - math.log(rare))
        # A rare prior asks for delta at an epsilon far out, where exact answers take long and
        # change nothing that anybody reads.
        chance = (1 - rare) + rare * self.delta_within(log_odds, _UNSEEN)
        return min(1.0, rounding.bound_above(chance, 0.0))

    def posterior(self, prior: float, delta: float = 0.0) -> float:
        r"""Return the greatest belief in the truth that outputs leave, but for a share ``delta``.

        Bayes' rule multiplies the odds by ``exp(loss)``, and the loss exceeds
        ``min over e of e - log(1 - delta(e) / delta)`` with probability at most ``delta``
        (`dpaudit.guarantees.tangents.worst_loss`). At ``delta = 0`` it never exceeds
        ``epsilon(0)``, which is infinite for all but pure guarantees: the answer is then 1.

        Parameters
        ----------
        prior
            Probability of either neighbour before any output is seen.
        delta
            Greatest probability of the outputs that may say more, whichever neighbour is true.

        Raises
        ------
        InvalidArgument
            ``prior`` is not a number in [0, 1], or ``delta`` not one in [0, 1).

        Examples
        --------
        >>> from dpaudit.guarantees.kinds import PureDP
        >>> round(PureDP(1.0).posterior(0.1), 4)
        0.232
        """
        prior, share = require_fraction("prior", prior), check.require_delta("delta", delta)
        if prior in (0, 1):
            return prior
        loss = self.epsilon(0.0)
        if share:
            loss = min(loss, tangents.worst_loss(self.log_delta, math.log(share)))
        return float(expit(logit(prior) + loss))

    def group(self, size: int) -> Guarantee:
        """Return the guarantee for datasets at most ``size`` steps of the relation apart.

        A guarantee of the same kind where there is such a theorem, otherwise `GroupOf`.

        Raises
        ------
        InvalidArgument
            ``size`` is not an integer, at least 1.

        Examples
        --------
        >>> from dpaudit.guarantees.kinds import GaussianDP
        >>> GaussianDP(0.5).group(4)
        GaussianDP(mu=2.0)
        """
        size = check.require_integer("size", size, least=1)
        return self if size == 1 else self._group(size)

    def _group(self, size: int) -> Guarantee:
        return GroupOf(self, size)

    def replace_one(self) -> Guarantee:
        """Return the guarantee under replacing a record, from one under adding or removing it.

        Replacing is a removal and an addition: a group of two.
        """
        return self.group(2)

    def implies(self, other: Guarantee) -> bool:
        """Return whether every mechanism with this guarantee is known to have the other.

        ``True`` is a proof, up to the rounding of both sides. ``False`` means that it does not
        follow, or that no theorem here shows it (a concentrated guarantee and a Gaussian one).

        Parameters
        ----------
        other
            Another guarantee, for the same relation. One of (epsilon, delta) is checked by this
            guarantee's delta there. A Gaussian one is known to follow from Gaussian and pure ones,
            a zero-concentrated one from these two and its own kind, and any other kind only from
            an equal one.

        Examples
        --------
        >>> from dpaudit.guarantees.kinds import ApproximateDP, GaussianDP
        >>> GaussianDP(1.0).implies(ApproximateDP(4.4, 1e-5))
        True
        """
        return other._follows_from(self)

    def _follows_from(self, other: Guarantee) -> bool:
        return self == other

    def _mu(self) -> float:
        """Return the least mu of a Gaussian guarantee known to follow, or infinity."""
        return math.inf

    def _rho(self) -> float:
        """Return the least rho of a concentrated guarantee known to follow, or infinity."""
        return math.inf

    def __str__(self) -> str:
        stated = ((name, value) for name, value in vars(self).items() if not name.startswith("_"))
        fields = ", ".join(f"{name}={_format_guarantee_value(value)}" for name, value in stated)
        return f"{type(self).__name__}({fields})"


@dataclass(frozen=True)
class GroupOf(Guarantee):
    """The guarantee at the two ends of a chain of neighbours.

    The trade-off curve ``1 - (1 - f)^{o size}`` of Dong, Roth & Su 2022, Theorem 2.14, found
    through tangents of f, each of which is a bound by itself: never below the truth, and as close
    to the best that follows from ``one`` as its delta allows (`dpaudit.guarantees.tangents`).
    Every answer takes time proportional to ``size``.

    Parameters
    ----------
    one
        The guarantee for neighbours.
    size
        How many steps of the relation lie between the two datasets: at least 1.

    Raises
    ------
    InvalidArgument
        ``size`` is not an integer, at least 1.

    Examples
    --------
    >>> from dpaudit.guarantees.kinds import PureDP
    >>> pair = GroupOf(PureDP(1.0), 2)
    >>> round(pair.advantage(), 6), round(PureDP(1.0).group(2).advantage(), 6)
    (0.632121, 0.761594)
    """

    one: Guarantee
    size: int

    def __post_init__(self) -> None:
        check.require_integer("size", self.size, least=1)

    def delta(self, epsilon: float) -> float:
        """Return a delta implied at ``epsilon >= 0``."""
        return rounding.exp_up(self.log_delta(epsilon))

    def log_delta(self, epsilon: float) -> float:
        """Return ``log(delta(epsilon))``."""
        epsilon = check.non_negative("epsilon", epsilon)
        if epsilon >= self._most:
            return -math.inf
        return tangents.group_log_delta(self.one.log_delta, self.size, epsilon)

    def epsilon(self, delta: float) -> float:
        """Return an epsilon implied at ``delta``: ``size`` times the one of a step at delta = 0."""
        delta = check.require_delta("delta", delta)
        if delta == 0:
            return self._most
        return min(
            self._most, tangents.group_epsilon(self.one.log_delta, self.size, math.log(delta))
        )

    def trade_off(self, false_positive_rate: float) -> float:
        """Return the least false-negative rate: the curve of a step, followed ``size`` times."""
        rate = require_fraction("false_positive_rate", false_positive_rate)
        # In log space: a rounded power would be magnified by the steep steps that follow.
        log_rate = math.log(rate) if rate else tangents.SMALLEST_LOG_RATE
        line = tangents.compose_tangent_chain(self.one.log_delta, self.size, log_rate)
        return max(0.0, -math.expm1(line.at(log_rate)))

    def _group(self, size: int) -> GroupOf:
        return GroupOf(self.one, size * self.size)

    @property
    def _most(self) -> float:
        return rounding.times_up(self.size, self.one.epsilon(0.0))

    def _mu(self) -> float:
        return rounding.times_up(self.size, self.one._mu())

    def _rho(self) -> float:
        return rounding.times_up(self.size**2, self.one._rho())


def _format_guarantee_value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def require_fraction(name: str, value: object) -> float:
    """Return ``value`` as a float in [0, 1].

    Raises
    ------
    InvalidArgument
        It is none.
    """
    number = check.require_real(name, value)
    if not 0 <= number <= 1:
        raise InvalidArgument(name, value, "a number in [0, 1]")
    return number

r"""The algebra every kind of guarantee has: groups of any size, and what implies what."""

from __future__ import annotations

import math
from dataclasses import dataclass

import dpaudit._validate as check
from dpaudit.guarantees import tangents
from dpaudit.guarantees.profile import Profile, fraction


class Guarantee(Profile):
    """A privacy guarantee, for one relation, in both directions.

    A kind states ``delta`` and ``epsilon``; all else follows from them, and is overridden where
    there is a closed form.
    """

    def group(self, size: int) -> Guarantee:
        """Return what is guaranteed for datasets at most ``size`` steps of the relation apart.

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
        size = check.integer("size", size, least=1)
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
            For the same relation. (epsilon, delta): checked by this guarantee's delta there.
            Gaussian: known for Gaussian and pure ones. Zero-concentrated: known for these two and
            its own kind. Any other kind: only when equal.

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
        fields = ", ".join(f"{name}={_shown(value)}" for name, value in vars(self).items())
        return f"{type(self).__name__}({fields})"


@dataclass(frozen=True)
class GroupOf(Guarantee):
    """What a guarantee for neighbours says at the two ends of a chain of them.

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
        check.integer("size", self.size, least=1)

    def delta(self, epsilon: float) -> float:
        """Return a delta implied at ``epsilon >= 0``."""
        return math.exp(self.log_delta(epsilon))

    def log_delta(self, epsilon: float) -> float:
        """Return ``log(delta(epsilon))``."""
        epsilon = check.non_negative("epsilon", epsilon)
        if epsilon >= self.size * self.one.epsilon(0.0):
            return -math.inf
        return tangents.group_log_delta(self.one.log_delta, self.size, epsilon)

    def epsilon(self, delta: float) -> float:
        """Return an epsilon implied at ``delta``: ``size`` times the one of a step at delta = 0."""
        delta = check.delta("delta", delta)
        most = self.size * self.one.epsilon(0.0)
        if delta == 0:
            return most
        return min(most, tangents.group_epsilon(self.one.log_delta, self.size, math.log(delta)))

    def trade_off(self, false_positive_rate: float) -> float:
        """Return the least false-negative rate: the curve of a step, followed ``size`` times."""
        rate = fraction("false_positive_rate", false_positive_rate)
        # In log space: a rounded power would be magnified by the steep steps that follow.
        log_rate = math.log(rate) if rate else tangents.SMALLEST_LOG_RATE
        line = tangents.chain(self.one.log_delta, self.size, log_rate)
        return max(0.0, -math.expm1(line.at(log_rate)))

    def _group(self, size: int) -> GroupOf:
        return GroupOf(self.one, size * self.size)

    def _mu(self) -> float:
        return self.size * self.one._mu()

    def _rho(self) -> float:
        return self.size * self.size * self.one._rho()


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)

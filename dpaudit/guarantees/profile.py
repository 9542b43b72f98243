r"""What a privacy profile says to an attacker: errors, advantage, success, posterior.

A profile bounds the hockey-stick divergence ``max over S of P(S) - exp(epsilon) Q(S)`` between
the outputs on two neighbours, by ``delta(epsilon)`` and in both directions. Everything an attacker
can hope for follows from that one function.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

from scipy.special import expit, logit

import dpaudit._validate as check
from dpaudit.errors import InvalidArgument
from dpaudit.guarantees import tangents


class Profile(ABC):
    """Delta at every epsilon, for any two neighbours in both directions, and what follows."""

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

    def trade_off(self, false_positive_rate: float) -> float:
        """Return the least false-negative rate of any attack at this false-positive rate.

        Every ``(epsilon, delta)`` gives two lines no attack can go below (Wasserman & Zhou 2010);
        the answer is the highest of them at this rate, so it never overstates.

        Raises
        ------
        InvalidArgument
            ``false_positive_rate`` is not a number in [0, 1].
        """
        rate = fraction("false_positive_rate", false_positive_rate)
        log_rate = math.log(rate) if rate else tangents.SMALLEST_LOG_RATE
        return max(0.0, -math.expm1(tangents.tangent(self.log_delta, log_rate).at(log_rate)))

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
        prior = fraction("prior", prior)
        rare = min(prior, 1 - prior)
        if rare == 0:
            return 1.0
        log_odds = max(0.0, math.log1p(-rare) - math.log(rare))
        return min(1.0, (1 - rare) + rare * self.delta(log_odds))

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
        prior, share = fraction("prior", prior), check.delta("delta", delta)
        if prior in (0, 1):
            return prior
        loss = self.epsilon(0.0)
        if share:
            loss = min(loss, tangents.worst_loss(self.log_delta, math.log(share)))
        return float(expit(logit(prior) + loss))


def fraction(name: str, value: object) -> float:
    """Return ``value`` as a float in [0, 1].

    Raises
    ------
    InvalidArgument
        It is none.
    """
    number = check.real(name, value)
    if not 0 <= number <= 1:
        raise InvalidArgument(name, value, "a number in [0, 1]")
    return number

r"""Statements of Corollary 1 about T, and its parts (hu2020, eq. (10); hu2019, eq. (11)).

``epsilon' = sqrt(2 T ln(1/delta')) epsilon + T epsilon (e^epsilon - 1)``.
"""

from __future__ import annotations

from fractions import Fraction

from dpaudit.extension.identities import make_identity_finding
from dpaudit.extension.ledger import Finding
from dpaudit.polynomials import make_unknowns

_LOG_BELOW = Fraction(23, 2)  # below ln(10^5), as e^23 < 2.7183^23 < 10^10
# Both constants err to the low side, since the left side is to be a lower bound of epsilon'.
_E_BELOW = Fraction(2718, 1000)


def growth() -> tuple[Finding, ...]:
    """Prove that epsilon' and ``T delta + delta'`` rise with T, and epsilon' at least like T.

    ``2 T ln(1/delta')`` and ``T epsilon (e^epsilon - 1)`` are T times numbers that are not below 0,
    and the root rises. The second term alone is proportional to T, so that ``epsilon'`` exceeds all
    bounds. Of the releases themselves the same holds without a theorem: the first T messages are
    part of the first T + 1, and what is left out of an output tells no more (post-processing).
    """
    count, rest = make_unknowns("T a")
    return (
        make_identity_finding(
            (count + 1) * rest - count * rest, rest, "a step of T, at a factor a >= 0"
        ),
        Finding(left=2 * 19, relation="<", right=2 * 20, instance="2 T under the root, T = 19, 20"),
    )


def composition() -> tuple[Finding, ...]:
    """Prove (10) for T messages that are each (epsilon, delta)-DP given those before.

    Source: Dwork, Rothblum & Vadhan 2010, Theorem III.3; this is their proof. Where a message is
    (epsilon, delta)-DP, its two laws are those of an (epsilon, 0)-DP message but for events of
    probability delta (their Lemma 2.1); these add up to ``T delta``. Of (epsilon, 0)-DP laws p and
    q the loss ``ln p/q`` lies in ``[-epsilon, epsilon]``. Its mean is at most that of ``(p - q) ln
    p/q`` over outputs, as ``sum q ln q/p >= 0``, and with ``g = e^epsilon`` each term is at most
    ``|p - q| epsilon <= (g - 1) min(p, q) epsilon``: if ``p >= q``, then ``p - q <= g q - q``. So
    the mean given the past is at most ``epsilon (e^epsilon - 1)``. By Azuma's inequality for
    differences in an interval of length ``2 epsilon`` the sum exceeds ``T epsilon (e^epsilon - 1) +
    s`` with probability at most ``exp(-2 s^2 / (T (2 epsilon)^2))``, which for ``s = sqrt(2 T
    ln(1/delta')) epsilon`` is delta'.
    """
    g, q, count, epsilon, log = make_unknowns("g q T epsilon log")
    shift = 2 * count * log * epsilon**2  # s^2
    return (
        make_identity_finding(g * q - q, (g - 1) * q, "p - q at its largest"),
        make_identity_finding(2 * shift / (count * (2 * epsilon) ** 2), log, "Azuma's exponent"),
    )


def fewer_than_twenty() -> tuple[Finding, ...]:
    """Return epsilon' from below against ``T epsilon``, the sum of the parts, for T below 20.

    T messages that are (epsilon, delta)-DP are ``(T epsilon, T delta)``-DP by adding up, without
    any theorem. At ``delta' = 10^-5`` and ``epsilon = 1`` Corollary 1 says more than that for every
    T below 20: ``sqrt(2 T ln(10^5))`` alone exceeds T until ``T = 23``. So where T is below 20 its
    first term is larger than the whole of the trivial bound, and nothing is confined by it.
    """
    return tuple(_against_adding_up(count) for count in (1, 10, 19))


def _against_adding_up(count: int) -> Finding:
    below = _root_below(2 * count * _LOG_BELOW) + count * (_E_BELOW - 1)
    return Finding(
        left=below,
        relation="<=",
        right=Fraction(count),
        instance=f"epsilon' from below against T epsilon: T = {count}, epsilon = 1, "
        "delta' = 1/100000",
    )


def _root_below(square: Fraction) -> Fraction:
    """Return a root from below, in tenths."""
    tenths = 0
    # Tenths are fine enough for the comparison, and a root that is cut down keeps the left side a
    # lower bound.
    while Fraction(tenths + 1, 10) ** 2 <= square:
        tenths += 1
    return Fraction(tenths, 10)

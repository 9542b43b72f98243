"""Every accountant there is, asked the same question: epsilon at a delta, or why it has none."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import dpaudit._check as check
from dpaudit.accounting.composition import (
    approximate_parts,
    compose_advanced_heterogeneous,
    compose_basic,
    gaussian_bracket,
    kairouz_heterogeneous,
)
from dpaudit.accounting.events import Event
from dpaudit.accounting.grid.numerical import numerical_epsilon
from dpaudit.accounting.optimal import optimal_heterogeneous
from dpaudit.accounting.pairs.composition import Bracket
from dpaudit.accounting.renyi import RenyiCurveDP, compute_zcdp_guarantee
from dpaudit.accounting.series.contour import contour_epsilon
from dpaudit.accounting.series.inversion import bound_epsilon_by_inversion
from dpaudit.accounting.sharing import get_alternatives
from dpaudit.errors import DpauditError, UnsupportedEvent
from dpaudit.guarantees import rounding

Kind = Literal["exact", "bracket", "upper bound", "estimate"]


@dataclass(frozen=True, kw_only=True)
class Accountant:
    """A way to an epsilon.

    Parameters
    ----------
    name, source
        What it is called, and the theorem it rests on.
    kind
        ``exact``, two ends a few units in the last place apart; ``bracket``, two certified ends;
        ``upper bound``; or ``estimate``, which proves nothing. Upper ends are rounded up, lower
        ends down.
    answer
        Event and delta to epsilon; raises `UnsupportedEvent` where it has no theorem.
    """

    name: str
    source: str
    kind: Kind
    answer: Callable[[Event, float], Bracket]


@dataclass(frozen=True, kw_only=True)
class AccountantAnswer:
    """The answer of an accountant.

    Parameters
    ----------
    accountant, kind, source
        Who said it.
    lower, upper
        The ends of a bracket; an upper bound has no lower end, an estimate neither.
    estimate
        Of an estimate.
    refusal
        Why there is no answer, or None.
    seconds
        How long it took.
    """

    accountant: str
    kind: Kind
    source: str
    lower: float | None = None
    upper: float | None = None
    estimate: float | None = None
    refusal: str | None = None
    seconds: float = 0.0


def get_accountant_answer(accountant: Accountant, event: Event, delta: float) -> AccountantAnswer:
    """Return the accountant's answer at ``delta``, or its refusal."""
    delta = check.require_delta("delta", delta)
    began = time.perf_counter()
    said = partial(AccountantAnswer, accountant=accountant.name, source=accountant.source)
    try:
        # A record is in one of disjoint parts, and nobody says in which: the worst way counts. An
        # event without any way reveals nothing.
        ways = [accountant.answer(way, delta) for way in get_alternatives(event)]
        bracket = Bracket.largest(ways or [Bracket.exactly(0.0)])
    except DpauditError as error:
        return said(kind=accountant.kind, refusal=str(error))
    took = time.perf_counter() - began
    # An estimate must never stand where a proved end is looked for: `select_strongest_answer` takes
    # the least upper end of all.
    if accountant.kind == "estimate":
        return said(kind="estimate", estimate=bracket.upper, seconds=took)
    # The bracket of an upper bound has two equal ends by construction. Its lower one proves
    # nothing.
    lower = None if accountant.kind == "upper bound" else bracket.lower
    return said(kind=accountant.kind, lower=lower, upper=bracket.upper, seconds=took)


def ask_all(event: Event, delta: float) -> tuple[AccountantAnswer, ...]:
    """Return every accountant's answer.

    Examples
    --------
    >>> from dpaudit.accounting.events import ApproximateRelease
    >>> answers = ask_all(ApproximateRelease(epsilon=0.1, count=1000), 1e-5)
    >>> {a.accountant: round(a.upper, 2) for a in answers if a.upper is not None}
    {'basic': 100.0, 'advanced': 25.69, 'Kairouz': 20.17, 'optimal': 17.79, 'zCDP': 19.05, \
'Renyi': 18.96, 'numerical': 17.79}
    """
    return tuple(get_accountant_answer(accountant, event, delta) for accountant in ACCOUNTANTS)


def select_strongest_answer(answers: tuple[AccountantAnswer, ...]) -> AccountantAnswer | None:
    """Return the answer with the least upper end, if any proves something."""
    proved = [answer for answer in answers if answer.upper is not None]
    return min(proved, key=lambda answer: answer.upper or 0.0, default=None)


def _bound_by_basic_composition(event: Event, delta: float) -> Bracket:
    epsilon, spent = compose_basic(event)
    # The theorem answers at one delta, the sum of the parts'. At a smaller one it says nothing.
    return Bracket.exactly(epsilon if spent <= delta else math.inf)


def _with_slack(
    theorem: Callable[..., tuple[float, float]],
) -> Callable[[Event, float], Bracket]:
    def answer(event: Event, delta: float) -> Bracket:
        parts = approximate_parts(event)
        spent = rounding.sum_up((part.count, part.delta) for part in parts)
        # The slack has to be no more than what is left, or delta would be overspent. Without a
        # delta of the parts nothing was subtracted, so that the slack is exact.
        slack = delta - spent if not spent else rounding.bound_below(delta - spent, 0.0)
        if slack <= 0:
            raise UnsupportedEvent(f"delta: got {delta}, expected above the sum of the parts'")
        return Bracket.exactly(theorem(parts, slack)[0])

    return answer


def _bound_by_optimal_composition(event: Event, delta: float) -> Bracket:
    return Bracket.exactly(optimal_heterogeneous(approximate_parts(event)).epsilon(delta))


ACCOUNTANTS = (
    Accountant(
        name="Gaussian DP",
        source="Dong, Roth & Su 2022, Corollary 2; Balle & Wang 2018, Theorem 8",
        kind="exact",
        answer=lambda event, delta: Bracket(*gaussian_bracket(event, delta)),
    ),
    Accountant(
        name="basic",
        source="Dwork et al. 2006",
        kind="upper bound",
        answer=_bound_by_basic_composition,
    ),
    Accountant(
        name="advanced",
        source="Dwork, Rothblum & Vadhan 2010, Theorem III.3",
        kind="upper bound",
        answer=_with_slack(compose_advanced_heterogeneous),
    ),
    Accountant(
        name="Kairouz",
        source="Kairouz, Oh & Viswanath 2015, Theorem 3.5",
        kind="upper bound",
        answer=_with_slack(kairouz_heterogeneous),
    ),
    Accountant(
        name="optimal",
        source="Kairouz, Oh & Viswanath 2015, Theorem 3.3: the best that (epsilon, delta) implies",
        kind="upper bound",
        answer=_bound_by_optimal_composition,
    ),
    Accountant(
        name="zCDP",
        source="Bun & Steinke 2016; Canonne, Kamath & Steinke 2020, Proposition 12",
        kind="upper bound",
        answer=lambda event, delta: Bracket.exactly(compute_zcdp_guarantee(event).epsilon(delta)),
    ),
    Accountant(
        name="Renyi",
        source="Mironov 2017, Proposition 1; Canonne, Kamath & Steinke 2020, Proposition 12",
        kind="upper bound",
        answer=lambda event, delta: Bracket.exactly(RenyiCurveDP(event).epsilon(delta)),
    ),
    Accountant(
        name="numerical",
        source="Zhu, Dong & Wang 2022, Theorem 10, by FFT, both ends certified",
        kind="bracket",
        answer=numerical_epsilon,
    ),
    Accountant(
        name="inversion",
        source="Zhu, Dong & Wang 2022, Theorem 10, by Poisson summation, both ends certified",
        kind="bracket",
        answer=bound_epsilon_by_inversion,
    ),
    Accountant(
        name="contour",
        source="integral through the saddle point; proves nothing",
        kind="estimate",
        answer=lambda event, delta: Bracket.exactly(contour_epsilon(event, delta)),
    ),
)

"""Privacy filters and an odometer: which releases may follow earlier outputs.

A filter is fixed before the first release. It lets releases pass as long as their prices
(`dpaudit.spending.price`) keep a limit, and what passed is then private as the limit says, however
each release was chosen in the light of those before (Rogers, Roth, Ullman & Vadhan 2016). Each of
these is one, at the same constants as for parameters that are fixed in advance:

* ``basic``: the epsilons add up (Rogers et al. 2016);
* ``gaussian``: the squares of mu add up (Smith & Thakurta 2022);
* ``zcdp``: the rhos add up (Feldman & Zrnic 2021; Whitehouse, Ramdas, Rogers & Wu 2023);
* ``renyi``: the divergences at one order, which is fixed in advance, add up (Feldman & Zrnic 2021;
  Lecuyer 2021).

Which of several is kept may not be chosen when they have been spent. Several at once share delta:
on every course of events at which the releases end within filter m they went as filter m alone
would have let them go, so that the hockey-stick divergence is at most the sum over filters of each
one's delta. What releases with a delta of their own lose, ``own``, is fixed in advance as well.

``planned`` is no filter: it is the least number of any accountant, numerical composition included,
and holds if every parameter was fixed before the first output was seen.

An odometer's number holds at every time at once. At one order that is fixed in advance,
``exp((order - 1) (loss - sum of divergences))`` is a supermartingale under either neighbour, so
that by Ville's inequality the loss exceeds ``sum of divergences + log(1/delta) / (order - 1)`` at
any time with a probability of at most delta; and a sum of epsilons of pure DP is never exceeded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal, get_args

from pydantic import Field

import dpaudit._check as check
from dpaudit.accounting.accountants import (
    ACCOUNTANTS,
    get_accountant_answer,
    select_strongest_answer,
)
from dpaudit.accounting.events import Event
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.guarantees import rounding
from dpaudit.guarantees.kinds import GaussianDP, RenyiDP, ZeroConcentratedDP
from dpaudit.report.counts import ReportPart
from dpaudit.spending.price import Price

FilterName = Literal["any", "basic", "gaussian", "zcdp", "renyi", "planned"]
MethodName = Literal["basic", "gaussian", "zcdp", "renyi", "planned"]
FILTERS: tuple[str, ...] = get_args(FilterName)
_DIVISORS = (1.0, 1.7, 3.0)  # of the order that is best for Gaussian noise; sampling wants less
_LEAST_ORDER = 1.05
_GREATEST_ORDER = 4096.0
_MOST = 10**9  # releases that are counted
_MOST_PLANNED = 1024  # likewise, where each count asks an accountant


class FilterMethod(ReportPart):
    """One filter, and the share of delta that it may use."""

    name: MethodName
    delta: float = Field(ge=0, lt=1)
    order: float | None = Field(default=None, description="Of Renyi; null of the others.")


class Limit(ReportPart):
    """One number that is never exceeded: an epsilon at a delta, a rho or a mu."""

    epsilon: float | None = Field(default=None, ge=0)
    delta: float = Field(default=0.0, ge=0, lt=1)
    rho: float | None = Field(default=None, ge=0)
    mu: float | None = Field(default=None, ge=0)
    own: float = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="Part of delta for releases that have a delta of their own.",
    )
    methods: tuple[FilterMethod, ...] = Field(
        default=(), description="Filters of which one is kept; they share the rest of delta."
    )

    @property
    def size(self) -> float:
        """The epsilon, rho or mu."""
        found = next(one for one in (self.epsilon, self.rho, self.mu) if one is not None)
        return float(found)


class Odometer(ReportPart):
    """At which order, and with which share of delta, the number that holds at every time holds."""

    delta: float = Field(ge=0, lt=1)
    own: float = Field(ge=0, lt=1)
    order: float | None


class Terms(ReportPart):
    """All that a budget fixes before the first release."""

    filter: FilterName
    limits: tuple[Limit, ...]
    odometer: Odometer

    @property
    def orders(self) -> tuple[float, ...]:
        """Every order at which divergences are asked for."""
        named = [one.order for limit in self.limits for one in limit.methods]
        return tuple(sorted({one for one in [*named, self.odometer.order] if one is not None}))

    @property
    def is_planned(self) -> bool:
        """Whether parameters are said to be fixed in advance."""
        return self.filter == "planned"


@dataclass(frozen=True)
class ReleaseTotal:
    """The releases about one record.

    Parameters
    ----------
    price
        Of all of it.
    make_event
        Returns the event, which only accountants ask for.
    """

    price: Price
    make_event: Callable[[], Event]

    @cached_property
    def event(self) -> Event:
        """All of it as an event."""
        return self.make_event()


@dataclass(frozen=True)
class LimitSpending:
    """The spent part of a limit, and its method; infinite if no method has a number."""

    amount: float
    method: FilterMethod | None = None


# What a budget fixes


def fix_terms(
    points: Sequence[tuple[float, float]] = (),
    *,
    rho: float | None = None,
    mu: float | None = None,
    delta: float = 0.0,
    filter_name: str = "any",
    own_delta: float | None = None,
    orders: Sequence[float] | None = None,
) -> Terms:
    """Return the terms that a budget fixes before the first release.

    Parameters
    ----------
    points
        Epsilons and deltas that hold together; or none of them, with a ``rho`` or ``mu``.
    rho, mu
        Limits in other currencies.
    delta
        Of the odometer of such a limit; 0 is that of pure DP.
    filter_name
        One of `FILTERS`.
    own_delta
        Part of the least delta for releases with a delta of their own; None is the usual one.
    orders
        Of Renyi divergences; None are those that suit the limit.

    Raises
    ------
    InvalidArgument
        There is no limit, there are several kinds, or a number is out of its domain.

    Examples
    --------
    >>> terms = fix_terms([(1.0, 1e-6)], filter_name="zcdp")
    >>> [one.name for one in terms.limits[0].methods], terms.limits[0].own
    (['basic', 'zcdp'], 0.0)
    """
    check.require_choice("filter", filter_name, FILTERS)
    given = [bool(points), rho is not None, mu is not None]
    if sum(given) != 1:
        raise InvalidArgument(
            "budget", VerbatimText("no limit" if not any(given) else "several"), _ONE
        )
    for one in orders or ():
        if check.require_positive("orders", one) <= 1:
            raise InvalidArgument("orders", one, "numbers above 1")
    limits: tuple[Limit, ...]
    if rho is not None or mu is not None:
        expected = "nothing in addition to a limit on rho or mu, which is a filter by itself"
        if filter_name != "any":
            raise InvalidArgument("filter", filter_name, expected)
        if own_delta is not None:
            raise InvalidArgument("own_delta", own_delta, expected)
        _check_limits(rho, mu)
        limits = (Limit(rho=rho, mu=mu, delta=check.require_delta("delta", delta)),)
    else:
        limits = tuple(_make_filter_limit(*one, filter_name, own_delta, orders) for one in points)
    odometer = _make_filter_odometer(limits[0], orders)
    return Terms(filter=filter_name, limits=limits, odometer=odometer)  # type: ignore[arg-type]


_ONE = "one limit: an epsilon with a delta, a rho, a mu or a curve"


_ALL_OF_DELTA = {
    "basic": "filter 'basic', which keeps all of delta for releases",
    "planned": "filter 'planned', which shares delta with nobody",
}


def _check_limits(rho: float | None, mu: float | None) -> None:
    for name, value in (("rho", rho), ("mu", mu)):
        if value is not None:
            check.non_negative(name, value)


def _make_filter_limit(
    epsilon: float,
    delta: float,
    filter_name: str,
    own_delta: float | None,
    orders: Sequence[float] | None,
) -> Limit:
    check.non_negative("epsilon", epsilon)
    check.require_delta("delta", delta)
    if own_delta is not None and (delta == 0 or filter_name in ("basic", "planned")):
        expected = f"nothing with {_ALL_OF_DELTA[filter_name] if delta else 'a delta of 0'}"
        raise InvalidArgument("own_delta", own_delta, expected)
    if filter_name == "planned":
        planned = FilterMethod(name="planned", delta=delta)
        return Limit(epsilon=epsilon, delta=delta, methods=(planned,))
    # Basic composition needs no delta, so that it stands beside every other filter for nothing.
    basic = FilterMethod(name="basic", delta=0.0)
    if delta == 0 or filter_name == "basic":
        return Limit(epsilon=epsilon, delta=delta, own=delta, methods=(basic,))
    named = _list_filter_methods(filter_name, orders or _choose_renyi_orders(epsilon, delta))
    own = _compute_own_delta(delta, filter_name, own_delta, len(named))
    # In fractions and rounded down: the shares together must not pass delta, not even by a
    # rounding.
    rest = rounding.to_written_fraction(delta) - rounding.to_written_fraction(own)
    share = rounding.round_fraction_down(rest / len(named))
    shared = (FilterMethod(name=name, delta=share, order=order) for name, order in named)
    return Limit(epsilon=epsilon, delta=delta, own=own, methods=(basic, *shared))


def _list_filter_methods(
    filter_name: str, orders: Sequence[float]
) -> list[tuple[Literal["gaussian", "zcdp", "renyi"], float | None]]:
    found: list[tuple[Literal["gaussian", "zcdp", "renyi"], float | None]] = []
    if filter_name in ("any", "gaussian"):
        found.append(("gaussian", None))
    if filter_name in ("any", "zcdp"):
        found.append(("zcdp", None))
    if filter_name in ("any", "renyi"):
        found += [("renyi", float(order)) for order in orders]
    return found


def _compute_own_delta(
    delta: float, filter_name: str, own_delta: float | None, others: int
) -> float:
    """Return the part of delta that releases with a delta of their own may use."""
    if own_delta is None:
        whole = rounding.to_written_fraction(delta)
        return rounding.round_fraction_down(whole / (others + 1)) if filter_name == "any" else 0.0
    check.require_delta("own_delta", own_delta)
    if own_delta >= delta:
        raise InvalidArgument("own_delta", own_delta, f"less than delta, {delta:g}")
    return own_delta


def _choose_renyi_orders(epsilon: float, delta: float) -> tuple[float, ...]:
    """Return orders near the best one for Gaussian noise, ``1 + 2 log(1/delta) / epsilon``."""
    # Before the first release: an order that is chosen once divergences are known would be one more
    # choice that delta does not pay for.
    best = 1 - 2 * math.log(delta) / max(epsilon, 1e-6)
    return tuple(sorted({_round_renyi_order(best / divisor) for divisor in _DIVISORS}))


def _round_renyi_order(wanted: float) -> float:
    """Return an order near the wanted one: whole numbers make curves of samples finite sums."""
    held = min(max(wanted, _LEAST_ORDER), _GREATEST_ORDER)
    return float(round(held)) if held >= 2 else round(held, 2)


def _make_filter_odometer(limit: Limit, orders: Sequence[float] | None) -> Odometer:
    if limit.delta == 0 or limit.own >= limit.delta:
        return Odometer(delta=0.0, own=limit.own, order=None)
    share = rounding.round_fraction_down(
        rounding.to_written_fraction(limit.delta) - rounding.to_written_fraction(limit.own)
    )
    if limit.epsilon is None:
        rho = limit.rho if limit.rho is not None else (limit.mu or 0.0) ** 2 / 2
        best = 1 + math.sqrt(-math.log(share) / max(rho, 1e-12))
    else:
        best = 1 - 2 * math.log(share) / max(limit.epsilon, 1e-6)
    order = float(sorted(orders)[len(orders) // 2]) if orders else _round_renyi_order(best)
    return Odometer(delta=share, own=limit.own, order=order)


# What is spent


def spent_of(terms: Terms, limit: Limit, total: ReleaseTotal) -> LimitSpending:
    """Return how much of a limit is spent: the least that its methods prove.

    Examples
    --------
    >>> from dpaudit.accounting.events import Sequence
    >>> terms = fix_terms([(1.0, 0.0)])
    >>> spent_of(
    ...     terms, terms.limits[0], ReleaseTotal(Price(epsilon=0.25), lambda: Sequence(()))
    ... ).amount
    0.25
    """
    price = total.price
    # What releases with a delta of their own lose was fixed in advance. Beyond it no filter has a
    # number.
    if not terms.is_planned and price.delta > limit.own:
        return LimitSpending(math.inf)
    if limit.rho is not None:
        return LimitSpending(price.rho)
    if limit.mu is not None:
        return LimitSpending(_compute_root_upwards(price.mu_squared))
    found = [LimitSpending(epsilon_by(terms, one, total), one) for one in limit.methods]
    # The least of several filters is a filter as well, because each has its own share of delta (see
    # above).
    return min(found, key=lambda one: one.amount)


def epsilon_by(terms: Terms, method: FilterMethod, total: ReleaseTotal) -> float:
    """Return the epsilon that a method gives at its share of delta, rounded up."""
    price = total.price
    if method.name == "planned":
        return _find_least_proved_epsilon(total.event, method.delta)
    if method.name == "basic":
        return price.epsilon
    if method.name == "gaussian":
        mu = _compute_root_upwards(price.mu_squared)
        return GaussianDP(mu).epsilon(method.delta) if math.isfinite(mu) else math.inf
    if method.name == "zcdp":
        rho = price.rho
        return ZeroConcentratedDP(rho).epsilon(method.delta) if math.isfinite(rho) else math.inf
    order = method.order or 0.0
    divergence = price.divergences[terms.orders.index(order)]
    if not math.isfinite(divergence):
        return math.inf
    return RenyiDP(order, divergence).epsilon(method.delta)


@lru_cache(maxsize=256)
def _find_least_proved_epsilon(event: Event, delta: float) -> float:
    """Return the least number that any accountant proves."""
    proving = (one for one in ACCOUNTANTS if one.kind != "estimate")
    best = select_strongest_answer(
        tuple(get_accountant_answer(one, event, delta) for one in proving)
    )
    return math.inf if best is None or best.upper is None else best.upper


def _compute_root_upwards(square: float) -> float:
    return (
        rounding.root_up(rounding.to_written_fraction(square))
        if math.isfinite(square)
        else math.inf
    )


def read_odometer(terms: Terms, total: ReleaseTotal) -> float:
    """Return the epsilon that holds at every time at once, at the delta of the odometer.

    Examples
    --------
    >>> from dpaudit.accounting.events import Sequence
    >>> terms = fix_terms([(1.0, 0.0)])
    >>> read_odometer(terms, ReleaseTotal(Price(epsilon=0.25), lambda: Sequence(())))
    0.25
    """
    price, odometer = total.price, terms.odometer
    if price.delta > odometer.own:
        return math.inf
    if odometer.order is None:
        return price.epsilon
    divergence = price.divergences[terms.orders.index(odometer.order)]
    slack = -math.log(odometer.delta) / (odometer.order - 1)
    by_order = (
        rounding.bound_above(divergence + slack, slack) if math.isfinite(divergence) else math.inf
    )
    return min(price.epsilon, by_order)


def is_within_limits(terms: Terms, totals: Sequence[ReleaseTotal]) -> bool:
    """Return whether every record's total is within every limit."""
    return all(
        spent_of(terms, limit, total).amount <= limit.size
        for limit in terms.limits
        for total in totals
    )


class More(ReportPart):
    """The number of further charges that fit."""

    count: int = Field(ge=0)
    is_least: bool = Field(default=False, description="Whether there may be more.")


def count_more(terms: Terms, keeps_with: Callable[[int], bool]) -> More:
    """Return how many more of something fit.

    Parameters
    ----------
    terms
        Of the budget.
    keeps_with
        Whether so many fit; if so many do, fewer do.
    """
    most = _MOST_PLANNED if terms.is_planned else _MOST
    if not keeps_with(1):
        return More(count=0)
    fits, beyond = 1, 2
    # Doubling first, and then bisection: one price for each digit of the count, instead of one for
    # each release.
    while keeps_with(beyond):
        fits, beyond = beyond, 2 * beyond
        if beyond > most:
            return More(count=fits, is_least=True)
    while beyond - fits > 1:
        middle = (fits + beyond) // 2
        fits, beyond = (middle, beyond) if keeps_with(middle) else (fits, middle)
    return More(count=fits)

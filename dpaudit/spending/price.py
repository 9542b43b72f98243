"""The price of a release in every currency that adds up along releases chosen adaptively.

A release is priced given everything before it: its parameters may depend on earlier outputs, and
once they are fixed it has at most

* ``epsilon`` of pure DP, which adds up (Dwork et al. 2006; Rogers, Roth, Ullman & Vadhan 2016);
* ``mu^2`` of Gaussian DP (Smith & Thakurta 2022): of pure DP the mu of the Gaussian trade-off
  curve through the corner of its own, which is below it everywhere;
* ``rho`` of zero-concentrated DP, and a Renyi divergence at each order that was fixed before the
  first release (Feldman & Zrnic 2021; Lecuyer 2021; Whitehouse et al. 2023).

An (epsilon, delta)-DP release is, but for an event of probability delta that is the same under both
neighbours, an epsilon-DP one (Kairouz, Oh & Viswanath 2015): ``delta`` adds up by itself, and
everything else is the price of what remains.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np
from scipy.special import expit, ndtri

from dpaudit.accounting.composition import approximate_parts, basic_pure
from dpaudit.accounting.events import (
    ApproximateRelease,
    Event,
    GaussianRelease,
    Release,
    Sequence,
    get_releases,
)
from dpaudit.accounting.renyi import compute_zcdp_guarantee, renyi_divergence
from dpaudit.accounting.sharing import get_alternatives
from dpaudit.errors import InvalidArgument, UnsupportedEvent
from dpaudit.guarantees import rounding

_FAR = 700.0  # of an epsilon, above which a double has no room for its exponential
_OFF = 1e-11  # relative error of divergences, whose tests ask for 1e-12


@dataclass(frozen=True)
class Price:
    """The cost of releases, with every number rounded up and infinite if no theorem gives it.

    Parameters
    ----------
    epsilon
        Of pure DP.
    delta
        Of the event outside of which the other numbers hold.
    mu_squared, rho
        Of Gaussian and of zero-concentrated DP.
    divergences
        Renyi divergences at the orders that a budget fixed.
    """

    epsilon: float = 0.0
    delta: float = 0.0
    mu_squared: float = 0.0
    rho: float = 0.0
    divergences: tuple[float, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether some theorem prices it."""
        named = (self.epsilon, self.mu_squared, self.rho, *self.divergences)
        return any(math.isfinite(one) for one in named)


def price_event(event: Event, orders: tuple[float, ...] = ()) -> Price:
    """Return the price of an event to any one record: of disjoint parts that of the dearest.

    Parameters
    ----------
    event
        Its releases may depend on those before; their parameters are public.
    orders
        Above 1; where Renyi divergences are asked for.

    Examples
    --------
    >>> from dpaudit.accounting.events import LaplaceRelease
    >>> price = price_event(LaplaceRelease(sensitivity=1.0, noise_scale=2.0, count=2))
    >>> price.epsilon, price.rho
    (1.0, 0.25)
    """
    prices = [_price_way(way, orders) for way in get_alternatives(event)]
    none = Price(divergences=(0.0,) * len(orders))
    return Price(
        epsilon=max((one.epsilon for one in prices), default=0.0),
        delta=max((one.delta for one in prices), default=0.0),
        mu_squared=max((one.mu_squared for one in prices), default=0.0),
        rho=max((one.rho for one in prices), default=0.0),
        divergences=tuple(
            max(column) for column in zip(*(p.divergences for p in [none, *prices]), strict=True)
        ),
    )


def add_prices(terms: Iterable[tuple[int, Price]], orders: int) -> Price:
    """Return the joint price of so many of each.

    Parameters
    ----------
    terms
        How many, and the price of one.
    orders
        How many Renyi orders there are.

    Examples
    --------
    >>> add_prices([(10, Price(epsilon=0.1))], 0).epsilon
    1.0
    """
    held = list(terms)

    def total(number: Callable[[Price], float]) -> float:
        return rounding.sum_up((count, number(price)) for count, price in held)

    return Price(
        epsilon=total(lambda one: one.epsilon),
        delta=total(lambda one: one.delta),
        mu_squared=total(lambda one: one.mu_squared),
        rho=total(lambda one: one.rho),
        divergences=tuple(
            rounding.sum_up((count, price.divergences[place]) for count, price in held)
            for place in range(orders)
        ),
    )


def _price_way(way: Event, orders: tuple[float, ...]) -> Price:
    """Return the price of a sequence of releases that are all about one record."""
    parts = get_releases(way)
    lost = [(one.count, one.delta) for one in parts if isinstance(one, ApproximateRelease)]
    # Outside the event of probability delta the release is epsilon-DP: deltas add up by themselves,
    # everything else is priced without them.
    core = Sequence(tuple(_without_delta(one) for one in parts))
    return Price(
        epsilon=_if_known(lambda: basic_pure(core)),
        delta=rounding.sum_up(lost),
        mu_squared=_if_known(lambda: _mu_squared(core)),
        rho=_if_known(lambda: compute_zcdp_guarantee(core).rho),
        divergences=tuple(_if_known(partial(_bound_renyi_divergence, core, one)) for one in orders),
    )


def _without_delta(part: Release) -> Release:
    return replace(part, delta=0.0) if isinstance(part, ApproximateRelease) else part


def _if_known(number: Callable[[], float]) -> float:
    """Return a number, infinite where no theorem gives a finite one."""
    try:
        found = number()
    except (UnsupportedEvent, InvalidArgument):
        return math.inf
    # A number that is none would compare as false with every limit, and so might pass for kept.
    return math.inf if math.isnan(found) else found


def _bound_renyi_divergence(event: Event, order: float) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        found = float(renyi_divergence(event, [order])[0])
    # Exactly 0 stays 0: a release that reveals nothing must cost nothing, however often it is made.
    return rounding.bound_above(found * (1 + _OFF), 0.0) if found else 0.0


def _mu_squared(event: Event) -> float:
    """Return the sum of squares of mu, rounded up."""
    terms = [(part.count, *_compute_squared_mus(part)) for part in get_releases(event)]
    # Both readings are summed in fractions and rounded once, so that ten releases of mu 0.1 spend
    # what their squares say.
    meant = sum((count * one for count, one, _ in terms), Fraction(0))
    worst = sum((count * one for count, _, one in terms), Fraction(0))
    return rounding.up_from(meant, worst)


def _compute_squared_mus(part: Release) -> tuple[Fraction, Fraction]:
    """Return mu squared by the numbers behind doubles, and by the worse of those and doubles."""
    if isinstance(part, GaussianRelease):
        meant = rounding.to_written_fraction(part.sensitivity) / rounding.to_written_fraction(
            part.noise_scale
        )
        worst = rounding.to_larger_fraction(part.sensitivity) / rounding.to_smaller_fraction(
            part.noise_scale
        )
        return meant**2, worst**2
    (pure,) = approximate_parts(replace(part, count=1))
    square = Fraction(_mu_of_pure(pure.epsilon)) ** 2
    return square, square


def _mu_of_pure(epsilon: float) -> float:
    """Return the mu of the Gaussian curve through the corner of a pure one, rounded up.

    Examples
    --------
    >>> round(_mu_of_pure(1.0), 4)
    1.232
    """
    if epsilon == 0:
        return 0.0
    mu = -2 * float(ndtri(expit(-epsilon))) if epsilon < _FAR else 2 * math.sqrt(2 * epsilon)
    # The quantile is good to far fewer units than this; the second term covers epsilons so small
    # that its own digits are lost.
    return mu * (1 + 1e-9) + 1e-14

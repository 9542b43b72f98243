"""Whether a release fits into the rest of a budget, and how many more of it do."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING
from functools import cached_property

from dpaudit.escaping import one_line
from dpaudit.report.formatting import format_significant
from dpaudit.spending.chain import Chain, ChainEntry
from dpaudit.spending.charges import add_to, totals_of
from dpaudit.spending.filters import (
    Limit,
    More,
    ReleaseTotal,
    Terms,
    count_more,
    is_within_limits,
    spent_of,
)
from dpaudit.spending.fitting import Fitting, find_fitting

_DIGITS = 6  # of a number in a sentence


@dataclass(frozen=True, kw_only=True)
class Charge:
    """The decision about a release that was charged, or asked about.

    Parameters
    ----------
    entry
        The line of the file, or what it would be.
    fits
        Whether every limit is kept with it.
    currency, spent, size
        Of the limit that is nearest to its end: epsilon, rho or mu, how much of it is spent with
        this release by whoever is charged most, and how much there is.
    digest
        Of the line in the file; None of one that was only asked about.
    is_slow
        Whether accountants have to be asked for each number of releases that might fit.
    without
        Why the limit has no number with this release; empty where it has one.
    """

    entry: ChainEntry
    fits: bool
    currency: str
    spent: float
    size: float
    digest: str | None = None
    is_slow: bool = False
    without: str = ""
    count: Callable[[], More] = field(repr=False, compare=False)
    find: Callable[[], Fitting | None] = field(repr=False, compare=False)

    @cached_property
    def more(self) -> More:
        """The number of further such releases that fit; computed on request."""
        return self.count() if self.fits else More(count=0)

    @cached_property
    def would_fit(self) -> Fitting | None:
        """With which noise, or epsilon, it would fit, if it does not; looked for when asked."""
        return None if self.fits else self.find()


@dataclass(frozen=True)
class Nearest:
    """The limit that is nearest to its end, how much of it is spent, and by which group."""

    limit: Limit
    spent: float
    group: str | None


def judge_charge(chain: Chain, entry: ChainEntry) -> Charge:
    """Return the charge of a line on top of a chain."""
    terms, totals = chain.header.terms, totals_of(chain)

    def keeps_with(count: int) -> bool:
        return is_within_limits(terms, list(add_to(totals, entry, count, terms).values()))

    after = add_to(totals, entry, 1, terms)
    nearest = nearest_to_end(terms, after)
    infinite = math.isinf(nearest.spent)
    return Charge(
        entry=entry,
        fits=keeps_with(1),
        currency=currency_of(nearest.limit),
        spent=nearest.spent,
        size=nearest.limit.size,
        is_slow=terms.is_planned,
        without=_without_number(terms, nearest.limit, after) if infinite else "",
        # After this one, so that one more is counted in each question.
        count=lambda: count_more(terms, lambda n: keeps_with(n + 1)),
        find=lambda: find_fitting(chain, entry),
    )


def nearest_to_end(terms: Terms, totals: Mapping[str | None, ReleaseTotal]) -> Nearest:
    """Return the limit of which the largest part is spent, and who spent it."""
    found = [
        Nearest(limit, spent_of(terms, limit, total).amount, group)
        for limit in terms.limits
        for group, total in totals.items()
    ]
    return max(found, key=lambda one: part_spent(one.spent, one.limit.size))


def part_spent(spent: float, size: float) -> float:
    """Return the part of a limit that is spent: of a limit of 0 nothing, or more than there is."""
    # A limit of 0 has no part: nothing of it is spent, or too much.
    if size:
        return spent / size
    return math.inf if spent else 0.0


def currency_of(limit: Limit) -> str:
    """Return the name of the number in which a limit counts."""
    names = {"epsilon": limit.epsilon, "rho": limit.rho, "mu": limit.mu}
    return next(name for name, value in names.items() if value is not None)


def why_not(chain: Chain, entry: ChainEntry) -> str:
    """Return why a release does not fit, and one of its kind that would, in one line."""
    terms, what = chain.header.terms, ", ".join(str(one["kind"]) for one in entry.release)
    totals = add_to(totals_of(chain), entry, 1, terms)
    nearest = nearest_to_end(terms, totals)
    who = "" if nearest.group is None else f" for {one_line(nearest.group)}"
    said = f"{what} does not fit{who}: "
    if math.isinf(nearest.spent):
        return f"{said}{_without_number(terms, nearest.limit, totals)}; nothing was charged"
    spent = format_significant(nearest.spent, _DIGITS, ROUND_CEILING)
    size = format_significant(nearest.limit.size, _DIGITS)
    found = find_fitting(chain, entry)
    fitting = "" if found is None else f"; {found}"
    return (
        f"{said}{currency_of(nearest.limit)} would be {spent} of {size}; nothing was charged"
        f"{fitting}"
    )


def _without_number(terms: Terms, limit: Limit, totals: Mapping[str | None, ReleaseTotal]) -> str:
    delta = max(total.price.delta for total in totals.values())
    if delta > limit.own:
        together = (
            f"the deltas of releases would be {format_significant(delta, _DIGITS, ROUND_CEILING)}"
        )
        return f"{together} together, and {_get_reserved_deltas(terms, limit)}"
    if limit.epsilon is not None and limit.delta == 0:
        return "a budget without a delta, which is one of pure DP, has no number for it (--delta)"
    return "no filter of the budget has a number for it on top of the earlier charges"


def _get_reserved_deltas(terms: Terms, limit: Limit) -> str:
    """Return the part that a budget keeps for deltas of releases, and a budget that keeps more."""
    if limit.epsilon is None:
        return f"a budget in {currency_of(limit)} has none: one of --epsilon and --delta has"
    if limit.delta == 0:
        return "a budget of pure DP has none: one with --delta has"
    if terms.filter == "basic":
        return (
            f"the budget's delta is {format_significant(limit.own, _DIGITS)} (--delta of a "
            "new budget)"
        )
    kept = format_significant(limit.own, _DIGITS)
    return f"the budget keeps {kept} for them (own_delta, or --own-delta, of a new budget)"

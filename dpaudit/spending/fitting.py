"""Remedies for a release that does not fit: the least noise or the largest epsilon, by bisection.

The number is one with which the budget's own filter lets the release pass: it was asked of that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import dpaudit.extension.registry as registry
from dpaudit.accounts.target import AccountPart, AccountTarget
from dpaudit.errors import DpauditError
from dpaudit.report.formatting import format_significant
from dpaudit.spending.chain import Chain, ChainEntry
from dpaudit.spending.charges import add_to, state_at, totals_of
from dpaudit.spending.filters import is_within_limits

_NOISE = ("noise_scale", "noise_multiplier", "noise_factor")  # more of it costs less
_LOSS = ("epsilon", "rho", "noise_rate")  # less of it costs less
_FARTHEST = 2.0**20  # times as much noise that is tried
# How near the bisection comes.
_NEAR = 1.001
_NEAR_PLANNED = 1.02  # where accountants are asked
_DIGITS = 6  # of a number that is shown, at most
_CLOSE = 4  # digits of one next to the least


@dataclass(frozen=True)
class Fitting:
    """The value of a parameter with which a release fits, and whether more of it does, or less."""

    name: str
    value: float
    is_least: bool

    def __str__(self) -> str:
        more, rounding = ("more", ROUND_CEILING) if self.is_least else ("less", ROUND_FLOOR)
        return (
            f"{self.name}={format_significant(self.value, _DIGITS, rounding)} or {more} would fit"
        )


def find_fitting(chain: Chain, entry: ChainEntry) -> Fitting | None:
    """Return with which noise, or epsilon, a release would fit; None where none is found.

    Parameters
    ----------
    chain
        What is charged already.
    entry
        The line of one release, which does not fit.
    """
    names = [
        one for one in (*_NOISE, *_LOSS) if len(entry.release) == 1 and one in entry.release[0]
    ]
    if not names:
        return None
    name, before, terms = names[0], totals_of(chain), chain.header.terms
    given = float(entry.release[0][name])
    grows = name in _NOISE

    def fits(value: float) -> bool:
        try:
            other = _replace_release_field(entry, name, value)
            return is_within_limits(terms, list(add_to(before, other, 1, terms).values()))
        except (DpauditError, ArithmeticError, ValueError):  # such a release has no price
            return False

    ends = _bisect_release_field(
        fits, given, grows=grows, near=_NEAR_PLANNED if terms.is_planned else _NEAR
    )
    return (
        None
        if ends is None
        else Fitting(name, _choose_round_number(fits, *ends, grows=grows), grows)
    )


def _replace_release_field(entry: ChainEntry, name: str, value: float) -> ChainEntry:
    """Return the line of the same release with another value, stated at the same delta."""
    table: dict[str, Any] = {**entry.release[0], name: value}
    stated = entry.stated
    if stated is not None:
        kind = registry.RELEASES.get(table["kind"])
        part = AccountPart.of(kind, {key: one for key, one in table.items() if key != "kind"})
        stated = state_at(AccountTarget(kind.name, (part,), entry.samples), stated.delta)
    return entry.model_copy(update={"release": (table,), "stated": stated})


def _bisect_release_field(
    fits: Callable[[float], bool], given: float, *, grows: bool, near: float
) -> tuple[float, float] | None:
    """Return a value that does not fit and one close to it that does."""

    def at(factor: float) -> float:
        return given * factor if grows else given / factor

    # The release as it was given does not fit. Twice the noise may, and so on up to a million
    # times.
    beyond, enough = 1.0, 2.0
    while not fits(at(enough)):
        beyond, enough = enough, 2 * enough
        if enough > _FARTHEST:
            return None
    while enough / beyond > near:
        # The geometric mean halves the range of factors: noise matters by its ratio.
        middle = math.sqrt(beyond * enough)
        beyond, enough = (beyond, middle) if fits(at(middle)) else (middle, enough)
    return at(beyond), at(enough)


def _choose_round_number(
    fits: Callable[[float], bool], beyond: float, enough: float, *, grows: bool
) -> float:
    """Return a number of few digits that fits: between the two values, or next to the second."""
    between = [
        one for one in _generate_round_numbers(beyond, 1, grows=grows) if (one <= enough) == grows
    ]
    beside = _generate_round_numbers(enough, _CLOSE, grows=grows)
    # A rounded number is asked of the filter again: it is shown as one that fits.
    return next((one for one in (*between, *beside) if one > 0 and fits(one)), enough)


def _generate_round_numbers(value: float, least: int, *, grows: bool) -> Iterator[float]:
    """Yield a value rounded in the direction that costs less, to ever more digits."""
    exact = Decimal(value)
    for digits in range(least, _DIGITS + 1):
        step = Decimal(10) ** (exact.adjusted() - digits + 1)
        yield float(exact.quantize(step, ROUND_CEILING if grows else ROUND_FLOOR))

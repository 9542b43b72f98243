"""What ``dpaudit spend show`` says: as JSON with a schema, from the lines of a file."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field

from dpaudit.accounting.accountants import Answer, ask_all, strongest
from dpaudit.accounting.events import Event, Sequence
from dpaudit.errors import InvalidArgument
from dpaudit.formats import SCHEMAS
from dpaudit.report.counts import Document
from dpaudit.spending.chain import KIND, Chain, Entry
from dpaudit.spending.charges import add_to, joint_event, price_of, totals_of
from dpaudit.spending.file import network_of
from dpaudit.spending.filters import (
    FilterName,
    Limit,
    Method,
    More,
    Terms,
    Total,
    count_more,
    epsilon_by,
    keeps,
    read_odometer,
    spent_of,
)
from dpaudit.spending.judging import nearest_to_end
from dpaudit.spending.price import add_prices

Remark = Literal["clock-behind", "torn", "network", "exceeded", "planned"]


class MethodDocument(Document):
    """What one method makes of all that was released to whoever is charged most."""

    method: Method
    epsilon: float


class LimitDocument(Document):
    """A limit, and how much of it is spent by whoever is charged most."""

    limit: Limit
    spent: float = Field(description="In the currency of the limit: epsilon, rho or mu.")
    left: float = Field(description="The limit less what is spent; 0 if more is spent.")
    methods: tuple[MethodDocument, ...]


class GroupDocument(Document):
    """What one of the disjoint groups is charged; null is who is in none that is named."""

    name: str | None
    spent: tuple[float, ...] = Field(description="Of each limit.")


class OdometerDocument(Document):
    """The epsilon that holds at every time at once, with parameters chosen adaptively."""

    epsilon: float
    delta: float
    order: float | None


class AnswerDocument(Document):
    """An accountant's answer about all of it, for parameters that were fixed in advance."""

    accountant: str
    source: str
    lower: float | None
    upper: float | None


class PlannedDocument(Document):
    """What holds if no parameter of a release depends on an earlier output."""

    epsilon: float | None
    delta: float
    answers: tuple[AnswerDocument, ...]


class PointDocument(Document):
    """What was spent after a release."""

    number: int
    charged_at: str
    spent: float


class SpendDocument(Document):
    """A budget, what is spent of it and what is left, and every release."""

    schema_: int = Field(default=SCHEMAS[KIND], alias="schema", ge=1)
    file: str
    id: str
    head: str = Field(description="Digest of the last line: written down elsewhere, it shows loss.")
    unit: str
    relation: str
    period: str | None
    partition: str | None
    filter: FilterName
    limits: tuple[LimitDocument, ...]
    is_kept: bool = Field(description="Whether no limit is exceeded: then what they say holds.")
    groups: tuple[GroupDocument, ...]
    odometer: OdometerDocument
    planned: PlannedDocument | None = Field(description="Null where nobody asked, or at delta 0.")
    more: More | None = Field(
        description="How many more of the last release fit; null of none, and of planned."
    )
    history: tuple[PointDocument, ...] = Field(
        description="Of the limit that is nearest to its end, in at most 200 steps."
    )
    releases: tuple[Entry, ...]
    remarks: tuple[Remark, ...]


def document_of(chain: Chain, path: Path, *, accountants: bool = True) -> SpendDocument:
    """Return all there is to say about a file.

    Parameters
    ----------
    chain
        Its lines.
    path
        Where it is.
    accountants
        Whether accountants are asked, which may take seconds.
    """
    header, totals = chain.header, totals_of(chain)
    terms = header.terms
    return SpendDocument(
        file=str(path),
        id=header.id,
        head=chain.head,
        unit=header.unit,
        relation=header.relation,
        period=header.period,
        partition=header.partition,
        filter=terms.filter,
        limits=tuple(_limit(terms, one, totals) for one in terms.limits),
        is_kept=keeps(terms, list(totals.values())),
        groups=tuple(_group(terms, name, total) for name, total in totals.items()),
        odometer=_odometer(terms, totals),
        planned=_planned(chain) if accountants else None,
        more=_more(chain, totals),
        history=_history(chain, totals),
        releases=chain.charged,
        remarks=tuple(_remarks(chain, totals, path)),
    )


def _limit(terms: Terms, limit: Limit, totals: Mapping[str | None, Total]) -> LimitDocument:
    spent = {name: spent_of(terms, limit, total).amount for name, total in totals.items()}
    dearest = max(spent, key=lambda name: spent[name])
    methods = tuple(
        MethodDocument(method=one, epsilon=epsilon_by(terms, one, totals[dearest]))
        for one in limit.methods
    )
    most = spent[dearest]
    left = limit.size - most if most < limit.size else 0.0
    return LimitDocument(limit=limit, spent=most, left=left, methods=methods)


def _group(terms: Terms, name: str | None, total: Total) -> GroupDocument:
    spent = tuple(spent_of(terms, limit, total).amount for limit in terms.limits)
    return GroupDocument(name=name, spent=spent)


def _odometer(terms: Terms, totals: Mapping[str | None, Total]) -> OdometerDocument:
    fixed = terms.odometer
    epsilon = max(read_odometer(terms, total) for total in totals.values())
    delta = terms.limits[0].delta if fixed.order is not None else fixed.own
    return OdometerDocument(epsilon=epsilon, delta=delta, order=fixed.order)


def _planned(chain: Chain) -> PlannedDocument | None:
    delta = chain.header.terms.limits[0].delta
    if delta == 0 or not chain.charged:
        return None
    try:
        answers = ask_all(joint_event(chain), delta)
    except InvalidArgument:  # more combinations of groups than accountants go through
        return None
    best = strongest(answers)
    named = tuple(_answer(one) for one in answers if one.upper is not None)
    return PlannedDocument(epsilon=None if best is None else best.upper, delta=delta, answers=named)


def _answer(answer: Answer) -> AnswerDocument:
    return AnswerDocument(
        accountant=answer.accountant, source=answer.source, lower=answer.lower, upper=answer.upper
    )


def _more(chain: Chain, totals: Mapping[str | None, Total]) -> More | None:
    terms = chain.header.terms
    if not chain.charged or terms.is_planned:  # each number asks accountants
        return None
    last = chain.charged[-1]
    return count_more(
        terms, lambda count: keeps(terms, list(add_to(totals, last, count, terms).values()))
    )


_MOST_POINTS = 200  # of a history


def _history(chain: Chain, totals: Mapping[str | None, Total]) -> tuple[PointDocument, ...]:
    """Return what was spent of the nearest limit by the group that spent most, step by step."""
    terms, entries = chain.header.terms, chain.charged
    if terms.is_planned:
        return ()  # each step asks accountants
    nearest = nearest_to_end(terms, totals)
    price, stride = add_prices([], len(terms.orders)), -(-len(entries) // _MOST_POINTS)
    found = []
    for place, entry in enumerate(entries, start=1):
        if not entry.groups or nearest.group in entry.groups:
            price = add_prices([(1, price), (1, price_of(entry, terms))], len(terms.orders))
        if place % stride == 0 or place == len(entries):
            spent = spent_of(terms, nearest.limit, Total(price, _no_event)).amount
            found.append(PointDocument(number=place, charged_at=entry.charged_at, spent=spent))
    return tuple(found)


def _no_event() -> Event:
    return Sequence(())


def _remarks(chain: Chain, totals: Mapping[str | None, Total], path: Path) -> Iterator[Remark]:
    """Name what a reader has to know beside the numbers."""
    times = [chain.header.charged_at, *(one.charged_at for one in chain.entries)]
    if any(later < earlier for earlier, later in itertools.pairwise(times)):
        yield "clock-behind"
    if chain.torn.pieces:
        yield "torn"
    if network_of(path) is not None:
        yield "network"
    if not keeps(chain.header.terms, list(totals.values())):
        yield "exceeded"
    if chain.header.terms.is_planned:
        yield "planned"

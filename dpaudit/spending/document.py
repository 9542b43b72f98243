"""The document of ``dpaudit spend show``: JSON with a schema, from the lines of a file."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field

from dpaudit.accounting.accountants import AccountantAnswer, ask_all, select_strongest_answer
from dpaudit.accounting.events import Event, Sequence
from dpaudit.errors import InvalidArgument
from dpaudit.formats import SCHEMAS
from dpaudit.report.counts import ReportPart
from dpaudit.spending.chain import KIND, Chain, ChainEntry
from dpaudit.spending.charges import add_to, joint_event, price_of, totals_of
from dpaudit.spending.file import network_of
from dpaudit.spending.filters import (
    FilterMethod,
    FilterName,
    Limit,
    More,
    ReleaseTotal,
    Terms,
    count_more,
    epsilon_by,
    is_within_limits,
    read_odometer,
    spent_of,
)
from dpaudit.spending.judging import nearest_to_end
from dpaudit.spending.price import add_prices

Remark = Literal["clock-behind", "torn", "network", "exceeded", "planned"]


class MethodDocument(ReportPart):
    """The total of one method for the record that is charged most."""

    method: FilterMethod
    epsilon: float


class LimitDocument(ReportPart):
    """A limit, and how much of it is spent by whoever is charged most."""

    limit: Limit
    spent: float = Field(description="In the currency of the limit: epsilon, rho or mu.")
    left: float = Field(description="The limit less what is spent; 0 if more is spent.")
    methods: tuple[MethodDocument, ...]


class GroupDocument(ReportPart):
    """The total of one disjoint group; null for records in no named group."""

    name: str | None
    spent: tuple[float, ...] = Field(description="Of each limit.")


class OdometerDocument(ReportPart):
    """The epsilon that holds at every time at once, with parameters chosen adaptively."""

    epsilon: float
    delta: float
    order: float | None


class AnswerDocument(ReportPart):
    """An accountant's answer about all of it, for parameters that were fixed in advance."""

    accountant: str
    source: str
    lower: float | None
    upper: float | None


class PlannedDocument(ReportPart):
    """The total that holds if no parameter of a release depends on an earlier output."""

    epsilon: float | None
    delta: float
    answers: tuple[AnswerDocument, ...]


class PointDocument(ReportPart):
    """The total after a release."""

    number: int
    charged_at: str
    spent: float


class SpendDocument(ReportPart):
    """A budget, the spent part of it and the rest, and every release."""

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
    releases: tuple[ChainEntry, ...]
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
        limits=tuple(_make_limit_document(terms, one, totals) for one in terms.limits),
        is_kept=is_within_limits(terms, list(totals.values())),
        groups=tuple(_make_group_document(terms, name, total) for name, total in totals.items()),
        odometer=_make_odometer_document(terms, totals),
        planned=_make_planned_document(chain) if accountants else None,
        more=_count_remaining_releases(chain, totals),
        history=_build_spending_history(chain, totals),
        releases=chain.charged,
        remarks=tuple(_find_spending_remarks(chain, totals, path)),
    )


def _make_limit_document(
    terms: Terms, limit: Limit, totals: Mapping[str | None, ReleaseTotal]
) -> LimitDocument:
    spent = {name: spent_of(terms, limit, total).amount for name, total in totals.items()}
    # A limit holds for every record: what is left is what the group that is charged most has left.
    dearest = max(spent, key=lambda name: spent[name])
    methods = tuple(
        MethodDocument(method=one, epsilon=epsilon_by(terms, one, totals[dearest]))
        for one in limit.methods
    )
    most = spent[dearest]
    left = limit.size - most if most < limit.size else 0.0
    return LimitDocument(limit=limit, spent=most, left=left, methods=methods)


def _make_group_document(terms: Terms, name: str | None, total: ReleaseTotal) -> GroupDocument:
    spent = tuple(spent_of(terms, limit, total).amount for limit in terms.limits)
    return GroupDocument(name=name, spent=spent)


def _make_odometer_document(
    terms: Terms, totals: Mapping[str | None, ReleaseTotal]
) -> OdometerDocument:
    fixed = terms.odometer
    epsilon = max(read_odometer(terms, total) for total in totals.values())
    delta = terms.limits[0].delta if fixed.order is not None else fixed.own
    return OdometerDocument(epsilon=epsilon, delta=delta, order=fixed.order)


def _make_planned_document(chain: Chain) -> PlannedDocument | None:
    delta = chain.header.terms.limits[0].delta
    if delta == 0 or not chain.charged:
        return None
    try:
        answers = ask_all(joint_event(chain), delta)
    except InvalidArgument:  # more combinations of groups than accountants go through
        return None
    best = select_strongest_answer(answers)
    named = tuple(_make_answer_document(one) for one in answers if one.upper is not None)
    return PlannedDocument(epsilon=None if best is None else best.upper, delta=delta, answers=named)


def _make_answer_document(answer: AccountantAnswer) -> AnswerDocument:
    return AnswerDocument(
        accountant=answer.accountant, source=answer.source, lower=answer.lower, upper=answer.upper
    )


def _count_remaining_releases(
    chain: Chain, totals: Mapping[str | None, ReleaseTotal]
) -> More | None:
    terms = chain.header.terms
    if not chain.charged or terms.is_planned:  # each number asks accountants
        return None
    last = chain.charged[-1]
    return count_more(
        terms,
        lambda count: is_within_limits(terms, list(add_to(totals, last, count, terms).values())),
    )


_MOST_POINTS = 200  # of a history


def _build_spending_history(
    chain: Chain, totals: Mapping[str | None, ReleaseTotal]
) -> tuple[PointDocument, ...]:
    """Return the history of the nearest limit in the group that spent most, step by step."""
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
            spent = spent_of(terms, nearest.limit, ReleaseTotal(price, _no_event)).amount
            found.append(PointDocument(number=place, charged_at=entry.charged_at, spent=spent))
    return tuple(found)


def _no_event() -> Event:
    return Sequence(())


def _find_spending_remarks(
    chain: Chain, totals: Mapping[str | None, ReleaseTotal], path: Path
) -> Iterator[Remark]:
    """Name the facts that a reader has to know beside the numbers."""
    times = [chain.header.charged_at, *(one.charged_at for one in chain.entries)]
    if any(later < earlier for earlier, later in itertools.pairwise(times)):
        yield "clock-behind"
    if chain.torn.pieces:
        yield "torn"
    if network_of(path) is not None:
        yield "network"
    if not is_within_limits(chain.header.terms, list(totals.values())):
        yield "exceeded"
    if chain.header.terms.is_planned:
        yield "planned"

"""Pairs that a search finds in a domain, for an audit to rank and to certify on fresh outputs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

from numpy.random import default_rng

import dpaudit._validate as check
from dpaudit.domains import Domain
from dpaudit.errors import InvalidArgument, Shown
from dpaudit.execution import stream
from dpaudit.laws.isolated import Isolated, Placed
from dpaudit.laws.searches import search_with
from dpaudit.neighbours import Relation
from dpaudit.neighbours.candidates import Candidate
from dpaudit.search.engine import CALLS, Found, Search
from dpaudit.search.space import Space, space_of
from dpaudit.search.writing import written

_UNBOUNDED = (
    "Nobody says how large numbers may be: the pair was looked for among numbers up to a million."
)
_OF_TRIALS, _FEWEST = 0.7, 400  # calls for each trial, and at least
_OF_TIME = 0.3  # of a time that is given


class FoundPairs(NamedTuple):
    """Pairs, one of each kind, what is to be said of them, and how many calls a search might make.

    ``by_pace`` says whether the pace of the machine decided that.
    """

    candidates: list[Candidate]
    notes: tuple[str, ...]
    calls: int
    by_pace: bool


class Effort(NamedTuple):
    """What a search may take: the trials or the seconds of the audit, or so many calls."""

    trials: int
    seconds: float | None = None
    calls: int | None = None

    @property
    def most(self) -> int:
        """The most calls."""
        if self.calls is not None:
            return check.integer("search_calls", self.calls, least=2)
        if self.seconds is not None:
            return CALLS
        return min(CALLS, max(_FEWEST, int(_OF_TRIALS * self.trials)))


def found_in(
    placed: Placed,
    domain: Domain,
    relation: Relation | str | Callable[[Any, Any], Any] | None,
    *,
    dataset: Any = None,
    effort: Effort,
    seed: int,
) -> FoundPairs:
    """Return the pairs that a search found, one of each kind; one that shows nothing if none does.

    Parameters
    ----------
    placed
        The mechanism in processes of its own, which end with the search: code that keeps what it
        drew keeps nothing of the noise that was frozen.
    domain, relation
        What datasets may be, and what makes two of them neighbours.
    dataset
        Where the search starts.
    effort
        What it may take.
    seed
        One seed and as many calls find the same.

    Raises
    ------
    InvalidArgument
        No relation is named, or no neighbours can be made in the domain.
    """
    if relation is None:
        raise InvalidArgument("relation", None, "a relation, to look for neighbours in a domain")
    made = domain.made(default_rng(stream(seed, "domain")))
    if not isinstance(relation, Relation | str):
        raise InvalidArgument("relation", Shown("a function"), "a name, with a domain")
    space = space_of(made, relation, dataset=dataset)
    name = relation if isinstance(relation, str) else relation.name
    found = _searched(placed, made, name, dataset, effort, seed)
    if not found.found:
        raise InvalidArgument("domain", domain, f"one with neighbours under {name}")
    is_ours = dataset is None and not made.examples and not made.of_records
    candidates = [_candidate(one, found, space, is_ours) for one in found.found]
    notes = () if found.is_bounded else (_UNBOUNDED,)
    by_pace = effort.seconds is not None and effort.calls is None
    return FoundPairs(candidates, notes, found.most, by_pace)


def refuse_beside_domain(**given: Any) -> None:
    """Refuse what says in another way than a domain which pair is looked at.

    Raises
    ------
    InvalidArgument
        Something of the kind is given.
    """
    for name, one in given.items():
        if one is not None:
            raise InvalidArgument(name, Shown("both"), f"either {name} or domain")


def _searched(
    placed: Placed, domain: Domain, relation: str, dataset: Any, effort: Effort, seed: int
) -> Search:
    if placed.elsewhere is not None:
        placed = placed._replace(mechanism=placed.elsewhere())
    mechanism, seconds = placed.mechanism, None
    if effort.seconds is not None and effort.calls is None:
        seconds = _OF_TIME * effort.seconds
    given = domain, relation, dataset, effort.most, seconds, seed
    if not isinstance(mechanism, Isolated):
        return search_with(mechanism, *given)
    try:
        with _patient(mechanism, effort.most):
            return mechanism.search(*given)
    finally:
        mechanism.crew.close()


def _patient(mechanism: Isolated, calls: int) -> AbstractContextManager[None]:
    """Let one request take as long as so many calls may: a limit is that of one call."""
    limit = mechanism.crew.limits.timeout
    return nullcontext() if limit is None else mechanism.crew.patient(limit * calls)


def _candidate(one: Found, search: Search, space: Space, is_ours: bool) -> Candidate:
    what = {
        "movement": f"centres of noise are {one.moved:.4g} scales apart",
        "raw": "a value that no noise reaches is another",
        "structure": "outputs have another structure",
        "nothing": "nothing tells its datasets apart, nor those of any other pair",
    }.get(one.kind, "outputs differ")
    said = f"found by a search that looked at {search.pairs} pairs of the domain; {what}"
    pair = space.pair(one.place)
    sides = [written(side) for side in (pair.dataset, pair.neighbour)]
    if is_ours and None not in sides:  # nobody's records
        said += f"; dataset = {sides[0]}, neighbour = {sides[1]}"
    return Candidate(pair, said)

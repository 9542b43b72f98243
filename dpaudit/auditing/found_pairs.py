"""Pairs that a search finds in a domain, for an audit to rank and to certify on fresh outputs."""

from __future__ import annotations

from typing import Any

from dpaudit.domains import Domain
from dpaudit.errors import InvalidArgument, Shown
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


def found_in(
    placed: Placed,
    domain: Domain,
    relation: Relation | str | None,
    *,
    dataset: Any = None,
    seed: int,
    calls: int = CALLS,
) -> tuple[list[Candidate], tuple[str, ...]]:
    """Return the pairs that a search found, one of each kind, and what is to be said of it.

    Parameters
    ----------
    placed
        The mechanism in processes of its own, which end with the search: code that keeps what it
        drew keeps nothing of the noise that was frozen.
    domain, relation
        What datasets may be, and what makes two of them neighbours.
    dataset
        Where the search starts.
    seed, calls
        One seed finds the same; how often the mechanism may be called.

    Raises
    ------
    InvalidArgument
        No relation is named, or no neighbours can be made in the domain.
    """
    if relation is None:
        raise InvalidArgument("relation", None, "a relation, to look for neighbours in a domain")
    made = domain.made(_generator(seed))
    space = space_of(made, relation, dataset=dataset)
    name = relation if isinstance(relation, str) else relation.name
    found = _searched(placed, made, name, dataset, calls, seed)
    if not found.found:
        shown = Shown("a domain all of whose pairs look the same")
        raise InvalidArgument("domain", shown, "one in which some output depends on the data")
    notes = () if found.is_bounded else (_UNBOUNDED,)
    is_ours = dataset is None and not made.examples
    return [_candidate(one, found, space, is_ours) for one in found.found], notes


def _generator(seed: int) -> Any:
    from numpy.random import default_rng

    from dpaudit.execution import stream

    return default_rng(stream(seed, "domain"))


def _searched(
    placed: Placed, domain: Domain, relation: str, dataset: Any, calls: int, seed: int
) -> Search:
    if placed.elsewhere is not None:
        placed = placed._replace(mechanism=placed.elsewhere())
    if not isinstance(placed.mechanism, Isolated):
        return search_with(placed.mechanism, domain, relation, dataset, calls, seed)
    try:
        return placed.mechanism.search(domain, relation, dataset, calls, seed)
    finally:
        placed.mechanism.crew.close()


def _candidate(one: Found, search: Search, space: Space, is_ours: bool) -> Candidate:
    what = {
        "movement": f"centres of noise are {one.moved:.4g} scales apart",
        "raw": "a value that no noise reaches is another",
        "structure": "outputs have another structure",
    }.get(one.kind, "outputs differ")
    said = f"found by a search that looked at {search.pairs} pairs of the domain; {what}"
    pair = space.pair(one.place)
    sides = [written(side) for side in (pair.dataset, pair.neighbour)]
    if is_ours and None not in sides:  # nobody's records
        said += f"; dataset = {sides[0]}, neighbour = {sides[1]}"
    return Candidate(pair, said)

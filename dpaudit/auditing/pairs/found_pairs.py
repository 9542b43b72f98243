"""Pairs that a search finds in a domain, for an audit to rank and to certify on fresh outputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

from numpy.random import default_rng

import dpaudit._check as check
import dpaudit.auditing.estimators.worst_pair as worst_pair
from dpaudit.auditing.estimators.metric_claims import number_of
from dpaudit.auditing.pairs.made_pairs import convert_made_pair
from dpaudit.domains import Domain
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.execution import stream
from dpaudit.guarantees.kinds import Guarantee, ZeroConcentratedDP
from dpaudit.mechanisms.foreign.isolation import Placement
from dpaudit.mechanisms.foreign.proxy import IsolatedMechanism
from dpaudit.mechanisms.foreign.searches import search_with
from dpaudit.neighbours import Metric, Relation
from dpaudit.neighbours.candidates import Candidate
from dpaudit.neighbours.found_relations import DeclaredRelation, FoundPair, chosen_relation
from dpaudit.neighbours.records import Bounds
from dpaudit.search.distance_search import Range
from dpaudit.search.edits import domain_around
from dpaudit.search.engine import CALLS, PairCandidate, Search
from dpaudit.search.space import PairSpace, space_apart, space_of
from dpaudit.search.writing import format_pasted_dataset

_UNBOUNDED = "No bounds are stated: the search for the pair used numbers up to a million."
_MADE = "The search looked for neighbours of the given dataset."
_UNSTATED = (
    "Bounds are not stated for all values of a record, so the search also tried values that the "
    "dataset does not contain (numbers far beyond its own, of the same sign). State bounds or a "
    "domain."
)
_BEYOND = "No bounds are stated, and this pair holds values that no record of the dataset has."
_BEYOND_NOTHING = "No bounds are stated, and this pair may hold numbers up to a million."
_OF_TRIALS = 0.5  # calls for each trial
_FEWEST = 100  # calls at least
_OF_TIME = 0.3  # of a time that is given
_CELLS = 300_000  # entries that are built of a given dataset, all calls together
_LEAST = 30  # calls in any case


class FoundPairs(NamedTuple):
    """Pairs, one of each kind, the remarks on them, and how many calls a search might make.

    ``by_pace`` says whether the pace of the machine decided that.
    """

    candidates: list[Candidate]
    notes: tuple[str, ...]
    calls: int
    by_pace: bool

    @property
    def as_found(self) -> FoundPair:
        """The first one, and all that is to be said of them."""
        return FoundPair(self.candidates[0].pair, " ".join(self.notes) or None)


class SearchEffort(NamedTuple):
    """The limits of a search: the trials or the seconds of the audit, or a number of calls."""

    trials: int
    seconds: float | None = None
    calls: int | None = None

    @property
    def is_by_pace(self) -> bool:
        """Whether the pace of the machine decides how many calls there are."""
        return self.seconds is not None and self.calls is None

    def most(self, cells: int = 1, columns: int = 2) -> int:
        """Return the most calls: fewer of one column, or where datasets have very many cells."""
        if self.calls is not None:
            return check.require_integer("search_calls", self.calls, least=2)
        # Every call builds datasets of so many cells, which takes the time of large ones.
        fit = max(_LEAST, _CELLS // max(1, cells))
        fit = min(fit, CALLS if columns > 1 else CALLS // 2)
        if self.seconds is not None:
            return fit
        return min(fit, max(_FEWEST, int(_OF_TRIALS * self.trials)))


def find_pairs(
    placed: Placement,
    domain: Domain | None,
    relation: Relation | str | Callable[[Any, Any], Any] | None,
    *,
    dataset: Any = None,
    bounds: Bounds | None = None,
    effort: SearchEffort,
    seed: int,
    claimed: Guarantee | None = None,
) -> FoundPairs:
    """Return the pairs that a search found, one of each kind; one that shows nothing if none does.

    Parameters
    ----------
    placed
        The mechanism in processes of its own, which end with the search: code that keeps what it
        drew keeps nothing of the noise that was frozen.
    domain, relation
        What datasets may be, and what makes two of them neighbours. Without a domain they are of
        the kind of the dataset, and have about as many records.
    dataset
        Where the search starts.
    bounds
        Of numbers where there is no domain, ``(low, high)`` or that by column; where none are
        stated, numbers far beyond those of the dataset are tried as well.
    effort
        What it may take.
    seed
        One seed and as many calls find the same.
    claimed
        Of a claim a unit of distance: what it is a unit, which says how far is near and far.

    Raises
    ------
    InvalidArgument
        No relation is named, or no neighbours can be made in the domain or of the dataset.
    """
    if domain is None and dataset is None:
        raise InvalidArgument("dataset", None, "records, or a domain in their place")
    within = _resolve_search_relation(relation, claimed)
    if domain is None:
        made, start = _build_domain_around(dataset, within, bounds), None
    else:
        made, start = domain.made(default_rng(stream(seed, "domain"))), dataset
    space = _build_search_space(made, within, start)
    found = _run_pair_search(placed, made, within, start, effort, seed)
    if not found.pairs:
        raise InvalidArgument("search_calls", found.most, "more, to look at a pair at least")
    if not found.found:
        what = "dataset" if domain is None else "domain"
        is_plain = domain is not None and not domain.of_records
        given = domain if is_plain else VerbatimText("one of no neighbours")
        raise InvalidArgument(what, given, f"one with neighbours under {space.relation.name}")
    # No more pairs than the trials can rank, each on enough outputs.
    most = max(1, worst_pair.at_most(effort.trials))
    candidates = [_make_found_candidate(one, found, space, made) for one in found.found[:most]]
    return FoundPairs(candidates, _get_pair_notes(made, found), found.most, effort.is_by_pace)


def _get_pair_notes(domain: Domain, found: Search) -> tuple[str, ...]:
    """Return the notes on the pairs that the audit tried."""
    if domain.around is None:
        return () if found.is_bounded else (_UNBOUNDED,)
    return (_MADE,) if found.is_bounded else (_MADE, _UNSTATED)


def _require_relation_name(relation: Any) -> str:
    if relation is None:
        expected = "add-remove-record, replace-record or another one, to look for neighbours"
        raise InvalidArgument("relation", None, expected)
    if not isinstance(relation, Relation | str):
        raise InvalidArgument(
            "relation", VerbatimText("a function"), "a name, to look for neighbours"
        )
    if isinstance(relation, DeclaredRelation) and relation.user is not None:
        return f"{relation.name}: {relation.user}"
    return relation if isinstance(relation, str) else relation.name


def _resolve_search_relation(relation: Any, claimed: Guarantee | None) -> str | Range:
    """Return the relation of neighbours by its name, or the range of distances of any two."""
    named = chosen_relation(relation) if isinstance(relation, Relation | str) else None
    return (
        Range(named, _compute_unit_distance(claimed))
        if isinstance(named, Metric)
        else _require_relation_name(relation)
    )


def _build_domain_around(dataset: Any, within: str | Range, bounds: Bounds | None) -> Domain:
    if isinstance(within, Range):
        expected = "another dataset, or a domain: any two datasets are looked for in one"
        raise InvalidArgument("neighbour", None, expected)
    return domain_around(dataset, within, bounds=bounds)


def _build_search_space(domain: Domain, within: str | Range, start: Any) -> PairSpace:
    if isinstance(within, Range):
        return space_apart(domain, within.metric, dataset=start)
    return space_of(domain, within, dataset=start)


def _compute_unit_distance(claimed: Guarantee | None) -> float:
    """Return the distance at which a claim a unit of distance allows a loss of about one."""
    if claimed is None:
        raise InvalidArgument("claim", None, "a claim a unit of distance, to look for far pairs")
    value = number_of(claimed)
    if isinstance(claimed, ZeroConcentratedDP):
        # A zCDP claim of rho is that of a Gaussian mechanism with mu = sqrt(2 rho).
        value = math.sqrt(2 * value)
    return 1 / value if value else math.inf


def refuse_beside_domain(**given: Any) -> None:
    """Refuse arguments that name a pair in another way than the domain does.

    Raises
    ------
    InvalidArgument
        Something of the kind is given.
    """
    for name, one in given.items():
        if one is not None:
            raise InvalidArgument(name, VerbatimText("both"), f"either {name} or domain")


def _run_pair_search(
    placed: Placement,
    domain: Domain,
    relation: str | Range,
    dataset: Any,
    effort: SearchEffort,
    seed: int,
) -> Search:
    if placed.elsewhere is not None:
        # A mechanism of this process would keep what it did under frozen noise.
        placed = placed._replace(mechanism=placed.elsewhere())
    mechanism, seconds = placed.mechanism, None
    if effort.is_by_pace and effort.seconds is not None:
        seconds = _OF_TIME * effort.seconds
    start = domain.layout.start
    cells = 1 if start is None else len(start.units) * len(start.ranges)
    most = effort.most(cells, len(domain.layout.columns))
    given = domain, relation, dataset, most, seconds, seed
    if not isinstance(mechanism, IsolatedMechanism):
        return search_with(mechanism, *given)
    limit = mechanism.crew.limits.timeout
    try:
        with _set_search_timeout(mechanism, most):
            return mechanism.search(*given, limit)
    finally:
        mechanism.crew.close()


def _set_search_timeout(mechanism: IsolatedMechanism, calls: int) -> AbstractContextManager[None]:
    """Let one request take as long as so many calls may: a limit is that of one call."""
    limit = mechanism.crew.limits.timeout
    return nullcontext() if limit is None else mechanism.crew.patient(limit * calls)


def _make_found_candidate(
    one: PairCandidate, search: Search, space: PairSpace, domain: Domain
) -> Candidate:
    what = {
        "movement": f"centres of noise are {one.moved:.4g} scales apart",
        "invariant": "a combination or a fraction of parts that no noise reaches differs",
        "raw": "a value that no noise reaches differs",
        "structure": "outputs differ in structure",
        "nothing": "no output distinguishes its datasets, or those of any other pair",
    }.get(one.kind, "outputs differ")
    where = "of the domain" if space.layout.start is None else "around the dataset"
    said = f"found by a search that tried {search.pairs} pairs {where}; {what}"
    if one.edit is not None:
        said = f"{one.edit}, {said}"
    pair = space.orient_pair(one.place)
    sides = [format_pasted_dataset(side) for side in (pair.dataset, pair.neighbour)]
    if one.is_nobodys and None not in sides:
        said += f"; dataset = {sides[0]}, neighbour = {sides[1]}"
    beyond = _BEYOND if space.layout.start is not None else _BEYOND_NOTHING
    return Candidate(
        pair,
        said,
        caveat=beyond if space.is_beyond(one.place) else None,
        made=convert_made_pair(pair, one.place, domain) if one.is_nobodys else None,
    )

"""Releases that share something, by name: rounds of one sample, budgets, disjoint groups, trees.

What they are together is in `dpaudit.accounting.sharing`. In a TOML file each is a table of its
own kind, ``[[round]]``, ``[[budget]]`` or ``[[group]]``, with ``[[round.release]]`` tables in it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from decimal import ROUND_CEILING
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

import dpaudit._check as check
import dpaudit.extension.registry as registry
from dpaudit.accounting.events import (
    Event,
    GaussianRelease,
    LaplaceRelease,
    Parallel,
    Release,
    Sequence,
    get_releases,
)
from dpaudit.accounts.releases import KINDS, parameters_of
from dpaudit.errors import InvalidArgument, UnsupportedEvent, VerbatimText
from dpaudit.extension.parameters import Parameters, parse_parameters
from dpaudit.extension.release import ReleaseCard
from dpaudit.guarantees import rounding
from dpaudit.report.formatting import format_significant

if TYPE_CHECKING:
    from dpaudit.accounting.samples import Way

_HELD = ("release", "round", "budget")  # what a group may have tables of
_TABLES = (*_HELD, "group")
_SAMPLES = "samples"  # says what is meant by several releases of one sampler
SHARING = {"round": "one sample", "shared-budget": "one budget", "parallel-groups": "disjoint data"}
"""What releases of a kind share, by its name."""
_OWN_SAMPLES = ("round", "dp-sgd")  # each of their rounds, or steps, draws a sample of its own
_OF_ONE_SAMPLE = (
    "queries of the one sample of a round, as subsampled-gaussian; {name} may make several, each "
    "of a sample of its own: give it a [[release]] table beside the round"
)
_OF_ONE_BUDGET = (
    "queries of what a record contributes, as gaussian or laplace; {name} may release a multiple "
    "of it, which the budget does not bound: give it a [[release]] table beside the budget"
)


def read_release(table: Any, path: str = "") -> tuple[ReleaseCard, Any]:
    """Return the card and the parameters of a table with a kind, or raise `InvalidArgument`."""
    if not isinstance(table, Mapping) or not isinstance(table.get("kind"), str):
        name = f"release in {path}" if path else "release"
        raise InvalidArgument(name, table, "a table with a kind")
    given = {name: value for name, value in table.items() if name != "kind"}
    card = registry.RELEASES.get(table["kind"])
    return card, parse_parameters(card.parameters, given)


def _get_release_relation(card: ReleaseCard, parameters: Any) -> str:
    return card.relation if card.neighbours is None else card.neighbours(parameters)


def is_attained(card: ReleaseCard, parameters: Any) -> bool:
    """Return whether some neighbours lose as much as the event of a release says."""
    return card.attained is None or card.attained(parameters)


def _one_relation(held: list[tuple[ReleaseCard, Any]]) -> str:
    # A release under "any" relation goes with every other.
    relations = sorted({_get_release_relation(*one) for one in held} - {"any"})
    if len(relations) > 1:
        raise InvalidArgument("release", relations, "releases about one neighbour relation")
    return relations[0] if relations else "any"


def _read_plain_releases(tables: list[dict[str, Any]], expected: str) -> list[Release]:
    """Return the plain releases in tables, those of one kind that are equal counted together."""
    if not tables:
        raise InvalidArgument("release", VerbatimText("no table"), "at least one release")
    events = []
    for table in tables:
        card, parameters = read_release(table)
        # A card that makes several releases may draw several samples: no sample of a round is
        # theirs.
        if not card.plain:
            raise InvalidArgument("release", card.name, expected.format(name=card.name))
        events.append(card.event(parameters))
    return list(get_releases(Sequence(tuple(events))))


def _get_held_relation(parameters: Any) -> str:
    return _one_relation([read_release(table) for table in parameters.release])


class RoundParameters(Parameters):
    """Parameters of rounds, each of which makes several releases of one sample."""

    release: list[dict[str, Any]] = Field(
        [{"kind": "subsampled-gaussian"}, {"kind": "subsampled-gaussian"}],
        description="releases of the one sample: tables with a kind and its parameters",
    )
    noise_factor: float = Field(1.0, gt=0, description="the factor of all their noise")
    count: int = Field(1, ge=0, description="number of rounds, each with a sample of its own")


def _round_event(parameters: Any) -> Event:
    from dpaudit.accounting.sharing import one_sample  # scipy, which a list of cards has no use for

    joint = one_sample(_read_plain_releases(parameters.release, _OF_ONE_SAMPLE), parameters.count)
    return _with_noise(joint, parameters.noise_factor)


def _with_noise(release: Any, factor: float) -> Event:
    if factor == 1:
        return release  # type: ignore[no-any-return]
    name = "noise_scale" if hasattr(release, "noise_scale") else "noise_multiplier"
    # Noise rounded down claims a larger loss.
    scaled = rounding.bound_below(getattr(release, name) * factor, 0.0)
    event: Event = type(release)(**(vars(release) | {name: scaled}))
    return event


def _round_words(parameters: Any) -> str:
    number = sum(part.count for part in _read_plain_releases(parameters.release, _OF_ONE_SAMPLE))
    return (
        f"Shared: the {number} releases of a round are of one and the same sample; each of the "
        f"{parameters.count} rounds draws a sample of its own."
    )


ROUND = ReleaseCard(
    name="round",
    title="rounds, each of several releases of one sample",
    source="dpaudit.accounting.sharing",
    relation="that of its releases",
    parameters=RoundParameters,
    event=_round_event,
    count="count",
    noise="noise_factor",
    words=_round_words,
    neighbours=_get_held_relation,
)


class BudgetParameters(Parameters):
    """Parameters of releases to which a record contributes a bounded amount in all."""

    norm: Literal["l1", "l2"] = Field(
        "l1", description="norm of all contributions of a record together"
    )
    sensitivity: float = Field(1.0, ge=0, description="bound on that norm")
    release: list[dict[str, Any]] = Field(
        [{"kind": "laplace"}],
        description="laplace under l1, gaussian under l2; the sensitivity of each is its own bound",
    )
    count: int = Field(1, ge=0, description="number of such budgets that are spent")


def _budget_event(parameters: Any) -> Event:
    from dpaudit.accounting.sharing import one_budget

    parts = _read_plain_releases(parameters.release, _OF_ONE_BUDGET)
    one = one_budget(parameters.norm, parameters.sensitivity, parts)
    event: Event = type(one)(**(vars(one) | {"count": parameters.count}))
    return event


def _budget_words(parameters: Any) -> str:
    number = sum(part.count for part in _read_plain_releases(parameters.release, _OF_ONE_BUDGET))
    norm = parameters.norm.upper()
    return (
        f"Shared: what a record contributes to the {number} releases has an {norm} norm of at most "
        f"{parameters.sensitivity:.12g} in all of them together."
    )


BUDGET = ReleaseCard(
    name="shared-budget",
    title="releases that share a bound on what a record contributes",
    source="dpaudit.accounting.sharing",
    relation="any",
    parameters=BudgetParameters,
    event=_budget_event,
    count="count",
    noise="sensitivity",
    more_noise=-1,
    words=_budget_words,
)


class GroupParameters(Parameters):
    """Parameters of releases about disjoint parts of the data."""

    group: list[dict[str, Any]] = Field(
        [{"release": [{"kind": "laplace"}]}, {"release": [{"kind": "laplace"}]}],
        description="a table for each part, with release, round and budget tables",
    )
    count: int = Field(1, ge=0, description="number of times that all of it is released")


def _group_held(parameters: Any) -> list[list[tuple[ReleaseCard, Any]]]:
    """Return the cards and parameters that each group holds."""
    if not parameters.group:
        raise InvalidArgument("group", VerbatimText("no table"), "at least one group")
    return [[read_release(table) for table in _tables_of(group)] for group in parameters.group]


def _tables_of(group: dict[str, Any]) -> list[dict[str, Any]]:
    if not group or set(group) - set(_HELD):
        expected = "a table of release, round or budget tables"
        raise InvalidArgument("group", sorted(group), expected)
    return [table for name in _HELD for table in read_held_tables(name, group.get(name, []))]


def read_held_tables(name: str, given: Any, path: str = "") -> list[dict[str, Any]]:
    """Return tables as releases with a kind: a table under round is a round."""
    tables = [given] if isinstance(given, Mapping) else given
    kinds: dict[str, Callable[[Any], dict[str, Any]]] = {
        "release": lambda table: table,
        "round": lambda table: {"kind": "round", **_with_list(table)},
        "budget": lambda table: {"kind": "shared-budget", **_with_list(table)},
        "group": lambda table: table,
    }
    if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
        raise InvalidArgument(f"{name} in {path}" if path else name, given, "tables")
    return [kinds[name](dict(table)) for table in tables]


def _with_list(table: dict[str, Any]) -> dict[str, Any]:
    held = table.get("release", [])
    # TOML reads ``[round.release]`` as one table and ``[[round.release]]`` as a list of them.
    return table | {"release": [held] if isinstance(held, Mapping) else held}


def _group_event(parameters: Any) -> Event:
    events = [
        Sequence(tuple(card.event(given) for card, given in held))
        for held in _group_held(parameters)
    ]
    return Parallel(tuple(events), parameters.count)


def _group_words(parameters: Any) -> str:
    inner = [
        card.words(given)
        for held in _group_held(parameters)
        for card, given in held
        if card.words is not None
    ]
    own = (
        f"Shared: nothing among the {len(parameters.group)} groups, whose data are disjoint: the "
        "worst of them counts. A record is in the same group of both neighbours."
    )
    return " ".join([own, *dict.fromkeys(inner)])


GROUPS = ReleaseCard(
    name="parallel-groups",
    title="releases about disjoint parts of the data",
    source="McSherry 2009, Theorem 4",
    relation="that of its releases",
    parameters=GroupParameters,
    event=_group_event,
    count="count",
    noise="count",
    more_noise=-1,
    words=_group_words,
    neighbours=lambda parameters: _one_relation(
        [one for held in _group_held(parameters) for one in held]
    ),
    attained=lambda parameters: all(
        is_attained(*one) for held in _group_held(parameters) for one in held
    ),
)


class TreeParameters(Parameters):
    """Parameters of running sums by a binary tree."""

    leaves: int = Field(1024, ge=1, description="steps of the stream; a record is in one of them")
    noise: Literal["gaussian", "laplace"] = Field(
        "gaussian", description="law of the noise of every node"
    )
    sensitivity: float = Field(1.0, ge=0, description="norm of a record: L2, of laplace L1")
    noise_scale: float = Field(1.0, gt=0, description="standard deviation, or b, of every node")
    count: int = Field(1, ge=0, description="number of trees that the same record is in")

    @property
    def height(self) -> int:
        """Nodes from a leaf to the root: all that a record is in."""
        # In integers: a logarithm in doubles may miss a power of two.
        return (self.leaves - 1).bit_length() + 1


def _tree_event(parameters: Any) -> Event:
    kind = GaussianRelease if parameters.noise == "gaussian" else LaplaceRelease
    return kind(
        sensitivity=parameters.sensitivity,
        noise_scale=parameters.noise_scale,
        count=parameters.count * parameters.height,
    )


TREE = ReleaseCard(
    name="binary-tree",
    title="running sums of a stream, from the noisy nodes of a binary tree",
    source="Dwork, Naor, Pitassi & Rothblum 2010; Chan, Shi & Song 2011",
    relation="any",
    parameters=TreeParameters,
    event=_tree_event,
    count="count",
    noise="noise_scale",
    words=lambda parameters: (
        f"A record is in {parameters.height} nodes of the tree, and in one leaf of it."
    ),
)


def tables_of(document: Mapping[str, Any], path: str) -> list[dict[str, Any]]:
    """Return all that a file's tables release, each as a table with a kind.

    Raises
    ------
    InvalidArgument
        It holds something else, or nothing.
    """
    if not document or set(document) - {*_TABLES, _SAMPLES}:
        expected = "[[release]], [[round]], [[budget]] or [[group]] tables, one at least"
        raise InvalidArgument(path, sorted(document), expected)
    tables = [
        t for name in _HELD for t in read_held_tables(f"{name}", document.get(name, []), path)
    ]
    groups = read_held_tables("group", document.get("group", []), path)
    return [*tables, *([{"kind": "parallel-groups", "group": groups}] if groups else [])]


def samples_of(document: Mapping[str, Any], path: str) -> str | None:
    """Return the statement of a file on samples: ``independent``, or None without one."""
    from dpaudit.accounting.samples import SAMPLES

    said = document.get(_SAMPLES)
    return None if said is None else check.require_choice(f"{_SAMPLES} in {path}", said, SAMPLES)


def convert_event_to_cards(event: Event) -> list[tuple[ReleaseCard, dict[str, Any]]]:
    """Return an event's releases as cards and their parameters, those of groups as one."""
    stack, plain, found = [event], [], []
    while stack:
        part = stack.pop()
        if isinstance(part, Sequence):
            stack.extend(reversed(part.events))
        elif isinstance(part, Parallel):
            groups = [{"release": _convert_event_to_tables(one)} for one in part.events]
            found.append((GROUPS, {"group": groups, "count": part.count}))
        else:
            plain.append(part)
    named = [(KINDS[type(one)], parameters_of(one)) for one in get_releases(Sequence(tuple(plain)))]
    return [*named, *found]


def _convert_event_to_tables(event: Event) -> list[dict[str, Any]]:
    return [{"kind": card.name} | given for card, given in convert_event_to_cards(event)]


def find_sharing(name: str, event: Event, *, known: bool = True) -> list[dict[str, Any]]:
    """Return the shared parts of a part's releases; an empty list if the question does not arise.

    Where it is not known whether releases of one sampler are of one sample, of those that draw one
    it is ``unknown``.
    """
    from dpaudit.accounting.sharing import count_sampled_releases, get_alternatives

    ways = get_alternatives(event)
    number = sum(part.count for way in ways for part in get_releases(way))
    if name in SHARING:
        return [{"of": name, "shared": SHARING[name], "releases": number}]
    if number > 1 or count_sampled_releases(event):
        shared = "nothing" if known or not count_sampled_releases(event) else "unknown"
        return [{"of": name, "shared": shared, "releases": number}]
    return []


def ways_of_part(card: ReleaseCard, parameters: Any, event: Event) -> tuple[Way, ...]:
    """Return a part's releases as they were written, each marked if its samples are its own."""
    from dpaudit.accounting.samples import SampleRelease, join_ways, repeat_way, ways_of

    if card is GROUPS:
        held = [
            join_ways(ways_of_part(one, given, one.event(given)) for one, given in group)
            for group in _group_held(parameters)
        ]
        return tuple(repeat_way(way, parameters.count) for way in itertools.chain(*held))
    said = card.name in _OWN_SAMPLES
    return tuple(tuple(SampleRelease(one.release, said) for one in way) for way in ways_of(event))


def of_own_samples(epsilon: float | None, digits: int) -> list[str]:
    """Return the loss of releases with samples of their own, where that is not known."""
    if epsilon is None:
        return []
    shown = format_significant(epsilon, digits, ROUND_CEILING)
    return [f"If each release draws a sample of its own: epsilon = {shown}."]


def compute_event_totals(event: Event) -> dict[str, float | None]:
    """Return mu and rho of all releases together, where they exist: of groups that of the worst.

    Examples
    --------
    >>> from dpaudit.accounting.events import ZeroConcentratedRelease
    >>> compute_event_totals(ZeroConcentratedRelease(rho=0.0049, count=5))
    {'mu': None, 'rho': 0.0245}
    """
    from dpaudit.accounting.composition import gaussian_guarantee
    from dpaudit.accounting.renyi import compute_zcdp_guarantee
    from dpaudit.accounting.sharing import get_alternatives

    def total(kind: Callable[[Event], float]) -> float | None:
        try:
            return max(kind(way) for way in get_alternatives(event))
        except (UnsupportedEvent, ValueError):
            return None

    return {
        "mu": total(lambda way: gaussian_guarantee(way).mu),
        "rho": total(lambda way: compute_zcdp_guarantee(way).rho),
    }

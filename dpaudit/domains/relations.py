"""Relations under which neighbours are made in a domain, and where their units differ."""

from __future__ import annotations

from collections.abc import Sequence

from dpaudit.domains.domain import Domain
from dpaudit.domains.layouts import Unit
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.neighbours.cells import value_key
from dpaudit.neighbours.found_relations import OF_GRAPHS, chosen_relation
from dpaudit.neighbours.tables import Relation

GRAPH_RELATIONS = tuple(one.name for one in OF_GRAPHS)
WHOLE = ("replace-record", "replace-user", *GRAPH_RELATIONS)  # any unit may stand in a place
REMOVING = ("add-remove-record", "add-remove-user")
RELATIONS = (*WHOLE, "replace-cell", "replace-label", *REMOVING)


def relation_in(domain: Domain, given: Relation | str) -> Relation:
    """Return the relation under which neighbours of a domain are made.

    Raises
    ------
    InvalidArgument
        None are made under it in this domain.

    Examples
    --------
    >>> relation_in(Domain(bounds=(0, 1)), "replace-record").name
    'replace-record'
    """
    named = chosen_relation(given)
    if named is None or named.name not in RELATIONS:
        raise InvalidArgument("relation", given, f"one of {', '.join(RELATIONS)}, with a domain")
    of_graphs, of_users = named.name in GRAPH_RELATIONS, named.name.endswith("user")
    if of_graphs != (domain.frame is not None):
        expected = f"{' or '.join(GRAPH_RELATIONS)} for graphs (nodes=), and for nothing else"
        raise InvalidArgument("relation", named.name, expected)
    if of_users != (domain.users is not None):
        expected = (
            "add-remove-user: user or replace-user: user with a domain that has users=, the most "
            "records of one, and only with it"
        )
        raise InvalidArgument("relation", named.name, expected)
    if named.name == "replace-label" and domain.layout.labels is None:
        raise InvalidArgument("relation", named.name, "a domain with labels")
    return named


def require_records(domain: Domain) -> None:
    """Refuse a domain between any two datasets of which no distance is measured."""
    for name in ("nodes", "users", "around"):
        if getattr(domain, name) is not None:
            raise InvalidArgument(name, VerbatimText("a value"), "nothing, with a distance")


def require_one_place(
    relation: Relation, dataset: Sequence[Unit], neighbour: Sequence[Unit]
) -> None:
    """Refuse units that differ otherwise than in one place: all others stay where they are.

    Raises
    ------
    InvalidArgument
        More of them differ, or none.

    Examples
    --------
    >>> from dpaudit.neighbours.tables import REPLACE_RECORD
    >>> a, b = ((0.0,),), ((1.0,),)
    >>> require_one_place(REPLACE_RECORD, [a, a], [a, b])
    >>> require_one_place(REPLACE_RECORD, [a, b, a], [b, a, b])
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: pair: got 3 differing places, expected exactly one
    """
    one, other = ([value_key(unit) for unit in units] for units in (dataset, neighbour))
    if relation.name == "add-remove-record":
        longer, shorter = (one, other) if len(one) > len(other) else (other, one)
        _require_one_more(longer, shorter)
        return
    if len(one) != len(other):
        given = VerbatimText(f"{len(one)} and {len(other)} units")
        raise InvalidArgument("pair", given, "as many on both sides")
    places = sum(a != b for a, b in zip(one, other, strict=True))
    if places != 1:
        raise InvalidArgument("pair", VerbatimText(f"{places} differing places"), "exactly one")


def _require_one_more(longer: Sequence[object], shorter: Sequence[object]) -> None:
    pairs = enumerate(zip(longer, shorter, strict=False))
    place = next((n for n, (one, other) in pairs if one != other), len(shorter))
    if [*longer[:place], *longer[place + 1 :]] != [*shorter] or len(longer) == len(shorter):
        given = VerbatimText("more than one unit that differs")
        raise InvalidArgument("pair", given, "one dataset to be the other and one record more")

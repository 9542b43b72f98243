"""A pair that a search made, as plain data from which whoever has the code makes it again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpaudit.domains import Domain
from dpaudit.domains.layouts import Unit
from dpaudit.domains.stating import convert_domain, convert_units
from dpaudit.neighbours import Metric, Pair
from dpaudit.neighbours.found_relations import DeclaredRelation
from dpaudit.search.space import UnitPair


def convert_made_pair(pair: Pair[Any], place: UnitPair, domain: Domain) -> dict[str, Any]:
    """Return the domain and the units of either side; nothing if no file can state them.

    Parameters
    ----------
    pair, place
        The two datasets, and their units as the search had them.
    domain
        Where they were made.

    Examples
    --------
    >>> from dpaudit.search.space import space_of
    >>> unit = Domain(bounds=(0, 1), records=1)
    >>> place = UnitPair((((0.0,),),), 0, ((1.0,),))
    >>> convert_made_pair(space_of(unit, "replace-record").pair(place), place, unit)["neighbour"]
    [[[1.0]]]
    """
    stated = convert_domain(domain)
    sides = [convert_units(units) for units in _get_pair_units(pair, place, domain)]
    if stated is None or None in sides:
        return {}
    user = pair.relation.user if isinstance(pair.relation, DeclaredRelation) else None
    return {"domain": stated, "dataset": sides[0], "neighbour": sides[1], "user": user}


def _get_pair_units(pair: Pair[Any], place: UnitPair, domain: Domain) -> list[Sequence[Unit]]:
    """Return the two as units of the domain: of any two datasets, and of nodes, others stand."""
    if domain.nodes is not None:
        return [_convert_graph_to_units(one, domain) for one in (pair.dataset, pair.neighbour)]
    if isinstance(pair.relation, Metric):
        return [[(one,) for one in units[0]] for units in (place.units, place.neighbour)]
    return [place.units, place.neighbour]


def _convert_graph_to_units(graph: Any, domain: Domain) -> list[Unit]:
    frame = domain.frame
    assert frame is not None
    return [((bool(graph.has_edge(*ends)),),) for ends in frame.ends]

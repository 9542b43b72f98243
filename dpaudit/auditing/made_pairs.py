"""A pair that a search made, as plain data from which whoever has the code makes it again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpaudit.domains import Domain
from dpaudit.domains.layouts import Unit
from dpaudit.domains.stating import stated_domain, stated_units
from dpaudit.neighbours import Metric, Pair
from dpaudit.neighbours.found import Declared
from dpaudit.search.space import Place


def stated_pair(pair: Pair[Any], place: Place, domain: Domain) -> dict[str, Any]:
    """Return what datasets may be, and the units of either side; nothing if no file can state it.

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
    >>> place = Place((((0.0,),),), 0, ((1.0,),))
    >>> stated_pair(space_of(unit, "replace-record").pair(place), place, unit)["neighbour"]
    [[[1.0]]]
    """
    stated = stated_domain(domain)
    sides = [stated_units(units) for units in _units(pair, place, domain)]
    if stated is None or None in sides:
        return {}
    user = pair.relation.user if isinstance(pair.relation, Declared) else None
    return {"domain": stated, "dataset": sides[0], "neighbour": sides[1], "user": user}


def _units(pair: Pair[Any], place: Place, domain: Domain) -> list[Sequence[Unit]]:
    """Return the two as units of the domain: of any two datasets, and of nodes, others stand."""
    if domain.nodes is not None:
        return [_edges(one, domain) for one in (pair.dataset, pair.neighbour)]
    if isinstance(pair.relation, Metric):
        return [[(one,) for one in units[0]] for units in (place.units, place.neighbour)]
    return [place.units, place.neighbour]


def _edges(graph: Any, domain: Domain) -> list[Unit]:
    frame = domain.frame
    assert frame is not None
    return [((bool(graph.has_edge(*ends)),),) for ends in frame.ends]

"""Strategies of `dpaudit.testing` as the algorithms here take them: graphs, schedules, tables.

Needs the extra ``dpaudit[testing]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpaudit.algorithms.problems.graphs import Graph
from dpaudit.algorithms.problems.schedules import TableSchedule
from dpaudit.algorithms.tables.joined_tables import JoinedTables
from dpaudit.neighbours import REPLACE_TUPLE, Pair
from dpaudit.testing import Records, connected_graphs, joined, pairs, penalties
from dpaudit.testing.records import TableJoin

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def graphs(nodes: int | tuple[int, int] = (2, 5)) -> SearchStrategy[Graph]:
    """Return a strategy for connected graphs; ``nodes`` is a number, or the least and the most.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(graphs(3), lambda graph: True)
    Graph(nodes=3, edges=((0, 1), (0, 2)))
    """
    return connected_graphs(nodes).map(lambda drawn: Graph(*drawn))


def schedules(
    iterations: int, nodes: int, *, low: float = 0.5, high: float = 2.5
) -> SearchStrategy[TableSchedule]:
    """Return a strategy for schedules of penalties that do not fall, from ``low`` to ``high``.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(schedules(2, 1), lambda schedule: schedule.values(2, 1)[1, 0] > 2)
    TableSchedule(table=((0.5,), (2.25,)))
    """
    return penalties((iterations, nodes), low=low, high=high).map(TableSchedule)


def joined_tables(records: Records | None = None) -> SearchStrategy[JoinedTables]:
    """Return a strategy for joined tables: see `dpaudit.testing.joined`.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(joined_tables(Records(rows=2, nodes=2)), lambda data: True).counts(1)
    array([2., 0.])
    """
    return joined(records).map(_tables)


def tuple_pairs(records: Records | None = None) -> SearchStrategy[Pair[JoinedTables]]:
    """Return a strategy for joined tables in which the features of one tuple are replaced.

    Examples
    --------
    >>> from hypothesis import find
    >>> pair = find(tuple_pairs(), lambda pair: True)
    >>> pair.dataset.features, pair.neighbour.features
    ((array([[0.]]),), (array([[1.]]),))
    """
    return pairs(REPLACE_TUPLE, records).map(_pair)


def _tables(data: TableJoin) -> JoinedTables:
    return JoinedTables(data.tables, data.mappings, data.labels)


def _pair(pair: Pair[TableJoin]) -> Pair[JoinedTables]:
    return Pair(_tables(pair.dataset), _tables(pair.neighbour), pair.relation)

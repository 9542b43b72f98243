"""Layouts that make a graph of networkx of units: a unit is an edge, or all edges of one node.

Neighbours differ in one unit. Of nodes there is an edge where exactly one of its two ends says so:
whatever the others say, a node that says something else has any edges there are, and no edge
between two others is another one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations, permutations
from typing import Any

from dpaudit.domains.columns import Booleans
from dpaudit.domains.layouts import Record, RecordLayout, Start, Unit
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.neighbours.cells import are_graphs

# A graph of 300 nodes has 44,850 places for an edge, each a unit.
_MOST = 300  # nodes of a graph beside which neighbours are looked for


@dataclass(frozen=True)
class Frame:
    """The common part of all graphs of a domain.

    Parameters
    ----------
    count
        Of the nodes.
    given
        A graph that somebody has, whose nodes and attributes the others have; None for the plain
        graphs on the nodes 0, 1, ....
    """

    count: int
    given: Any = None

    @cached_property
    def is_directed(self) -> bool:
        """Whether an edge has a direction."""
        return self.given is not None and bool(self.given.is_directed())

    @cached_property
    def ends(self) -> list[tuple[int, int]]:
        """The two nodes of every edge that there may be, by their numbers."""
        return list((permutations if self.is_directed else combinations)(range(self.count), 2))

    @cached_property
    def present(self) -> list[bool]:
        """Whether each edge is there in the graph that somebody has; of none, no edge is."""
        if self.given is None:
            return [False] * len(self.ends)
        names = list(self.given.nodes)
        return [bool(self.given.has_edge(names[a], names[b])) for a, b in self.ends]

    def graph(self, there: Sequence[bool]) -> Any:
        """Return the graph with these edges; the one that somebody has, where they are its own."""
        if self.given is not None and list(there) == self.present:
            return self.given
        made = self._nodes()
        names = list(made.nodes)
        for (a, b), is_there in zip(self.ends, there, strict=True):
            if is_there:
                made.add_edge(names[a], names[b], **self._data(names[a], names[b]))
        return made

    def _nodes(self) -> Any:
        """Return the nodes with their attributes; edges from a node to itself stay."""
        import networkx

        if self.given is None:
            return networkx.empty_graph(self.count)
        # A copy keeps the order of the nodes and what stands at them, both of which code may read.
        made = self.given.copy()
        made.remove_edges_from([edge for edge in self.given.edges if edge[0] != edge[1]])
        return made

    def _data(self, one: Any, other: Any) -> dict[str, Any]:
        """Return the data of an edge: of a new one, those of the first that there is."""
        if self.given is None:
            return {}
        # A new edge without attributes would stand out, where code reads a weight of every edge.
        first: dict[str, Any] = next((data for _, _, data in self.given.edges(data=True)), {})
        return dict(self.given.get_edge_data(one, other, default=first))


def by_edge(frame: Frame) -> RecordLayout:
    """Return the layout of graphs of which a unit says whether an edge is there.

    Examples
    --------
    >>> made = by_edge(Frame(3)).build([((True,),), ((False,),), ((True,),)])
    >>> list(made.edges)
    [(0, 1), (1, 2)]
    """

    def build(units: Sequence[Unit], without: int | None = None) -> Any:
        return frame.graph([is_there for ((is_there,),) in units])

    units = tuple(((one,),) for one in frame.present)
    start = _make_graph_start(frame, units, _edges_in_order)
    return RecordLayout(("edge",), (Booleans(),), build, start=start)


def by_node(frame: Frame) -> RecordLayout:
    """Return the layout of graphs of which a unit is a node's statement about its edges.

    Examples
    --------
    >>> units = [((False, True, True),), ((False, False, True),), ((False,) * 3,)]
    >>> list(by_node(Frame(3)).build(units).edges)
    [(0, 1), (0, 2), (1, 2)]
    """

    def build(units: Sequence[Unit], without: int | None = None) -> Any:
        said = [record for (record,) in units]
        return frame.graph(
            # Exactly one end says so: then a node decides all of its own edges by what it says,
            # whatever others say, and none of theirs.
            [said[a][b] != said[b][_get_reverse_offset(frame) + a] for a, b in frame.ends]
        )

    width = _get_reverse_offset(frame) + frame.count
    units = _by_first_end(frame, frame.present)
    return RecordLayout(
        tuple(range(width)),
        (Booleans(),) * width,
        build,
        start=_make_graph_start(frame, units, _nodes_in_order),
        further=tuple(_by_first_end(frame, one) for one in _make_example_graphs(frame)),
        beside=_all_or_none(frame),
    )


def _get_reverse_offset(frame: Frame) -> int:
    """Return where a node speaks of the edges that lead to it: beside the others if they differ."""
    return frame.count if frame.is_directed else 0


def _by_first_end(frame: Frame, there: Sequence[bool]) -> tuple[Unit, ...]:
    """Return a graph as units: the first end of every edge speaks of it."""
    said = [[False] * (_get_reverse_offset(frame) + frame.count) for _ in range(frame.count)]
    for (a, b), is_there in zip(frame.ends, there, strict=True):
        said[a][b] = bool(is_there)
    return tuple((tuple(one),) for one in said)


def _make_example_graphs(frame: Frame) -> list[list[bool]]:
    """Return graphs in which one node decides much: with all edges, and with those of one half."""
    half = frame.count // 2
    return [[True] * len(frame.ends), [max(ends) < half for ends in frame.ends]]


def _all_or_none(frame: Frame) -> Callable[[Sequence[Unit], int], list[Unit]]:
    """Return a function that tells which units leave the node alone, or join it to all."""

    def list_extremes(units: Sequence[Unit], place: int) -> list[Unit]:
        said, back = [record for (record,) in units], _get_reverse_offset(frame)
        alone: list[bool] = [record[back + place] for record in said]
        if frame.is_directed:
            alone += [record[place] for record in said]
        joined = [not one for one in alone]
        for row in (alone, joined):
            for own in {place, back + place}:
                row[own] = False
        found: list[Record] = [tuple(alone), tuple(joined)]
        return [(record,) for record in found]

    return list_extremes


def _make_graph_start(
    frame: Frame, units: tuple[Unit, ...], in_order: Callable[[Frame], list[int]]
) -> Start | None:
    if frame.given is None:
        return None
    width = len(units[0][0])
    order = tuple(in_order(frame))
    return Start(units, (None,) * width, (True,) * width, tells=True, order=order)


def _edges_in_order(frame: Frame) -> list[int]:
    """Return edges: those first whose ends have most neighbours in common, then most neighbours."""
    beside: list[set[int]] = [set() for _ in range(frame.count)]
    for (a, b), is_there in zip(frame.ends, frame.present, strict=True):
        if is_there:
            beside[a].add(b)
            beside[b].add(a)
    shared = [(len(beside[a] & beside[b]), len(beside[a] | beside[b])) for a, b in frame.ends]
    return sorted(range(len(shared)), key=lambda n: shared[n], reverse=True)


def _nodes_in_order(frame: Frame) -> list[int]:
    """Return nodes: those of most and of fewest edges in turn."""
    degrees = [degree for _, degree in frame.given.degree()]
    ranked = sorted(range(frame.count), key=lambda n: -degrees[n])
    both = chain.from_iterable(zip(ranked, reversed(ranked), strict=True))
    return list(dict.fromkeys(both))


def frame_of(graph: Any) -> Frame:
    """Return the common part of graphs around one and of the graph itself.

    Raises
    ------
    InvalidArgument
        It has several edges between two nodes, fewer than two nodes, or too many.
    """
    if graph.is_multigraph():
        given = VerbatimText("a graph with several edges between two nodes")
        raise InvalidArgument("dataset", given, "one edge at most, to look for neighbours")
    count = graph.number_of_nodes()
    if not 2 <= count <= _MOST:
        expected = f"2 to {_MOST} of them, to look for neighbours"
        raise InvalidArgument("dataset", VerbatimText(f"a graph of {count} nodes"), expected)
    return Frame(count, graph)


def frame_beside(nodes: int, graph: Any) -> Frame:
    """Return the common part of graphs around one, on the nodes 0, 1, ....

    Raises
    ------
    InvalidArgument
        It is no graph, or on other nodes.
    """
    if not are_graphs(graph) or {*graph.nodes} != {*range(nodes)}:
        given = VerbatimText("a graph of other nodes" if are_graphs(graph) else "no graph")
        raise InvalidArgument("dataset", given, f"a graph on the nodes 0 to {nodes - 1}")
    return frame_of(graph)

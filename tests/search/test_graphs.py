"""Pairs of graphs: one edge, or all edges of one node; of a domain, and beside a graph."""

import itertools

import networkx as nx
import numpy as np
import pytest

import dpaudit
from dpaudit.domains import Domain
from dpaudit.domains.graphs import Frame, by_edge, by_node
from dpaudit.errors import InvalidArgument
from dpaudit.neighbours import Pair
from dpaudit.neighbours.found_relations import (
    ADD_REMOVE_EDGE,
    REPLACE_NODE,
    chosen_relation,
    find_pair_relation,
)
from dpaudit.search.space import space_of

PATH = nx.path_graph(4)
RELATIONS = ("add-remove-edge", "replace-node")


def edges(graph):
    return graph.number_of_edges()


def triangles(graph):
    return sum(nx.triangles(graph).values()) / 3


def most(graph):
    return max(degree for _, degree in graph.degree())


def parts(graph):
    return nx.number_connected_components(graph)


def changed(graph, *pairs):
    """Return a graph with edges added where there is none, and removed where there is one."""
    made = graph.copy()
    for one, other in pairs:
        if made.has_edge(one, other):
            made.remove_edge(one, other)
        else:
            made.add_edge(one, other)
    return made


@pytest.mark.parametrize(
    ("pairs", "is_node"),
    [
        ([(0, 3)], True),
        ([(1, 2), (1, 3), (1, 0)], True),
        ([(0, 2), (0, 3), (2, 3)], False),  # a triangle has no node in all of its edges
        ([(0, 1), (2, 3)], False),
        ([], False),
    ],
)
@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
def test_the_edges_that_differ_share_a_node(pairs, is_node, kind):
    graph = kind(PATH)
    other = changed(graph, *pairs)
    if is_node:
        assert Pair(graph, other, REPLACE_NODE).relation.name == "replace-node"
        assert Pair(other, graph, REPLACE_NODE).relation.name == "replace-node"
    else:
        with pytest.raises(InvalidArgument, match="differ at the edges of one node"):
            Pair(graph, other, REPLACE_NODE)


def test_what_else_differs_is_refused():
    more, other = nx.path_graph(5), nx.path_graph(4)
    with pytest.raises(InvalidArgument, match="other nodes"):
        Pair(PATH, more, REPLACE_NODE)
    with pytest.raises(InvalidArgument, match="other nodes"):
        Pair(PATH, nx.DiGraph(PATH), REPLACE_NODE)
    with pytest.raises(InvalidArgument, match="something else"):
        Pair(PATH, [1], REPLACE_NODE)
    other.nodes[0]["age"] = other[0][1]["weight"] = 3
    assert Pair(PATH, other, REPLACE_NODE)
    other.nodes[1]["age"] = 3
    with pytest.raises(InvalidArgument, match="share no node"):
        Pair(PATH, other, REPLACE_NODE)  # two nodes are of another age


def test_a_node_is_named_and_never_read():
    """Two edges may meet by chance: who means one edge is not refuted on them unasked."""
    assert [chosen_relation(name) for name in RELATIONS] == [ADD_REMOVE_EDGE, REPLACE_NODE]
    assert find_pair_relation(PATH, changed(PATH, (0, 2))).pair.relation is ADD_REMOVE_EDGE
    two = changed(PATH, (0, 2), (0, 3))
    with pytest.raises(InvalidArgument, match="one edge more"):
        find_pair_relation(PATH, two)
    assert find_pair_relation(PATH, two, "replace-node").pair.relation is REPLACE_NODE


@pytest.mark.parametrize("directed", [False, True])
def test_a_unit_is_all_that_a_node_decides(directed):
    """Whatever the others say: any edges of it, and none of theirs, can be another's."""
    rng = np.random.default_rng(3)
    graph = nx.gnp_random_graph(4, 0.5, seed=1, directed=directed)
    layout = by_node(Frame(4, graph))
    assert layout.build(layout.start.units) is graph
    width, seen = len(layout.columns), set()
    units = [((tuple(map(bool, rng.integers(0, 2, width))),)) for _ in range(4)]
    base = layout.build(units)
    for cells in itertools.product((False, True), repeat=width):
        made = layout.build([*units[:2], (cells,), units[3]])
        kept = [edge for edge in made.edges if 2 not in edge]
        assert kept == [edge for edge in base.edges if 2 not in edge]
        seen.add(frozenset(edge for edge in made.edges if 2 in edge))
    assert len(seen) == 2 ** (6 if directed else 3)


@pytest.mark.parametrize("directed", [False, True])
def test_a_node_is_left_alone_or_joined_to_all(directed):
    layout = by_node(Frame(5, nx.gnp_random_graph(5, 0.5, seed=2, directed=directed)))
    for units in (layout.start.units, *layout.further):
        for place in range(5):
            made = [
                layout.build([*units[:place], unit, *units[place + 1 :]])
                for unit in layout.beside(units, place)
            ]
            assert [one.degree(place) for one in made] == [0, 8 if directed else 4]


@pytest.mark.parametrize(
    ("query", "of_an_edge", "of_a_node"),
    [(edges, 1, 4), (triangles, 3, 6), (most, 1, 4), (parts, 1, 4)],
)
def test_the_sensitivities_of_counts_of_graphs_are_found(query, of_an_edge, of_a_node):
    for relation, expected in zip(RELATIONS, (of_an_edge, of_a_node), strict=True):
        found = dpaudit.sensitivity(query, Domain(nodes=5), relation, calls=500)
        assert found.at_least == pytest.approx(expected)
        assert found.is_nobodys
        assert abs(query(found.pair.dataset) - query(found.pair.neighbour)) == expected


def named_graph():
    """Return a graph of two cliques and a bridge: the nodes have names and the edges weights."""
    graph = nx.Graph(town="x")
    graph.add_nodes_from((name, {"age": 30 + n}) for n, name in enumerate("abcdefgh"))
    for clique in ("abcd", "efgh"):
        graph.add_weighted_edges_from((a, b, 2.0) for a, b in itertools.combinations(clique, 2))
    graph.add_edge("d", "e", weight=5.0)
    return graph


@pytest.mark.parametrize("relation", RELATIONS)
def test_pairs_beside_a_graph_have_its_nodes_and_what_stands_at_them(relation):
    graph = named_graph()
    found = dpaudit.sensitivity(parts, None, relation, dataset=graph, calls=300)
    assert found.at_least >= 1 - 1e-9
    for side in (found.pair.dataset, found.pair.neighbour):
        assert dict(side.nodes(data=True)) == dict(graph.nodes(data=True))
        assert all("weight" in data for *_, data in side.edges(data=True))
        assert side.graph == graph.graph
    assert not found.is_nobodys  # the names are somebody's
    assert graph.number_of_edges() == 13


def test_the_edge_that_matters_in_the_graph_itself_is_found():
    """A bridge of this one graph: the removal of any other edge leaves it in one part."""
    graph = named_graph()

    def bridge(one):
        lacks = {*graph.edges} - {*one.edges}
        return float(len(lacks) == 1 and {*one.edges} < {*graph.edges} and not nx.is_connected(one))

    found = dpaudit.sensitivity(bridge, None, "add-remove-edge", dataset=graph, calls=400)
    assert found.pair.dataset is graph
    assert set(graph.edges) - set(found.pair.neighbour.edges) == {("d", "e")}


def test_a_graph_is_where_the_search_of_a_domain_starts():
    space = space_of(Domain(nodes=4), "replace-node", dataset=PATH)
    assert space.layout.build(space.starts[0]) is PATH
    for wrong in (nx.path_graph(5), nx.path_graph(["a", "b", "c", "d"]), [1, 2]):
        with pytest.raises(InvalidArgument, match="expected a graph on the nodes 0 to 3"):
            space_of(Domain(nodes=4), "replace-node", dataset=wrong)


def test_loops_stay_and_several_edges_are_refused():
    loop = nx.path_graph(3)
    loop.add_edge(0, 0)
    layout = by_edge(Frame(3, loop))
    assert layout.build([((True,),)] * 3).has_edge(0, 0)
    with pytest.raises(InvalidArgument, match="several edges between two nodes"):
        Domain(around=nx.MultiGraph(PATH))
    with pytest.raises(InvalidArgument, match="a graph of 301 nodes"):
        Domain(around=nx.path_graph(301))
    with pytest.raises(InvalidArgument, match="nothing beside a graph"):
        Domain(around=PATH, bounds=(0, 1))


@pytest.mark.parametrize(
    ("domain", "relation"),
    [
        (Domain(nodes=3), "replace-record"),
        (Domain(bounds=(0, 1)), "replace-node"),
        (Domain(around=PATH), "add-remove-record"),
    ],
)
def test_a_relation_of_no_graphs_is_refused(domain, relation):
    with pytest.raises(InvalidArgument, match=r"^relation: got"):
        space_of(domain, relation)


SOURCE = """
def noisy_edges(graph, rng):
    return graph.number_of_edges() + rng.laplace(scale=1.0)
"""


@pytest.mark.slow
def test_files_the_command_line_and_toml_take_nodes(tmp_path, monkeypatch):
    from dpaudit.cli.main import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "counted_edges.py").write_text(SOURCE)
    nx.write_edgelist(nx.path_graph(6), "a.edgelist")
    nx.write_edgelist(changed(nx.path_graph(6), (2, 0), (2, 4), (2, 5)), "b.edgelist")

    def ran(*words):
        with pytest.raises(SystemExit) as ended:
            main([*words])
        return ended.value.code

    audit = ("audit", "counted_edges:noisy_edges", "--epsilon", "1", "--trials", "1500", "--quiet")
    beside = ("--dataset", "a.edgelist", "--relation")
    assert ran(*audit, *beside, "replace-node") == 1
    assert ran(*audit, *beside, "add-remove-edge") == 0
    assert ran(*audit, *beside, "replace-node", "--neighbour", "b.edgelist") == 1
    assert ran(*audit, "--domain", "nodes=5", "--relation", "replace-node") == 1
    replay = ("replay", "counted_edges:noisy_edges", "--epsilon", "1", "--in-process")
    assert ran(*replay, *beside, "replace-node") == 1
    (tmp_path / "a.toml").write_text(
        '[audit]\nmechanism = "counted_edges:noisy_edges"\nrelation = "replace-node"\n'
        'dataset = "a.edgelist"\nepsilon = 1.0\ntrials = 1500\n'
    )
    assert ran("audit", "a.toml", "--quiet") == 1

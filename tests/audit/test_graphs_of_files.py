"""Graphs in files: edge lists and GraphML, as a dataset and its neighbour."""

import networkx
import pytest

from dpaudit.auditing.specification.audits_file import records_from
from dpaudit.errors import DataError
from dpaudit.neighbours.found_relations import find_pair_relation

PATH, CYCLE = networkx.path_graph(4), networkx.cycle_graph(4)


def written(folder, graph, suffix):
    file = folder / f"graph{graph.number_of_edges()}{suffix}"
    write = networkx.write_graphml if suffix == ".graphml" else networkx.write_edgelist
    write(graph, file)
    return file


@pytest.mark.parametrize("suffix", [".edgelist", ".graphml"])
def test_a_graph_is_read_with_its_edges(tmp_path, suffix):
    read = [records_from(written(tmp_path, graph, suffix)) for graph in (PATH, CYCLE)]
    assert [networkx.is_isomorphic(*both) for both in zip(read, (PATH, CYCLE), strict=True)] == [
        True,
        True,
    ]
    assert find_pair_relation(*read).pair.relation.name == "add-remove-edge"


@pytest.mark.parametrize(
    ("name", "text"),
    [("one.edgelist", "a b {no dict\n"), ("two.graphml", "<graphml>"), ("three.graphml", "")],
)
def test_what_is_no_graph_is_refused(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match="holds no graph"):
        records_from(tmp_path / name)

"""Outputs, data and copies that once were taken for the same, or for what they were not."""

from __future__ import annotations

import collections
import dataclasses
import enum

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from dpaudit.attacks.distinguishers.counting import build_row_coder
from dpaudit.errors import InvalidArgument, MechanismError
from dpaudit.mechanisms.foreign.calling import Calls, form_of
from dpaudit.mechanisms.foreign.code_mechanism import ObservationSettings, as_mechanism
from dpaudit.mechanisms.outputs.features import OneValue
from dpaudit.mechanisms.outputs.layout import PartLayout, layout_of, require_observation_count
from dpaudit.mechanisms.outputs.observations import split_observation
from dpaudit.neighbours import ADD_REMOVE_RECORD, REPLACE_RECORD
from dpaudit.neighbours.cells import value_key
from dpaudit.neighbours.found_relations import find_pair_relation
from dpaudit.search.edits import find_edited_neighbours


class Answer(enum.Enum):
    YES = 1
    NO = 2


@dataclasses.dataclass
class Yes:
    value: float


@dataclasses.dataclass
class No:
    value: float


class Private:
    def __init__(self, value):
        self._value = value


class Slots:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


One = collections.namedtuple("One", "value")
Other = collections.namedtuple("Other", "value")


def graph(*edges):
    found = nx.Graph()
    found.add_nodes_from("abc")
    found.add_edges_from(edges)
    return found


def tree(shift):
    features = np.arange(8.0).reshape(4, 2)
    features[0] += shift
    return DecisionTreeClassifier(random_state=0).fit(features, [0, 0, 1, 1])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Answer.YES, Answer.NO),
        (Yes(0.0), No(0.0)),
        (One(0.0), Other(0.0)),
        (Private(0.0), Private(1.0)),
        (Slots(0.0), Slots(1.0)),
        (graph(), graph("ab")),
        (nx.MultiGraph(["ab"]), nx.MultiGraph(["ab", "ab"])),
        (tree(0.0), tree(9.0)),
        ([1.0], (1.0,)),
        (1, 1.0),
        (True, 1.0),
        (pd.Series([1.0], index=["a"]), pd.Series([1.0], index=["b"])),
        (pd.DataFrame({"a": [1.0]}), pd.DataFrame({"b": [1.0]})),
        ({"alice"}, {"bob"}),
        ({"keys": 1.0, "a": 1.0}, {"keys": 1.0, "b": 1.0}),
        tuple(pd.DataFrame([[first, 2.0]], columns=["a", "a"]) for first in (1.0, 9.0)),
    ],
    ids=lambda one: type(one).__name__,
)
def test_they_are_told_apart(one, other):
    assert split_observation(one) != split_observation(other)
    layout = layout_of([[one] * 3, [other] * 3])
    rows = layout.rows([one, other], 2)
    assert not np.array_equal(rows[0], rows[1])
    later = layout_of([[one] * 3, [one] * 3]).rows([one, other], 2)
    assert not np.array_equal(later[0], later[1])


def test_a_member_of_a_set_has_a_part_of_its_own():
    assert "alice" in split_observation({"alice", "bob"})
    assert len(split_observation({"a": {1.0}})["a.keys"]) == 1


async def awaited():
    return 1.0


def test_what_shows_its_content_once_is_refused():
    held = awaited()
    for one in ((n for n in range(3)), held, map(str, [1])):
        with pytest.raises(MechanismError, match="expected a value or a list"):
            split_observation(one)
    held.close()


def test_what_holds_itself_ends():
    held = {"a": 1.0}
    held["self"] = held
    assert len(split_observation(held)) < 10


def test_columns_that_are_named_alike_are_kept():
    frame = pd.DataFrame([[0.0, 1.0], [2.0, 3.0]], columns=["a", "a"])
    assert require_observation_count(frame, 2) == [
        {"a#1": 0.0, "a#2": 1.0},
        {"a#1": 2.0, "a#2": 3.0},
    ]


def test_what_turns_up_late_and_never_twice_is_there_alike():
    layout = layout_of([[{"a": 1.0}], [{"a": 2.0}]])
    assert isinstance(layout, PartLayout)
    rows = layout.rows([{"a": 1.0}, {"a": 1.0, "b": 0.1}, {"a": 1.0, "b": 0.2}], 3)
    assert rows[0, -2] == rows[0, -1] == 0
    assert rows[1, -2] == rows[2, -2] != 0
    assert rows[1, -1] != rows[2, -1]


def test_a_rare_huge_entry_makes_no_others_equal():
    column = np.append(np.arange(50.0), 1e300)[:, None]
    assert build_row_coder(column, 100).size == 51


# Calls


def changing(data, rng):
    """Return the sum, and leave nothing of the data."""
    found = float(sum(map(np.sum, data["x"])))
    data["x"].clear()
    return found


@pytest.mark.parametrize("data", [{"x": [1.0, 2.0]}, {"x": [[1.0], [2.0]]}])
def test_what_a_call_changes_is_as_it_was_for_the_next(data):
    calls = Calls(changing, form_of(changing))
    assert calls.observations(data, 3, np.random.default_rng(0)) == [3.0, 3.0, 3.0]


def test_graphs_objects_and_arrays_are_copied_for_every_call():
    def emptied(data, rng):
        found = data.number_of_edges()
        data.remove_edges_from(list(data.edges))
        return found

    def zeroed(data, rng):
        found = float(data.sum())
        data[:] = 0
        return found

    rng = np.random.default_rng(0)
    assert Calls(emptied, form_of(emptied)).observations(graph("ab"), 2, rng) == [1, 1]
    assert Calls(zeroed, form_of(zeroed)).observations(np.ones(2), 2, rng) == [2.0, 2.0]


def global_noise(data):
    return float(np.random.laplace())  # noqa: NPY002


@pytest.mark.parametrize("observe", [(), ("exceptions",), ("warnings",)])
def test_global_noise_differs_from_output_to_output(observe):
    mechanism = as_mechanism(global_noise, ObservationSettings(observe=observe))
    found = mechanism.observations(np.zeros(1), 5, np.random.default_rng(0))
    noise = [one["output"] if observe else one for one in found]
    assert len(set(noise)) == 5


def table(data, trials, rng):
    return pd.DataFrame({"a": rng.laplace(size=trials)})


def test_one_row_of_a_table_is_the_output_that_is_watched():
    mechanism = as_mechanism(table, ObservationSettings(observe=("exceptions",)))
    (found,) = mechanism.observations(np.zeros(1), 1, np.random.default_rng(0))
    assert list(found["output"]) == ["a"]


@pytest.mark.parametrize("held", [np.random.default_rng(0), np.random.RandomState(0)])
def test_an_estimator_that_holds_a_generator_has_noise_of_its_own_each_time(held):
    class Mean:
        def __init__(self):
            self.held = held

        def fit(self, data):
            self.mean_ = float(self.held.normal())
            return self

    mechanism = as_mechanism(Mean(), ObservationSettings(read="mean_"))
    found = mechanism.observations(np.zeros(1), 4, np.random.default_rng(0))
    assert len({one["mean_"] for one in found}) == 4


# Neighbours


def made(dataset, relation=ADD_REMOVE_RECORD, **given):
    return find_edited_neighbours(dataset, relation, rng=np.random.default_rng(0), **given)


@pytest.mark.parametrize("relation", [ADD_REMOVE_RECORD, REPLACE_RECORD])
@pytest.mark.parametrize(
    "index", [range(100, 106), pd.date_range("2020-01-01", periods=6), list("uvwxyz")]
)
def test_records_keep_the_labels_of_their_rows(index, relation):
    frame = pd.DataFrame({"x": np.linspace(0, 1, 6)}, index=pd.Index(index, name="when"))
    for one in made(frame, relation, bounds=(0.0, 1.0)):
        other = one.pair.neighbour
        assert other.index.name == "when"
        kept = [label for label in frame.index if label in other.index]
        assert len(kept) >= len(frame) - 1
        same = [other.loc[label, "x"] == frame.loc[label, "x"] for label in kept]
        assert sum(same) >= len(kept) - 1


def test_labels_stay_what_they_are():
    features = pd.DataFrame({"x": [0.0, 1.0, 2.0]}, index=[5, 6, 7])
    labels = pd.Series([0, 1, 1], index=[5, 6, 7], name="y")
    for one in made((features, labels), REPLACE_RECORD):
        assert isinstance(one.pair.neighbour[1], pd.Series)
        assert one.pair.neighbour[1].index.tolist() == [5, 6, 7]
        assert one.pair.neighbour[1].name == "y"


@pytest.mark.parametrize(
    "dataset",
    [
        [1, "a", 2],
        pd.DataFrame({"age": [30, "unknown", 41]}),
        [np.array([1.0, 2.0]), np.array([3.0, 4.0])],
        [10**400, 1],
        [(1, "a"), (2, "b")],
        [{"a": 1}, {"a": 2, "b": 3}, {"a": 5}],
    ],
    ids=str,
)
def test_ordinary_data_of_any_kind_have_neighbours(dataset):
    found = made(dataset)
    assert found
    assert all(value_key(one.pair.neighbour) != value_key(dataset) for one in found)


def test_data_without_such_neighbours_are_refused_in_words():
    with pytest.raises(InvalidArgument, match="expected more records"):
        made(np.array([1.0]), REPLACE_RECORD)


def test_columns_that_are_named_alike_are_compared_each():
    one = pd.DataFrame([[1, 5], [2, 6], [3, 7]], columns=["a", "a"])
    other = pd.DataFrame([[9, 5], [8, 6], [7, 0]], columns=["a", "a"])
    with pytest.raises(InvalidArgument, match="3 differing records"):
        find_pair_relation(one, other)


def test_labels_of_rows_are_data_unless_rows_are_only_numbered():
    one = pd.DataFrame({"x": [1.0, 2.0, 3.0]}, index=["p", "q", "r"])
    with pytest.raises(InvalidArgument, match="3 differing records"):
        find_pair_relation(one, one.assign(x=[1.0, 2.0, 9.0]).set_axis(["u", "v", "w"]))
    assert find_pair_relation(one, one.drop("q"))[0].relation.name == "add-remove-record"
    numbered = one.reset_index(drop=True)
    assert find_pair_relation(numbered, numbered.drop(1))[0].relation.name == "add-remove-record"


def test_data_that_can_be_read_once_are_refused():
    with pytest.raises(InvalidArgument, match="data that can be read again"):
        find_pair_relation(iter([1.0]), [1.0, 2.0])


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_one_value_of_a_number_is_told_to_the_sign_of_a_zero(zero):
    features = np.array([[9.0, 0.0], [9.0, -0.0], [0.0, 1.0]])
    found = OneValue(1, zero, -1.0)(features)
    assert found.tolist() == ([-1.0, 0.0, 0.0] if np.signbit(zero) == 0 else [0.0, -1.0, 0.0])

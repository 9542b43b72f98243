"""Neighbours made from one dataset: each obeys its relation, and the worst of them is found."""

import numpy as np
import pandas as pd
import pytest
from numpy.random import default_rng

import dpaudit
from dpaudit.errors import InvalidArgument
from dpaudit.neighbours.found_relations import find_pair_relation
from dpaudit.search.edits import find_edited_neighbours

AGES = np.array([31.0, 44.0, 44.0, 52.0, 75.0])
FRAME = pd.DataFrame({"town": ["x", "x", "x", "y"], "age": [31.0, 44.0, 52.0, 60.0]})
LABELLED = (np.arange(10.0).reshape(5, 2), np.array([0, 0, 1, 1, 2]))
DATA = {"an array": AGES, "a table": FRAME, "labels": LABELLED, "text": ["a", "b", "b"]}


@pytest.mark.parametrize("relation", ["add-remove-record", "replace-record"])
@pytest.mark.parametrize("data", DATA.values(), ids=DATA)
def test_every_candidate_is_a_neighbour_and_none_comes_twice(data, relation):
    made = find_edited_neighbours(data, relation, nan=True, rng=default_rng(0))
    assert len(made) > 4
    assert len({repr(one.pair.neighbour) for one in made}) == len(made)
    for one in made:
        assert (
            find_pair_relation(one.pair.dataset, one.pair.neighbour, relation)[0].relation.name
            == relation
        )
    again = find_edited_neighbours(data, relation, nan=True, rng=default_rng(0))
    assert [one.edit for one in again] == [one.edit for one in made]


def test_a_record_lacks_a_number_only_where_that_may_be():
    def without(data, **given):
        made = find_edited_neighbours(data, "replace-record", rng=default_rng(0), **given)
        return [one.edit for one in made if "without" in one.edit]

    assert without(AGES) == []
    assert len(without(AGES, nan=True)) == 1
    assert len(without(np.append(AGES, np.nan))) == 1


def test_declared_bounds_are_reached_and_wrong_ones_named():
    made = find_edited_neighbours(AGES, "replace-record", bounds=(0, 120), rng=default_rng(0))
    assert {0.0, 120.0} <= {value for one in made for value in one.pair.neighbour}
    with pytest.raises(InvalidArgument, match=r"bounds: got \(5, 1\)"):
        find_edited_neighbours(AGES, "replace-record", bounds=(5, 1), rng=default_rng(0))
    with pytest.raises(InvalidArgument, match="relation"):
        find_edited_neighbours(AGES, "replace-column", rng=default_rng(0))
    with pytest.raises(InvalidArgument, match="of which neighbours can be made"):
        find_edited_neighbours(object(), "replace-record", rng=default_rng(0))
    with pytest.raises(InvalidArgument, match="relation: got None"):
        dpaudit.audit(lambda d, rng: 0.0, AGES, epsilon=1.0)


# Eight leaks that depend on the data: each adds noise enough, and looks at the records besides.


def by_range(ages, rng):
    return (ages.max() > 70) + rng.laplace(scale=0.1)


def by_count(ages, rng):
    return float(len(ages)) + rng.laplace(scale=0.1)


def by_unique_label(data, rng):
    return sorted(set(data[1].tolist())), rng.laplace()


def by_empty_group(frame, rng):
    return {town: rng.laplace(scale=50) for town in frame["town"].unique()}


def by_missing(ages, rng):
    return ages.mean() + rng.laplace(scale=1000)


def by_duplicate(ages, rng):
    return (len(np.unique(ages)) < len(ages)) + rng.laplace(scale=0.1)


def by_tie(words, rng):
    counts = sorted((words.count(one) for one in set(words)), reverse=True)
    return "tie" if len(counts) > 1 and counts[0] == counts[1] else "none"


def by_sort_order(ages, rng):
    return float(np.sort(ages)[-2]) + rng.laplace(scale=1.0)


PLANTED = {
    "range": (by_range, AGES, "add-remove-record"),
    "count": (by_count, AGES, "add-remove-record"),
    "unique label": (by_unique_label, LABELLED, "add-remove-record"),
    "empty group": (by_empty_group, FRAME, "add-remove-record"),
    "NaN": (by_missing, np.append(AGES, np.nan), "add-remove-record"),
    "duplicate": (by_duplicate, AGES, "add-remove-record"),
    "tie": (by_tie, ["a", "a", "b", "b", "c"], "replace-record"),
    "sort order": (by_sort_order, AGES, "add-remove-record"),
}
QUICK = {"tie"}


@pytest.mark.parametrize(
    "name", [one if one in QUICK else pytest.param(one, marks=pytest.mark.slow) for one in PLANTED]
)
def test_the_worst_neighbour_of_a_planted_leak_is_found(name):
    mechanism, data, relation = PLANTED[name]
    result = dpaudit.audit(mechanism, data, relation=relation, epsilon=1.0, trials=3000)
    assert result.verdict == "refuted", result.reason
    assert any("found by a search that tried" in note for note in result.notes)


@pytest.mark.parametrize("labels", [np.array([0.0, 1.0, 1.0]), pd.Series([0.0, 1.0, 1.0])])
def test_a_record_may_lack_a_feature_and_never_its_label(labels):
    data = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), labels
    made = find_edited_neighbours(data, "replace-record", nan=True, rng=default_rng(0))
    assert any(np.isnan(one.pair.neighbour[0]).any() for one in made)
    assert not any(pd.isna(np.asarray(one.pair.neighbour[1])).any() for one in made)

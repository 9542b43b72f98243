"""Records of a function or a strategy stay whole, and its datasets in order where records go."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies
from numpy.random import default_rng

import dpaudit
from dpaudit.domains.domain import Domain
from dpaudit.errors import InvalidArgument
from dpaudit.search import making
from dpaudit.search.space import UnitPair, space_of
from tests.search.test_pairs_of_the_domain import _moved, _pairs


def _one_hot(rng):
    return np.eye(4)[rng.integers(4, size=6)]


def _sorted(rng):
    return np.sort(rng.random(5))


def _on_a_line(rng):
    x = rng.integers(0, 9, size=4)
    return pd.DataFrame({"x": x, "twice": 2 * x})


def _labelled(rng):
    x = rng.random((4, 2))
    return x, (x[:, 0] > 0.5).astype(int)


@pytest.mark.parametrize(
    ("relation", "truth"), [("add-remove-record", 1), ("replace-record", 2)], ids=lambda one: one
)
def test_rows_of_which_one_cell_is_set_stay_such(relation, truth):
    found = dpaudit.sensitivity(lambda x: x.sum(axis=0), _one_hot, relation, "l1", calls=150)
    assert found.at_least == pytest.approx(truth)
    for side in (found.pair.dataset, found.pair.neighbour):
        assert (side.sum(axis=1) == 1).all()


def test_columns_of_a_table_are_not_mixed():
    assert _moved(lambda d: float((d.twice != 2 * d.x).sum()), _on_a_line) == 0
    assert _moved(lambda d: float(d.twice.sum()), _on_a_line) >= 12


def test_numbers_of_a_strategy_are_those_that_it_draws():
    even = strategies.lists(strategies.integers(0, 9).map(lambda n: 2 * n), min_size=3, max_size=5)
    assert _moved(lambda x: float(sum(one % 2 for one in x)), even) == 0
    assert _moved(lambda x: float(sum(x)), even) >= 12


def test_what_records_of_a_dataset_have_in_common_stays_where_one_goes():
    def falls(x):
        return float((np.diff(x) < 0).sum())

    assert _moved(falls, _sorted, "add-remove-record") == 0
    assert _moved(lambda x: float(len(x)), _sorted, "add-remove-record") == pytest.approx(1)


def test_a_label_is_exchanged_and_features_stay():
    def wrong(both):
        return float((both[1] != (both[0][:, 0] > 0.5)).sum())

    assert _moved(wrong, _labelled, "replace-record") == 0
    assert _moved(wrong, _labelled, "replace-label") == pytest.approx(1)


def test_two_datasets_of_a_distance_are_as_they_were_made():
    def shares(rng):
        made = rng.random(3)
        return made / made.sum()

    found = dpaudit.sensitivity(lambda x: 5.0 * x, shares, "metric: manhattan", "l1", calls=150)
    assert found.at_least == pytest.approx(5.0)
    assert [side.sum() for side in (found.pair.dataset, found.pair.neighbour)] == [
        pytest.approx(1.0)
    ] * 2


def test_pairs_of_every_relation_are_records_as_they_were_made():
    made = Domain(make=_one_hot).made(default_rng(0))
    known = {tuple(row) for one in made.examples for row in one.tolist()}
    for relation in ("replace-record", "add-remove-record"):
        space = space_of(made, relation)
        for place in filter(space.allows, _pairs(space, 100)):
            pair = space.pair(place)
            rows = [*pair.dataset.tolist(), *pair.neighbour.tolist()]
            assert {*map(tuple, rows)} <= known


def test_records_in_another_order_are_no_dataset_where_one_goes():
    made = Domain(examples=(np.array([1.0, 2.0, 3.0]),))
    space = space_of(made, "add-remove-record")
    units = space.starts[0]
    assert space.allows(UnitPair(units, 1, None))
    assert not space.allows(UnitPair((units[1], units[0], units[2]), 1, None))
    assert not space.allows(UnitPair((units[0],) * 3, 1, None))
    replaced = space_of(made, "replace-record")
    assert replaced.allows(UnitPair((replaced.starts[0][0],) * 3, 1, replaced.starts[0][2]))


@pytest.mark.parametrize("relation", ["add-remove-record", "replace-record"])
def test_a_pair_of_another_process_is_known_by_its_values(relation):
    space = space_of(Domain(examples=(np.eye(3), np.eye(3)[[0, 0, 1]])), relation)
    for place in filter(space.allows, _pairs(space, 30)):
        assert space.allows(pickle.loads(pickle.dumps(place)))
    mixed = UnitPair((((1.0, 1.0, 0.0),),) * 3, 0, None if space.removes else space.starts[0][0])
    assert not space.allows(mixed)


@pytest.mark.parametrize(("noise", "verdict"), [(1.0, "not refuted"), (0.25, "refuted")])
def test_a_histogram_of_such_rows_is_judged_as_what_it_is(noise, verdict):
    def histogram(x, rng):
        return x.sum(axis=0) + rng.laplace(scale=noise, size=4)

    given = {
        "relation": "add-remove-record",
        "epsilon": 1.0,
        "trials": 1000,
        "confidence": 1 - 1e-6,
    }
    assert dpaudit.audit(histogram, domain=_one_hot, **given).verdict == verdict


def test_the_first_units_are_of_the_least_and_the_greatest_number():
    space = space_of(Domain(examples=(np.array([2.0, 1.0, 3.0, 2.5]),)), "replace-record")
    assert [unit[0][0] for unit in making.make_search_units(space, default_rng(0))][:2] == [
        1.0,
        3.0,
    ]


def test_examples_that_no_dataset_like_the_first_can_hold_are_left_out():
    whole, parts = np.array([1, 2, 3]), np.array([0.5])
    assert len(Domain(examples=(whole, parts)).layout.made) == 1
    assert len(Domain(examples=(whole, np.array([4]))).layout.made) == 2


@pytest.mark.parametrize("scale", [3**0.5, 1.001])
def test_a_dataset_longer_than_the_norm_is_refused(scale):
    domain = {"norm": 1.0, "records": 3, "columns": 3}
    long = np.full((3, 3), scale / 3**0.5)
    with pytest.raises(InvalidArgument, match=r"dataset: .*length of at most 1"):
        _moved(lambda x: x.sum(axis=0), domain, "add-remove-record", dataset=long)


def test_rows_that_somebody_made_as_long_as_they_may_be_are_taken_as_such():
    rows = default_rng(0).normal(size=(40, 3))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    domain = Domain(norm=1.0, records=40, columns=3)
    space = space_of(domain, "replace-record", dataset=rows)
    assert all(space.layout.holds(record) for (record,) in space.starts[0])
    assert np.abs(space.layout.build(space.starts[0]) - rows).max() < 1e-14


def test_a_dataset_beyond_the_bounds_beside_it_is_refused():
    with pytest.raises(InvalidArgument, match=r"dataset: .*numbers from 0 to 1 in column"):
        _moved(np.sum, None, dataset=np.array([1.0, 2.0, 30.0]), bounds=(0, 1))
    assert _moved(np.sum, None, dataset=np.array([1.0, 0.0]), bounds=(0, 1)) == pytest.approx(1)


def test_a_dataset_of_the_fewest_records_has_one_more_where_one_goes():
    space = space_of(
        Domain(bounds=(0, 1), records=(3, 5)), "add-remove-record", dataset=np.array([0.2] * 3)
    )
    sizes = {len(place.neighbour) for place in _pairs(space, 100)}
    assert min(sizes) == 3
    assert _pairs(space, 1)[0].units[:3] == space.starts[0]

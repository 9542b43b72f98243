"""What a search found is shown on as few and as simple records as show as much."""

import numpy as np
import pandas as pd
import pytest

from dpaudit.domains import Booleans, Categories, Dates, Domain, Integers, Numbers, Texts
from dpaudit.neighbours.tables import Pair
from dpaudit.search.engine import search_pairs
from dpaudit.search.shrinking import reduce_to_fewest, shrink_pair
from dpaudit.search.space import UnitPair, space_of
from dpaudit.search.writing import format_pasted_dataset

FEW = Domain(bounds=(0, 5), records=(1, 9))


def place(values, at, new, domain=FEW, relation="replace-record"):
    units = tuple(((float(one),),) for one in values)
    made = UnitPair(units, at, None if new is None else ((float(new),),))
    return space_of(domain, relation), made


def shrunk(given, is_enough, calls=10**6):
    space, made = given
    asked = []

    def counted(one):
        asked.append(one)
        return is_enough([unit[0][0] for unit in one.units])

    small = shrink_pair(space, made, counted, lambda: len(asked) >= calls)
    assert isinstance(space.pair(small), Pair)
    return [unit[0][0] for unit in small.units], small, len(asked)


@pytest.mark.parametrize("wanted", [set(), {0}, {7}, {2, 5}, {0, 1, 6, 7}, set(range(8))])
def test_as_few_as_are_wanted_are_kept(wanted):
    assert set(reduce_to_fewest(list(range(8)), lambda some: wanted <= set(some))) >= wanted
    assert len(reduce_to_fewest(list(range(8)), lambda some: wanted <= set(some))) == max(
        1, len(wanted)
    )


def test_nothing_is_left_out_where_all_count_or_nobody_may_be_asked():
    some = list(range(6))
    assert reduce_to_fewest(some, lambda kept: len(kept) == 6) == some
    assert reduce_to_fewest(some, lambda kept: True, lambda: True) == some


def test_records_that_do_not_matter_are_left_out_and_others_become_simple():
    given = place([4.7, 2.6, 4.1, 3.3, 1.9], 2, 0.4)
    values, small, _ = shrunk(given, lambda values: max(values) > 4)
    assert (values, small.new) == ([5.0], ((0.0,),))


def test_two_that_matter_together_stay_in_their_order():
    given = place([1.37, 4.0, 2.0, 1.37, 3.0, 0.5], 1, 2.0)
    values, small, _ = shrunk(given, lambda values: values.count(1.37) == 2)
    assert sorted(values) == [0.0, 1.37, 1.37]
    assert values[small.place] == 0.0
    assert small.new != ((0.0,),)


def test_a_domain_of_so_many_records_keeps_them():
    given = place([1.0, 2.0, 3.0], 0, 5.0, Domain(bounds=(0, 5), records=3))
    values, _, _ = shrunk(given, lambda values: True)
    assert values == [0.0, 0.0, 0.0]


def test_a_record_that_is_removed_is_beside_as_few_as_there_may_be():
    given = place([1.0, 2.0, 3.0, 4.0], 2, None, FEW, "add-remove-record")
    values, small, _ = shrunk(given, lambda values: True)
    assert len(values) == 2
    assert small.new is None
    assert len(small.neighbour) == 1


def test_whole_numbers_and_few_digits_are_simple():
    given = place([2.7182818, 0.0], 1, 5.0, Domain(bounds=(0, 5), records=2))
    assert shrunk(given, lambda values: 2.5 < values[0] < 3.5)[0][0] == 3.0
    assert shrunk(given, lambda values: 2.71 < values[0] < 2.73)[0][0] == 2.72
    assert shrunk(given, lambda values: values[0] == 2.7182818)[0][0] == 2.7182818


@pytest.mark.parametrize("calls", [0, 1, 7])
def test_no_more_is_asked_than_is_allowed(calls):
    assert shrunk(place(np.linspace(1, 4, 9), 3, 5.0), lambda values: True, calls)[2] <= calls


def test_a_search_returns_a_short_pair_that_shows_as_much():
    def release(data, rng):
        return (20.0 if data[data > 0.6].size >= 2 else 0.0) + rng.laplace()

    domain = Domain(bounds=(0, 1), records=(2, 40))
    found = search_pairs(release, domain, "replace-record").found[0]
    assert found.moved == 20
    assert len(found.place.units) == 2
    assert {cell for unit in found.place.neighbour for (cell,) in unit} <= {0.0, 1.0}


@pytest.mark.parametrize(
    "dataset",
    [
        np.array([0.0] * 30 + [1.0]),
        np.array([0.0, np.nan, 1.0]),
        np.array([[1.0, 0.0]] * 9),
        [1, 2, 2, 2, 2, 3],
        [{"a": 1.5}] * 20,
        pd.DataFrame({"a": [1.0] * 9 + [np.nan], "b": ["nan"] * 10}),
        pd.DataFrame({"born": pd.to_datetime(["2000-02-29"] * 3), "n": [1, 2, 3]}),
        pd.DataFrame({"a": pd.Categorical(["z", "x", None], ["z", "y", "x"], ordered=True)}),
        pd.DataFrame({"a": pd.Categorical([], [2, 1])}),
        pd.DataFrame({"a": pd.array([3, None], dtype="Int64"), "b": np.array([1, 2], np.int8)}),
        pd.DataFrame({"a": [1.0, 2.0]}, index=[4, 2]),
        pd.DataFrame({"a": np.array([], dtype="datetime64[s]"), "b": np.array([], dtype=bool)}),
        np.empty((0, 3)),
        np.empty((0, 3), dtype=np.int64),
        np.array([], dtype=np.int64),
        np.array([1.5], dtype=np.float32),
        np.array(["a"], dtype="<U3"),
        np.array(["a", 1], dtype=object),
        (np.empty((0, 2)), np.array([], dtype="<U1")),
    ],
)
def test_what_is_written_is_the_dataset_again(dataset):
    text = format_pasted_dataset(dataset)
    again = eval(text, {"np": np, "pd": pd})
    _are_the_same(again, dataset)
    assert len(text) < 120


def _are_the_same(again, dataset):
    if isinstance(dataset, pd.DataFrame):
        pd.testing.assert_frame_equal(again, dataset, check_index_type=False)
    elif isinstance(dataset, tuple):
        for one, other in zip(again, dataset, strict=True):
            _are_the_same(one, other)
    else:
        assert type(again) is type(dataset)
        np.testing.assert_array_equal(again, dataset, strict=isinstance(dataset, np.ndarray))


@pytest.mark.parametrize(
    "domain",
    [
        Domain(columns={"c": Categories(values=("z", "y")), "n": Integers(missing=True)}),
        Domain(columns={"d": Dates(missing=True), "b": Booleans(), "t": Texts(missing=True)}),
        Domain(bounds=(0, 1), columns=2, labels=("a", "bcd")),
        Domain(bounds=(0, 3), integers=True),
        Domain(columns={"c": Categories(values=(1, 2))}, users=2),
    ],
)
def test_a_dataset_of_a_domain_is_written_with_its_types_however_few_records_it_has(domain):
    record = domain.first_unit[0]
    for units in ((), ((record,),), ((record,),) * 3):
        dataset = domain.layout.build(units)
        _are_the_same(eval(format_pasted_dataset(dataset), {"np": np, "pd": pd}), dataset)


def test_cells_of_tables_become_simple_by_their_types():
    columns = {"age": Integers(low=18, high=99), "share": Numbers(), "day": Dates()}
    domain = Domain(columns=columns, records=2)
    space = space_of(domain, "replace-record")
    unit = ((47, 0.123, columns["day"].last),)
    made = UnitPair((unit, unit), 0, ((48, 0.5, columns["day"].last),))
    small = shrink_pair(space, made, lambda one: one.units[1][0][0] > 40, lambda: False)
    assert small.units[1] == ((99, 0.0, columns["day"].first),)
    assert small.units[0] == ((18, 0.0, columns["day"].first),)

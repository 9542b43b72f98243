"""Domains and their datasets as plain data, written and read: every kind, and what is refused."""

from __future__ import annotations

import datetime
import json
import math

import numpy as np
import pytest

from dpaudit import Domain
from dpaudit.domains import (
    Booleans,
    Categories,
    Dates,
    Integers,
    Numbers,
    Schema,
    Texts,
    reading,
    stating,
)
from dpaudit.domains.special import special_values
from dpaudit.errors import InvalidArgument

DAY = datetime.date(2020, 2, 29)
COLUMNS = {
    "born": Dates(first=DAY, last=datetime.date(2020, 3, 9)),
    "n": Integers(missing=True, low=1, high=5),
    "x": Numbers(low=0.5, high=2.0),
    "of": Categories(values=("a", 2, True)),
    "text": Texts(missing=True, longest=2, alphabet="ab"),
    "is": Booleans(),
}


@pytest.mark.parametrize(
    ("domain", "stated"),
    [
        (Domain(), {}),
        (Domain(bounds=(0, 1)), {"bounds": [0.0, 1.0]}),
        (Domain(records=(2, 5)), {"records": [2, 5]}),
        (Domain(integers=True, missing=True), {"integers": True, "missing": True}),
        (Domain(norm=2.0, columns=3), {"norm": 2.0, "columns": 3}),
        (Domain(labels=(-1, 1)), {"labels": [-1, 1]}),
        (Domain(labels=["n", "y"]), {"labels": ["n", "y"]}),
        (Domain(users=2), {"users": 2}),
        (Domain(nodes=4), {"nodes": 4}),
        (Domain(form="list"), {"form": "list"}),
    ],
)
def test_a_domain_is_stated_by_what_is_not_usual_and_read_again(domain, stated):
    assert stating.convert_domain(domain) == stated
    again = stating.domain_stated(json.loads(json.dumps(stated)))
    assert stating.convert_domain(again) == stated
    assert (again.sizes, again.layout.columns) == (domain.sizes, domain.layout.columns)


def test_columns_are_stated_by_kind_and_field_and_read_again():
    for columns in (COLUMNS, Schema(COLUMNS)):
        stated = stating.convert_domain(Domain(columns=columns))
        assert stated["columns"]["born"] == {
            "kind": "Dates", "missing": False, "first": "2020-02-29", "last": "2020-03-09",
        }  # fmt: skip
        assert stated["columns"]["of"]["values"] == ["a", 2, True]
        assert stated["columns"]["n"] == {"kind": "Integers", "missing": True, "low": 1, "high": 5}
        assert stating.domain_stated(json.loads(json.dumps(stated))).columns == COLUMNS


@pytest.mark.parametrize(
    "domain",
    [
        Domain(around=np.array([1.0])),
        Domain(examples=(np.array([1.0]),)),
        Domain(make=lambda rng: rng.random(3)),
        Domain(columns={"a": Integers()}, of_records=True),
        Domain(columns={"a": Categories(values=((1, 2), DAY))}),
        Domain(labels=(DAY, 1)),
    ],
    ids=["around", "examples", "make", "of records", "values", "labels"],
)
def test_what_records_or_code_describe_is_not_stated(domain):
    assert stating.convert_domain(domain) is None


@pytest.mark.parametrize(
    ("stated", "name"),
    [
        ([], "domain"),
        ({"make": None}, "domain"),
        ({"around": 1}, "domain"),
        ({"nodes": 1001}, "nodes"),
        ({"nodes": 0}, "nodes"),
        ({"columns": 10_001}, "columns"),
        ({"columns": 0}, "columns"),
        ({"columns": {"a": 3}}, "columns"),
        ({"columns": {"a": {"kind": "Seen"}}}, "columns"),
        ({"columns": {"a": {"kind": "Integers", "longest": 3}}}, "columns"),
        ({"columns": {"a": {"kind": "Dates", "first": "soon"}}}, "dates"),
        ({"columns": {"a": {"kind": "Dates", "last": 3}}}, "dates"),
    ],
)
def test_plain_data_of_something_else_is_refused(stated, name):
    with pytest.raises(InvalidArgument, match=f"^{name}: got"):
        stating.domain_stated(stated)


def test_the_largest_domain_that_is_read_is_one(monkeypatch):
    monkeypatch.setattr(stating, "_MOST_NODES", 5)
    assert stating.domain_stated({"nodes": 5}).nodes == 5
    with pytest.raises(InvalidArgument, match=r"^nodes: got 6"):
        stating.domain_stated({"nodes": 6})
    assert stating.domain_stated({"columns": 10_000}).columns == 10_000
    assert stating.domain_stated({"columns": 1, "records": [2, 3]}).sizes == (2, 3)


@pytest.mark.parametrize(
    ("cell", "stated"),
    [
        (np.float64(0.5), 0.5),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (math.nan, None),
        (np.nan, None),
        (None, None),
        ("a", "a"),
        (DAY, "2020-02-29"),
    ],
)
def test_a_cell_is_stated_as_plain_data(cell, stated):
    (((found,),),) = stating.convert_units([((cell,),)])
    assert (found, type(found)) == (stated, type(stated))


@pytest.mark.parametrize(
    "cell", [math.inf, -math.inf, (1,), object(), datetime.datetime(2020, 1, 1)]
)
def test_units_with_a_cell_of_another_kind_are_not_stated(cell):
    assert stating.convert_units([((0.5, cell),)]) is None


def test_plain_data_are_numbers_texts_and_lists_by_name():
    for plain in (None, True, 1, 0.5, "a", [1, ["a", None]], {"a": {"b": [0.0]}}):
        assert stating._is_plain(plain)
    for other in (math.nan, {1: 2}, {"a": math.inf}, [(1,)], (1,), {"a": object()}):
        assert not stating._is_plain(other)


# --- datasets -------------------------------------------------------------------------------------


def test_a_dataset_is_built_of_what_its_domain_allows():
    domain = Domain(columns=COLUMNS, records=(1, 2), form="dicts")
    (found,) = stating.dataset_stated(domain, [[["2020-03-01", None, 2, True, None, False]]])
    assert (found["born"], found["x"], found["of"]) == (datetime.date(2020, 3, 1), 2, True)
    assert (found["n"], found["text"], found["is"]) == (None, None, False)


def test_users_have_as_many_records_as_they_may_or_none():
    domain = Domain(bounds=(0, 9), users=2, records=2)
    table = stating.dataset_stated(domain, [[[1.0], [2.0]], []], "person")
    assert table.columns.tolist() == ["person", "value"]
    assert table["value"].tolist() == [1.0, 2.0]
    assert stating.dataset_stated(domain, [[[1.0]], [[3.0]]]).columns[0] == "user"
    assert Domain(bounds=(0, 9)).users is None
    assert stating.dataset_stated(Domain(bounds=(0, 9)), [[[1.0]]], "person").tolist() == [1.0]


PLAIN = Domain(bounds=(0, 1), records=(1, 2))
ROWS = Domain(columns=COLUMNS, records=1)


@pytest.mark.parametrize(
    ("domain", "stated"),
    [
        (PLAIN, "x"),
        (PLAIN, []),
        (PLAIN, [[[0.5]]] * 3),
        (PLAIN, [[]]),
        (PLAIN, [[[0.5], [0.5]]]),
        (PLAIN, [[0.5]]),
        (PLAIN, [[[0.5, 0.5]]]),
        (PLAIN, [[[1.5]]]),
        (PLAIN, [[["0.5"]]]),
        (PLAIN, [[[True]]]),
        (PLAIN, [[[None]]]),
        (Domain(bounds=(0, 1), users=2, records=1), [[[0.5]] * 3]),
        (ROWS, [[["2020-03-10", 1, 1.0, "a", "a", True]]]),
        (ROWS, [[["2020-03-09", 1, 1.0, "b", "a", True]]]),
        (ROWS, [[["2020-03-09", 1, 1.0, [], "a", True]]]),
        (ROWS, [[["2020-03-09", 1, 1.0, "a", 3, True]]]),
        (ROWS, [[["2020-03-09", 1, 1.0, "a", "a", 1]]]),
        (ROWS, [[["2020-03-09", 0, 1.0, "a", "a", True]]]),
    ],
)
def test_a_dataset_of_what_no_domain_allows_is_refused(domain, stated):
    with pytest.raises(InvalidArgument, match=r"^dataset: got"):
        stating.dataset_stated(domain, stated)


def test_no_record_is_longer_than_its_norm():
    domain = Domain(columns=2, norm=5.0, labels=(0, 9), records=1)
    features, _ = stating.dataset_stated(domain, [[[3.0, 4.0, 9]]])
    assert features.tolist() == [[3.0, 4.0]]
    for longer in ([3.0, 4.000000000000001, 9], [5.0, 1e-9, 9]):  # of length 5.0 to doubles
        with pytest.raises(InvalidArgument, match=r"^dataset: got a record that is longer"):
            stating.dataset_stated(domain, [[longer]])


def test_a_search_and_a_file_have_one_value_for_a_missing_one():
    for column in (*COLUMNS.values(), Numbers(missing=True), Integers(missing=True)):
        if column.missing:
            domain = Domain(columns={"a": column}, records=1, form="dicts")
            ((read,),) = [list(one.values()) for one in stating.dataset_stated(domain, [[[None]]])]
            made = special_values(column)[-1]
            assert (type(read), repr(read)) == (type(made), repr(made))


LISTED = {
    "Integers": (Integers(low=0, high=1), [0, 1], [1.0, True]),
    "Numbers": (Numbers(low=0, high=1), [0.0, 0.5], [True, "1", 10**400]),
    "Booleans": (Booleans(), [True], [1, 1.0]),
    "Categories": (Categories(values=(1, "a", 0.5)), [1, "a", 0.5], [1.0, True, "b", []]),
    "Texts": (Texts(longest=1), ["a", ""], [1, "ab"]),
}


@pytest.mark.parametrize("kind", LISTED)
def test_a_cell_is_of_the_type_that_a_search_makes(kind):
    column, right, wrong = LISTED[kind]
    domain = Domain(columns={"a": column}, records=1, form="dicts")
    for value in right:
        ((read,),) = [list(one.values()) for one in stating.dataset_stated(domain, [[[value]]])]
        assert (type(read), read) == (type(value), value)
    for value in wrong:
        with pytest.raises(InvalidArgument, match=r"^dataset: got a value"):
            stating.dataset_stated(domain, [[[value]]])


def test_a_number_of_a_file_without_a_point_is_a_double():
    (found,) = stating.dataset_stated(Domain(bounds=(0, 2), records=1, form="list"), [[[1]]])
    assert type(found) is float


def stated_neighbours(relation, one, other, user=None, **domain):
    units = [[[[cell] for cell in unit] for unit in side] for side in (one, other)]
    return stating.neighbours_stated(Domain(**domain), relation, *units, user)


IN_PLACE = {"columns": {"c": Numbers(low=0, high=1)}, "records": 3}
FORGED = [
    ("replace-record", [[0.0], [1.0], [0.0]], [[1.0], [0.0], [1.0]], None, IN_PLACE),
    ("replace-record", [[0.0], [1.0], [0.0]], [[0.0], [1.0], [0.0]], None, IN_PLACE),
    ("replace-column", [[0.0]] * 3, [[1.0]] * 3, None, IN_PLACE),
    ("declared: all", [[0.0]] * 3, [[1.0]] * 3, None, IN_PLACE),
    ("add-remove-edge", [[0.0]] * 3, [[1.0], [0.0], [0.0]], None, IN_PLACE),
    ("replace-label", [[0.0]] * 3, [[1.0], [0.0], [0.0]], None, IN_PLACE),
    ("replace-user", [[0.0]] * 3, [[1.0], [0.0], [0.0]], "user", IN_PLACE),
    ("add-remove-record", [[0.0], [1.0], [0.5]], [[0.5], [0.0]], None,
     IN_PLACE | {"records": (2, 3), "form": "dicts"}),
    ("add-remove-record", [[0.0], [1.0], [0.0]], [[1.0]], None, IN_PLACE | {"records": (1, 3)}),
    ("add-remove-record", [[0.0]] * 3, [[0.0]] * 3, None, IN_PLACE),
    ("add-remove-record", [[0.0]] * 2, [[0.0]] * 3, None, IN_PLACE),  # the neighbour is of it
    ("replace-record", [[0.0]], [[1.0]], None, {"bounds": (0, 1), "users": 1, "records": 1}),
    ("replace-user", [[0.0, 1.0], [1.0]], [[1.0, 0.0], [0.0]], "user",
     {"bounds": (0, 1), "users": 2, "records": 2}),
    ("metric: hamming", [[0.0]], [[1.0]], None, {"bounds": (0, 1), "users": 1, "records": 1}),
    ("metric: hamming", [[0.0]] * 2, [[1.0]] * 4, None, IN_PLACE),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(FORGED)))
def test_no_pair_that_no_search_makes_is_read(case):
    relation, one, other, user, domain = FORGED[case]
    with pytest.raises(InvalidArgument):
        stated_neighbours(relation, one, other, user, **domain)


def test_a_pair_that_a_search_makes_is_read():
    for relation, other in (
        ("replace-record", [[0.0], [0.5], [0.0]]),
        ("add-remove-record", [[1.0], [0.0]]),  # the first is removed
        ("add-remove-record", [[0.0], [0.0]]),
        ("add-remove-record", [[0.0], [1.0], [0.0], [0.25]]),
        ("metric: hamming", [[1.0], [0.0], [1.0]]),
    ):
        one, found = stated_neighbours(relation, [[0.0], [1.0], [0.0]], other, **IN_PLACE)
        assert one["c"].tolist() == [0.0, 1.0, 0.0]
        assert [[value] for value in found["c"]] == other
    users = {"bounds": (0, 1), "users": 2, "records": 2}
    for relation, other in (("replace-user", [0.5]), ("add-remove-user", [])):
        _, found = stated_neighbours(relation, [[0.0], [1.0]], [[0.0], other], "user", **users)
        assert found["value"].tolist() == [0.0, *other]


def test_a_neighbour_has_a_record_fewer_or_more_than_its_domain_says():
    for other in ([[0.5]], [[0.5]] * 3):
        sides = stated_neighbours("add-remove-record", [[0.5]] * 2, other, bounds=(0, 1), records=2)
        assert [len(one) for one in sides] == [2, len(other)]
    with pytest.raises(InvalidArgument, match="a list of 2 to 2 records"):
        stated_neighbours("replace-record", [[0.5]] * 2, [[0.5]], bounds=(0, 1), records=2)


# --- the ways in which people give a domain -------------------------------------------------------


def test_a_domain_is_read_of_whatever_people_have():
    given = Domain(bounds=(0, 1))
    assert reading.domain_of(given) is given
    assert reading.domain_of(Schema(COLUMNS)).columns == Schema(COLUMNS)
    assert reading.domain_of({"columns": COLUMNS}).columns == COLUMNS
    part = {"n": {"type": "integer", "minimum": 2, "maximum": 7}}
    for columns in (part, {"properties": part}):
        found = reading.domain_of({"columns": columns, "records": 3})
        assert found.columns.columns == {"n": Integers(low=2, high=7)}
        assert found.sizes == (3, 3)
    make = lambda rng: rng.random(2)  # noqa: E731
    assert reading.domain_of(make).make is make


def test_a_public_table_of_pandas_is_of_records():
    import pandas as pd

    found = reading.domain_of(pd.DataFrame({"n": [2, 7]}))
    assert found.of_records
    assert found.columns.columns == {"n": Integers(low=2, high=7)}
    assert not reading.domain_of(Schema(COLUMNS)).of_records


@pytest.mark.parametrize(
    ("given", "said"), [({"bound": 1, "x": 2}, "bound, x"), (3, "int"), ("a", "str")]
)
def test_what_is_no_domain_is_named(given, said):
    with pytest.raises(InvalidArgument, match=f"^domain: got {said}, expected"):
        reading.domain_of(given)

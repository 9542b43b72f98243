"""Tables in a domain, and pairs of them: always neighbours, always of the schema's types."""

import datetime
from typing import Annotated, Literal

import pandas
import pytest
from hypothesis import Phase, find, given, settings
from pydantic import BaseModel, Field

from dpaudit.domains.columns import is_varying_column
from dpaudit.errors import DpauditError, InvalidArgument, UnknownName
from dpaudit.testing import (
    Booleans,
    Categories,
    Dates,
    Integers,
    Numbers,
    Schema,
    Texts,
    frame_pairs,
    frames,
    tabular,
)
from dpaudit.testing.tabular import _another, _equal, _same

COLUMNS = {
    "user": Integers(low=0, high=2),
    "income": Numbers(low=-1.0, high=1.0, missing=True),
    "sex": Categories(values=("f", "m"), missing=True),
    "name": Texts(longest=2, missing=True),
    "born": Dates(missing=True),
    "member": Booleans(missing=True),
    "one": Categories(values=("z",)),
}
SCHEMA = Schema(COLUMNS)
UNSHRUNK = settings(phases=[Phase.generate], database=None)
FEW = settings(max_examples=8, deadline=None, database=None)
RELATIONS = ("add-remove-record", "replace-record", "replace-cell", "add-remove-user: user")


@pytest.mark.parametrize("relation", RELATIONS)
def test_pairs_are_neighbours_of_the_same_types_in_the_domain(relation):
    """That the two are neighbours `Pair` checks by itself."""

    @FEW
    @given(frame_pairs(relation, SCHEMA, rows=(1, 3)))
    def check(pair):
        sizes = sorted((len(pair.dataset), len(pair.neighbour)))
        assert 1 <= sizes[1] <= 3
        for table in (pair.dataset, pair.neighbour):
            assert list(table.columns) == list(COLUMNS)
            assert [str(kind) for kind in table.dtypes] == [
                *("int64", "float64", "category", "str", "datetime64[ns]", "boolean", "category")
            ]
            assert table.user.between(0, 2).all()
            assert table.income.dropna().between(-1, 1).all()
            assert list(table.sex.cat.categories) == ["f", "m"]

    check()


def test_a_domain_of_two_records_still_has_neighbours():
    """Where what is drawn is equal, another value of the domain takes its place."""
    smallest = Schema({"a": Categories(values=("z",)), "b": Booleans()})
    for relation in RELATIONS[1:3]:
        pair = find(frame_pairs(relation, smallest, rows=1), lambda pair: True)
        assert pair.dataset.b[0] != pair.neighbour.b[0]


def test_what_is_left_of_a_failure_is_small():
    ages = Schema({"age": Integers(low=0, high=120), "sex": Categories(values=("f", "m"))})
    table = find(frames(ages), lambda table: (table.age > 64).any())
    assert table.to_dict("list") == {"age": [65], "sex": ["f"]}


def test_a_leak_through_missing_values_is_found():
    incomes = Schema({"income": Numbers(low=0.0, high=8.0, missing=True)})

    def moved(pair):
        one, other = (side.income.sum(skipna=False) for side in (pair.dataset, pair.neighbour))
        return not abs(one - other) <= 8

    pair = find(frame_pairs("replace-record", incomes, rows=1), moved, settings=UNSHRUNK)
    assert {pair.dataset.income.isna().any(), pair.neighbour.income.isna().any()} == {True, False}


class Person(BaseModel):
    age: Annotated[int, Field(ge=18, lt=121)]
    sex: Literal["f", "m"]
    income: Annotated[float, Field(ge=0, le=1e5)] | None
    nick: Annotated[str, Field(max_length=3)] = ""
    born: Annotated[
        datetime.date,
        Field(json_schema_extra={"formatMinimum": "2000-01-01", "formatMaximum": "2000-12-31"}),
    ]
    member: bool


def test_a_schema_is_read_from_a_model():
    assert dict(Schema.from_json(Person.model_json_schema()).columns) == {
        "age": Integers(low=18, high=120),
        "sex": Categories(values=("f", "m")),
        "income": Numbers(low=0.0, high=1e5, missing=True),
        "nick": Texts(longest=3, missing=True),
        "born": Dates(),
        "member": Booleans(),
    }


def test_a_schema_is_read_from_a_table():
    table = pandas.DataFrame(
        {
            "age": [31, 75],
            "x": [0.5, None],
            "sex": pandas.Categorical(["f", None], categories=["f", "m"]),
            "town": ["a", "b"],
            "born": pandas.to_datetime(["2000-01-02", "2001-03-04"]),
            "in": [True, False],
        }
    )
    assert dict(Schema.of(table).columns) == {
        "age": Integers(low=31, high=75),
        "x": Numbers(low=0.5, high=0.5, missing=True),
        "sex": Categories(values=("f", "m"), missing=True),
        "town": Categories(values=("a", "b")),
        "born": Dates(first=datetime.date(2000, 1, 2), last=datetime.date(2001, 3, 4)),
        "in": Booleans(),
    }


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (Integers(low=1, high=1), False),
        (Integers(low=1, high=1, missing=True), True),
        (Numbers(low=1.0, high=1.0), False),
        (Texts(longest=0), False),
        (Texts(), True),
        (Dates(), True),
        (Booleans(), True),
    ],
)
def test_what_varies(column, expected):
    assert is_varying_column(column) is expected


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: Integers(low=2, high=1), "high: got 1, expected"),
        (lambda: Numbers(low=0.0, high=float("inf")), "high: got inf"),
        (lambda: Numbers(low=1.0, high=0.0), "low: got 1.0, expected a number of at most high, 0"),
        (lambda: Categories(values=("a", "a")), "values: got ('a', 'a'), expected different"),
        (lambda: Texts(alphabet=""), "alphabet: got '', expected at least one character"),
        (lambda: Dates(last=datetime.date(1999, 1, 1)), "first: got datetime.date(2000, 1, 1)"),
        (lambda: Schema({}), "columns: got none, expected at least one"),
        (lambda: Schema({"a": 3}), "a: got int, expected a column such as Integers"),
        (lambda: frames({"a": Booleans()}), "schema: got dict, expected a dpaudit.testing.Schema"),
        (lambda: frames(SCHEMA, rows=(2, 1)), "rows: got (2, 1)"),
        (lambda: frame_pairs("replace-label", SCHEMA), "relation: got 'replace-label', expected"),
        (lambda: frame_pairs("add-remove-user", SCHEMA), "relation: got 'add-remove-user'"),
        (
            lambda: frame_pairs("add-remove-user: x", SCHEMA),
            "expected a user in one of the columns",
        ),
        (
            lambda: frame_pairs("replace-record", Schema({"a": Categories(values=(1,))})),
            "schema: got one record, expected a column of at least two values",
        ),
        (lambda: Schema.from_json({}), "schema: got no properties, expected those of a record"),
        (
            lambda: Schema.from_json({"properties": {"a": {"type": "number", "minimum": 0}}}),
            "a: got no bounds, expected a minimum and a maximum",
        ),
        (
            lambda: Schema.from_json({"properties": {"a": {"type": "array"}}}),
            "a: got array, expected a boolean, a bounded number",
        ),
        (
            lambda: Schema.from_json({"properties": {"a": {"type": "string", "format": "date"}}}),
            "a: got no bounds, expected a formatMinimum and a formatMaximum",
        ),
        (lambda: Schema.of(pandas.DataFrame({"a": [None]})), "a: got no values, expected at least"),
    ],
)
def test_what_is_no_domain_is_refused(wrong, said):
    with pytest.raises(DpauditError) as refused:
        wrong()
    assert said in str(refused.value)
    assert isinstance(refused.value, InvalidArgument | UnknownName)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, 1, True), (1, 1.0, False), (1, True, False), (0, False, False), (None, None, True),
        ("a", "a", True), ("1", 1, False), (0.0, -0.0, True), (1.0, 2.0, False),
    ],
)  # fmt: skip
def test_values_are_equal_where_they_are_of_one_type(one, other, same):
    assert _equal(one, other) is same
    assert _same((one, "x"), (other, "x")) is same
    assert not _same((one, "x"), (other, "y"))


def test_another_value_of_a_column_is_of_its_ends():
    assert _another(Integers(low=1, high=3), 1) == 3
    assert _another(Integers(low=1, high=3), 2) == 1
    assert _another(Integers(low=1, high=1, missing=True), 1) is None
    assert _another(Categories(values=("a", "b", "c")), "a") == "c"
    assert _another(Categories(values=("a", "b", "c")), "b") == "a"


# Drawn by hand: what is asked of a strategy, and what is made of its answer

TWO_COLUMNS = {"a": Integers(low=0, high=9), "b": Categories(values=("x", "y"))}
RECORDS = [[1, "x"], [2, "y"], [3, "x"]]


@pytest.fixture
def asked(monkeypatch):
    """Note how many records are drawn at least and at most."""
    noted = []

    def lists(record, *, min_size, max_size):
        noted.append((min_size, max_size))
        return "records"

    monkeypatch.setattr(tabular.st, "lists", lists)
    monkeypatch.setattr(tabular.st, "integers", lambda low, high: ("place", low, high))
    monkeypatch.setattr(tabular.st, "sampled_from", lambda given: given)
    monkeypatch.setattr(tabular, "_record", lambda schema: "record")
    monkeypatch.setattr(tabular, "_values", lambda column: column)
    return noted


def drawing(*answers):
    """Return a draw function that answers records, the last place, and then these in order."""
    left = list(answers)

    def draw(strategy):
        if strategy == "records":
            return [list(one) for one in RECORDS]
        if isinstance(strategy, tuple) and strategy[0] == "place":
            assert strategy[1] == 0
            return strategy[2]
        return left.pop(0)

    return draw


@pytest.mark.parametrize(
    ("kind", "answers", "sizes", "one", "other"),
    [
        ("add-remove-record", [[7, "y"]], (1, 4), RECORDS, [*RECORDS, [7, "y"]]),
        (
            "replace-record",
            [[7, "y"], [8, "x"]],
            (1, 4),
            [*RECORDS, [7, "y"]],
            [*RECORDS, [8, "x"]],
        ),
        (
            "replace-record",  # the same, of which one entry is made another: the first, now 9
            [[7, "y"], [7, "y"], 0, 9],
            (1, 4),
            [*RECORDS, [7, "y"]],
            [*RECORDS, [9, "y"]],
        ),
        (
            "replace-cell",
            [[7, "y"], 1, "x"],
            (1, 4),
            [*RECORDS, [7, "y"]],
            [*RECORDS, [7, "x"]],
        ),
        (
            "replace-cell",  # the same value: an end of the column that is another
            [[7, "y"], 1, "y"],
            (1, 4),
            [*RECORDS, [7, "y"]],
            [*RECORDS, [7, "x"]],
        ),
        ("add-remove-user", [], (2, 5), RECORDS[1:2], RECORDS),
    ],
)
def test_two_tables_have_as_many_records_as_are_asked_for(asked, kind, answers, sizes, one, other):
    found = tabular._DRAWN[kind](drawing(*answers), Schema(TWO_COLUMNS), (2, 5), "b")
    assert asked == [sizes]
    assert found == (one, other)


@pytest.mark.parametrize(
    ("column", "ends"),
    [
        (Integers(low=-3, high=9), (-3, 9)),
        (Numbers(low=0.5, high=2.0), (0.5, 2.0)),
        (Categories(values=("x", "z", "y")), ("x", "y")),
        (Texts(longest=3, alphabet="qr"), ("", "q")),
        (Texts(longest=0, alphabet="qr"), ("", "")),
        (Booleans(), (False, True)),
    ],
)
def test_ends_of_a_column_are_its_least_and_greatest(column, ends):
    assert tuple(tabular._ends(column)) == ends
    if ends[0] != ends[1]:
        assert _another(column, ends[0]) == ends[1]
        assert _another(column, ends[1]) == ends[0]

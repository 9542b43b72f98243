"""Domains: what they refuse, what their datasets are made of, and how people write them."""

import dataclasses
import datetime
import math
import pickle
from fractions import Fraction

import hypothesis.strategies as st
import networkx
import numpy as np
import pandas as pd
import pytest

import dpaudit
from dpaudit.domains import (
    Booleans,
    Categories,
    Dates,
    Domain,
    Integers,
    Numbers,
    Schema,
    Texts,
    domain_of,
)
from dpaudit.domains.columns import is_varying_column, values_of
from dpaudit.domains.layouts import is_short
from dpaudit.domains.special import special_values
from dpaudit.errors import InvalidArgument

FIRST, LAST = datetime.date(2020, 1, 1), datetime.date(2020, 12, 31)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"bounds": (1, 0)}, "bounds"),
        ({"bounds": 3}, "bounds"),
        ({"bounds": (0, math.nan)}, "bounds"),
        ({"records": -1}, "records"),
        ({"records": (4, 3)}, "records"),
        ({"columns": 0}, "columns"),
        ({"columns": {}}, "columns"),
        ({"columns": {"age": int}}, "age"),
        ({"columns": {"age": Integers()}, "norm": 1.0}, "norm"),
        ({"columns": {"age": Integers()}, "labels": (0, 1)}, "labels"),
        ({"norm": 0.0}, "norm"),
        ({"labels": (1,)}, "labels"),
        ({"users": 0}, "users"),
        ({"nodes": 1}, "nodes"),
        ({"nodes": 4, "bounds": (0, 1)}, "bounds"),
        ({"form": "frame"}, "form"),
    ],
)
def test_what_is_no_domain_is_refused_by_name(given, name):
    with pytest.raises(InvalidArgument, match=f"^{name}: got"):
        Domain(**given)


@pytest.mark.parametrize(
    ("given", "sizes"),
    [
        ({}, (1, 8)),
        ({"records": 6}, (6, 6)),
        ({"records": (2, 5)}, (2, 5)),
        ({"nodes": 5}, (10, 10)),
    ],
)
def test_sizes_are_those_that_are_written(given, sizes):
    assert Domain(**given).sizes == sizes


def built(domain, *records):
    return domain.layout.build([(record,) for record in records])


@pytest.mark.parametrize("given", ["6", (1, 2, 3), 6.0])
def test_sizes_that_are_none_are_named(given):
    with pytest.raises(InvalidArgument, match=r"^records: got"):
        Domain(records=given)


@pytest.mark.parametrize("given", [5, ([1], [2]), (1, 1)])
def test_labels_that_are_none_are_named(given):
    with pytest.raises(InvalidArgument, match=r"^labels: got"):
        Domain(labels=given)


def test_a_dataset_is_of_the_form_that_the_domain_says():
    assert built(Domain(bounds=(0, 1)), (0.5,), (1.0,)).tolist() == [0.5, 1.0]
    assert built(Domain(bounds=(0, 9), integers=True), (3,)).dtype == np.int64
    assert built(Domain(bounds=(0, 1), form="list"), (0.5,)) == [0.5]
    assert built(Domain(bounds=(0, 1), columns=2), (0.5, 1.0)).shape == (1, 2)
    assert built(Domain(bounds=(0, 1), columns=2)).shape == (0, 2)
    features, labels = built(Domain(columns=2, labels=(-1, 1)), (0.5, 1.0, -1), (0.0, 0.0, 1))
    assert features.tolist() == [[0.5, 1.0], [0.0, 0.0]]
    assert labels.tolist() == [-1, 1]
    dicts = Domain(columns={"age": Integers(), "sex": Categories()}, form="dicts")
    assert built(dicts, (1, "a")) == [{"age": 1, "sex": "a"}]


def test_a_table_has_the_types_that_its_columns_have_in_pandas():
    columns = {
        "age": Integers(low=0, high=120),
        "gaps": Integers(missing=True),
        "income": Numbers(missing=True),
        "alive": Booleans(),
        "born": Dates(first=FIRST, last=LAST),
        "name": Texts(),
    }
    table = built(Domain(columns=columns), (3, None, math.nan, True, FIRST, "ab"))
    assert [str(one) for one in table.dtypes][:4] == ["int64", "Int64", "float64", "bool"]
    assert table["born"][0] == pd.Timestamp(2020, 1, 1)
    assert table["gaps"].isna().all()
    assert table["name"][0] == "ab"


def test_users_have_several_records_each_and_a_graph_the_edges_that_are_there():
    users = Domain(bounds=(0, 1), users=3)
    table = users.layout.build([((0.5,), (1.0,)), ((0.0,),)])
    assert table["user"].tolist() == [0, 0, 1]
    assert table["value"].tolist() == [0.5, 1.0, 0.0]
    graph = built(Domain(nodes=3), (True,), (False,), (True,))
    assert sorted(graph.edges) == [(0, 1), (1, 2)]
    assert networkx.number_of_nodes(graph) == 3


@pytest.mark.parametrize("record", [(3.0, 4.0), (1e300, 1e300), (-1.0, 0.0), (0.0, 0.0)])
def test_no_record_is_longer_than_the_norm_and_a_short_one_stays(record):
    allowed = Domain(columns=2, norm=0.1).layout.allowed(record)
    assert sum(Fraction(one) ** 2 for one in allowed) <= Fraction(0.1) ** 2
    assert max(np.linalg.norm(allowed), np.sqrt((np.array(allowed) ** 2).sum())) <= 0.1
    assert math.hypot(*allowed) == pytest.approx(min(0.1, math.hypot(*record)))
    assert Domain(columns=2, norm=0.1).layout.allowed((0.06, 0.07)) == (0.06, 0.07)


def test_a_record_is_no_longer_than_its_norm_in_whatever_order_squares_are_added():
    rng = np.random.default_rng(5)
    for norm, width in ((1.0, 2), (0.1, 5), (7.3, 60)):
        layout = Domain(columns=width, norm=norm).layout
        for _ in range(40):
            made = np.array(layout.allowed(tuple(norm * (1 + rng.random(width)))))
            assert is_short(made, norm)
            for some in (made, made[::-1], rng.permutation(made)):
                assert norm * (1 - 1e-13) <= np.linalg.norm(some) <= norm
                assert sum(one * one for one in some) ** 0.5 <= norm
        whole = (norm, *(0.0,) * (width - 1))
        assert layout.allowed(whole) == whole  # of one number no square is added to another
        assert not is_short((math.nextafter(norm, 9.0), *whole[1:]), norm)


def test_labels_are_no_part_of_the_norm():
    layout = Domain(columns=2, norm=1.0, labels=(-7, 7)).layout
    assert layout.allowed((3.0, 4.0, 7)) == pytest.approx((0.6, 0.8, 7))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"bounds": (0, 1), "records": 6}, Domain(bounds=(0, 1), records=6)),
        (Domain(nodes=3), Domain(nodes=3)),
    ],
)
def test_a_domain_is_read_as_it_is_written(given, expected):
    assert domain_of(given) == expected


def test_columns_are_read_from_a_json_schema_and_from_a_table():
    schema = {"properties": {"age": {"type": "integer", "minimum": 3, "maximum": 9}}}
    table = pd.DataFrame({"age": [3, 9]})
    for given in (schema, table, {"columns": schema, "records": 2}):
        (column,) = domain_of(given).layout.columns
        assert (column.low, column.high) == (3, 9)


@pytest.mark.parametrize("given", [3, "bounds", None, [0, 1]])
def test_what_nobody_reads_is_refused_with_what_could_be_read(given):
    with pytest.raises(InvalidArgument, match=r"domain: got .* expected a dpaudit.Domain"):
        domain_of(given)


def made(given, seed=0):
    return domain_of(given).made(np.random.default_rng(seed))


def test_a_function_and_a_strategy_make_examples_that_say_what_records_are():
    domain = made(lambda rng: rng.uniform(2, 3, size=int(rng.integers(1, 5))))
    (column,) = domain.layout.columns
    assert 2 <= column.low < column.high <= 3
    assert 1 <= domain.sizes[0] <= domain.sizes[1] <= 4
    lists = made(st.lists(st.sampled_from(["a", "b"]), min_size=2, max_size=3))
    assert set(lists.layout.columns[0].values) <= {"a", "b"}
    assert lists.layout.build([(("b",),)]) == ["b"]


def test_one_seed_makes_the_same_examples():
    one, same, other = (made(lambda rng: rng.random(3), seed) for seed in (0, 0, 1))
    assert np.array_equal(one.examples, same.examples)
    assert not np.array_equal(one.examples, other.examples)


def test_a_function_that_raises_is_named():
    with pytest.raises(InvalidArgument, match=r"domain: got a function that raises KeyError"):
        made(lambda rng: {}["a"])


def test_a_domain_travels_as_its_fields():
    for one in (Domain(bounds=(0, 1), records=3), Domain(nodes=4), Domain(columns=2, norm=1.0)):
        assert one.layout.columns == pickle.loads(pickle.dumps(one)).layout.columns
        assert pickle.loads(pickle.dumps(one)) == one


@pytest.mark.parametrize(
    ("given", "bounded"),
    [
        ({}, False),
        ({"bounds": (0, 1)}, True),
        ({"norm": 1.0, "columns": 2}, True),
        ({"nodes": 3}, True),
    ],
)
def test_whether_anybody_says_how_large_numbers_may_be(given, bounded):
    assert Domain(**given).is_bounded is bounded


SIXTEENTHS = [n / 16 for n in range(1, 16, 2)]


@pytest.mark.parametrize(
    ("column", "constants", "expected"),
    [
        (Numbers(low=0, high=1), [], [0, 1, 0.5, *SIXTEENTHS]),
        (Numbers(low=-2, high=2), [], [-2, 2, 0, 1, -1, *(4 * one - 2 for one in SIXTEENTHS)]),
        (Integers(low=0, high=9), [], [0, 9, 4, 1, 8, 2, 3, 5, 6, 7]),
        (Integers(low=0, high=9), [5, 40], [0, 9, 5, 4, 6, 1, 8, 2, 3, 7]),
        (Booleans(), [], [False, True]),
        (Booleans(missing=True), [], [False, True, None]),
        (Categories(values=tuple(range(100))), [77, 400], [0, 77, *range(1, 12), 99]),
        (
            Texts(longest=3, alphabet="xy"),
            ["yx", "zz"],
            ["", "x", "y", "xxx", "yyy", "yx", "yxx", "xyx", "xx", "yy"],
        ),
        (
            Texts(longest=9, alphabet="x"),
            [5],
            ["", "x", "x" * 9, "xx", "x" * 8, "x" * 5, "x" * 4, "x" * 6],
        ),
    ],
)
def test_special_values_are_ends_and_what_code_compares_with(column, constants, expected):
    assert special_values(column, constants) == expected


def test_special_numbers_stand_on_either_side_of_a_constant_within_the_bounds():
    found = special_values(Numbers(low=0, high=1), [0.3, 7.0])
    assert {0.3, math.nextafter(0.3, 0), math.nextafter(0.3, 1)} <= set(found)
    assert max(found) == 1
    assert special_values(Numbers(low=0, high=1), [1.0])[2] == math.nextafter(1.0, 0)


def test_special_days_are_those_that_code_names_and_the_days_beside_them():
    found = special_values(Dates(first=FIRST, last=LAST), ["2020-02-29", datetime.date(2031, 1, 1)])
    assert found[:2] == [FIRST, LAST]
    assert {
        datetime.date(2020, 2, 28),
        datetime.date(2020, 2, 29),
        datetime.date(2020, 3, 1),
    } <= set(found)
    assert max(found) == LAST


def test_a_missing_number_is_nan_and_another_missing_value_none():
    assert math.isnan(special_values(Numbers(missing=True))[-1])
    assert special_values(Texts(missing=True))[-1] is None
    assert special_values(Integers(missing=True))[-1] is None


# Domains of JSON Schemas


def read(kind, **given):
    (column,) = Schema.from_json({"properties": {"a": {"type": kind, **given}}}).columns.values()
    return column.low, column.high


UP, DOWN = math.nextafter(0.5, 1.0), math.nextafter(2.5, 0.0)


@pytest.mark.parametrize(
    ("given", "integers", "numbers"),
    [
        ({"minimum": 0.5, "maximum": 2.5}, (1, 2), (0.5, 2.5)),
        ({"exclusiveMinimum": 0.5, "maximum": 2.5}, (1, 2), (UP, 2.5)),
        ({"minimum": 0.5, "exclusiveMaximum": 2.5}, (1, 2), (0.5, DOWN)),
        ({"minimum": 0.5, "exclusiveMinimum": 0, "maximum": 2.5}, (1, 2), (0.5, 2.5)),
        ({"minimum": 0, "exclusiveMinimum": 0.5, "maximum": 2.5}, (1, 2), (UP, 2.5)),
        ({"minimum": 0.5, "maximum": 9, "exclusiveMaximum": 2.5}, (1, 2), (0.5, DOWN)),
        ({"minimum": 0.5, "exclusiveMinimum": True, "maximum": 2.5}, (1, 2), (UP, 2.5)),
        ({"minimum": 0.5, "exclusiveMinimum": False, "maximum": 2.5}, (1, 2), (0.5, 2.5)),
        ({"minimum": 0.5, "maximum": 2.5, "exclusiveMaximum": True}, (1, 2), (0.5, DOWN)),
        ({"minimum": 1, "maximum": 2**62 + 1}, (1, 2**62 + 1), (1.0, 2.0**62)),
    ],
)
def test_what_a_schema_leaves_out_is_no_part_of_the_domain(given, integers, numbers):
    assert read("integer", **given) == integers
    assert read("number", **given) == pytest.approx(numbers, rel=0, abs=0)


@pytest.mark.parametrize(("low", "high"), [(0, 3), (-3, 0)])
def test_integers_begin_after_one_that_is_left_out(low, high):
    assert read("integer", exclusiveMinimum=low, maximum=high) == (low + 1, high)
    assert read("integer", minimum=low, exclusiveMaximum=high) == (low, high - 1)


@pytest.mark.parametrize(
    "given",
    [
        {"minimum": 0},
        {"maximum": 0},
        {"minimum": "0", "maximum": 1},
        {"minimum": 0, "exclusiveMaximum": [1]},
        {"minimum": 0, "maximum": math.inf},
        {"exclusiveMinimum": True, "maximum": 1},
    ],
)
def test_a_bound_that_is_none_is_refused_by_the_name_of_its_column(given):
    for kind in ("integer", "number"):
        with pytest.raises(InvalidArgument, match=r"^a: "):
            read(kind, **given)


@pytest.mark.parametrize("norm", [1.0, 0.1, 3.0, 1e-3])
def test_rounding_makes_no_record_longer_than_the_norm(norm):
    """Scaling to a norm by its ratio ends an ulp above it in one of some ten cases."""
    layout = Domain(columns=3, norm=norm).layout
    for record in np.random.default_rng(0).normal(size=(400, 3)) * 10 * norm:
        assert math.hypot(*layout.allowed(tuple(map(float, record)))) <= norm


@pytest.mark.parametrize(
    "given",
    [{"bounds": (5, 10)}, {"bounds": (-10, -5)}, {"integers": True}, {"missing": True}],
    ids=str,
)
def test_records_that_are_made_shorter_keep_what_else_is_said_of_them(given):
    with pytest.raises(InvalidArgument, match="norm"):
        dpaudit.Domain(norm=1.5, columns=2, **given)
    assert dpaudit.Domain(norm=1.5, columns=2, bounds=(0, 10)).layout.norm == 1.5


# Columns


@pytest.mark.parametrize(
    "column",
    [
        Integers(low=3, high=3),
        Numbers(low=0.5, high=0.5),
        Categories(values=("a",)),
        Dates(first=FIRST, last=FIRST),
        Texts(longest=0),
    ],
)
def test_a_column_of_one_value_varies_only_where_it_may_be_missing(column):
    assert values_of(column) == 1
    assert not is_varying_column(column)
    assert is_varying_column(dataclasses.replace(column, missing=True))


def test_columns_have_as_many_values_as_there_are():
    assert values_of(Integers(low=-1, high=3)) == 5
    assert values_of(Dates(first=FIRST, last=LAST)) == 366
    assert values_of(Categories(values=("a", "b", "c"))) == 3
    assert values_of(Texts(longest=1)) is None
    assert is_varying_column(Numbers(low=0, high=1))


def test_a_property_may_be_missing_unless_it_is_required():
    parts = {name: {"type": "integer", "minimum": 0, "maximum": 1} for name in "ab"}
    needed = Schema.from_json({"properties": parts, "required": ["b"]}).columns
    assert (needed["a"].missing, needed["b"].missing) == (True, False)
    assert not Schema.from_json({"properties": parts}).columns["a"].missing


def test_numbers_of_code_count_with_either_sign():
    found = special_values(Numbers(low=-1, high=1), [0.3])
    assert {0.3, -0.3, math.nextafter(-0.3, 0)} <= set(found)
    assert {7, -7} <= set(special_values(Integers(low=-9, high=9), [7]))


def test_bounds_in_the_words_of_a_command_line_say_how_they_are_written():
    with pytest.raises(InvalidArgument, match=r"bounds: got '0,1', expected \[low,high\]"):
        Domain(bounds="0,1")


@pytest.mark.parametrize("name", ["integers", "missing", "of_records"])
def test_what_is_yes_or_no_is_no_word(name):
    assert getattr(Domain(**{name: True}), name) is True
    for word in ("no", "False", 0, 1, None):
        with pytest.raises(InvalidArgument, match=f"^{name}: got .*expected true or false"):
            domain_of({name: word})


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [
        ((0, 1), np.int64),
        ((0, 0.5), np.float64),
        ((True, False), np.bool_),
        (("a", "bcd"), "<U3"),
        (("a", 1), object),
        ((2, True), object),
        ((2**53 + 1, 0.5), object),
        ((datetime.date(2020, 1, 1), None), object),
    ],
)
def test_no_record_decides_of_which_type_labels_are(labels, dtype):
    domain = Domain(bounds=(0, 1), columns=1, labels=labels, records=(0, 3))
    for some in ((), labels[:1], labels[1:], labels):
        _, made = domain.layout.build([((0.5, one),) for one in some])
        assert made.dtype == np.dtype(dtype)
        assert [(type(one), one) for one in made.tolist()] == [
            (float if dtype is np.float64 else type(one), one) for one in some
        ]


def test_the_type_of_labels_moves_between_no_neighbours():
    for labels in ((0, 0.5), ("a", "bb")):
        domain = Domain(bounds=(0, 1), columns=1, labels=labels, records=(0, 2))
        for relation in ("replace-label", "add-remove-record"):
            found = dpaudit.sensitivity(
                lambda data: float(data[1].dtype.kind == "i") + data[1].dtype.itemsize,
                domain, relation, calls=60,
            )  # fmt: skip
            assert found.at_least == 0
    found = dpaudit.sensitivity(lambda data: float(sum(data[1] == "bb")), domain, "replace-record")
    assert found.at_least == pytest.approx(1)

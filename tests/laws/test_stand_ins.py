"""The words of an error are shown where the same call says them of data that are made up."""

from __future__ import annotations

import time

import numpy as np
import pytest

from dpaudit.standins import make_standin, tells_no_record

NUMBER, TEXT = 8675309.4242, "Zebulon-Quill"
OWN = {"beside": TEXT}


def adds(data):
    return data[0] + "text"


def looks_for_a_name(data):
    return {"age": 1}["agee"]


def shapes(data):
    return np.zeros(2) + np.zeros(3)


def attribute(data):
    return np.zeros(3).summ()


def refuses_always(data):
    raise ValueError("expected a table with a column age")


def unpacks(data):
    first, _, _ = data
    return first


CODE = [adds, looks_for_a_name, shapes, attribute, refuses_always, unpacks]


def refuses_a_record(data):
    raise ValueError(f"{data[0]} is too large")


def looks_for_a_record(data):
    return {}[data[0]]


def large_alone(data):
    if data[0] > 1e6:
        raise ValueError("too large")


def repeats_what_is_beside(data):
    raise RuntimeError(f"no such record: {OWN['beside']}")


def reads(data):
    secret = "".join(["Zebulon", "-", "Quill"])
    return float(secret)


def counts(data):
    found = int(str(86753)) // 10
    raise MemoryError(f"no room for {found}")


def recurs(data):
    raise RecursionError(f"too deep for {data[0]}")


def waits(data):
    if data[0] != NUMBER:
        time.sleep(5)
    raise ValueError("slow")


RECORDS = [
    refuses_a_record,
    looks_for_a_record,
    large_alone,
    repeats_what_is_beside,
    reads,
    counts,
    recurs,
    waits,
]


def judged(function, data):
    try:
        function(data)
    except Exception as error:
        return tells_no_record(error, data, function, seconds=0.2)
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize("function", CODE, ids=lambda one: one.__name__)
def test_words_of_code_are_told_apart(function):
    assert judged(function, [NUMBER, 1.0])


@pytest.mark.parametrize("function", RECORDS, ids=lambda one: one.__name__)
def test_words_that_may_hold_a_record_are_not(function):
    assert not judged(function, [NUMBER, 1.0])


@pytest.mark.parametrize(
    "value",
    [
        [1, 2.5, True, "Alice"],
        (1e300, -1, 2**70),
        {"age": 3, "Alice": [1.0]},
        np.arange(6.0).reshape(2, 3),
        np.array([1, 2], dtype=np.uint8),
        np.array([True, False]),
        np.array(["Alice", 1.5], dtype=object),
    ],
    ids=str,
)
def test_every_value_is_another_one_of_its_kind(value):
    def leaves(one):
        if isinstance(one, np.ndarray):
            one = one.ravel().tolist()
        if isinstance(one, dict):
            one = [*one.keys(), *one.values()]
        return [x for y in one for x in leaves(y)] if isinstance(one, list | tuple) else [one]

    before = leaves(value)
    for number in (1, 2):
        made = make_standin(value, frozenset({"age"}), number)
        assert type(made) is type(value)
        assert np.shape(made) == np.shape(value) or isinstance(value, dict)
        after = leaves(made)
        assert list(map(type, after)) == list(map(type, before))
        same = [one for one, other in zip(before, after, strict=True) if one == other]
        assert same == (["age"] if isinstance(value, dict) else [])


def test_a_table_keeps_the_columns_that_code_names():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"age": [37, 41], "Zebulon": ["a", "b"]})
    made = make_standin(table, frozenset({"age"}), 1)
    assert made.shape == table.shape
    assert made.columns[0] == "age"
    assert made.columns[1] != "Zebulon"
    assert not (made.to_numpy() == table.to_numpy()).any()

"""What is told of one output, part by part: every path and every value written out by hand."""

from __future__ import annotations

import datetime
import enum
import math
import sys
from collections import UserDict, namedtuple
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse

from dpaudit.mechanisms.foreign import answers
from dpaudit.mechanisms.foreign.carried_values import _DEEP, _find_noise_names
from dpaudit.mechanisms.outputs.leaves import LeafToken
from dpaudit.mechanisms.outputs.observations import split_observation

_MOST = sys.float_info.max


class Colour(enum.Enum):
    RED = 1


def say(kind: str, text: str) -> LeafToken:
    return LeafToken(kind, text)


LEAVES = [
    (1.5, (1.5,)),
    (1, (1.0, say("number", "int"))),
    (2**53, (2.0**53, say("number", "int"))),
    (-(2**53), (-(2.0**53), say("number", "int"))),
    (2**53 + 1, (2.0**53, say("number", "0x20000000000001"))),
    (10**400, (_MOST, say("number", hex(10**400)))),
    (-(10**400), (-_MOST, say("number", hex(-(10**400))))),
    (math.inf, (say("number", "inf"),)),
    (-math.inf, (say("number", "-inf"),)),
    (math.nan, (say("number", "nan"),)),
    (-0.0, (0.0, say("number", "-0.0"))),
    (np.float32(0.5), (0.5,)),
    (True, (say("bool", "True"),)),
    (np.bool_(False), (say("bool", "False"),)),
    (None, (say("NoneType", "None"),)),
    (Colour.RED, (say("Colour", "RED"),)),
    ("ab", (2.0, say("str", "ab"))),
    (b"\x01\x0a", (2.0, say("bytes", "010a"))),
    (Decimal("0.25"), (0.25, say("Decimal", "0.25"))),
    (Decimal("1e999"), (_MOST, say("Decimal", "1E+999"))),
    (Decimal("-1e999"), (-_MOST, say("Decimal", "-1E+999"))),
    (Decimal("NaN"), (say("number", "NaN"),)),
    (Decimal("-Infinity"), (say("number", "-Infinity"),)),
    (Fraction(1, 4), (0.25, say("Fraction", "1/4"))),
    (datetime.datetime(1970, 1, 2, 1), (90000.0, say("date", "1970-01-02T01:00:00"))),
    (
        datetime.datetime(1970, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
        (86400.0, say("date", "1970-01-02T00:00:00+02:00")),
    ),
    (datetime.date(1, 1, 2), (2.0, say("date", "0001-01-02"))),
    (datetime.timedelta(seconds=90), (90.0, say("duration", "0:01:30"))),
    (datetime.time(12, 30), (say("time", "12:30:00"),)),
    (np.datetime64("1970-01-03"), (2.0, say("date", "1970-01-03 datetime64[D]"))),
    (np.timedelta64(5, "s"), (5.0, say("date", "5 seconds timedelta64[s]"))),
    (np.datetime64("NaT"), (say("date", "NaT"),)),
]


@pytest.mark.parametrize(("value", "part"), LEAVES, ids=lambda one: repr(one)[:40])
def test_a_value_by_itself_is_one_part(value, part):
    found = split_observation(value)
    assert found == {"output": part}
    assert [type(one) for one in found["output"]] == [type(one) for one in part]
    assert split_observation([value])["output[0]"] == part


Pair = namedtuple("Pair", "first second")


@dataclass
class Held:
    one: float
    two: float


class Slotted:
    __slots__ = ("__private", "__weakref__", "a", "empty")

    def __init__(self):
        self.a, self.__private = 1.5, 4.5


class Below(Slotted):
    """Of one slot that is given as text, below one of several, and attributes of its own."""

    __slots__ = "below"


class Both(Below):
    def __init__(self):
        super().__init__()
        self.below, self.c = 2.5, 3.5


class Model:
    def __init__(self):
        self.alpha, self.coef_, self._hidden_ = 1.0, 2.5, 4.0

    def fit(self):
        return self


class Unfitted(Model):
    def __init__(self):
        self.alpha, self.act = 1.0, print


class Plain:
    def __init__(self):
        self.alpha, self.coef_ = 1.5, 2.5


def kind(name: str) -> tuple[LeafToken, ...]:
    return (say("type", name),)


CONTAINERS = [
    (
        {"b": 1.5, "a": 2.5, 3: 3.5},
        {"keys": (say("keys", "'a', 'b', 3"),), "a": (2.5,), "b": (1.5,), "output[3]": (3.5,)},
    ),
    (UserDict({"a": 2.5}), {"keys": (say("keys", "'a'"),), "a": (2.5,)}),
    (
        {2.5, 1.5},
        {
            "keys": (say("set", "1.5, 2.5"),),
            "len": (2.0,),
            "output[1.5]": (say("_Member", "IN"),),
            "output[2.5]": (say("_Member", "IN"),),
        },
    ),
    (
        [1.5, "b"],
        {
            "type": kind("list"),
            "len": (2.0,),
            "output[0]": (1.5,),
            "output[1]": (1.0, say("str", "b")),
        },
    ),
    ((), {"type": kind("tuple"), "len": (0.0,)}),
    (Pair(1.5, 2.5), {"type": kind("Pair"), "first": (1.5,), "second": (2.5,)}),
    (Held(1.5, 2.5), {"type": kind("Held"), "one": (1.5,), "two": (2.5,)}),
    (1.5 + 2.5j, {"real": (1.5,), "imag": (2.5,)}),
    (Slotted(), {"type": kind("Slotted"), "_Slotted__private": (4.5,), "a": (1.5,)}),
    (
        Both(),
        {
            "type": kind("Both"),
            "_Slotted__private": (4.5,),
            "a": (1.5,),
            "below": (2.5,),
            "c": (3.5,),
        },
    ),
    (Model(), {"type": kind("Model"), "coef_": (2.5,)}),
    (Unfitted(), {"type": kind("Unfitted"), "alpha": (1.0,)}),
    (Plain(), {"type": kind("Plain"), "alpha": (1.5,), "coef_": (2.5,)}),
    (KeyError("a"), {"raised": (say("raised", "KeyError"),), "message": (3.0, say("str", "'a'"))}),
    (np.ndarray, {"output": (say("type", "<class 'numpy.ndarray'>"),)}),
    (Held, {"output": (say("type", str(Held)),)}),
    (
        scipy.sparse.coo_array(([1.5], ([0], [1])), shape=(2, 3)),
        {"shape": (say("shape", "(2, 3)"),), "nnz": (1.0,), "output[0, 1]": (1.5,)},
    ),
    (
        np.ma.masked_array([1.5, 2.5], [True, False]),
        {
            "shape": (say("shape", "(2,)"),),
            "dtype": (say("dtype", "float64"),),
            "output[0]": (say("NoneType", "None"),),
            "output[1]": (2.5,),
        },
    ),
    (
        np.array([1.5 + 2.5j]),
        {
            "shape": (say("shape", "(1,)"),),
            "dtype": (say("dtype", "complex128"),),
            "output[0].real": (1.5,),
            "output[0].imag": (2.5,),
        },
    ),
    (
        np.array([[1.5, "a"]], dtype=object),
        {
            "shape": (say("shape", "(1, 2)"),),
            "dtype": (say("dtype", "object"),),
            "len": (1.0,),
            "output[0, 0]": (1.5,),
            "output[0, 1]": (1.0, say("str", "a")),
        },
    ),
    (
        np.array([5], dtype="timedelta64[s]"),
        {
            "shape": (say("shape", "(1,)"),),
            "dtype": (say("dtype", "timedelta64[s]"),),
            "output[0]": (5.0, say("date", "5 seconds timedelta64[s]")),
        },
    ),
    (
        np.array(2.5),
        {"shape": (say("shape", "()"),), "dtype": (say("dtype", "float64"),), "output": (2.5,)},
    ),
]


@pytest.mark.parametrize(("value", "told"), CONTAINERS, ids=lambda one: type(one).__name__)
def test_a_container_is_told_whole(value, told):
    assert split_observation(value) == told


def test_two_parts_of_one_path_are_both_told():
    assert split_observation({"keys": 1.5}) == {"keys": (say("keys", "'keys'"),), "keys#2": (1.5,)}


def test_tables_are_told_by_column_and_series_by_label():
    pandas = pytest.importorskip("pandas")
    assert split_observation(pandas.DataFrame({"a": [1.5, 2.5]}, index=[7, 8])) == {
        "columns": (say("columns", "'a'"),),
        "len": (2.0,),
        "index": (say("index", "7, 8"),),
        "a.dtype": (say("dtype", "float64"),),
        "a[0]": (1.5,),
        "a[1]": (2.5,),
    }
    told = {"index": (say("index", "7, 8"),), "dtype": (say("dtype", "float64"),)}
    series = pandas.Series([1.5, 2.5], index=[7, 8])
    assert split_observation(series) == {**told, "output[7]": (1.5,), "output[8]": (2.5,)}
    assert split_observation(pandas.NaT) == {"output": (say("date", "NaT"),)}
    twice = split_observation(pandas.Series([1.5, 2.5], index=[7, 7]))
    assert twice["output[0]"] == (1.5,)
    assert twice["output[1]"] == (2.5,)
    assert split_observation(pandas.Index([1.5])) == {
        "type": kind("list"),
        "len": (1.0,),
        "output[0]": (1.5,),
    }


def test_what_a_mechanism_carries_is_followed_only_so_deep():
    def noisy(data, key):
        return data

    value = partial(noisy, key=b"8a1c-91f0-77")
    for depth in range(_DEEP + 2):
        found = list(_find_noise_names(value, "", set(), 0))
        assert (found == ["argument key"]) is (depth < _DEEP), depth
        value = Holder(value)


class Holder(partial):
    """A partial that is none of the inner one's own: those are joined into one."""

    def __new__(cls, inner):
        made = super().__new__(cls, len)
        made.__setstate__((inner, (), {}, {}))
        return made


class Digits:
    def loss_in_digits(self, output, sign):
        return sign * output


class ManyDigits(Digits):
    def losses_in_digits(self, outputs, sign):
        return [2 * sign * one for one in outputs]


@pytest.mark.parametrize(("made", "expected"), [(Digits, [-1.0, -2.0]), (ManyDigits, [-2.0, -4.0])])
def test_losses_in_digits_are_side_by_side_where_a_mechanism_can(made, expected):
    found = answers.all_in_digits(made(), [1.0, 2.0], -1)
    assert found == expected
    assert {type(one) for one in found} == {float}


def test_what_functions_hold_is_followed_only_so_deep_by_each_road():
    key = b"8a1c-91f0-77"

    def closed_over(inner):
        return lambda data: (data, inner)

    def as_default(inner):
        def held(data, inner=inner):
            return data

        return held

    def wrapped(inner):
        def held(data):
            return data

        held.__wrapped__ = inner
        return held

    def in_attribute(inner):
        return SimpleNamespace(inner=inner)

    for road in (closed_over, as_default, wrapped, in_attribute):
        value = closed_over(key)
        for depth in range(_DEEP + 2):
            found = list(_find_noise_names(value, "", set(), 0))
            assert (found == ["inner"]) is (depth < _DEEP), (road.__name__, depth, found)
            value = road(value)

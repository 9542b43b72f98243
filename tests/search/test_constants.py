"""Constants that somebody wrote, apart from values that code worked out, of records even."""

import datetime

import pytest

from dpaudit.search.constants import constants_of

RECORDS = [0.31, 0.72, 0.5]
WORKED_OUT = float(min(RECORDS)) / 3
OLDEST = max([17, 94]) * 10
NAMED = "a" + "b"
WRITTEN, BELOW, DAY = 0.25, -7.5, datetime.date(2024, 2, 29)
LATER = DAY + datetime.timedelta(days=4)


class Limits:
    written = 0.625
    worked_out = WORKED_OUT * 2


def leak(data, low=WORKED_OUT, high=0.875):
    return [WORKED_OUT, OLDEST, NAMED, WRITTEN, BELOW, DAY, LATER, low, high, data, 0.125]


def of_a_class(data):
    return Limits.written, Limits.worked_out, Limits, data


@pytest.mark.parametrize("one", [WRITTEN, BELOW, DAY, 0.875, 0.125])
def test_what_stands_in_the_file_was_written(one):
    assert one in constants_of(leak, written=True)


@pytest.mark.parametrize("one", [WORKED_OUT, OLDEST, NAMED, LATER])
def test_what_was_worked_out_was_not(one):
    assert one in constants_of(leak)
    assert one not in constants_of(leak, written=True)


def test_attributes_of_a_class_are_judged_alike():
    found = constants_of(of_a_class, written=True)
    assert Limits.written in found
    assert Limits.worked_out not in found


def test_code_of_no_file_shows_only_its_own_constants():
    place = {"HIDDEN": 0.4375}
    exec(
        compile("def f(x, low=0.6875):\n    return x > HIDDEN + 0.5 + low", "<made>", "exec"), place
    )
    assert 0.5 in constants_of(place["f"], written=True)
    assert {0.4375, 0.6875} & set(constants_of(place["f"], written=True)) == set()

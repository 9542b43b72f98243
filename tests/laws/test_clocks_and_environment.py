"""Clocks that are ahead and an environment that tells who reads it, each put back afterwards."""

from __future__ import annotations

import datetime
import os
import pickle
import sys
import time

import pytest

from dpaudit.watching import clocks, environment, names
from dpaudit.watching.clocks import STEP, Clocks

NOON = 1_700_000_000.25


@pytest.fixture
def ahead(monkeypatch):
    """Python's clocks, at a time that stands still, two steps ahead."""
    for name in ("time", "time_ns", "localtime", "gmtime", "ctime", "asctime", "strftime"):
        monkeypatch.setattr(time, name, getattr(time, name))
    monkeypatch.setattr(datetime, "date", datetime.date)
    monkeypatch.setattr(datetime, "datetime", datetime.datetime)
    monkeypatch.setitem(clocks._real, "time", lambda: NOON)
    Clocks(2).install()
    return NOON + 2 * STEP


def test_a_step_changes_days_hours_minutes_and_weekdays():
    before, after = (time.gmtime(NOON + n * STEP) for n in (0, 1))
    for name in ("tm_mon", "tm_mday", "tm_hour", "tm_min", "tm_sec", "tm_wday", "tm_yday"):
        assert getattr(before, name) != getattr(after, name)
    assert STEP % 2 == 1
    assert Clocks().ahead == 1


def test_clocks_show_a_later_time(ahead):
    assert time.time() == ahead
    assert time.time_ns() == int(ahead * 1e9)
    now = clocks._real["localtime"](ahead)
    assert time.localtime() == time.localtime(None) == now
    assert time.gmtime() == clocks._real["gmtime"](ahead)
    assert time.ctime() == clocks._real["ctime"](ahead)
    assert time.asctime() == clocks._real["asctime"](now)
    assert time.strftime("%Y-%m-%d %H") == clocks._real["strftime"]("%Y-%m-%d %H", now)


def test_what_is_asked_of_a_given_moment_is_of_that_moment(ahead):
    assert time.localtime(NOON) == clocks._real["localtime"](NOON)
    assert time.gmtime(0).tm_year == 1970
    assert time.ctime(NOON) == clocks._real["ctime"](NOON)
    assert time.strftime("%Y", time.gmtime(0)) == "1970"
    assert time.asctime(time.gmtime(0)).endswith("1970")


def test_dates_of_today_are_later_and_all_dates_are_of_their_types(ahead):
    real = clocks._datetime.fromtimestamp(ahead)
    assert datetime.date.today() == real.date()
    assert datetime.datetime.now() == datetime.datetime.today() == real
    assert datetime.datetime.now(datetime.UTC).timestamp() == ahead
    assert datetime.datetime.utcnow() == real.astimezone(clocks._UTC).replace(tzinfo=None)
    made = datetime.date(2020, 1, 2), datetime.datetime(2020, 1, 2, 3)
    for one in (*made, clocks._date(2020, 1, 2), clocks._datetime(2020, 1, 2)):
        assert isinstance(one, datetime.date)
    assert isinstance(clocks._datetime(2020, 1, 2), datetime.datetime)
    assert not isinstance(clocks._date(2020, 1, 2), datetime.datetime)
    assert not isinstance("2020-01-02", datetime.date)
    assert pickle.loads(pickle.dumps(made[0])) == clocks._date(2020, 1, 2)
    assert (datetime.date.__name__, datetime.datetime.__module__) == ("date", "datetime")

    class Own(datetime.date):
        pass

    assert not isinstance(made[0], Own)


# --- the environment ------------------------------------------------------------------------------


@pytest.fixture
def told(monkeypatch):
    """What was read of a watched environment, which is as it was afterwards."""
    system = sys.modules[os.name]
    monkeypatch.setenv("OF_THIS_TEST", "here")
    before = os.environ.__class__, os.environ._data, system.environ
    bytes_before = os.environb.__class__, os.environb._data
    found = []
    environment.watch(found.append)
    try:
        yield found
    finally:
        os.environ.__class__, os.environ._data, system.environ = before
        os.environb.__class__, os.environb._data = bytes_before


NAME = "OF_THIS_TEST"


@pytest.mark.parametrize(
    "read",
    [
        lambda: os.environ[NAME],
        lambda: os.environ.get(NAME),
        lambda: os.getenv(NAME),
        lambda: os.environ.pop(NAME),
        lambda: os.environ.setdefault(NAME, "other"),
        lambda: os.environb[NAME.encode()].decode(),
        lambda: sys.modules[os.name].environ[NAME.encode()].decode(),
        lambda: sys.modules[os.name].environ.get(NAME.encode()).decode(),
        lambda: sys.modules[os.name].environ.setdefault(NAME.encode(), b"other").decode(),
        lambda: sys.modules[os.name].environ.pop(NAME.encode()).decode(),
    ],
)
def test_who_reads_a_variable_is_told_of(told, read):
    assert read() == "here"
    assert set(told) == {NAME}


@pytest.mark.parametrize(
    "read",
    [
        lambda: dict(os.environ),
        lambda: list(os.environ),
        lambda: os.environ.copy(),
        lambda: list(os.environ.items()),
        lambda: list(os.environ.values()),
        lambda: dict(sys.modules[os.name].environ.items()),
        lambda: list(sys.modules[os.name].environ.keys()),
        lambda: list(sys.modules[os.name].environ.values()),
        lambda: list(sys.modules[os.name].environ),
        lambda: sys.modules[os.name].environ.copy(),
    ],
)
def test_who_reads_all_variables_is_told_of(told, read):
    assert len(read()) > 0
    assert "all of them" in told


def test_who_reads_nothing_is_not_told_of(told):
    system = sys.modules[os.name].environ
    assert os.environ.get("NOT_OF_THIS_TEST") is None
    assert system.get(b"NOT_OF_THIS_TEST", 7) == 7
    assert system.pop(b"NOT_OF_THIS_TEST", 7) == 7
    assert told == []
    os.environ["NOT_OF_THIS_TEST"] = "new"
    del os.environ["NOT_OF_THIS_TEST"]
    assert told == []
    assert NAME in os.environ
    assert set(told) == {NAME}
    with pytest.raises(KeyError):
        system.pop(b"NOT_OF_THIS_TEST")


# --- names ----------------------------------------------------------------------------------------


def test_names_are_those_of_code_and_of_all_functions_in_it():
    def outer():
        def inner():
            return first.second  # noqa: F821

        return third(lambda: fourth), inner  # noqa: F821

    assert names.names_in(outer.__code__) >= {"first", "second", "third", "fourth"}
    assert "inner" not in names.names_in(outer.__code__)


def test_plain_are_numbers_texts_and_arrays():
    import decimal
    import fractions

    import numpy as np

    plain = (None, True, 1, 1.5, 1j, "a", b"a", bytearray(b"a"), memoryview(b"a"))
    plain += (decimal.Decimal(1), fractions.Fraction(1, 2), np.zeros(2), np.float32(1))
    assert all(map(names.is_plain, plain))
    assert not any(map(names.is_plain, ([], {}, (), object(), print, datetime.date(2020, 1, 1))))

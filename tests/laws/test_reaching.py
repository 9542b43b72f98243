"""What code reaches, which values may be noise, and which clocks it sees."""

from __future__ import annotations

import datetime
import math
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import dpaudit.mechanisms.foreign.reached_state as reached_state
from dpaudit.mechanisms.foreign.carried_values import could_be_noise, find_carried_noise
from dpaudit.mechanisms.foreign.code_mechanism import as_mechanism
from dpaudit.mechanisms.foreign.isolation import Isolation, isolate_reference
from dpaudit.mechanisms.foreign.reached_state import find_touches
from dpaudit.watching.import_results import refers_to_results

MODULE = """
import json, os, time
from pathlib import Path
HERE = Path(__file__).parent
LIMIT = 2.5
TEXT = (HERE / "file.txt").read_text()
SIZE = len(TEXT)
def untouched(data): return sum(data) * LIMIT
def of_a_file(data): return sum(data) + len((HERE / "file.txt").read_text())
def of_an_import(data): return sum(data) + SIZE
def of_a_variable(data): return sum(data) + len(os.environ["REACHING"])
def of_no_variable(data): return sum(data) + len(os.environ.get("NOT_REACHING", ""))
def of_the_clock(data): return sum(data) + time.time()
def of_a_device(data):
    with open("/dev/urandom", "rb") as held:
        return sum(data) + 0 * len(held.read(1))
def of_a_folder_of_its_own(data):
    import tempfile
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "a")
        path.write_text("1")
        return sum(data) + float(path.read_text())
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "reaching_module.py").write_text(MODULE)
    (tmp_path / "file.txt").write_text("text")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("REACHING", "value")
    return "reaching_module"


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("untouched", set()),
        ("of_a_file", {"file"}),
        ("of_an_import", {"file"}),
        ("of_a_variable", {"environment variable"}),
        ("of_no_variable", set()),
        ("of_a_device", set()),
    ],
)
def test_what_is_reached(module, name, kinds):
    mechanism = isolate_reference(f"{module}:{name}", Isolation()).mechanism
    with mechanism.crew:
        touches, rows, failed = find_touches(mechanism, [[1.0, 2.0]], 2, 0, 1)
    assert not failed
    assert {kind for kind, _ in touches} == kinds
    assert np.ptp(np.asarray(rows[0], dtype=float)) == 0


def test_the_clock_is_a_year_ahead(module):
    mechanism = isolate_reference(f"{module}:of_the_clock", Isolation()).mechanism
    with mechanism.crew:
        _, rows, _ = find_touches(mechanism, [[1.0]], 1, 0, 1)
        _, now, _ = find_touches(mechanism, [[1.0]], 1, 0, 0)
    assert 365 * 86400 < float(rows[0][0]) - float(now[0][0]) < 2 * 365 * 86400


def test_code_that_fails_there_says_so(module):
    mechanism = isolate_reference(f"{module}:untouched", Isolation()).mechanism
    with mechanism.crew:
        assert find_touches(mechanism, [["no number"]], 1, 0, 1)[1:] == (None, "MechanismError")


def test_dates_and_times_agree_and_stay_dates():
    code = """
        import datetime, time
        real = time.time()
        from dpaudit.watching.clocks import Clocks, STEP
        Clocks(1).install()
        assert abs(time.time() - real - STEP) < 60
        shown = [
            datetime.datetime.now().timestamp(), datetime.datetime.today().timestamp(),
            datetime.datetime.now(datetime.timezone.utc).timestamp(),
            time.mktime(time.localtime()), time.time_ns() / 1e9,
        ]
        assert max(shown) - min(shown) < 60, shown
        assert datetime.date.today() == datetime.datetime.now().date()
        assert time.strftime("%Y") == str(datetime.date.today().year)
        assert time.gmtime(0).tm_year == 1970
        assert isinstance(datetime.datetime(2020, 1, 1), datetime.date)
        class Own(datetime.date): pass
        assert not isinstance(datetime.date(2020, 1, 1), Own)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)


@pytest.mark.parametrize(
    "value", [0.5, 1 / 3, 10_000, "records", b"utf-8", True, np.ones(3), 2**40]
)
def test_what_somebody_writes_is_no_noise(value):
    assert not could_be_noise(value)


@pytest.mark.parametrize(
    ("value", "noise"),
    [
        ("\x01\x02\x03\x04", True),
        ("\x01\x02\x03", False),  # three letters at most say nothing
        ("one two\nthree", False),
        ("abc12", False),
        ("0a1b2c3d", True),
        ("0A1B2C3D", True),
        ("0A1b2c3d", True),
        ("deadbeef", False),  # no digit
        ("0a1b2c3", True),
        ("a0b1", False),
        ("records_2020", False),
        (b"\xff\xfe\xfd", False),
        (b"\xff\xfe\xfd\xfc", True),
        (b"utf-8", False),
        (np.bool_(True), True),
        (None, False),
        (2**60 + 12345, True),
        (2**60, False),
        (2**60 - 1, False),
        (-(2**60) - 12345, True),
        (123456 * 10**15, False),
        (1234567 * 10**15, True),
        (0.123456, False),
        (0.1234567, True),
        (-0.1234567, True),
        (22 / 7, False),
        (-22 / 7, False),
        (math.pi, False),
        (-math.e, False),
        (math.inf, False),
        (math.nan, False),
        (0.5 + 0.1234567j, True),
        (0.5 + 0.25j, False),
        (np.array([0.5, 0.1234567]), True),
        (np.array([1, 2**60 + 12345]), True),
        (np.array(["mean", "0a1b2c3d"]), True),
        (np.array(["mean"]), False),
        (np.array([], dtype=float), False),
    ],
    ids=repr,
)
def test_what_has_more_digits_or_letters_than_somebody_writes(value, noise):
    assert could_be_noise(value) is noise


@pytest.mark.parametrize("seed", range(5))
def test_what_is_drawn_may_be_noise(seed):
    rng = np.random.default_rng(seed)
    drawn = (rng.laplace(), rng.bytes(16), rng.bytes(16).hex(), rng.laplace(size=3))
    assert all(map(could_be_noise, drawn))
    assert could_be_noise(int(rng.integers(2**62)) | 2**61)


def test_values_that_came_along_are_named():
    key, scale = np.random.default_rng(0).bytes(16), 2.0

    def keyed(data):
        return len(key) * scale

    assert find_carried_noise(as_mechanism(keyed)) == ["key"]


def test_what_an_import_worked_out_is_told_from_what_is_written(module):
    import reaching_module as found

    referred_to = {
        name: refers_to_results(getattr(found, name))
        for name in ("untouched", "of_a_file", "of_an_import", "of_a_variable")
    }
    assert referred_to == {
        "untouched": False,
        "of_a_file": False,
        "of_an_import": True,
        "of_a_variable": False,
    }


def test_nothing_of_this_process_was_changed():
    assert time.time.__module__ == "time"
    assert type(datetime.date.today()) is datetime.date


def test_code_that_fails_at_another_time_alone_looks_at_a_clock(monkeypatch):
    def found(mechanism, datasets, calls, entropy, ahead):
        return ([], None, "ValueError") if ahead else ([], [[[1.0]]], "")

    monkeypatch.setattr(reached_state, "find_touches", found)
    assert reached_state.beyond_data(None, [[1.0]], 0, [(0, 0, 1.0)]) == [
        ("clock", "at another time it fails")
    ]

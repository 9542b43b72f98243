"""``dpaudit resume``: a store says what was computed, and nothing else is believed of it."""

import inspect
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaudit.cli.audit import audit
from dpaudit.cli.description import AuditCommand, read_command
from dpaudit.errors import DataError
from dpaudit.store.file import Store

from .test_store import audited_once, folder, ran  # noqa: F401

CLAIM = {"command": "audit", "targets": ["huang2020-theorem6"], "trials": 400}


def described(where, command):
    path = where / "store.sqlite" if where.is_dir() else where
    with Store(path) as store:
        store.run("UPDATE audits SET command = ?", (json.dumps(command),))


def everything(place):
    return {str(one): one.stat().st_mtime_ns for one in place.rglob("*") if "store" not in one.name}


# What a tampered store says of its command: each is refused in one line, and nothing is done.
HOSTILE = {
    "a format into a file": CLAIM | {"format": "json=victim"},
    "formats": CLAIM | {"formats": ["json=victim"]},
    "a scheduler": CLAIM | {"backend": "dask", "scheduler": "tcp://2130706433:48786"},
    "an address as a target": CLAIM | {"targets": ["2130706433:48786"]},
    "records": CLAIM | {"show_records": True},
    "another folder": CLAIM | {"out": "victim"},
    "another store": CLAIM | {"store": "victim"},
    "a share": CLAIM | {"shard": "1/2"},
    "a stream": CLAIM | {"watch": "victim"},
    "a traceback": CLAIM | {"traceback": True},
    "code": CLAIM | {"targets": ["os:system"]},
    "code in a file": CLAIM | {"targets": ["mine.py:f"]},
    "a file of audits": CLAIM | {"targets": ["own.toml"]},
    "code that is called before each output": CLAIM | {"fresh": "os:abort"},
    "a variable that is set": CLAIM | {"fresh": "env:LD_PRELOAD"},
    "an option as a target": CLAIM | {"targets": ["--format=json=victim"]},
    "an option in a text": CLAIM | {"data": "--out"},
    "two lines": CLAIM | {"data": "a\nb"},
    "code as data": {"command": "audit", "targets": ["hu2019-lemma4"], "data": "./evil.py"},
    "data from a network": CLAIM | {"data": "csv", "data_path": "http://localhost/a.csv"},
    "a device as data": CLAIM | {"data": "csv", "data_path": "/dev/zero"},
    "a dataset from a network": CLAIM | {"dataset": "https://localhost/a.csv"},
    "a pipe as a dataset": CLAIM | {"dataset": "pipe"},
    "a file that is not there": CLAIM | {"curve": "none.csv"},
    "text for a number": CLAIM | {"seed": "0"},
    "truth for a number": CLAIM | {"trials": True},
    "a table for a list": CLAIM | {"targets": {"a": 1}},
    "a list for a table": CLAIM | {"parameters": ["a"]},
    "a long text": CLAIM | {"relation": "x" * 10_000},
    "looks that are none": CLAIM | {"looks": [[100]]},
    "no claim": CLAIM | {"targets": ["no such claim"]},
    "trials below any": CLAIM | {"trials": -1},
    "in this process": CLAIM | {"in_process": True},
    "code that makes a part anew": CLAIM | {"fresh": "mine:f"},
    "code as a relation": CLAIM | {"relation": "mine:f"},
    "code that reads": CLAIM | {"read": ["mine:f"]},
    "code as a form": CLAIM | {"form": "mine:f"},
    "a module as a target": CLAIM | {"targets": ["mine"]},
    "a file of audits in capitals": CLAIM | {"targets": ["mine.TOML"]},
    "a target that is an option": CLAIM | {"targets": ["--out=victim"]},
    "a path among parameters": CLAIM | {"parameters": {"path": "victim"}},
    "a path among options of data": CLAIM | {"data_options": {"path": "victim"}},
    "no number": CLAIM | {"epsilon": float("nan")},
    "an epsilon without end": CLAIM | {"epsilon": float("inf")},
    "a delta above 1": CLAIM | {"delta": 1.5},
    "a confidence of 1": CLAIM | {"confidence": 1.0},
    "a seed below 0": CLAIM | {"seed": -1},
    "time that is over": CLAIM | {"time": -1.0},
    "more memory than there is": CLAIM | {"memory": -5.0},
    "calls without time": CLAIM | {"timeout": 0.0},
    "looks that spend twice": CLAIM | {"looks": [[100, 0.9], [200, 0.9]]},
    "an order of three": CLAIM | {"renyi": [2.0, 1.0, 1.0]},
    "two claims in one": CLAIM | {"mu": 1.0, "rho": 1.0},
    "an attack's claim in a file": {
        "command": "attack",
        "name": "histogram",
        "parameters": {"claim": "mine:f"},
    },
    "an attack on a file": {
        "command": "attack",
        "name": "stationarity",
        "parameters": {"data": "victim"},
    },
    "another command": {"command": "verify", "targets": ["there"]},
    "a command of none": {"targets": ["huang2020-theorem6"]},
    "an attack of none": {"command": "attack", "name": "no such attack"},
    "an attack into a file": {"command": "attack", "name": "stationarity", "out": "victim"},
    "a self-test elsewhere": {"command": "selftest", "store": "victim"},
    "words of before": ["audit", "huang2020-theorem6", "--format", "json=victim"],
    "nothing": {},
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_tampered_store_is_refused_in_one_line(ran, folder, what, monkeypatch):  # noqa: F811
    described(folder, HOSTILE[what])
    (folder / "mine.py").write_text("raise SystemExit('imported')\n")
    (folder / "victim").write_text("precious")
    os.mkfifo(folder / "pipe")
    monkeypatch.chdir(folder)
    before = everything(folder)
    code, _, told = ran("resume", folder)
    assert code == 2
    assert told.startswith("error: ")
    assert told.count("\n") == 1
    assert not any(word in told for word in ("imported", "unforeseen", "Traceback"))
    assert everything(folder) == before
    assert (folder / "victim").read_text() == "precious"


@pytest.mark.parametrize("command", ["{", "3", '"a"', "[1, 2]", "null", "[" * 10**5])
def test_a_command_that_is_none_ends_in_a_line(ran, folder, command):  # noqa: F811
    with Store(folder / "store.sqlite") as store:
        store.run("UPDATE audits SET command = ?", (command,))
    for words in (("resume", folder), ("store", "ls", folder)):
        code, _, told = ran(*words)
        assert code == 2
        assert told.count("\n") == 1


def test_code_that_is_named_beside_others_is_refused(ran, folder):  # noqa: F811
    code, _, told = ran("resume", folder, "mine:f")
    assert (code, told.count("\n")) == (2, 1)
    assert "expected code that the command runs: none" in told


def test_what_a_tampered_store_holds_is_shown_on_lines_of_its_own(ran, folder):  # noqa: F811
    described(folder, CLAIM | {"relation": "a\x1b[2J\nb"})
    code, out, _ = ran("store", "show", folder, 1)
    assert code == 0
    assert "\x1b" not in out
    assert "no such thing" in out.splitlines()[1]


# What the command line gives comes back.

NAMES = st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=8)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
FIELDS = st.fixed_dictionaries(
    {"targets": st.lists(NAMES, min_size=1, max_size=3)},
    optional={
        "epsilon": NUMBERS,
        "delta": NUMBERS,
        "data": NAMES,
        "data_options": st.dictionaries(NAMES, NAMES | st.integers() | st.booleans(), min_size=1),
        "parameters": st.dictionaries(NAMES, NAMES | st.integers() | NUMBERS, min_size=1),
        "trials": st.integers(),
        "confidence": NUMBERS,
        "seed": st.integers(),
        "until_refuted": st.just(True),
        "time": NUMBERS,
        "looks": st.lists(st.tuples(st.integers(), NUMBERS), min_size=1).map(tuple),
        "relation": NAMES,
        "renyi": st.tuples(NUMBERS, NUMBERS),
        "observe": st.lists(NAMES, min_size=1),
        "timeout": NUMBERS,
        "in_process": st.booleans(),
    },
)


@given(FIELDS)
def test_a_description_comes_back_as_it_was(fields):
    command = AuditCommand.of(fields)
    kept = json.loads(json.dumps(command.document()))
    assert read_command(kept, Path("store")) == command


@given(FIELDS)
def test_its_line_gives_the_same_options(fields):
    command = AuditCommand.of(fields)
    words = shlex.split(command.line)
    assert words[: 2 + len(command.targets)] == ["dpaudit", "audit", *command.targets]
    for name, value in fields.items():
        if name in ("epsilon", "trials", "seed", "relation", "time"):
            assert words[words.index(f"--{name}") + 1] == str(value)
    assert ("--in-process" in words) == fields.get("in_process", False)
    assert ("--until-refuted" in words) == ("until_refuted" in fields)


@given(st.dictionaries(st.text(max_size=12), st.none() | st.integers() | st.text() | st.booleans()))
def test_any_other_fields_are_refused_in_a_line(fields):
    with pytest.raises(DataError) as caught:
        read_command({**fields, "command": "audit", "format": 1}, Path("store"))
    assert "\n" not in str(caught.value)


# What is not described, as it is for whoever resumes.
ASIDE = {
    *("workers", "out", "watch", "backend", "scheduler", "shard", "store", "no_store", "formats"),
    *("picture", "picture_width", "as_json", "quiet", "traceback", "show_records"),
    *("baseline", "accept", "accept_until"),  # what is accepted is for whoever resumes
}


def test_every_option_of_an_audit_is_described_or_set_aside():
    described = type(AuditCommand.of({})).model_fields
    assert {*inspect.signature(audit).parameters} == ({*described} - {"command"}) | ASIDE


# Endings are those of the command.

MINE = """
import os, time
import numpy as np

def slow(data, trials, rng):
    with open("calls", "a") as file:
        file.write("x")
    time.sleep(0.0005 * trials)
    return np.asarray(data).sum() + rng.laplace(scale=2.0, size=trials)

def broken(data, trials, rng):
    time.sleep(0.0005 * trials)
    if os.path.exists("break"):
        raise ValueError("no records")
    return np.asarray(data).sum() + rng.laplace(scale=2.0, size=trials)
"""
OPTIONS = "--dataset a.csv --neighbour b.csv --epsilon 1 --trials 3000 --quiet --workers 1"


@pytest.fixture
def mine(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    for name, value in (("a", 0), ("b", 1)):
        (tmp_path / f"{name}.csv").write_text(f"x\n{value}\n")
    return tmp_path


def started(where, words):
    """Start a command that an interrupt stops, even where the tests run behind a shell."""
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command = [sys.executable, "-m", "dpaudit", *words.split()]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # if ignored, it is inherited
    try:
        return subprocess.Popen(command, cwd=where, start_new_session=True, **quiet)
    finally:
        signal.signal(signal.SIGINT, before)


def stopped(where, words):
    """Interrupt a command once it keeps something; return what it ended with."""
    process = started(where, words)
    store = where / "out" / "store.sqlite"
    while process.poll() is None and not (store.exists() and _kept(store)):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate()
    return process.returncode, told


def _kept(path):
    with Store(path) as store:
        return store.run("SELECT count(*) FROM blocks")[0][0] > 0


def test_it_ends_as_the_command_does(mine):
    audited = f"audit mine:slow {OPTIONS} --out out"
    status, told = stopped(mine, audited)
    assert (status, told.splitlines()[-1:]) == (130, ["interrupted"])
    resumed = "resume out mine.py:slow --quiet --workers 1"
    process, before = started(mine, resumed), (mine / "calls").stat().st_size
    while process.poll() is None and (mine / "calls").stat().st_size == before:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate()
    assert process.returncode == 130
    assert "interrupted" in told.splitlines()
    process = started(mine, resumed)
    _, told = process.communicate()
    assert process.returncode == 0, told
    assert "Taken from" in told
    assert json.loads((mine / "out" / "report.json").read_text())["results"][0]["trials"] == 3000


@pytest.mark.slow
def test_an_error_of_the_users_is_said_with_its_file_and_line(mine):
    stopped(mine, f"audit mine:broken {OPTIONS} --out out")
    (mine / "break").touch()
    process = started(mine, "resume out mine:broken --quiet --workers 1 --show-records")
    _, told = process.communicate()
    assert process.returncode == 2
    line = 1 + MINE.splitlines().index('        raise ValueError("no records")')
    assert f"mine.py:{line}" in told or f"mine.py, line {line}" in told, told
    assert "unforeseen" not in told

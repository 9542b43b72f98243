"""One table of settings: every door of an audit is made of it, or held to it."""

import dataclasses
import inspect
import shlex
import subprocess
import sys
import typing

import pytest
import typer.main

import dpaudit as package
from dpaudit.auditing.repeat.plan import CommandPlan
from dpaudit.auditing.specification.audits_file import read_specification
from dpaudit.cli.audit import audit as audit_command
from dpaudit.cli.main import app
from dpaudit.cli.replay import replay as replay_command
from dpaudit.cli.sensitivity import sensitivity as sensitivity_command
from dpaudit.cli.setting_options import values_of
from dpaudit.extension.setting_table import (
    TABLE,
    Door,
    Kind,
    ProcessSettings,
    names_of,
    row_of,
    rows_of,
)
from dpaudit.extension.settings import Settings
from dpaudit.plugin.marker import KNOWN

# What a claim may be in Python alone, who computes, and what is kept: no settings of an audit.
BESIDE = {
    *("mechanism", "dataset", "neighbour", "claim", "release", "executor", "isolation", "store"),
}
# Where nobody says it: no epsilon, since a claim may be another; no delta; so many outputs.
OTHERWISE = {"epsilon": None, "delta": 0.0, "trials": 10_000}


def test_a_call_takes_what_the_table_says_with_its_defaults():
    parameters = inspect.signature(package.audit).parameters
    assert {*parameters} - BESIDE == {*names_of(door=Door.PYTHON)}
    for row in rows_of(door=Door.PYTHON):
        expected = OTHERWISE.get(row.name, row.default)
        assert parameters[row.name].default == expected, row.name


def test_a_replay_takes_what_the_table_says_with_its_defaults():
    parameters = inspect.signature(package.replay).parameters
    for row in rows_of(door=Door.REPLAY):
        if row.name in (*names_of(ProcessSettings), "dataset", "neighbour", "epsilon"):
            continue
        assert parameters[row.name].default == OTHERWISE.get(row.name, row.default), row.name


@pytest.mark.parametrize(
    ("command", "door"),
    [
        (audit_command, Door.COMMAND),
        (replay_command, Door.REPLAY),
        (sensitivity_command, Door.SENSITIVITY),
    ],
)
def test_a_command_has_an_option_for_each(command, door):
    assert {*names_of(door=door)} <= {*inspect.signature(command).parameters}


def test_the_four_that_one_door_lacked_are_at_all():
    everywhere = (Door.PYTHON, Door.COMMAND, Door.FILE, Door.MARKER)
    for name in ("distinguisher", "estimator", "until_refuted", "bounds"):
        assert row_of(name).doors.issuperset(everywhere)


TYPES = {
    Kind.NUMBER: {float},
    Kind.INTEGER: {int},
    Kind.FLAG: {bool},
    Kind.WORD: {str},
    Kind.FILE: {str},
}


@pytest.mark.parametrize("cls", TABLE, ids=lambda cls: cls.__name__)
def test_a_kind_is_that_of_the_type_and_the_default(cls):
    hints = typing.get_type_hints(cls)
    for row in rows_of(cls):
        named = {*typing.get_args(hints[row.name])} or {hints[row.name]}
        expected = TYPES.get(row.kind)
        if expected is not None and named != {typing.Any}:
            assert named - {type(None)} == expected, row.name


def test_no_name_and_no_flag_stands_twice():
    for many in (names_of(), [row.flag for row in rows_of()]):
        assert len(set(many)) == len(many)


def test_what_settings_check_is_what_the_table_holds():
    assert [one.name for one in dataclasses.fields(Settings)] == list(names_of(TABLE[0]))


GIVEN = {
    **{"epsilon": 2.0, "delta": 1e-6, "trials": 300, "confidence": 0.9, "seed": 0, "unit": 7},
    **{"estimator": "event", "distinguisher": "histogram", "time": 3.5, "until_refuted": True},
    **{"about": "survey-2031"},
    **{"relation": "replace-record", "form": "f(data)", "read": ["a"], "ignore": ["id", "at"]},
    **{"observe": ["warnings"], "fresh": "env:KEY", "mu": 0.5, "rho": 0.25, "renyi": (2.0, 0.5)},
    **{"timeout": 4.0, "memory": 64.0, "in_process": True},
    **{"looks": ((100, 0.1), (900, 0.8)), "bounds": {"age": (0.0, 99.5), "pay": (-1.0, 1e6)}},
}


def test_a_line_of_all_settings_gives_the_same_settings():
    """What the plan renders, the command line reads back."""
    words = shlex.split(str(CommandPlan(GIVEN, ("a.py:f",))))
    command = typer.main.get_command(app).commands["audit"]
    with command.make_context("audit", words[2:]) as context:
        assert values_of(rows_of(door=Door.COMMAND), dict(context.params)) == GIVEN


def test_bounds_are_of_all_numbers_or_of_each_column_by_its_name(dpaudit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(
        "import numpy as np\n"
        "def total(data, trials, rng):\n"
        "    return np.sum(data) + rng.laplace(scale=5.0, size=trials)\n"
    )
    (tmp_path / "a.csv").write_text("1\n2\n3\n4\n")
    told = ["audit", "mine.py:total", "--dataset", "a.csv", "--relation", "replace-record"]
    told += ["--epsilon", "1", "--trials", "400", "--no-store", "--quiet"]
    # Within five a record moves the sum by five at most; within fifty by ten times that.
    assert dpaudit(*told, "--bounds", "0,5").status == 0
    assert dpaudit(*told, "--bounds", "0,50").status == 1
    twice = dpaudit(*told, "--bounds", "0,5", "--bounds", "0,6")
    assert (twice.status, "bounds: got" in twice.err) == (2, True)


def test_a_file_takes_what_is_said_of_it(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(
        '[audit]\nmechanism = "m:f"\nepsilon = 1\nestimator = "event"\nattack = "histogram"\n'
        "seed = 0\ndelta = 0\nneighbour = []\ndataset = [1]\nbounds = {age = [0, 9]}\n"
    )
    [one] = read_specification(path)
    assert one.settings == {
        **{"epsilon": 1.0, "estimator": "event", "distinguisher": "histogram"},
        **{"seed": 0, "delta": 0.0},
    }
    assert (one.own.dataset, one.own.neighbour, one.own.bounds) == ([1], [], {"age": (0.0, 9.0)})


@pytest.mark.parametrize("given", ['"warnings"', '["warnings"]'])
def test_one_word_of_a_file_is_a_word_and_no_letters(tmp_path, given):
    path = tmp_path / "own.toml"
    path.write_text(f'[audit]\nmechanism = "m:f"\nepsilon = 1\nobserve = {given}\n')
    [one] = read_specification(path)
    assert one.reading.observe == ("warnings",)


def test_the_marker_takes_what_the_table_says():
    assert {*KNOWN} == {*names_of(door=Door.MARKER), "claim"}


ONE_MORE = """
from dataclasses import dataclass
import sys
from pathlib import Path
import dpaudit.extension.setting_table as table

@dataclass(frozen=True, kw_only=True)
class More(table.AuditSettings):
    stamina: int | None = table.setting(
        None, table.Kind.INTEGER, table.Group.EFFORT, "Looks without news", "any"
    )

table.AuditSettings, table.TABLE = More, (More, *table.TABLE[1:])

from typer.testing import CliRunner
from dpaudit.auditing.repeat.plan import CommandPlan
from dpaudit.auditing.specification.audits_file import (
    of_command_line, read_specification, settings_of,
)
from dpaudit.cli.description import AuditCommand, read_command
from dpaudit.cli.main import app
from dpaudit.plugin.marker import KNOWN

page = CliRunner().invoke(app, ["audit", "--help"], env={"COLUMNS": "200"}).output
assert "--stamina" in page and "Looks without news (any)." in page
assert str(CommandPlan({"stamina": 4}, ("a.toml",))) == "dpaudit audit a.toml --stamina 4"
described = AuditCommand.of({"targets": ["a.toml"], "stamina": 4})
assert described.overrides == {"stamina": 4}
assert read_command(described.document(), Path("a.sqlite")) == described
Path("a.toml").write_text('[audit]\\nmechanism = "m:f"\\nepsilon = 1\\nstamina = 4\\n')
[one] = read_specification(Path("a.toml"))
assert settings_of(one, {}).stamina == 4
assert settings_of(one, {"stamina": 5}).stamina == 5
assert "stamina" in KNOWN
"""


def test_a_setting_that_is_added_to_the_table_is_taken_at_every_door(tmp_path):
    """Nothing but its row is stated: page, line, file, store and marker know it."""
    done = subprocess.run(
        [sys.executable, "-c", ONE_MORE], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr

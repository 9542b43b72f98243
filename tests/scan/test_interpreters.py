"""Pythons of a version: one that runs and says that it is of it, wherever it was installed."""

import sys

import pytest

import dpaudit.scan.remote.environments as environments
from dpaudit.errors import InvalidArgument
from dpaudit.scan.remote.interpreters import find_interpreter

THIS = f"{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.fixture(autouse=True)
def _no_others(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))


def python(path, version):
    """Write a command that says it is a Python of a version."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {version}\n")
    path.chmod(0o755)
    return str(path)


def test_this_one_is_found():
    assert find_interpreter(THIS) == sys.executable


@pytest.mark.parametrize("command", ["/nowhere/python", sys.executable, "false"])
def test_one_that_fails_or_is_of_another_version_is_none(command):
    assert find_interpreter("3.99", [command]) is None


def test_the_newest_of_pyenv_is_found_behind_a_name_on_the_path_that_fails(tmp_path, monkeypatch):
    shims = tmp_path / "shims"
    python(shims / "python3.99", "")
    monkeypatch.setenv("PATH", str(shims))
    python(tmp_path / "versions" / "3.99.9" / "bin" / "python", "3.99")
    newest = python(tmp_path / "versions" / "3.99.10" / "bin" / "python", "3.99")
    python(tmp_path / "versions" / "3.98.7" / "bin" / "python", "3.98")
    assert find_interpreter("3.99") == newest


def test_an_environment_takes_it_where_this_one_will_not_do(tmp_path):
    older = python(tmp_path / "versions" / "3.9.18" / "bin" / "python", "3.9")
    assert environments._choose_interpreter("<3.11") == older
    with pytest.raises(InvalidArgument, match=r"a Python <3\.5 on the path, from pyenv or uv"):
        environments._choose_interpreter("<3.5")

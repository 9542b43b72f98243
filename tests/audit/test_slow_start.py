"""A file that takes long to start: its functions go to other processes by value, and say so."""

import importlib.util
import sys

import pytest

import dpaudit
import dpaudit.execution.surveys as surveys

SLOW = """
import time
time.sleep({})
SCALE = 1.0
def noisy(data, rng):
    return sum(data) + rng.laplace(scale=SCALE)
def quiet(data, rng):
    return sum(data) + rng.laplace(scale=SCALE / 20)
"""


@pytest.fixture
def module_of(tmp_path, monkeypatch):
    """Return what makes the module of a file that no process can import by its name."""

    def made(name, seconds):
        return _loaded(tmp_path, name, seconds, monkeypatch)

    return made


def _loaded(folder, name, seconds, monkeypatch):
    path = folder / f"{name}.py"
    path.write_text(SLOW.format(seconds))
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


def notes_of(function):
    found = dpaudit.audit(function, [0.0], [1.0], epsilon=2.0, trials=300)
    notes = [note for note in found.notes if note.startswith("Not run afresh in each process")]
    return found.verdict, notes


@pytest.mark.sampled(1)
def test_a_file_that_takes_too_long_goes_by_value_and_the_report_says_why(module_of, monkeypatch):
    monkeypatch.setattr(surveys, "_LONGEST", 0.3)
    module = module_of("late", 0.6)
    verdict, (note,) = notes_of(module.noisy)
    assert verdict == "not refuted"
    assert "late.py' cannot be run afresh (it takes over 0.3 seconds to start)" in note
    assert notes_of(module.quiet)[0] == "refuted"


@pytest.mark.sampled(1)
def test_one_that_starts_in_time_is_run_afresh(module_of):
    assert notes_of(module_of("soon", 0.0).noisy) == ("not refuted", [])

"""The seeded faults themselves: each has its place, changes it, and is a program still."""

from __future__ import annotations

import ast
import json
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import pytest

from .faults import KINDS, ROOMS, ROOT, Fault, faults, faults_in, sources
from .journal import Journal
from .reach import reach
from .run import KILLERS, Copy, Runner

LEAST = 60


def test_every_fault_has_one_place_and_changes_it():
    for fault in faults():
        text = sources()[fault.place(sources())]
        assert fault.applied(text) != text, fault.name


@pytest.mark.slow
def test_every_fault_is_a_program_still_and_another_one():
    for fault in faults():
        text = sources()[fault.place(sources())]
        assert ast.dump(ast.parse(fault.applied(text))) != ast.dump(ast.parse(text)), fault.name


def test_every_fault_has_a_killer_that_is_there():
    killers = json.loads(KILLERS.read_text(encoding="utf-8"))
    assert killers.keys() == {one.name for one in faults()}
    files = {killer.partition("::")[0] for killer in killers.values()}
    assert [file for file in sorted(files) if not (ROOT / file).is_file()] == []


def test_names_are_unique_and_faults_are_many():
    assert len({one.name for one in faults()}) == len(faults()) >= LEAST
    assert len({(one.find, one.into) for one in faults()}) == len(faults())


def test_every_kind_and_every_room_is_there():
    assert {one.kind for one in faults()} == set(KINDS)
    assert set(Counter(one.room for one in faults())) == set(ROOMS)
    assert all(one.what for one in faults())


@pytest.mark.parametrize("text", ["no such text", "import math"])
def test_a_text_that_is_missing_or_frequent_is_an_error_that_names_the_fault(text):
    fault = Fault("lost", "nothing", "sign", "laws", text, "")
    with pytest.raises(LookupError, match="lost: "):
        fault.place(sources())


@pytest.mark.slow
def test_the_tests_that_reach_a_module_are_found_its_own_first():
    (home,) = (path for path in sources() if path.as_posix().endswith("estimation/exact_loss.py"))
    reached = [one.name for one in reach().tests_of(home)]
    assert reached[0] == "test_exact_loss.py"
    assert "test_coverage.py" in reached
    assert "test_bundled.py" not in reached


@pytest.mark.slow
def test_a_verifier_is_reached_through_the_name_of_its_claim():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'huang2020-lemma5 = "' in project
    (verifier,) = (p for p in sources() if p.as_posix().endswith("multistep/verify/lemma5.py"))
    assert reach().tests_of(verifier)


@pytest.mark.slow
def test_a_card_is_reached_by_who_reads_which_there_are_and_its_code_by_its_name():
    places = {path.as_posix(): path for path in sources()}
    for name in ("card", "subjects"):
        path = places[f"dpaudit/scan/packages/synthcity/{name}.py"]
        assert "test_cards_in_force.py" in [one.name for one in reach().tests_of(path)]


def test_a_file_of_ones_own_needs_what_is_found_and_what_stands_there_instead(tmp_path):
    path = tmp_path / "own.toml"
    named = '[[fault]]\nname = "c"\nfind = "d"\ninto = ""'
    path.write_text(f'[[fault]]\nfind = "a"\ninto = "b"\n{named}', encoding="utf-8")
    found = faults_in(path, "planted")
    assert [(one.name, one.find, one.into) for one in found] == [
        ("own-1", "a", "b"),
        ("c", "d", ""),
    ]


def test_a_kill_counts_again_until_the_fault_or_the_test_is_another(tmp_path):
    fault, journal = faults()[0], Journal(tmp_path / "new" / "kills.jsonl")
    killer = "tests/mutants/test_mutants.py::test_names_are_unique_and_faults_are_many"
    assert journal.killer_of(fault) is None
    journal.add(fault, killer)
    again = Journal(journal.path)
    assert again.killer_of(fault) == killer
    assert again.killer_of(faults()[1]) is None
    assert again.killer_of(replace(fault, into=f"{fault.into} ")) is None
    told = json.loads(journal.path.read_text(encoding="utf-8"))
    journal.path.write_text(json.dumps(told | {"killer": "tests/mutants/reach.py::other"}))
    assert Journal(journal.path).killer_of(fault) is None


@pytest.mark.parametrize(
    ("status", "text", "found"),
    [
        (0, "3 passed", []),
        (1, "FAILED tests/a.py::test_b - AssertionError", ["tests/a.py::test_b"]),
        (4, "ERROR: not found: tests/a.py::test_b[1.0]\n(no match in any of [])", []),
    ],
)
def test_a_killer_that_is_not_there_kills_nothing(monkeypatch, tmp_path, status, text, found):
    monkeypatch.setattr(Copy, "_tested", lambda *_: (status, text))
    assert Copy(tmp_path).failing(["tests/a.py::test_b[1.0]"], 1.0) == found


@pytest.mark.parametrize(
    ("selection", "found"),
    [
        ([], ["tests/b.py::test_b"]),
        (["tests/a.py", "tests/b.py"], ["tests/b.py::test_b"]),
        (["-m", "", "tests/a.py"], []),
        (["-m", "", "tests/a.py::test_a"], []),
    ],
)
def test_an_error_at_collection_is_no_kill_and_hides_none(monkeypatch, tmp_path, selection, found):
    """As where two files of tests have one name: pytest would stop there, for any fault."""

    def tested(copy, arguments, seconds):
        if "--ignore=tests/a.py" not in arguments:
            return 1, "ERROR tests/a.py - ImportError: import file mismatch"
        assert not [one for one in arguments if one.startswith("tests/a.py")]
        return 1, "FAILED tests/b.py::test_b - assert 1 == 2"

    monkeypatch.setattr(Copy, "_tested", tested)
    assert Copy(tmp_path).failing(selection, 1.0) == found


def test_an_error_of_a_fixture_is_a_kill(monkeypatch, tmp_path):
    monkeypatch.setattr(Copy, "_tested", lambda *_: (1, "ERROR tests/b.py::test_b - ValueError"))
    assert Copy(tmp_path).failing([], 1.0) == ["tests/b.py::test_b"]


def test_another_end_of_pytest_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setattr(Copy, "_tested", lambda *_: (4, "ERROR: unrecognized arguments"))
    with pytest.raises(RuntimeError, match="status 4"):
        Copy(tmp_path).failing([], 1.0)


def test_a_known_killer_is_tried_first_and_then_its_other_cases():
    fault, killer = faults()[0], "tests/mutants/test_mutants.py::test_b"
    runner = Runner([], None, reach(), {fault.name: f"{killer}[1.0]"})
    first, second, *_ = runner._stages(fault, fault.place(sources()))
    assert [one[-1] for one, _ in (first, second)] == [f"{killer}[1.0]", killer]


class Broken:
    """A copy in which some tests fail whatever is written, and one with the fault alone."""

    def __init__(self, anyway, by_fault):
        self.anyway, self.by_fault, self.text, self.asked = anyway, by_fault, "", []

    def write(self, _, text):
        self.text = text

    def failing(self, selection, _):
        self.asked.append(list(selection))
        left_out = {one.partition("=")[2] for one in selection if one.startswith("--")}
        failing = [*self.anyway, *([self.by_fault] if self.text == "faulty" else [])]
        named = [one for one in selection if ".py" in one and not one.startswith("--")]
        here = [one for one in failing if not named or one.partition("::")[0] in str(named)]
        return [one for one in here if one not in left_out][:1]


@pytest.mark.parametrize("anyway", ["tests/test_a.py::test_a", "tests/test_a.py"])
def test_what_fails_without_the_fault_hides_no_killer(anyway):
    fault, runner = faults()[0], Runner([], None, reach(), {})
    path, killer = fault.place(sources()), "tests/test_b.py::test_b"
    copy = Broken([anyway], killer)
    copy.text = "faulty"
    fault_applied = SimpleNamespace(applied=lambda _: "faulty")
    for selection in (["tests/test_a.py", "tests/test_b.py"], []):
        assert runner._first_failing(fault_applied, path, copy, selection, 1.0) == killer
        assert copy.text == "faulty"
    assert runner.failing_anyway == {anyway: True, killer: False}
    alone = runner._first_failing(fault_applied, path, copy, ["tests/test_a.py"], 1.0)
    assert alone is None


@pytest.mark.slow
def test_a_survivor_of_the_fast_tests_meets_slow_ones_of_the_nearest_files():
    fault = faults()[0]
    stages = list(Runner([], None, reach(), {})._stages(fault, fault.place(sources())))
    *_, (nearest, _), _, (everything, _), (slow, _) = stages
    assert everything == []
    assert slow[:2] == ["-m", "slow"]
    assert set(slow[2:]) == set(nearest)

"""How the fast suite is kept fast: what families of cases cost, and how many of them it runs."""

import subprocess
import sys
import time
from collections import Counter

import pytest

import tests.costs as costs


@pytest.mark.parametrize(
    ("cost", "cases", "fast"),
    [(0.0, 90, 90), (0.15, 9, 9), (3.0, 40, 2), (6.0, 40, 1), (9.0, 1, 1)],
)
def test_a_family_runs_as_many_cases_as_it_may_take(cost, cases, fast):
    assert costs.choose_fast({"family": cases}, {"family": cost}) == {"family": fast}


def test_a_file_keeps_what_is_quick_and_the_shortest_of_the_rest():
    cases = {"quick": 50, "longest": 1, "long": 1, "longer": 1, "many": 10}
    seconds = {"quick": 0.15, "longest": 9.0, "long": 0.2, "longer": 0.24, "many": 30.0}
    fast = costs.choose_fast(cases, seconds)
    assert fast == {"quick": 50, "longest": 0, "long": 1, "longer": 1, "many": 0}
    kept = sum(seconds[name] / cases[name] * count for name, count in fast.items())
    assert kept <= costs.FILE


def test_one_test_of_a_file_is_fast_however_long_it_takes():
    assert costs.choose_fast({"a": 1, "b": 1}, {"a": 60.0, "b": 50.0}) == {"a": 0, "b": 1}


def test_what_catches_a_seeded_fault_is_fast_unless_it_takes_long():
    (quick, *_) = sorted(costs.read_catching_tests())
    family = costs.family_of(quick)
    assert costs.is_quick_catch(quick, 10, {family: 10 * costs.CATCH})
    assert not costs.is_quick_catch(quick, 10, {family: 10 * costs.CATCH + 0.1})
    assert not costs.is_quick_catch("tests/test_costs.py::test_of_no_fault", 1, {})


def test_what_was_measured_is_read_again(tmp_path):
    path = tmp_path / "costs.toml"
    costs.write_costs(Counter({"a.py::test_b": 7.256, "a.py::test_c": 0.1}), path)
    assert path.read_text(encoding="utf-8").splitlines()[1:] == ['"a.py::test_b" = 7.26']


def test_every_family_that_is_named_exists():
    root = costs.COSTS.parents[1]
    for name in costs.read_costs():
        path, _, test = name.partition("::")
        text = (root / path).read_text(encoding="utf-8")
        function = test.rpartition("::")[2]
        assert f"def {function}(" in text or "tests" not in path.split("/"), name


def test_what_processors_did_is_measured_and_what_was_waited_for_is_not():
    began = costs.spent()
    time.sleep(0.2)
    assert costs.spent() - began < 0.2
    subprocess.run([sys.executable, "-c", "sum(range(3 * 10**6))"], check=True)
    assert costs.spent() - began > 0.01

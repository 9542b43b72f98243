"""How the fast suite is kept fast: what families of cases cost, and how many of them it runs."""

import time
from collections import Counter

import pytest

import tests.costs as costs


@pytest.mark.parametrize(
    ("cost", "cases", "fast"),
    [(0.0, 90, 90), (2.0, 9, 9), (8.0, 40, 10), (50.0, 5, 2), (9.0, 1, 1)],
)
def test_a_family_runs_as_many_cases_as_it_may_cost(cost, cases, fast):
    assert costs.fast_cases("family", cases, {"family": cost}) == fast


def test_processes_that_a_test_starts_are_counted():
    before = costs.cpu_seconds()
    start = time.process_time()
    while time.process_time() < start + 0.2:
        pass
    assert 0.1 < costs.cpu_seconds() - before < 5.0


def test_what_was_measured_is_read_again(tmp_path):
    path = tmp_path / "costs.toml"
    costs.write_costs(Counter({"a.py::test_b": 7.25, "a.py::test_c": 0.5}), path)
    assert path.read_text(encoding="utf-8").splitlines()[1:] == ['"a.py::test_b" = 7.2']


def test_every_family_that_is_named_exists():
    root = costs.COSTS.parents[1]
    for name in costs.read_costs():
        path, _, test = name.partition("::")
        function = test.rpartition("::")[2]
        assert f"def {function}(" in (root / path).read_text(encoding="utf-8"), name

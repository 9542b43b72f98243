"""What a failing test offers to paste: it runs, and replays the pair of the test."""

from __future__ import annotations

import shlex
import subprocess
import sys

import numpy as np
import pytest

from dpaudit.auditing.repeat.plan import replay_command
from dpaudit.neighbours import REPLACE_RECORD, Pair
from dpaudit.plugin.snippets import replay_snippet

BEGINS, ENDS = "import dpaudit; print(dpaudit.replay(", "))"
PAIR = Pair(np.array([0.0]), np.array([1.0]), REPLACE_RECORD)


@pytest.mark.parametrize(
    ("call", "dataset", "settings", "inside"),
    [
        ("dp_audit(f, a, b)", [0.0], {"epsilon": 1}, "f, a, b, epsilon=1"),
        ("dp_audit(f, a, b, epsilon=2 * e)", [0.0], {"epsilon": 2.0}, "f, a, b, epsilon=2 * e"),
        ("dp_audit(f, a, b, trials=9)", [0.0], {"epsilon": 1, "trials": 9}, "f, a, b, epsilon=1"),
        (
            "dp_audit(f, pair())",
            PAIR,
            {"epsilon": 1},
            "f, (pair()).dataset, (pair()).neighbour, epsilon=1, relation='replace-record'",
        ),
        ("dp_audit(f)", None, {"epsilon": 1, "domain": {"bounds": [0, 1]}}, None),
    ],
)
def test_a_snippet_says_what_the_test_says(call, dataset, settings, inside):
    inside = inside or "f, epsilon=1, domain={'bounds': [0, 1]}"
    found = replay_snippet(f"def test(dp_audit):\n    {call}\n", 2, dataset, settings)
    assert found == f"{BEGINS}{inside}{ENDS}"


def test_a_call_over_several_lines_is_found_by_any_of_them():
    source = "dp_audit(\n    f,\n    a,\n    b,\n)\n"
    found = {replay_snippet(source, line, None, {"epsilon": 1}) for line in range(1, 6)}
    assert found == {f"{BEGINS}f, a, b, epsilon=1{ENDS}"}


@pytest.mark.parametrize(
    ("source", "settings"),
    [
        ("dp_audit(*given)", {"epsilon": 1}),
        ("dp_audit(f, a, b)", {"claim": "mu"}),  # no replay is about mu
        ("dp_audit(f, a, b", {"epsilon": 1}),
        ("pass", {"epsilon": 1}),
    ],
)
def test_where_no_statement_can_be_made_there_is_none(source, settings):
    assert replay_snippet(source, 1, None, settings) is None


LEAKS = """
import numpy as np


def total(data, rng):
    return data.sum() + rng.laplace(scale=1.0)


def test_it(dp_audit):
    data, other = np.array([0.0, 1.0]), np.array([0.0, 9.0])
    dp_audit(total, data, other, epsilon=1, delta=0, trials=400)
"""


@pytest.mark.slow
def test_what_is_pasted_runs_and_names_the_line(tmp_path):
    file = tmp_path / "test_leaks.py"
    file.write_text(LEAKS)

    def ran():
        words = [sys.executable, "-m", "pytest", "-s", "-p", "no:cacheprovider", file.name]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.stdout

    first = ran()
    assert "Noise is drawn at test_leaks.py:6 in total: return data.sum() + rng.laplace(" in first
    (snippet,) = (line for line in first.splitlines() if line.startswith(BEGINS))
    file.write_text(LEAKS.replace("    dp_audit(", f"    {snippet}\n    dp_audit("))
    assert "proof, sensitivity: output: it moved by more than its noise allows" in ran()


@pytest.mark.slow
def test_the_command_that_is_printed_runs(tmp_path):
    (tmp_path / "mine.py").write_text(LEAKS)
    for name, last in (("a", 1), ("b", 9)):
        (tmp_path / f"{name}.csv").write_text(f"0\n{last}\n")
    given = "--dataset a.csv --neighbour b.csv --epsilon 1 --delta 0"

    def ran(words):
        code = "from dpaudit.cli.main import main; main()"
        made = [sys.executable, "-c", code, *words]
        return subprocess.run(made, cwd=tmp_path, capture_output=True, text=True, check=False)

    done = ran(["audit", "mine.py:total", *given.split(), "--trials", "400", "--no-store"])
    (line,) = (one for one in done.stdout.splitlines() if one.startswith("To see what leaks: "))
    again = ran(shlex.split(line.removeprefix("To see what leaks: "))[1:])
    assert again.returncode == 1
    assert "sensitivity: output: it moved by more than its noise allows" in again.stdout


def test_a_command_leaves_out_what_a_replay_does_not_take():
    given = {"dataset": "a b.csv", "trials": 9, "confidence": 0.9, "epsilon": 1.0, "delta": 0.0}
    said = replay_command("mine:f", given)
    assert said == "dpaudit replay mine:f --epsilon 1.0 --delta 0.0 --dataset 'a b.csv'"

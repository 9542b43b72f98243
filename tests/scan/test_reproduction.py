"""Reproductions: what is shipped was run and shows the finding; what does not is not shipped."""

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from dpaudit.errors import InvalidArgument
from dpaudit.extension.package import PackageClaim, Subject
from dpaudit.guarantees.kinds import ApproximateDP, PureDP, ZeroConcentratedDP
from dpaudit.scan.certification.events import best_event, is_guarantee_refuted
from dpaudit.scan.finding import ClaimedGuarantee, ScanFinding, SeenEvent
from dpaudit.scan.remote.bench import Bench, InstalledPackage
from dpaudit.scan.remote.probe import split_output_parts
from dpaudit.scan.reproduction.literals import format_short_literal
from dpaudit.scan.reproduction.reproduction import find_smallest_reproduction
from dpaudit.scan.reproduction.scripts import (
    COLUMNS,
    LINES,
    ReproductionContent,
    lines_of,
    render_reproduction_script,
)
from dpaudit.scan.reproduction.values import format_expression, value_of

CODE = Path(__file__).with_name("shown_subjects.py")
PLACE = InstalledPackage(python=Path(sys.executable), code=CODE)
CLAIM = PackageClaim(epsilon="epsilon", where="docstring")
NUMBERS = np.random.default_rng(3).random(12).tolist()
FEATURES = np.random.default_rng(4).random((12, 2))


def found(code, dataset, neighbour, kind="structure", relation="replace-record", **parameters):
    setting = {"epsilon": 1.0, **parameters}
    return ScanFinding(
        package="toy",
        version="1.0",
        subject=code,
        code=code,
        kind=kind,
        violation=True,
        parameters=format_expression(setting),
        dataset=format_expression(dataset),
        neighbour=format_expression(neighbour),
        edit="one record",
        relation=relation,
        claimed=ClaimedGuarantee(
            words="1-DP", epsilon=1.0, delta=0.0, relation=None, where="docstring"
        ),
        event=SeenEvent(words="", part="", test="several", on_dataset=0, on_neighbour=9, runs=9),
        lower=2.0,
        at_delta=0.0,
        confidence=0.99,
        trials=100,
        sentence="",
    )


def subject(code):
    return Subject(name=code, code=code, claims=(CLAIM,), bounds="bounds")


def labels(last):
    return (FEATURES, np.array([0, 1] * 5 + [0, last]))


FINDINGS = {
    "nan": found("naive_sum", NUMBERS, [*NUMBERS[:-1], float("nan")], bounds=(0.0, 1.0)),
    "noise": found("half_the_noise", NUMBERS, [*NUMBERS[:-1], 0.0], "distribution", bounds=(0, 1)),
    "raised": found("raises", [1.25, 2.5, 3.75], [1.25, 2.5, 9.375]),
    "classes": found("classes", labels(1), labels(7)),
    "removed": found("raises", [1.25, 2.5, 9.375], [1.25, 2.5], relation="add-remove-record"),
    "bits": found("naive_sum", [0.0], [1.0], "floating point", bounds=(0.0, 1.0)),
}


@pytest.mark.parametrize("name", FINDINGS)
def test_a_reproduction_is_short_and_shows_the_finding_by_itself(name, tmp_path):
    finding = FINDINGS[name]
    shown = find_smallest_reproduction(finding, subject(finding.code), PLACE, seconds=60)
    assert shown is not None
    assert shown.lines <= LINES
    assert max(map(len, shown.script.splitlines())) <= COLUMNS
    assert "dpaudit" not in shown.script
    assert is_guarantee_refuted(shown.hits, shown.runs, PureDP(1.0), 1e-3)
    (tmp_path / "again.py").write_text(shown.script, encoding="utf-8")
    again = [sys.executable, "-I", "again.py"]
    ran = subprocess.run(again, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("seen in ")
    assert ran.stdout.endswith("claimed: epsilon = 1\n")


def test_the_pair_of_a_reproduction_is_smaller_and_rounder():
    finding = FINDINGS["nan"]
    shown = find_smallest_reproduction(finding, subject(finding.code), PLACE, seconds=60)
    dataset, neighbour = value_of(shown.dataset), value_of(shown.neighbour)
    assert len(dataset) == len(neighbour) == 1
    assert np.isnan(neighbour[0])
    assert dataset[0] in (0.0, 1.0)
    assert shown.event == "out != out"


def test_a_smaller_pair_shows_the_same_finding_and_no_other():
    """Of one record the largest would be missing, and `max` raise: that is another finding."""
    finding = FINDINGS["removed"]
    shown = find_smallest_reproduction(finding, subject("raises"), PLACE, seconds=20)
    assert len(value_of(shown.neighbour)) >= 1
    assert shown.hits[0] == shown.runs[0]
    assert shown.hits[1] == 0


CORRECT = {
    "sum": found("repaired_sum", NUMBERS, [*NUMBERS[:-1], float("nan")], bounds=(0.0, 1.0)),
    "classes": found("fixed_classes", labels(1), labels(7)),
    "loud": found("warns", [0.0], [1.0]),
}


@pytest.mark.parametrize("name", ["sum", "loud", pytest.param("classes", marks=pytest.mark.slow)])
def test_what_does_not_show_again_is_not_shipped(name):
    finding = CORRECT[name]
    assert find_smallest_reproduction(finding, subject(finding.code), PLACE, seconds=5) is None


def test_a_claim_of_another_place_is_refused():
    other = Subject(name="x", code="raises", claims=(PackageClaim(epsilon=1.0, where="elsewhere"),))
    with pytest.raises(InvalidArgument, match="a claim of x"):
        find_smallest_reproduction(FINDINGS["raised"], other, PLACE)


# The environment


def test_a_function_that_hangs_is_given_up(monkeypatch):
    monkeypatch.setattr("dpaudit.scan.remote.bench.START", 2.0)
    with Bench(PLACE, "hangs") as bench:
        assert bench.parts("{'epsilon': 1.0}", ("[0.0]", "[1.0]"), 5, 0.1) is None
    assert PLACE.run("while True: pass", seconds=0.5) is None
    assert PLACE.run("raise SystemExit(3)", seconds=30) is None


def test_what_a_package_prints_is_no_answer():
    with Bench(PLACE, "warns") as bench:
        sides = bench.parts("{'epsilon': 1.0}", ("[0.0]", "[1.0]"), 5, 1.0)
    assert [len(side) for side in sides] == [5, 5]
    assert all(run["out"][0] == "number" for side in sides for run in side)


def test_a_function_that_is_missing_answers_nothing():
    with Bench(PLACE, "no_such") as bench:
        assert bench.parts("{}", ("[0.0]", "[1.0]"), 5, 1.0) is None


# Events


def numbers(values):
    return [{"out": ["number", value]} for value in values]


def test_counts_refute_as_the_claim_says():
    assert is_guarantee_refuted((0, 100), (100, 100), PureDP(1.0), 1e-3)
    assert not is_guarantee_refuted((0, 100), (100, 100), PureDP(6.0), 1e-3)
    assert is_guarantee_refuted((0, 100), (100, 100), ApproximateDP(1.0, 0.1), 1e-3)
    assert not is_guarantee_refuted((0, 100), (100, 100), ApproximateDP(1.0, 0.99), 1e-3)
    assert is_guarantee_refuted((0, 1000), (1000, 1000), ZeroConcentratedDP(0.1), 1e-3)
    assert not is_guarantee_refuted((300, 600), (1000, 1000), PureDP(0.7), 1e-3)


def test_refuting_errs_no_more_often_than_it_says():
    """Randomised response of exactly epsilon: the probability of a wrong refutation, exactly."""
    runs, p = 14, np.exp(1.0) / (1 + np.exp(1.0))
    on_p, on_q = (
        binom.pmf(np.arange(runs + 1), runs, p),
        binom.pmf(np.arange(runs + 1), runs, 1 - p),
    )
    wrong = sum(
        on_p[a] * on_q[b]
        for a in range(runs + 1)
        for b in range(runs + 1)
        if on_p[a] * on_q[b] > 1e-9 and is_guarantee_refuted((a, b), (runs, runs), PureDP(1.0), 0.1)
    )
    assert 0 < wrong <= 0.1


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([0.5] * 50, [float("nan")] * 50, "out != out"),
        ([0.5] * 50, [float("inf")] * 50, 'abs(out) == float("inf")'),
        ([1.0] * 50, [2.0] * 50, "out == 1.0"),
        (np.linspace(0, 1, 50).tolist(), np.linspace(3.21, 4, 50).tolist(), "out > 1.0"),
    ],
)
def test_the_plainest_event_is_found(first, second, expected):
    assert best_event((numbers(first), numbers(second)), 0.0).expression == expected


def test_a_key_is_asked_for_where_no_set_of_keys_is_common_enough():
    rng = np.random.default_rng(3)
    keys = [f"key {one}" for one in range(12)]

    def outs(named):
        sets = [[key for key in keys if rng.random() < 0.5] + named for _ in range(200)]
        return [split_output_parts(dict.fromkeys(one, 1.0)) for one in sets]

    found = best_event((outs([]), outs(["new"])), 0.0)
    assert found.expression == "'new' in map(str, out)"
    assert found.hits == (0, 200)


def test_no_keys_are_no_tuple():
    sides = [split_output_parts({})] * 50, [split_output_parts({"new": 1.0})] * 50
    out: dict[str, float] = {}
    event = best_event(sides, 0.0)
    assert eval(event.expression, {"out": out}) is (event.hits[0] > 0)


def test_a_shape_that_an_error_lacks_is_asked_for_with_a_guard():
    raised, wide = split_output_parts(ValueError("odd")), split_output_parts(np.zeros((2, 3)))
    event = best_event(([raised, wide] * 50, [split_output_parts(np.zeros((3, 3)))] * 100), 0.0)
    assert event.hits in ((0, 100), (100, 0))


def test_bits_are_asked_for_only_where_they_may_be():
    rng = np.random.default_rng(6)
    coarse, fine = np.round(rng.random(400) * 64) / 64, rng.random(400)
    sides = numbers(coarse.tolist()), numbers(fine.tolist())
    assert "%" in best_event(sides, 0.0, bits=True).expression
    assert "%" not in best_event(sides, 0.0).expression


# Scripts


def test_a_script_holds_what_its_function_needs_and_nothing_else():
    text = render_reproduction_script(
        ReproductionContent(
            source=CODE.read_text(encoding="utf-8"),
            function="half_the_noise",
            parameters={"epsilon": 1.0, "bounds": (0.0, 1.0)},
            datasets=([0.0] * 30 + [1.0], [0.0] * 30),
            event="out > 0.5",
            runs=100,
            claimed="epsilon = 1",
        )
    )
    ast.parse(text)
    assert "SCALE = 1.0" in text
    assert "width" not in text
    assert '"""' not in text
    assert "import random" not in text
    assert "[0.0] * 30 + [1.0]" in text


def test_a_script_sets_the_options_that_its_module_sets():
    source = """import decimal
import math

DIGITS = 4
decimal.setcontext(decimal.Context(prec=DIGITS))
math.floor(2.5)


def thirds(data):
    return float(decimal.Decimal(len(data)) / 3)


register = decimal.localcontext
print(thirds([]), register)
"""
    text = render_reproduction_script(
        ReproductionContent(
            source=source,
            function="thirds",
            parameters={},
            datasets=([0.0], [0.0, 1.0]),
            event="out == 0.3333",
            runs=20,
            claimed="epsilon = 1",
        )
    )
    assert "math" not in text
    assert "register" not in text
    assert text.index("import decimal") < text.index("setcontext") < text.index("def thirds")
    assert PLACE.run(text, 60).startswith("seen in 20 of 20 outputs on the first, 0 of 20")


def test_a_setting_is_written_into_the_function():
    text = render_reproduction_script(
        ReproductionContent(
            source=CODE.read_text(encoding="utf-8"),
            function="keywords",
            parameters={"name": "sum", "axis": 0, "where": True},
            datasets=([0.0, 1.0], [0.0, 2.0]),
            event="out['labels'] == [0.0, 1.0]",
            runs=20,
            claimed="epsilon = 1",
        )
    )
    assert "np.sum(data, axis=0, where=True)" in text
    assert "return {'labels': sorted(set(data))}" in text
    assert "def keywords(data):" in text
    assert lines_of(text) <= LINES
    assert PLACE.run(text, 60).startswith("seen in 20 of 20 outputs on the first, 0 of 20")


def test_a_line_is_parted_only_where_it_still_says_the_same():
    long = ("a text with many words " * 6).strip()
    text = render_reproduction_script(
        ReproductionContent(
            source=f"def told(data, words):\n    return [{long!r}, len(data)]\n",
            function="told",
            parameters={"words": long},
            datasets=([0.0], [1.0]),
            event="out[1] > 1",
            runs=20,
            claimed="epsilon = 1",
        )
    )
    assert PLACE.run(text, 60) is not None


def test_literals_are_read_back_as_they_were():
    for value in ([0.0] * 9 + [1.0, 2.0], np.array([[1, 2]] * 7), ([], (1,), {"a": [None] * 6})):
        again = eval(format_short_literal(value), {"np": np})
        np.testing.assert_equal(again, value)


def test_lines_are_counted_without_empty_ones():
    assert lines_of("a\n\n  \nb\n") == 2


@pytest.mark.parametrize("turned", [False, True])
def test_an_event_is_favoured_by_its_rate_where_the_sides_have_other_numbers_of_runs(turned):
    hits, runs = (50, 60), (100, 1000)  # half of the runs, and six in a hundred
    hits, runs = (hits[::-1], runs[::-1]) if turned else (hits, runs)
    assert is_guarantee_refuted(hits, runs, PureDP(1.0), 1e-3)
    assert not is_guarantee_refuted(hits, runs, PureDP(2.5), 1e-3)

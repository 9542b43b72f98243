"""Where rules know nothing: the line, the reason, and what would help."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpaudit.proving.distances import analysis as analysis_module
from dpaudit.proving.distances.analysis import Analysis
from dpaudit.proving.program import PathProgram
from dpaudit.proving.trace import NodeKind
from dpaudit.proving.universe import Part, Universe

PLACE = "file.py:7 in f"


def universe(records: int | None = 5, low: float = 0.0, high: float = 1.0, **given) -> Universe:
    """Return datasets of one number a record."""
    part = Part("", (records,), np.asarray(low), np.asarray(high), **given)
    return Universe((part,), records, "replace" if records else "add-remove")


def program_of(records: int | None = 5) -> tuple[PathProgram, int]:
    """Return a program that has data and nothing else."""
    program = PathProgram()
    return program, program.add("data", shape=(records,), part="")


def refusal_of(program: PathProgram, datasets: Universe, index: int):
    return Analysis(program, datasets).facts(index).refusal


@pytest.mark.parametrize(
    ("operation", "cure"), [("divide", "away from 0"), ("log", "clip"), ("sqrt", "clip")]
)
def test_a_number_out_of_a_functions_domain_is_refused_at_its_line(operation, cure):
    program, x = program_of()
    operands = [x, x] if operation == "divide" else [x]
    index = program.add(operation, operands, shape=(5,), place=PLACE)
    found = refusal_of(program, universe(low=-1.0), index)
    assert found.place == PLACE
    assert cure in found.cure


def test_whether_any_is_true_is_no_number_of_them():
    program, x = program_of()
    truths = program.add("less", [x, x], shape=(5,), dtype="bool")
    product = program.add("matmul", [truths, truths], shape=(), dtype="bool", place=PLACE)
    root = program.add("power", [product, program.add("constant", shape=(), value=0.5)], shape=())
    length = program.add("maximum", [root, program.add("constant", shape=(), value=1.0)], shape=())
    short = program.add("divide", [truths, length], shape=(5,))
    assert refusal_of(program, universe(), product).place == PLACE
    assert refusal_of(program, universe(), short) is not None


def test_the_first_cause_is_what_later_values_are_refused_for():
    program, x = program_of()
    bad = program.add("log", [x], shape=(5,), place=PLACE)
    later = program.add("sum", [bad], shape=(), axis=None, place="file.py:9 in f")
    assert refusal_of(program, universe(), later).place == PLACE


def test_a_choice_that_needs_no_refused_value_is_bounded():
    program, x = program_of()
    program.add("log", [x], shape=(5,), place=PLACE)
    total = program.add("sum", [x], shape=(), axis=None)
    assert Analysis(program, universe()).distance(total).l1 == pytest.approx(1)


@pytest.mark.parametrize("dtype", ["float32", "float16", "complex128"])
def test_narrow_numbers_are_refused(dtype):
    program, x = program_of()
    index = program.add("add", [x, x], shape=(5,), dtype=dtype, place=PLACE)
    assert dtype in refusal_of(program, universe(), index).reason


def test_whole_numbers_that_may_wrap_around_are_refused():
    program = PathProgram()
    x = program.add("data", shape=(5,), dtype="int8", part="")
    twice = program.add("add", [x, x], shape=(5,), dtype="int8", place=PLACE)
    assert refusal_of(program, universe(high=63.0, is_integer=True), twice) is None
    assert "wrap" in refusal_of(program, universe(high=64.0, is_integer=True), twice).reason


def test_true_and_true_is_not_two():
    program = PathProgram()
    x = program.add("data", shape=(5,), dtype="bool", part="")
    either = program.add("add", [x, x], shape=(5,), dtype="bool", place=PLACE)
    assert refusal_of(program, universe(is_integer=True), either) is not None


@pytest.mark.parametrize("operation", ["mean", "max", "median", "argmax", "prod"])
def test_what_depends_on_a_private_number_of_records_is_refused(operation):
    program, x = program_of(None)
    index = program.add(operation, [x], shape=(), axis=None, place=PLACE)
    assert refusal_of(program, universe(None), index).place == PLACE


def test_rows_that_depend_on_all_records_are_not_added_up():
    program, x = program_of(None)
    total = program.add("sum", [x], shape=(), axis=None)
    centred = program.add("subtract", [x, total], shape=(None,))
    again = program.add("sum", [centred], shape=(), axis=None, place=PLACE)
    assert refusal_of(program, universe(None), again).place == PLACE


def test_a_number_for_each_record_tells_how_many_there_are():
    program, _ = program_of(None)
    one = program.add("constant", shape=(), value=np.asarray(1.0))
    ones = program.add("broadcast", [one], shape=(None,))
    count = program.add("sum", [ones], shape=(), axis=None)
    twice = program.add("add", [count, count], shape=())
    assert Analysis(program, universe(None)).distance(twice).l1 == pytest.approx(2)


def test_a_release_may_be_any_number_and_does_not_move():
    program, x = program_of()
    total = program.add("sum", [x], shape=(), axis=None)
    noise = program.add("draw", shape=(), law="laplace", number=0)
    noisy = program.add("add", [total, noise], shape=())
    clipped = program.add(
        "minimum", [noisy, program.add("constant", shape=(), value=np.asarray(2.0))], shape=()
    )
    product = program.add("multiply", [x, clipped], shape=(5,))
    kinds = [NodeKind.PRIVATE, NodeKind.PRIVATE, NodeKind.NOISE, NodeKind.NOISY]
    kinds += [NodeKind.PUBLIC, NodeKind.PUBLIC, NodeKind.PRIVATE]
    analysis = Analysis(program, universe(), kinds)
    facts = analysis.facts(clipped)
    assert (facts.low, facts.high, facts.distance.l1) == (-math.inf, 2.0, 0.0)
    assert math.isinf(analysis.facts(product).distance.l1)
    assert analysis.facts(product).rows is not None


def test_a_clip_is_no_clip_where_lengths_meet_other_vectors():
    program, datasets = (
        PathProgram(),
        Universe((Part("", (3, 3), np.full(3, -9.0), np.full(3, 9.0)),), 3, "replace"),
    )
    x = program.add("data", shape=(3, 3), part="")
    squares = program.add("multiply", [x, x], shape=(3, 3))
    total = program.add("sum", [squares], shape=(3,), axis=1)
    length = program.add("sqrt", [total], shape=(3,))
    one = program.add("constant", shape=(), value=np.asarray(1.0))
    longer = program.add("maximum", [one, length], shape=(3,))
    wrong = program.add("divide", [x, longer], shape=(3, 3))
    kept = program.add("reshape", [longer], shape=(3, 1))
    right = program.add("divide", [x, kept], shape=(3, 3))
    analysis = Analysis(program, datasets)
    assert analysis.facts(right).norms[2] == pytest.approx(1)
    assert analysis.facts(wrong).norms.get(2, math.inf) > 9


def test_a_direction_of_a_vector_that_may_be_0_is_refused():
    program, x = program_of()
    squares = program.add("multiply", [x, x], shape=(5,))
    length = program.add("sqrt", [program.add("sum", [squares], shape=(), axis=None)], shape=())
    index = program.add("divide", [x, length], shape=(5,), place=PLACE)
    assert refusal_of(program, universe(), index).place == PLACE
    assert Analysis(program, universe(low=0.5)).facts(index).norms[2] == pytest.approx(1)


def test_loops_of_many_operations_do_not_recurse():
    program, x = program_of()
    total = program.add("sum", [x], shape=(), axis=None)
    for _ in range(3_000):
        total = program.add("sin", [total], shape=())
    assert Analysis(program, universe()).facts(total).distance.l1 <= 1.01


def test_values_of_which_the_same_is_known_are_told_apart_by_what_they_are():
    program, x = program_of()
    y = program.add("multiply", [x, x], shape=(5,))
    z = program.add("multiply", [x, y], shape=(5,))
    same = program.add("subtract", [y, y], shape=(5,))
    apart = program.add("subtract", [y, z], shape=(5,))
    analysis = Analysis(program, universe())
    assert analysis.facts(same).distance.l1 == 0
    assert analysis.facts(apart).distance.l1 > 0.9


@pytest.mark.parametrize(
    ("law", "given", "ends"),
    [
        ("integers", {"low": -2, "high": 4}, (-2, 3)),
        ("permutation", {"count": 4}, (0, 3)),
        ("choice", {"count": 3, "replace": True}, (0, 2)),
        ("binomial", {"n": 7, "p": 0.5}, (0, 7)),
        ("uniform", {}, (0, 1)),
        ("laplace", {}, (-math.inf, math.inf)),
    ],
)
def test_ends_of_a_draw(law, given, ends):
    program = PathProgram()
    index = program.add("draw", shape=(), law=law, number=0, **given)
    other = program.add("draw", shape=(), law=law, number=1, **{**given, "high": 9})
    facts = Analysis(program, universe()).facts(index)
    assert (facts.low, facts.high) == ends
    if law == "integers":
        assert Analysis(program, universe()).facts(other).high == 8


def test_a_reshape_that_mixes_columns_of_any_number_of_records_keeps_no_column_apart():
    part = Part("", (None, 2), np.array([0.0, 5.0]), np.array([1.0, 6.0]))
    program = PathProgram()
    x = program.add("data", shape=(None, 2), part="")
    mixed = program.add("reshape", [x], shape=(2, None))
    columns = program.add("reshape", [x], shape=(None, 2, 1))
    analysis = Analysis(program, Universe((part,), None, "add-remove"))
    assert analysis.facts(mixed).low.tolist() == [[0.0]]
    assert analysis.facts(mixed).high.tolist() == [[6.0]]
    assert analysis.facts(columns).low.tolist() == [[[0.0], [5.0]]]


def test_programs_with_too_many_numbers_by_record_keep_the_largest(monkeypatch):
    program, x = program_of()
    one = program.add("take", [x], shape=(1,), key=[[0]])
    both = program.add("add", [one, one], shape=(1,))
    assert Analysis(program, universe()).facts(both).moves.tolist()[0][1:] == [0.0] * 4
    monkeypatch.setattr(analysis_module, "_MOST_NUMBERS", 10)
    facts = Analysis(program, universe()).facts(both)
    assert facts.moves.shape == (3, 1)
    assert facts.distance.l1 == pytest.approx(2)

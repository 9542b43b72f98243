"""Small parts of scans: edits in scripts, versions of Python, parts of outputs, and sentences."""

from __future__ import annotations

import json
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest

from dpaudit.errors import InvalidArgument
from dpaudit.scan.accountants import exact
from dpaudit.scan.accountants.page import (
    _format_example_answer,
    format_closing_sentence,
    format_group_sentence,
)
from dpaudit.scan.candidates.pairs import SubjectCandidate
from dpaudit.scan.remote.environments import _is_version_wanted
from dpaudit.scan.remote.foreign import SharedCall, _agreeing
from dpaudit.scan.remote.probe import _add_output_part
from dpaudit.scan.reproduction.scripts import _format_neighbour_edit
from dpaudit.scan.reproduction.values import format_expression, value_of


@pytest.mark.parametrize(
    ("dataset", "neighbour", "edit"),
    [
        ([1.0, 2.0], [1.0, 2.0, 3.0], "a + [3.0]"),
        ([1.0, 2.0, 3.0], [1.0, 2.0], "a[:-1]"),
        ([1.0, 2.0], [1.0, 9.0], "a[:-1] + [9.0]"),
        ([2.0, 1.0], [1.0, 2.0, 3.0], None),
        ([1.0, 2.0, 3.0], [2.0, 3.0], None),
        ([1.0, 2.0], [9.0, 2.0], None),
        ([1.0], [1.0, 2.0, 3.0], None),
        ([1], [1.0, 2.0], None),
        (np.array([1.0]), np.array([1.0, 2.0]), None),
        ([1.0], np.array([1.0, 2.0]), None),
    ],
)
def test_a_neighbour_is_an_edit_of_its_last_record_or_is_written_out(dataset, neighbour, edit):
    found = _format_neighbour_edit(dataset, neighbour)
    assert found == edit
    if edit is not None:
        assert eval(found, {"a": dataset}) == neighbour


@pytest.mark.parametrize(
    ("given", "wanted", "fits"),
    [
        ("3.11", "==3.11", True),
        ("3.11", "==3.12", False),
        ("3.11", "3.12", False),
        ("3.11", "3.11", True),
        ("3.11", "<=3.11", True),
        ("3.12", "<=3.11", False),
        ("3.11", ">=3.11", True),
        ("3.10", ">=3.11", False),
        ("3.9", "<3.10", True),
        ("3.11", "<3.11", False),
        ("3.11", ">3.11", False),
        ("3.12", ">3.11", True),
        ("3.11", ">=3.9, <3.11", False),
        ("3.10", ">=3.9, <3.11", True),
        ("3.11", "", True),
    ],
)
def test_a_version_is_among_those_that_every_condition_allows(given, wanted, fits):
    assert _is_version_wanted(given, wanted) is fits


def test_a_condition_of_no_version_is_refused():
    with pytest.raises(InvalidArgument, match="versions such as"):
        _is_version_wanted("3.11", ">=new")


def test_parts_of_an_output_are_of_their_own_kind():
    found = {}
    _add_output_part(found, "a", [3, 2.5, True, None, "x", b"y", np.int64(7), np.float32(0.5)], 0)
    numbers = [(name, one) for name, (kind, one) in found.items() if kind == "number"]
    assert numbers == [("len(a)", 8), ("a[0]", 3), ("a[1]", 2.5), ("a[6]", 7), ("a[7]", 0.5)]
    assert [type(one) for _, one in numbers] == [int, int, float, int, float]
    codes = [one for kind, one in found.values() if kind == "code"]
    assert codes == [True, None, "x", "b'y'"]
    large = {}
    _add_output_part(large, "a", 2**60 + 1, 0)
    assert large == {"a": ["number", 2**60 + 1]}  # which no double is
    assert json.dumps(found)


@pytest.mark.parametrize(
    "value",
    [
        (), (1,), (1, 2), [(1.5,)], {"a": (None,)}, {1}, set(), [], {}, float("inf"), -0.0, 2**70,
        b"x", "it's", True,
    ],
)  # fmt: skip
def test_a_value_is_read_back_as_it_was_written(value):
    found = value_of(format_expression(value))
    assert (found, type(found), repr(found)) == (value, type(value), repr(value))


def example(**given):
    plain = {
        "question": "one gaussian", "answer": (0.5,), "lower": 0.987654329, "upper": 1.23456781,
        "true_delta": None, "evidence": "", "words": "",
    }  # fmt: skip
    return SimpleNamespace(**plain | given)


def group(*examples, asks="epsilon", answers=1, threads=()):
    return SimpleNamespace(
        examples=examples, asks=asks, answers=answers, threads=threads, judgement="under"
    )


def test_a_wrong_answer_is_told_with_the_truth_rounded_outwards_and_its_delta():
    words = _format_example_answer(group(asks="delta"), example())
    assert words == "answers 0.5, the truth is in [0.98765432, 1.2345679]"
    for asks in ("noise", "spent"):
        assert "delta there is in [" in _format_example_answer(group(asks=asks), example())
    both = example(true_delta=0.25)
    assert _format_example_answer(group(), both).endswith("delta there is 0.25")
    assert "delta there" not in _format_example_answer(group(), example())
    assert "delta there" not in _format_example_answer(group(asks="delta"), both)
    assert _format_example_answer(group(), example(lower=None)) == "answers 0.5"
    assert (
        _format_example_answer(group(), example(upper=None, evidence="a sum"))
        == "answers 0.5 (a sum)"
    )


def test_a_group_has_its_first_example_and_how_many_more():
    one = example(words="raised")
    assert format_group_sentence(group(one)) == "under: one gaussian: raised"
    assert format_group_sentence(group(one, answers=3)) == "under: one gaussian: raised, and 2 more"
    assert format_group_sentence(group(one, threads=("a", "b"))).endswith("raised (a, b)")


@pytest.mark.parametrize(
    ("answers", "said"), [((), "0 answers claim"), ((1,), "1 answer claims"), ((2, 3), "5 answers")]
)
def test_false_claims_are_counted_by_their_answers(answers, said):
    found = SimpleNamespace(
        violations=[group(answers=one) for one in answers], questions=7, answers=6, seconds=1.4
    )
    words = format_closing_sentence(found)
    assert words.startswith(f"7 questions, 6 answers in numbers; {said}")
    assert words.endswith("1 seconds.")


@pytest.mark.parametrize("count", [1, 3])
def test_masses_of_a_discrete_gaussian_are_rounded_down(count):
    """They add up to less than 1, by less than the digits that are kept."""
    first, masses = exact.discrete_gaussian(mpmath.mpf(1), count)
    with mpmath.workdps(300):
        assert 0 < 1 - mpmath.fsum(masses) < mpmath.mpf(10) ** -60
    assert len(masses) == 1 - 2 * first


@pytest.mark.parametrize(
    ("said", "agree"),
    [
        ((None, None), True),
        ((["a"], ["a"]), True),
        ((["a"], ["b"]), False),
        ((None, ["a"]), False),
        (("ended", None), False),
        (("ended", "ended"), False),
    ],
)
def test_calls_of_many_outputs_have_to_end_alike_and_well(said, agree):
    batches = [{"numbers": [1.0], "said": one} for one in said]
    if agree:
        assert _agreeing(batches) == batches
    else:
        with pytest.raises(SharedCall):
            _agreeing(batches)


@pytest.mark.parametrize(
    ("sizes", "given", "family"),
    [
        ((3, 3), None, "ordinary"),
        ((3, 2), "new value", "new value"),
        ((2, 1), "new value", "few records"),
        ((1, 2), None, "few records"),
        ((1, 1), "missing value", "missing value"),
    ],
)
def test_a_pair_is_of_few_records_by_its_smaller_side(sizes, given, family):
    pair = SimpleNamespace(dataset=[0.0] * sizes[0], neighbour=[1.0] * sizes[1])
    one = SubjectCandidate(0, 0, pair, "add-remove-record", "", given=given)
    assert one.family == family

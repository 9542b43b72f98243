"""Values as expressions: what is written, what is read back, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from dpaudit.errors import InvalidArgument
from dpaudit.scan.reproduction.values import format_expression, value_of


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float32(0.5), "0.5"),
        (np.int64(3), "3"),
        (np.bool_(True), "True"),
        (float("-inf"), "float('-inf')"),
        ([float("nan")], "[float('nan')]"),
        ((1,), "(1,)"),
        ((1, 2), "(1, 2)"),
        ({3, 1, 2}, "{1, 2, 3}"),
        (frozenset({2, 1}), "{1, 2}"),
        (frozenset(), "set()"),
        ({(1,): {"a": None}}, "{(1,): {'a': None}}"),
        (np.array([1.0, 2.0]), "np.array([1.0, 2.0])"),
        (np.array([1, 2]), "np.array([1, 2])"),
        (np.array([True]), "np.array([True])"),
        (np.array(["a"]), "np.array(['a'])"),
        (np.array([1.0], dtype=np.float32), "np.array([1.0], dtype='float32')"),
        (np.array([1], dtype=np.uint8), "np.array([1], dtype='uint8')"),
        (np.array([b"a"]), "np.array([b'a'], dtype='S1')"),
        (np.array(["a"], dtype="U5"), "np.array(['a'], dtype='<U5')"),
        (np.array([1, "a"], dtype=object), "np.array([1, 'a'], dtype='object')"),
        (np.zeros((2, 0), dtype=np.int64), "np.zeros((2, 0), dtype='int64')"),
        (np.array(2.0), "np.array(2.0)"),
    ],
)
def test_a_value_has_one_expression(value, text):
    assert format_expression(value) == text
    again = value_of(text)
    if isinstance(value, np.ndarray):
        assert (again.dtype, again.shape) == (value.dtype, value.shape)
    assert format_expression(again) == text


@pytest.mark.parametrize("value", [object(), [len], {1: object()}, range(3), 1j])
def test_what_is_no_plain_value_has_none(value):
    with pytest.raises(InvalidArgument, match="numbers, text, None, arrays"):
        format_expression(value)


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "[x]",
        "float('1.5')",
        "float('nan', 1)",
        "float(x='nan')",
        "float('nan', base=1)",
        "float(nan)",
        "set([1])",
        "set(a=1)",
        "np.array()",
        "np.array([1], [2])",
        "np.array([1], copy=True)",
        "np.array([1], dtype='no such')",
        "np.ones(3)",
        "array([1])",
        "{**{}}",
        "{[1]: 2}",
        "{[1]}",
        "1 +",
        "np.zeros(3, dtype='int32').tolist()",
        f"np.zeros(({2**40}, {2**10}))",
        "[1 for _ in [2]]",
        "abs(-1)",
        "'a' + 'b'",
        "",
    ],
)
def test_other_expressions_are_refused(text):
    with pytest.raises(InvalidArgument):
        value_of(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("float('nan')", float("nan")),
        ("float('-inf')", float("-inf")),
        ("-1.5", -1.5),
        ("{'a': (1, {2})}", {"a": (1, {2})}),
        ("np.zeros((1, 2), dtype='int32')", np.zeros((1, 2), np.int32)),
        ("np.array([1, None], dtype=object)", np.array([1, None], object)),
    ],
)
def test_an_expression_has_the_value_that_it_says(text, value):
    assert repr(value_of(text)) == repr(value)

"""Texts that are alike but for their numbers are read as these; others are not."""

import numpy as np
import pytest

from dpaudit.mechanisms.outputs.layout import layout_of
from dpaudit.mechanisms.outputs.reads import layout_of_reads, read_of

VALUES = [[0.1 + n / 3 for n in range(8)], [3.1 + n / 7 for n in range(8)]]


def laid_out(text_of):
    """Return the layouts of texts of values: read here, and by somebody who hands on codes."""
    sides = [[text_of(one) for one in side] for side in VALUES]
    handed = [[read_of(one, "1") for one in side] for side in sides]
    return layout_of(sides), layout_of_reads(handed)


@pytest.mark.parametrize(
    "text", ["result: {0!r}", "count={0!r}", "1 of 2: {0!r} %", "{0!r}; {0!r}"]
)
def test_numbers_are_read_as_exactly_as_they_are_written(text):
    here, elsewhere = laid_out(text.format)
    assert here.numbered == elsewhere.numbered == ("output",)
    assert here.columns == elsewhere.columns
    assert here.usual == elsewhere.usual
    rows = here.rows([text.format(one) for one in VALUES[0]], 8)
    assert any(np.array_equal(column, VALUES[0]) for column in rows.T)


@pytest.mark.parametrize(
    "text_of",
    [
        lambda one: "large" if one > 3 else "small",
        lambda one: f"large: {one}" if one > 3 else f"small: {one}",
        lambda one: f"{one} is large" if one > 3 else "small",
        lambda one: "version 3",
        lambda one: f'{{"result": {one}}}',
        lambda one: f"result: {one:.0f}e999",
    ],
    ids=["words", "two sentences", "sometimes", "always one", "json", "beyond doubles"],
)
def test_other_texts_are_not_read_as_numbers(text_of):
    assert [one.numbered for one in laid_out(text_of)] == [(), ()]


def test_a_text_that_turns_up_later_is_seen_in_the_rest():
    layout, _ = laid_out("result: {}".format)
    usual, odd, none = layout.rows(["result: 1.5", "Result: 1.5", "no result"], 3)[:, -1]
    assert usual == 0.0
    assert 0.0 not in (odd, none)
    assert odd != none


def test_a_number_in_a_text_is_left_out_by_its_name():
    sides = [[f"request {n}: {one}" for n, one in enumerate(side)] for side in VALUES]
    layout = layout_of(sides, ["=output.number(0)"])
    assert [one.path for one in layout.columns][:2] == ["output", "output.number(1)"]

"""The error tree: messages on one line, with the name, the value and what was expected."""

from __future__ import annotations

import pickle

import pytest

from dpaudit.errors import (
    DataError,
    DpauditError,
    InvalidArgument,
    MechanismError,
    UnknownName,
    UnsupportedEvent,
    VerbatimText,
    calls_of,
    shorten_repr,
)


@pytest.mark.parametrize("kind", [InvalidArgument, UnknownName, DataError, MechanismError])
def test_every_error_is_caught_by_the_base(kind):
    assert issubclass(kind, DpauditError)


def test_errors_are_also_what_python_calls_them():
    assert issubclass(InvalidArgument, ValueError)
    assert issubclass(UnknownName, LookupError)
    assert not issubclass(UnsupportedEvent, ValueError)


def test_an_invalid_argument_says_name_value_and_expectation():
    error = InvalidArgument("delta", 1.5, "a number in (0, 1)")
    assert str(error) == "delta: got 1.5, expected a number in (0, 1)"
    assert (error.name, error.value, error.expected) == ("delta", 1.5, "a number in (0, 1)")


def test_a_message_is_one_line_however_the_value_looks():
    error = InvalidArgument("rows", [list(range(30))] * 30, "a short list")
    assert "\n" not in str(error)
    assert len(str(error)) < 150


def test_a_value_that_cannot_pickle_still_crosses_a_process_border():
    error = pickle.loads(pickle.dumps(InvalidArgument("loss", lambda x: x, "a loss")))
    assert type(error) is InvalidArgument
    assert error.name == "loss"
    assert str(error).startswith("loss: got <function test")


def test_shown_words_come_without_quotes():
    assert (
        str(InvalidArgument("pair", VerbatimText("2 records"), "one"))
        == "pair: got 2 records, expected one"
    )
    assert repr(VerbatimText("x")) == "x"


def test_an_unknown_name_lists_what_is_known_and_guesses():
    error = UnknownName("claim", "huang2021", {"zhang2018", "huang2020"})
    assert str(error) == (
        "claim: got 'huang2021', expected one of: huang2020, zhang2018; did you mean 'huang2020'?"
    )
    assert "did you mean" not in str(UnknownName("claim", "qqq", ["huang2020"]))
    assert "none is installed" in str(UnknownName("claim", "x", []))


@pytest.mark.parametrize("width", [4, 10, 80])
def test_shorten_keeps_to_the_width(width):
    assert len(shorten_repr("a" * 500, width)) == width
    assert shorten_repr("a" * 500, width).endswith("...")
    assert shorten_repr(1, width) == "1"


def test_notes_of_errors_of_ours_are_shown_and_no_others():
    ours, other = InvalidArgument("trials", 0, "a positive integer"), ValueError("31")
    for error in (ours, other):
        error.add_note("a note of 31")
    assert calls_of(ours).endswith("a note of 31\n")
    assert "31" not in calls_of(other)

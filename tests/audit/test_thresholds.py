"""A threshold tells no output: it has few digits, or is a hash where outputs are single values."""

import re

import numpy as np
import pytest

from dpaudit.auditing.explain.threshold_words import format_output_value, format_threshold
from dpaudit.redaction import set_records_shown

HIDDEN = re.compile(r"a number #[0-9a-f]{8}")
RNG = np.random.default_rng(5)
NOISE = RNG.laplace(scale=1.0, size=2000)
MARK = 8675309.4242


def told(value, *sides):
    return format_threshold(value, [np.asarray(side, dtype=float) for side in sides])


@pytest.mark.parametrize(
    ("value", "sides"),
    {
        "constants": (MARK / 2, (np.full(500, MARK), np.zeros(500))),
        "a constant and noise": (MARK / 2, (np.full(500, MARK), NOISE)),
        "noise and a constant": (MARK / 2, (NOISE, np.full(500, MARK))),
        "few values": (MARK, (np.repeat([MARK, 2 * MARK], 250), NOISE)),
        "nearly a constant": (MARK, (np.append(np.full(400, MARK), NOISE[:100]), NOISE)),
        "clipped at a record": (np.nextafter(MARK, 0), (np.minimum(MARK + NOISE, MARK), NOISE)),
        "clipped at one, below": (MARK - 2, (np.maximum(MARK + NOISE, MARK - 2), NOISE)),
        "whole constants": (41.5, (np.full(500, 41.0), np.full(500, 42.0))),
    }.values(),
)
def test_single_values_are_records(value, sides):
    for both in (sides, sides[::-1]):
        assert HIDDEN.fullmatch(told(value, *both))
    with set_records_shown():
        assert not HIDDEN.fullmatch(told(value, *sides))


def test_what_varies_has_as_many_digits_as_outputs_support():
    few, many = (RNG.normal(size=(2, size)) + np.array([[0.0], [1.0]]) for size in (200, 200_000))
    assert told(0.512345678, *few) in ("about 0.5", "about 0.6")
    digits = told(0.512345678, *many).removeprefix("about 0.")
    assert 1 < len(digits) <= 4
    # A gap leaves room for a round number, far from either side.
    assert told(MARK / 2, MARK + NOISE, NOISE) == "about 4e6"


def test_a_number_that_was_not_counted_with_is_about_the_threshold():
    """Else a reader who counts above what is shown would find other counts than the message."""
    eighths = RNG.integers(0, 80, size=(2, 4000)) / 8
    assert told(2.0, *eighths) == "2"
    assert told(2.875, *eighths) == "about 2.9"
    assert (eighths >= 2.875).sum() != (eighths > 2.9).sum()
    with set_records_shown():
        assert (told(2.875, *eighths), told(2.87512, *eighths)) == ("2.875", "about 2.875")


def test_what_is_shown_divides_outputs_as_the_threshold_does():
    for value in RNG.normal(size=50):
        sides = RNG.normal(size=(2, 4000)) + np.array([[0.0], [0.3]])
        shown = float(told(value, *sides).removeprefix("about "))
        moved = np.abs((sides > shown).sum() - (sides > value).sum())
        assert moved <= 2 * np.sqrt(sides.size)


def test_whole_numbers_with_noise_are_no_single_values():
    noise = RNG.geometric(0.5, 4000) - RNG.geometric(0.5, 4000)
    assert told(41.5, 41 + noise, 42 + noise) in ("40", "41", "41.5", "42")
    # A number that no noise reaches stands out among them.
    assert HIDDEN.fullmatch(told(MARK, np.append(noise, [round(MARK)] * 400), noise))


@pytest.mark.parametrize(("values", "hidden"), [(7, True), (8, False)])
def test_of_fewer_than_eight_values_each_may_be_a_record(values, hidden):
    """Whole numbers, as many of each: only how many values there are tells."""
    side = np.tile(np.arange(values), 300)
    assert bool(HIDDEN.fullmatch(told(3.5, side, side))) is hidden


@pytest.mark.parametrize(("same", "hidden"), [(500, False), (502, True)])
def test_a_value_of_more_than_half_of_all_outputs_may_be_a_record(same, hidden):
    side = np.concatenate([np.zeros(same), np.arange(1, 1001 - same) % 20 + 1])
    assert bool(HIDDEN.fullmatch(told(3.5, side, np.tile(np.arange(20), 50)))) is hidden


def test_values_that_are_named():
    assert HIDDEN.fullmatch(format_output_value(MARK))
    assert format_output_value(41.0) == format_output_value(41) != format_output_value(42.0)
    with set_records_shown():
        assert format_output_value(41.0) == "41"

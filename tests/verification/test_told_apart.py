"""Two numbers of which one is said to be above the other are shown as different numbers."""

from fractions import Fraction

import numpy as np
import pytest

from dpaudit.auditing.samples.given_samples import audit_outputs
from dpaudit.extension.settings import Settings
from dpaudit.reals import DIGITS, precision
from dpaudit.verification import Outcome, Reader, judge, redrawn_counts
from dpaudit.verification.misstatements import find_disagreement, list_broken_assumptions
from dpaudit.verification.reals import Real, exp, format_distinct_numbers


@pytest.mark.parametrize("apart", ["1e-3", "1e-9", "1e-14", "3e-17", "1e-40", "1e-200"])
@pytest.mark.parametrize("size", ["1", "6.9e-48", "3.14e305", "2.2e-310"])
def test_what_differs_is_shown_to_differ(apart, size):
    low = Fraction(size)
    high = low * (1 + Fraction(apart))
    with precision(DIGITS[1]):
        shown = format_distinct_numbers(high, low)
        assert Fraction(shown[0]) > Fraction(shown[1])
        for text, number in zip(shown, (high, low), strict=True):
            assert abs(Fraction(text) / number - 1) <= Fraction(apart)


def test_no_more_digits_are_shown_than_are_needed():
    assert format_distinct_numbers(Real(1) / 3, 0.5) == ("0.3333333333", "0.5")
    assert format_distinct_numbers(0.1, 0.1) == ("0.1", "0.1")
    assert format_distinct_numbers(0.0, 1e-320)[0] == "0"


def test_what_no_digits_tell_apart_is_shown_once_over():
    assert len(set(format_distinct_numbers(Real(1) / 3 * 3, 1.0))) == 1


def failures(value, limit, ratio=2.0):
    outcome = Outcome(assumptions={"norm": (value, limit)}, quantities={"ratio": ratio})
    return [*list_broken_assumptions(outcome), *judge._too_small(outcome)]


def test_a_broken_assumption_shows_by_how_much():
    """The limit of a norm that is passed in the 30th digit only, beyond what doubles tell."""
    with precision(60):
        limit = exp(Real(-108))
        (said,) = failures(limit * (1 + Fraction("1e-30")), limit)
        name, _, numbers = said.partition(": ")
        above, _, below = numbers.partition(" is above ")
        assert name == "norm"
        assert Fraction(above) > Fraction(below)
        assert failures(limit, 2 * limit) == []


def test_a_ratio_above_1_by_rounding_alone_is_not_called_no_more_than_1():
    assert failures(0.0, 1.0, 1 + 9e-10) == ["ratio: 1.000000001 is above 1 by no more than 1e-09"]
    assert failures(0.0, 1.0, 1.0) == ["ratio: 1 is not above 1"]
    assert failures(0.0, 1.0, 0.5) == ["ratio: 0.5 is not above 1"]


def test_another_number_than_the_recomputed_one_is_shown_as_another():
    (said,) = find_disagreement("bound", 1.00000002, Real(1))
    assert said == "bound: the file states 1.00000002, recomputed 1"


@pytest.mark.parametrize("lower", [1.5, 1.0000004, 1 + 2**-50])
def test_what_is_drawn_afresh_is_shown_above_the_claim(lower):
    rng = np.random.default_rng(0)
    result = audit_outputs(rng.normal(size=60), rng.normal(size=60), epsilon=1.0)
    measured = result.measured.model_copy(update={"lower": lower})
    result = result.model_copy(update={"measured": measured, "verdict": "refuted"})
    said = redrawn_counts.judge_fresh_result(result, Settings(), Reader()).outcome.summary
    words = said.split()
    shown, claimed = words[2], words[words.index("allows") + 1]
    assert lower >= float(shown) > float(claimed) == 1.0

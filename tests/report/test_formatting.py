from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaudit.auditing.outcome.result import format_verdict_reason
from dpaudit.escaping import make_printable, one_line
from dpaudit.report.formatting import (
    as_certain,
    format_percent,
    format_significant,
    make_shown_numbers,
    setting,
    share_of,
)
from dpaudit.report.schema import Claimed, Measured

from . import samples


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (20.0, "20"),
        (100000.0, "100000"),
        (25.4412, "25.44"),
        (0.7510, "0.751"),
        (1e-05, "1e-5"),
        (1.23456e-7, "1.235e-7"),
        (123456789.0, "1.235e8"),
        (0.00012345, "0.0001234"),
        (-3.5, "-3.5"),
        (-798.8523, "-798.9"),
        (374494.11, "374494"),
        (999999.4, "999999"),
        (math.inf, "∞"),
        (-math.inf, "-∞"),
        (math.nan, "not a number"),
        (None, "—"),
    ],
)
def test_number(value, shown):
    assert format_significant(value) == shown


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e12, max_value=1e12))
def test_directed_rounding_never_moves_inwards(value):
    slack = 1e-11 * abs(value)
    assert float(format_significant(value, 4, "ROUND_FLOOR")) <= value + slack
    assert float(format_significant(value, 4, "ROUND_CEILING")) >= value - slack
    assert float(format_significant(value)) == pytest.approx(value, rel=1e-3)


def test_interval_is_rounded_outwards():
    measured = Measured(lower=0.747999, upper=0.755001, confidence=0.95, estimator="")
    assert make_shown_numbers(samples.result(measured=measured)).measured == "[0.7479, 0.7551]"


def test_numbers_a_person_wrote_are_shown_as_written():
    shown = make_shown_numbers(samples.refuted())
    assert (shown.claimed, shown.proved, shown.measured) == ("20", "25.44", "[25.31, 25.55]")


def test_a_narrow_refutation_shows_enough_digits():
    close = Measured(lower=20.00012, upper=21.0, confidence=0.95, estimator="")
    shown = make_shown_numbers(samples.refuted(measured=close))
    assert float(shown.lower) > float(shown.claimed) == 20.0


def test_a_narrow_escape_shows_enough_digits():
    close = Measured(lower=0.99996, upper=1.2, confidence=0.95, estimator="")
    shown = make_shown_numbers(samples.result(claimed=Claimed(epsilon=0.99998), measured=close))
    assert float(shown.lower) < float(shown.claimed)


def test_equal_numbers_up_to_rounding_stay_short():
    measured = Measured(lower=0.5, upper=1.0, confidence=0.95, estimator="")
    claimed = Claimed(epsilon=0.1 + 0.2, delta=0)
    assert make_shown_numbers(samples.result(claimed=claimed, measured=measured)).claimed == "0.3"


def test_missing_upper_end_is_words():
    shown = make_shown_numbers(samples.open_ended())
    assert shown.upper is None
    assert shown.measured == "at least 0.412"


def test_an_infinite_lower_end_leaves_nothing_open():
    shown = make_shown_numbers(samples.no_finite_epsilon())
    assert (shown.measured, shown.open_ended) == ("∞", False)


def test_a_property_is_bounded_and_has_its_quantity_as_unit():
    shown = make_shown_numbers(samples.searched())
    assert (shown.sign, shown.claimed) == ("at most", "-0.7533")
    assert shown.unit == shown.quantity == "change of the augmented Lagrangian"
    privacy = make_shown_numbers(samples.result())
    assert (privacy.sign, privacy.quantity) == ("ε =", None)


def test_text_is_made_printable():
    assert make_printable("a\x00\x1b\x7f\u202e\ud800é\n\tb") == "a" + "\ufffd" * 4 + "\\ud800é\n\tb"
    assert one_line(" a\r\n  b\u2028c ") == "a b c"


def test_settings_and_percentages():
    assert setting(0.30000000000000004) == "0.3"
    assert setting({"a": [1, None]}) == '{"a": [1, null]}'
    assert setting(10**7) == "10000000"
    assert format_percent(0.9990000000000001) == "99.9%"


@pytest.mark.parametrize("whole", [1.0, 20.0, 409435.37088468904, 1e-9])
@pytest.mark.parametrize("gap", [1e-15, 1e-12, 1e-6, 4e-4, 0.1, 0.5])
def test_less_than_all_is_not_shown_as_all(whole, gap):
    shown = share_of(whole * (1 - gap), whole)
    assert Fraction(shown[:-1]) / 100 <= Fraction(whole * (1 - gap)) / Fraction(whole) < 1
    assert "reaches 100" not in format_verdict_reason(
        "epsilon", whole, whole * (1 - gap), "not refuted"
    )


@pytest.mark.parametrize("part", [1e-3, 1e-7, 1e-12, 1e-300])
def test_more_than_nothing_is_not_shown_as_nothing(part):
    assert 0 < Fraction(share_of(part, 20.0)[:-1])
    assert (
        0 < Fraction(format_percent(part)[:-1]) / 100 <= Fraction(part) * (1 + Fraction(1, 10**11))
    )
    assert "reaches 0%" not in format_verdict_reason("epsilon", 20.0, part, "not refuted")


@pytest.mark.parametrize("error", [1e-4, 1e-7, 1e-12, 1e-15])
def test_no_confidence_below_1_is_shown_as_100_percent(error):
    assert Fraction(format_percent(1 - error)[:-1]) / 100 <= 1 - Fraction(error) + Fraction(
        1, 2**53
    )
    assert format_percent(1 - error) != "100%"
    assert not as_certain(1 - error).startswith("100")

"""What a report says of its numbers: counts of verdicts, shares of confidence, rounded down."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from dpaudit.report import index as index_module
from dpaudit.report.counts import ScoreCounts
from dpaudit.report.curves import _compute_event_share, _remove_below_bottom, _trade_off_floor
from dpaudit.report.entries import (
    _format_entry_cells,
    _get_entry_values,
    entries_of,
    of_result,
)
from dpaudit.report.figures import _choose_axis_limits, _compute_finite_ratios
from dpaudit.report.formatting import (
    as_certain,
    error_probability,
    format_percent,
    format_seconds,
    format_significant,
    format_surety,
    make_shown_numbers,
    select_wealth_landmarks,
    share_of,
)
from dpaudit.report.index import (
    NOTHING_KNOWN,
    IndexRow,
    _by_cause,
    _format_attacker_certainty,
    _format_index_surety,
    format_index_headline,
    format_plain_finding,
)
from dpaudit.report.schema import BudgetEntry, Claimed, Measured, Proved

from . import samples


def measured(lower, upper=None, confidence=0.95):
    return Measured(lower=lower, upper=upper, confidence=confidence, estimator="x")


def rows(*given):
    return [
        IndexRow(
            folder=f"f{n}", place=1, result=one, shown=make_shown_numbers(one), certified=False
        )
        for n, one in enumerate(given)
    ]


def of(claim, verdict, **fields):
    return samples.result(claim=claim, verdict=verdict, **fields)


HELD, BROKEN, PROVED, UNSAID = "not refuted", "refuted", "proved", "withheld"


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        ([BROKEN], "1 of 1 claim is refuted as printed."),
        ([BROKEN, BROKEN], "2 of 2 claims are refuted as printed."),
        (
            [HELD, HELD],
            "None of 2 claims is refuted as printed; nothing that was tried contradicts 2.",
        ),
        ([PROVED], "None of 1 claim is refuted as printed; a theorem proves 1."),
        (
            [BROKEN, PROVED, PROVED],
            "1 of 3 claims is refuted as printed; a theorem proves the other 2.",
        ),
        (
            [BROKEN, PROVED, HELD],
            "1 of 3 claims is refuted as printed; a theorem proves 1; nothing that was tried "
            "contradicts the other.",
        ),
        (
            [BROKEN, HELD, UNSAID],
            "1 of 3 claims is refuted as printed; nothing that was tried contradicts 1; the "
            "verdict on 1 is withheld.",
        ),
        ([UNSAID, UNSAID], "None of 2 claims is refuted as printed; the verdict on 2 is withheld."),
    ],
)
def test_every_claim_is_counted_by_its_verdict(verdicts, said):
    assert (
        format_index_headline(rows(*(of(f"c{n}", one) for n, one in enumerate(verdicts)))) == said
    )


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize(
    ("mild", "grave"), [(PROVED, HELD), (HELD, UNSAID), (UNSAID, BROKEN), (PROVED, BROKEN)]
)
def test_of_several_audits_of_a_claim_the_gravest_counts(first, mild, grave):
    both = [of("c", mild), of("c", grave)]
    assert format_index_headline(rows(*(both if first else both[::-1]))) == format_index_headline(
        rows(of("c", grave))
    )


def spending(*alphas):
    return rows(
        *(
            of("c", HELD, budget=[BudgetEntry(purpose="x", alpha=one)] if one else [])
            for one in alphas
        )
    )


@pytest.mark.parametrize(
    ("alphas", "words"),
    [
        ((0.01, 0.02, 0.0), ("at 97% conf", "2 audits that draw", "of 0.03, at most 0.02 each",
                             "and the other 1 were computed")),
        ((0.05,), ("at 95% conf", "1 audit that draws share", "of 0.05, at most 0.05",
                   "the other 0 were")),
        ((0.0, 0.0), ("Every number was computed without drawing: none is left to chance.",)),
        ((1e-6, 1.00004e-6), ("of 2.001e-6, at most 1.001e-6 each",)),
    ],
)  # fmt: skip
def test_the_error_probabilities_of_an_index_add_up(alphas, words):
    said = _format_index_surety(spending(*alphas))
    for one in words:
        assert one in said


# What was found


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (of("c", BROKEN, claimed=Claimed(epsilon=1.0, delta=0.0), measured=measured(2.0)),
         "An attacker goes from 50% to 88% sure; claimed: 73.1%."),
        (of("c", HELD, claimed=Claimed(epsilon=0.0, delta=0.0), measured=measured(0.0)),
         "Nothing that was tried tells the two datasets apart."),
        (of("c", HELD, claimed=Claimed(epsilon=60.0, delta=0.0), measured=measured(9.3)),
         "An attacker goes from 50% to more than 99.99% sure; claimed: almost entirely."),
        (samples.sensitivity(claimed=Claimed(sensitivity=0.04), measured=measured(0.0799)),
         "It is 1.9 times what is claimed."),
        (samples.sensitivity(claimed=Claimed(sensitivity=0.04), measured=measured(0.04)),
         "It reaches 100% of what is claimed."),
        (samples.sensitivity(claimed=Claimed(sensitivity=0.04), measured=measured(0.039999)),
         "It reaches 99.9% of what is claimed."),
        (samples.sensitivity(claimed=Claimed(sensitivity=0.0), measured=measured(0.123456)),
         "It reaches 0.1234, where 0 is claimed."),
        (of("c", UNSAID), "Nothing can be said."),
    ],
)  # fmt: skip
def test_what_was_found_is_never_said_larger_than_it_is(result, said):
    assert format_plain_finding(result) == said


def test_how_sure_an_attacker_is_is_the_logistic_of_epsilon_rounded_down():
    for epsilon in (0.1, 0.7, 2.0, 5.0):
        share = 100 / (1 + math.exp(-epsilon))
        assert 0 <= share - float(_format_attacker_certainty(epsilon).rstrip("%")) < 0.1
    assert _format_attacker_certainty(0.0) == "50%"
    assert _format_attacker_certainty(math.inf) == "entirely"


def test_the_ratio_of_a_row_is_measured_over_claimed():
    (one,) = rows(of("c", BROKEN, claimed=Claimed(epsilon=4.0, delta=0.0), measured=measured(5.0)))
    assert (one.ratio, one.sorted_by) == (1.25, "1.25")
    (none,) = rows(of("c", BROKEN, claimed=Claimed(epsilon=0.0, delta=0.0)))
    assert (none.ratio, none.sorted_by) == (None, "")
    (endless,) = rows(of("c", BROKEN, measured=measured(math.inf)))
    assert endless.sorted_by == "Infinity"


def test_a_group_shows_of_each_claim_the_audit_that_exceeds_it_most():
    made = [
        of("a", HELD, measured=measured(0.5)),
        of("a", HELD, measured=measured(0.75)),
        of("a", HELD, measured=measured(9.0), standing="variant"),
        of("b", BROKEN, measured=measured(3.0)),
        of("b", BROKEN, measured=measured(2.0)),
        of("c", HELD, claimed=Claimed(epsilon=0.0, delta=0.0), measured=measured(0.0)),
    ]
    shown = [
        (group.title, [(tile.claim, tile.rows[0].result.measured.lower) for tile in group.tiles])
        for group in _by_cause(rows(*made), NOTHING_KNOWN)
    ]
    assert shown == [("Refuted", [("b", 3.0)]), ("Not refuted", [("c", 0.0), ("a", 0.75)])]
    assert index_module._SUREST < 1


# Numbers


@pytest.mark.parametrize(
    ("claimed", "proved", "shown"),
    [
        (2.0, 1.23401, "1.235"),
        (2.0, 2.0 * (1 + 1e-12), "2"),
        (2.0, None, "—"),
        (1.0, 1.00001, "1.001"),
    ],
)
def test_what_is_proved_is_rounded_up_unless_it_is_the_claim(claimed, proved, shown):
    stated = None if proved is None else Proved(epsilon=proved, delta=0.0, source="x")
    one = of("c", HELD, claimed=Claimed(epsilon=claimed, delta=0.0), proved=stated)
    assert make_shown_numbers(one).proved == shown


@pytest.mark.parametrize("verdict", [HELD, UNSAID])
def test_where_the_verdict_is_withheld_nothing_is_shown_as_measured(verdict):
    shown = make_shown_numbers(of("c", verdict, measured=measured(0.5001, 0.60001)))
    if verdict == UNSAID:
        assert (shown.lower, shown.upper, shown.surety) == ("—", None, "nothing is certified")
        assert shown.measured == "—"
    else:
        assert (shown.measured, shown.surety) == ("[0.5001, 0.6001]", "at 95% confidence")


@pytest.mark.parametrize(
    ("confidence", "said"),
    [
        (0.95, "95%"),
        (0.99998, "99.998%"),
        (1 - 1e-5, "1 - 1e-5"),
        (1 - 1.01e-7, "1 - 1.1e-7"),
        (0.5, "50%"),
    ],
)
def test_a_confidence_is_never_shown_larger(confidence, said):
    assert as_certain(confidence) == said
    assert format_surety(measured(0.0, confidence=confidence)) == f"at {said} confidence"
    assert error_probability(confidence) == pytest.approx(1 - confidence, rel=1e-9)


@pytest.mark.parametrize(
    ("part", "whole", "said"),
    [(1.0, 3.0, "33.3%"), (2.0, 3.0, "66.6%"), (3.0, 2.0, "100%"), (0.0, 2.0, "0%")],
)
def test_a_share_is_rounded_down(part, whole, said):
    assert share_of(part, whole) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (999999.6, "1e6"),
        (1234.56, "1235"),
        (123456.7, "123457"),
        (-math.inf, "-∞"),
        (math.nan, "not a number"),
        (0.0001, "0.0001"),
        (0.00001234, "1.234e-5"),
    ],
)
def test_a_number_has_four_digits_and_all_before_the_point(value, said):
    assert format_significant(value) == said
    assert format_percent(0.29) == "29%"
    assert format_seconds(0.99) == "less than a second"


@pytest.mark.parametrize(("rows_", "kept"), [(2, [0, 9]), (3, [0, 4, 9]), (99, list(range(10)))])
def test_landmarks_are_spread_over_a_path_with_both_ends(rows_, kept):
    path = SimpleNamespace(transcripts=list(range(10)), log10_wealth=[float(n) for n in range(10)])
    assert [at for at, _ in select_wealth_landmarks(path, rows_)] == kept
    assert select_wealth_landmarks(SimpleNamespace(transcripts=[], log10_wealth=[])) == []


# For machines


def test_an_entry_has_the_numbers_of_its_own_result():
    one = samples.refuted()
    assert _get_entry_values(one) == {
        "claimed": 20.0, "proved": 25.44, "lower": 25.31, "upper": 25.55, "confidence": 0.95,
    }  # fmt: skip
    assert _format_entry_cells(one) == (
        "ε = 20 (δ = 1e-5)", "ε = 25.44 (δ = 1e-5)", "[25.31, 25.55] at 95% confidence",
    )  # fmt: skip
    assert _format_entry_cells(samples.open_ended())[1] == ""
    assert "upper" not in _get_entry_values(samples.open_ended())
    found = of_result(one)
    assert (found.outcome, found.numbers.count("ε")) == (BROKEN, 2)


def test_entries_say_a_confidence_only_where_something_was_drawn(tmp_path):
    report = samples.report(samples.result())
    (one,) = entries_of(report, [("a", None, "it failed", None)], tmp_path).entries
    assert (one.outcome, one.headline) == ("missing", "it failed")
    drawn = report.model_copy(
        update={"confidence": 0.95, "budget": [BudgetEntry(purpose="x", alpha=0.05)]}
    )
    assert entries_of(drawn, [], tmp_path).surety == "All of it together at 95% confidence."
    assert entries_of(drawn.model_copy(update={"budget": []}), [], tmp_path).surety is None


# Pictures


@pytest.mark.parametrize(
    ("above", "shares"), [(True, (0.75, 0.25)), (False, (0.25, 0.75)), (True, (0.75, 0.0))]
)
def test_the_share_in_an_event_is_of_the_bins_on_its_side(above, shares):
    counts = ScoreCounts(
        edges=[-2.0, -1.0, 0.0, 1.0, 2.0], on_dataset=[1, 1, 2, 4], on_neighbour=[4, 2, 1, 1],
        above=above,
    )  # fmt: skip
    assert _compute_event_share(counts, counts.on_dataset) == shares[0]
    if shares[1]:
        assert _compute_event_share(counts, counts.on_neighbour) == shares[1]
    assert _compute_event_share(counts, [0, 0, 0, 0]) == 0.0


@pytest.mark.parametrize(
    ("values", "ends"),
    [
        ([1.0, 4.0], (0.0, 5.0)),
        ([3.0, 4.0], (2.75, 4.25)),
        ([-1.0, 1.0], (-1.5, 1.5)),
        ([2.0], (1.5, 2.5)),
        ([0.0], (0.0, 0.5)),
        ([], (0.0, 1.25)),
        ([math.inf, None], (0.0, 1.25)),
        ([4.0, 4.001], (3.979995, 4.021005)),
    ],
)
def test_an_axis_has_room_for_all_finite_values(values, ends):
    assert _choose_axis_limits(values) == pytest.approx(ends)


def test_ratios_are_all_divided_by_their_own_claim():
    made = [
        of("a", HELD, claimed=Claimed(epsilon=4.0, delta=0.0), measured=measured(1.0, 8.0),
           proved=Proved(epsilon=2.0, delta=0.0, source="x")),
        of("b", HELD, claimed=Claimed(epsilon=2.0, delta=0.0), measured=measured(1.0, math.inf),
           proved=None),
        of("c", HELD, claimed=Claimed(epsilon=0.0, delta=0.0)),
    ]  # fmt: skip
    assert _compute_finite_ratios(made) == [1.0, 0.5, 0.25, 2.0, 0.5]


@pytest.mark.parametrize(
    ("rates", "curve", "floor"),
    [
        ([0.0, 0.5, 1.0], [1.0, 0.5, 0.0], 0.0),
        ([0.0, 0.1, 1.0], [1.0, 0.1, 0.0], 0.1),
        ([0.001, 0.1, 1.0], [0.5, 0.05, 0.0], 0.001),
        ([1e-20, 0.05, 1.0], [0.5, 0.05, 0.0], 1e-12),
        ([0.0, 0.1, 1.0], [None, None, None], 0.0),
    ],
)
def test_a_trade_off_is_drawn_on_logarithmic_axes_where_both_errors_are_rare(rates, curve, floor):
    curves = SimpleNamespace(measured=curve, proved=None, claimed=None, false_positive_rate=rates)
    assert _trade_off_floor(curves) == pytest.approx(floor)


def test_what_is_below_a_picture_is_left_out_of_its_line():
    kept = _remove_below_bottom([None, 0.5, 1e-9, 0.1], 0.1)
    assert [math.isnan(one) for one in kept] == [True, False, True, False]
    assert kept[1::2] == [0.5, 0.1]

"""What pictures show: which region is counted, where axes end, and what words they use."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
from matplotlib.figure import Figure

import dpaudit.report.document as document
from dpaudit.errors import DataError, InvalidArgument
from dpaudit.formats import to_json
from dpaudit.report.counts import ScoreCounts
from dpaudit.report.curves import (
    _delta_floor,
    _draw_claimed_curve,
    _draw_claimed_mark,
    _draw_rates,
    _draw_scores,
    _draw_trade_off,
    _format_curve_names,
    delta_against_epsilon,
)
from dpaudit.report.document import _is_newer
from dpaudit.report.figures import _ROWS, _draw_overview_row, _draw_point, _shade_beyond
from dpaudit.report.index import render_index
from dpaudit.report.render import _format_refutation_count
from dpaudit.report.schema import SCHEMA_VERSION, DeltaCurves, TradeOffCurves

from . import samples


def axes():
    return Figure().subplots()


@pytest.mark.parametrize(("above", "region"), [(True, (0.0, 3.0)), (False, (-2.0, 0.0))])
def test_the_region_that_is_counted_is_on_the_side_of_the_event(above, region):
    counts = ScoreCounts(
        edges=[-2.0, 0.0, 3.0], on_dataset=[1, 3], on_neighbour=[3, 1], above=above
    )
    drawn = axes()
    _draw_scores(drawn, counts)
    (span,) = [patch for patch in drawn.patches if patch.get_label() == "counted"]
    box = span.get_extents().transformed(drawn.transData.inverted())
    assert (box.x0, box.x1) == pytest.approx(region)
    stairs = {patch.get_label(): patch.get_data().values for patch in drawn.patches[1:]}
    assert stairs["outputs of the dataset"].tolist() == [0.25, 0.75]
    assert stairs["outputs of the neighbour"].tolist() == [0.75, 0.25]


@pytest.mark.parametrize(
    ("claimed", "label"),
    [([1e-3, 1e-9], "claimed"), ([1e-9, 1e-8], "claimed (below 1e-5)"), ([1e-5], "claimed")],
)
def test_a_claim_that_lies_below_the_picture_is_said_to(claimed, label):
    drawn = axes()
    _draw_claimed_curve(drawn, list(range(len(claimed))), claimed, 1e-5)
    assert drawn.lines[0].get_label() == label


@pytest.mark.parametrize(("delta", "marker", "at"), [(1e-3, "D", 1e-3), (0.0, "v", 1e-6)])
def test_the_mark_of_a_claim_points_down_where_its_delta_has_no_place(delta, marker, at):
    drawn = axes()
    _draw_claimed_mark(drawn, 1.0, delta, 1e-6)
    (mark,) = drawn.lines
    assert (mark.get_marker(), mark.get_ydata()[0]) == (marker, at)


@pytest.mark.parametrize(
    ("delta", "lower", "proved", "floor"),
    [
        (1e-5, None, None, 1e-6),
        (None, None, None, 1e-7),
        (1e-5, [1e-3, 1e-8], None, 1e-9),
        (1e-5, [1e-3, 1e-14], None, 1e-6),
        (1e-5, [1e-3], [1e-2, 2e-8], 1e-9),
        (1e-5, [1e-11], None, 1e-11),
        (None, [1e-11], None, 1e-12),
        (0.0, [0.0], [1e-10], 1e-7),
    ],
)
def test_a_delta_axis_ends_a_decade_below_what_matters(delta, lower, proved, floor):
    curves = DeltaCurves(epsilon=[0.0], band_lower=lower, proved=proved)
    assert _delta_floor(curves, delta) == pytest.approx(floor)


@pytest.mark.parametrize(
    ("rates", "low", "high", "scale"),
    [([0.5, 0.25], 0.0, 1.0, "linear"), ([0.05, 0.01], 0.01, 1.4, "log")],
)
def test_a_trade_off_fills_its_axes(rates, low, high, scale):
    curves = TradeOffCurves(
        false_positive_rate=[0.01, 0.05, 0.5, 1.0],
        measured=[rates[0], rates[0], rates[1], 0.0],
        claimed=None, proved=None,
    )  # fmt: skip
    drawn = axes()
    _draw_trade_off(drawn, curves)
    assert drawn.get_ylim() == pytest.approx((low, high))
    assert drawn.get_xlim() == pytest.approx((low, 1.0))
    assert drawn.get_yscale() == scale
    guess = drawn.lines[0]
    assert (guess.get_xdata() + guess.get_ydata()).tolist() == pytest.approx(
        [1.0] * len(guess.get_xdata())
    )


def test_rates_below_the_picture_are_left_out_and_those_at_its_edge_kept():
    curves = SimpleNamespace(false_positive_rate=[0.001, 0.01, 0.5, 0.9])
    drawn = axes()
    _draw_rates(drawn, curves, [0.5, 0.4, 0.01, 0.001], {}, "n", "says", 0.01)
    (line,) = drawn.lines
    assert list(zip(line.get_xdata(), line.get_ydata(), strict=True)) == [(0.01, 0.4), (0.5, 0.01)]
    assert line.get_label() == "n: says"
    _draw_rates(drawn, curves, [1e-3] * 4, {}, "n", "", 0.01)
    assert drawn.lines[1].get_label() == "n (off the scale: under 0.01)"


# Documents and sentences


@pytest.mark.parametrize(
    ("value", "said"),
    [(math.inf, "Infinity"), (-math.inf, "-Infinity"), (1.5, 1.5), (None, None), (0.0, 0.0)],
)
def test_infinities_are_words(value, said):
    assert to_json(value, non_finite="Infinity") == said


MAJOR, MINOR = map(int, SCHEMA_VERSION.split("."))


@pytest.mark.parametrize(
    ("version", "newer"),
    [
        (SCHEMA_VERSION, False),
        (f"{MAJOR}.{MINOR + 1}", True),
        (f"{MAJOR}.{max(MINOR - 1, 0)}", False),
        (f"{MAJOR}.{MINOR + 10}", True),
    ],
)
def test_a_document_of_a_later_minor_version_is_newer(version, newer):
    assert _is_newer({"schema_version": version}, "f") is newer


@pytest.mark.parametrize(
    "data",
    [
        {"schema_version": f"{MAJOR + 1}.0"}, {"schema_version": "none"}, {"schema_version": 1.0},
        {"schema_version": "1"}, {}, [], None,
    ],
)  # fmt: skip
def test_a_document_of_another_major_version_or_of_none_is_refused(data):
    with pytest.raises(DataError):
        _is_newer(data, "f")


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        (["refuted"], "The claim audited was refuted"),
        (["withheld"], "The claim audited was not refuted"),
        (["refuted", "withheld", "proved"], "1 of 3 claims was refuted"),
        (["refuted", "refuted", "not refuted"], "2 of 3 claims were refuted"),
        (["withheld", "not refuted"], "None of the 2 claims was refuted"),
    ],
)
def test_only_refuted_claims_are_counted_as_such(verdicts, said):
    results = [samples.result(verdict=one) for one in verdicts]
    assert _format_refutation_count(results) == said
    looked = [one.model_copy(update={"variant": "v"}) for one in results]
    count = verdicts.count("refuted") or "None"
    assert (
        _format_refutation_count(looked)
        == f"{count} of {len(verdicts)} audits refuted their claims"
    )


# Bands, rows and what has no place


@pytest.mark.parametrize("curves", [None, DeltaCurves(epsilon=[])])
def test_a_result_without_points_has_no_picture_of_its_deltas(curves):
    made = samples.result().model_copy(update={"delta_curves": curves})
    with pytest.raises(InvalidArgument, match="at least one point"):
        delta_against_epsilon(made)


def test_a_picture_names_the_curves_that_it_has():
    assert _format_curve_names(claimed=[0.5], proved=None, certified=[]) == "claimed"
    assert _format_curve_names(claimed=[0.5], certified=[0.1]) == "claimed, certified"
    assert _format_curve_names(claimed=None, proved=[]) == "no curve"


def test_a_row_of_the_overview_has_its_interval_below_and_its_proof_above():
    drawn = axes()
    drawn.set_xlim(0.0, 3.0)
    made = samples.result()
    _draw_overview_row(drawn, 4, made, 3.0)
    heights = {round(float(y), 9) for line in drawn.lines for y in line.get_ydata()}
    assert round(4 - 0.17, 9) in heights
    assert heights <= {round(4 - 0.17, 9), round(4 + 0.22, 9)}
    at = {round(float(x), 9) for line in drawn.lines for x in line.get_xdata()}
    assert round(made.measured.lower / made.claimed.epsilon, 9) in at


@pytest.mark.parametrize(
    ("claimed", "said"), [(1.0, True), (6.8, True), (7.1, False), (12.0, False), (None, False)]
)
def test_what_would_contradict_a_claim_is_named_where_there_is_room(claimed, said):
    drawn = axes()
    drawn.set_xlim(0.0, 10.0)
    _shade_beyond(drawn, claimed, 10.0)
    assert [one.get_text().strip() for one in drawn.texts] == ["above the claim"] * said
    assert len(drawn.patches) == len(drawn.lines) == (claimed is not None)


@pytest.mark.parametrize(
    ("value", "at", "marker"),
    [(2.0, 2.0, "D"), (99.0, 5.0, "D"), (-9.0, 0.0, "D"), (math.inf, 5.0, ">"),
     (-math.inf, 0.0, "<")],
)  # fmt: skip
def test_a_point_beyond_the_axis_is_at_its_end(value, at, marker):
    drawn = axes()
    drawn.set_xlim(0.0, 5.0)
    _draw_point(drawn, next(iter(_ROWS)), value, "words", {"color": "red"}, "D")
    (line,) = drawn.lines
    assert (line.get_xdata()[0], line.get_marker(), line.get_color()) == (at, marker, "red")
    empty = axes()
    for missing in (None, math.nan):
        _draw_point(empty, next(iter(_ROWS)), missing, "words", {"color": "red"}, "D")
    assert not empty.lines
    assert [one.get_text().split()[0] for one in empty.texts] == ["no", "no"]


def test_a_result_that_is_saved_says_how_long_the_program_took(tmp_path, monkeypatch):
    monkeypatch.setattr(document, "_BEGAN", document.monotonic() - 30.0)
    made = []
    monkeypatch.setattr(document, "write_report", lambda report, *_, **__: made.append(report))
    result = samples.result()
    document.save_result(result, tmp_path)
    (report,) = made
    assert 30.0 <= report.environment.seconds < 60.0
    assert report.confidence == result.measured.confidence
    assert [one.alpha for one in report.budget] == ([result.alpha] if result.alpha else [])


@pytest.mark.parametrize("html", [True, False])
def test_an_index_links_the_self_test_that_stands_beside_it(html):
    link = "selftest."
    assert link in render_index([], html=html, self_test=True)
    assert link not in render_index([], html=html)

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest

import dpaudit.palette as palette
import dpaudit.report.figures as figures
from dpaudit.errors import InvalidArgument
from dpaudit.report.counts import ScoreCounts
from dpaudit.report.curves import delta_against_epsilon, render_scores, trade_off
from dpaudit.report.figures import get_divisor, render_overview, three_numbers
from dpaudit.report.schema import Claimed, DeltaCurves, Measured, Proved, TradeOffCurves

from . import samples

SVG = "{http://www.w3.org/2000/svg}"
KINDS = {
    "usual": samples.result,
    "refuted": samples.refuted,
    "open": samples.open_ended,
    "sensitivity": samples.sensitivity,
    "infinite": samples.infinite,
    "no finite epsilon": samples.no_finite_epsilon,
    "property": samples.searched,
    "hostile": samples.hostile,
}


def words(svg: str) -> str:
    root = ElementTree.fromstring(svg)
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    assert root.get("aria-label") == root.findtext(f"{SVG}title")
    return " | ".join("".join(text.itertext()).strip() for text in root.iter(f"{SVG}text"))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_every_kind_draws_and_draws_the_same(make):
    result = make()
    drawings = [three_numbers, lambda one: render_overview([one, one])]
    drawings += [delta_against_epsilon] if result.delta_curves else []
    drawings += [trade_off] if result.trade_off else []
    for draw in drawings:
        drawn = draw(result)
        assert draw(result) == drawn
        assert words(drawn)


def test_three_numbers_are_labelled():
    svg = three_numbers(samples.refuted())
    shown = words(svg)
    for label in ("Claimed", "Proved", "Measured", "25.44", "[25.31, 25.55]", "ε at δ = 1e-5"):
        assert label in shown
    assert "above the claim" in shown
    assert 'aria-label="ε: claimed 20, proved 25.44, measured [25.31, 25.55] at 95%' in svg


def test_missing_ends_are_words():
    shown = words(three_numbers(samples.open_ended()))
    assert "at least 0.412, no certified upper end" in shown
    assert "no proved value" in shown
    assert "∞" in words(three_numbers(samples.infinite()))


def test_sensitivity_has_its_own_unit():
    assert "L2 sensitivity" in words(three_numbers(samples.sensitivity()))


def test_overview_names_every_claim_and_what_has_no_ratio():
    shown = words(
        render_overview([samples.refuted(), samples.result(claimed=Claimed(epsilon=0.0))])
    )
    assert "1. huang2020-theorem6" in shown
    assert "2. huang2020-theorem6" in shown
    assert "no ratio" in shown
    with pytest.raises(InvalidArgument, match="results"):
        render_overview([])


def test_no_ratio_is_given_with_the_number_that_has_none():
    results = [samples.searched(), samples.result()]
    assert "no ratio (claimed: -0.7533)" in words(render_overview(results))
    assert [get_divisor(result) for result in results] == [None, 1.0]


def test_variants_of_one_claim_are_named_by_their_own_names():
    names = ["a name that takes up more than the room beside the rows", "short"]
    shown = words(render_overview([samples.result(variant=name) for name in names]))
    assert "2. short" in shown
    assert "1. a name that takes up more" in shown
    assert "…" in shown


def test_ratios_that_are_far_apart_share_a_logarithmic_axis():
    far = samples.refuted(measured=Measured(lower=2e5, upper=None, confidence=1, estimator=""))
    shown = words(render_overview([far, samples.result()]))
    for tick in ("1", "10", "100", "1000", "1e4"):
        assert f" {tick} |" in f"| {shown} |"


def test_ticks_are_numbers_without_an_offset():
    close = Measured(lower=-798.859, upper=None, confidence=1, estimator="")
    shown = words(three_numbers(samples.searched(measured=close, claimed=Claimed(value=-798.852))))
    assert "-802" in shown
    assert "e2" not in shown
    tiny = Measured(lower=-2.5e-6, upper=None, confidence=1, estimator="")
    shown = words(three_numbers(samples.searched(measured=tiny, claimed=Claimed(value=0.0))))
    assert "-2e-6" in shown


def test_delta_curves_are_labelled():
    shown = words(delta_against_epsilon(samples.refuted()))
    for label in ("claimed: ε = 20, δ = 1e-5", "proved", "certified band (95%)", "1e-6"):
        assert label in shown
    assert "certified lower edge (95%)" in words(delta_against_epsilon(samples.open_ended()))


def test_band_may_lack_its_upper_edge_at_some_points():
    curves = DeltaCurves(
        epsilon=[0.0, 1.0, 2.0, 3.0],
        claimed=[0.5, 1e-5, 0, 0],
        band_lower=[0.4, 0.0, 0.0, 0.0],
        band_upper=[0.6, 0.01, None, 0.0],
    )
    svg = delta_against_epsilon(samples.result(delta_curves=curves))
    assert "certified band" in words(svg)


def test_a_pure_claim_is_marked_although_its_delta_has_no_place_on_a_log_axis():
    pure = samples.result(claimed=Claimed(epsilon=1.0, delta=0.0))
    assert "claimed: ε = 1, δ = 0" in words(delta_against_epsilon(pure))


def test_trade_off_takes_log_axes_where_curves_hug_them():
    assert "log scale" not in words(trade_off(samples.result()))
    shown = words(trade_off(samples.refuted()))
    assert "False-positive rate (log scale)" in shown
    assert "off the scale: under 1e-5" in shown
    assert "empirical curve of the attack" in shown


@pytest.mark.parametrize("rates", [[0.0], [1.0], [0.0, 1.0], [0.5]])
def test_degenerate_trade_offs_draw(rates):
    curves = TradeOffCurves(false_positive_rate=rates, measured=[0.0] * len(rates))
    assert words(trade_off(samples.result(trade_off=curves)))


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("lower", "upper"), [(0, 0), (-1, 2), (float("inf"), float("inf")), (float("-inf"), None)]
)
def test_degenerate_intervals_draw(lower, upper):
    measured = Measured(lower=lower, upper=upper, confidence=0.95, estimator="")
    for epsilon in (0.0, float("inf"), None):
        result = samples.result(
            measured=measured,
            claimed=Claimed(epsilon=epsilon),
            proved=Proved(epsilon=epsilon, source=""),
        )
        assert words(three_numbers(result))
        assert words(render_overview([result]))


def test_curves_that_are_missing_are_refused_by_name():
    for draw in (delta_against_epsilon, trade_off):
        with pytest.raises(InvalidArgument, match="at least one point"):
            draw(samples.sensitivity())


def test_ids_carry_the_prefix_and_labels_do_not():
    svg = render_overview([samples.result(claim='id="x" url(#y)')], prefix="mine")
    root = ElementTree.fromstring(svg)
    assert all(one.get("id").startswith("mine-") for one in root.iter() if one.get("id"))
    assert 'id="x" url(#y)' in words(svg)
    assert "metadata" not in svg


def test_the_only_rule_of_a_picture_reaches_such_pictures_alone():
    svg = render_overview([samples.result()])
    (rule,) = re.findall(r"<style>(.*?)</style>", svg)
    selectors = re.findall(r"[{]([^{}]*)[{]", rule)
    assert selectors == [f".{palette.DRAWN}"]
    assert svg.startswith(f'<svg class="{palette.DRAWN}"')


@pytest.mark.parametrize("make", [samples.result, samples.refuted], ids=["usual", "refuted"])
def test_every_colour_of_a_picture_has_one_for_the_night(make):
    svg = figures.render_overview([make()]) + three_numbers(make()) + trade_off(make())
    assert re.findall(r"(?:fill|stroke): (?!none|var)([^;\"]+)", svg) == []
    for colour in set(re.findall(r"var\((--drawn-\w+)", svg)):
        assert f"{colour}:#" in svg, colour


def strokes(made):
    """Return the two ends of every line in the row of what was measured, and its claim."""
    from matplotlib.figure import Figure

    axes = Figure().add_subplot()
    figures.show_numbers(made).draw(axes)
    lines = [line for line in axes.lines if set(line.get_ydata()) == {0}]
    places = [line.get_transform().transform(line.get_xydata()) for line in lines]
    claim = axes.transData.transform((get_divisor(made), 0))[0]
    return [place[:, 0] for place in places], claim, axes.bbox.x1


@pytest.mark.parametrize(
    ("lower", "beyond"), [(0.2, False), (0.99, False), (1.0, False), (1.1, True)]
)
def test_a_lower_end_goes_beyond_the_claim_only_where_it_exceeds_it(lower, beyond):
    one = Measured(lower=lower, upper=None, confidence=0.95, estimator="")
    ends, claim, edge = strokes(samples.result(claimed=Claimed(epsilon=1.0), measured=one))
    far = max(place.max() for place in ends)
    assert far == pytest.approx(edge) if beyond else far <= claim + 1e-9


def test_a_tail_fades():
    one = Measured(lower=0.2, upper=None, confidence=0.95, estimator="")
    svg = three_numbers(samples.result(claimed=Claimed(epsilon=1.0), measured=one))
    shown = [float(one) for one in re.findall(r"stroke-opacity: ([.\d]+)", svg)]
    assert len(shown) > 5
    assert shown == sorted(shown, reverse=True)


def test_what_may_exceed_the_claim_is_thin():
    one = Measured(lower=0.2, upper=1.5, confidence=0.95, estimator="")
    svg = three_numbers(samples.result(claimed=Claimed(epsilon=1.0), measured=one))
    assert "stroke-width: 4" in svg
    assert "stroke-width: 1.2" in svg


def test_the_readers_own_settings_neither_change_nor_are_changed():
    import matplotlib

    before = three_numbers(samples.result())
    with matplotlib.rc_context({"font.size": 30, "axes.grid": False, "svg.fonttype": "path"}):
        assert three_numbers(samples.result()) == before
        assert matplotlib.rcParams["font.size"] == 30


@pytest.mark.parametrize(("above", "said"), [(True, ("25%", "0%", "above")), (False, ("75%",))])
def test_scores_are_drawn_with_what_is_counted(above, said):
    counts = ScoreCounts(
        edges=[-1.0, 0.0, 1.0], on_dataset=[3, 1], on_neighbour=[4, 0], above=above
    )
    svg = render_scores(counts)
    shown = words(svg)
    for label in ("outputs of the dataset", "outputs of the neighbour", "counted"):
        assert label in shown
    assert all(one in svg for one in said)
    with pytest.raises(InvalidArgument, match="at least one bin"):
        render_scores(counts.model_copy(update={"edges": []}))


def test_both_ends_are_divided_by_the_claim_in_the_picture_of_all_results(monkeypatch):
    drawn = []
    monkeypatch.setattr(figures, "_draw_interval", lambda axes, height, *ends: drawn.append(ends))
    one = samples.result(claimed=Claimed(epsilon=2.0, delta=1e-5))
    claimed, measured = get_divisor(one), one.measured
    assert claimed == 2.0
    assert measured.upper is not None
    render_overview([one])
    assert drawn == [(measured.lower / claimed, measured.upper / claimed, 1.0)]

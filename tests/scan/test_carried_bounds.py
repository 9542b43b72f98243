"""Every bound that a page of the gallery shows is worked out again from the counts it shows."""

import json
import re
from decimal import ROUND_FLOOR
from pathlib import Path

import pytest

from dpaudit.estimation.joint import joint_lower_bound
from dpaudit.report.formatting import format_significant
from dpaudit.scan.finding import CarryingCounts
from dpaudit.scan.publication.pages import format_certified_bound, format_supported_bound
from tests.audit.printed_bounds import Printed

GALLERY = Path(__file__).parents[2] / "reports" / "packages"
PAGES = sorted(GALLERY.glob("*/scan.json"))
_SHOWN = re.compile(
    r"ε ≥ (?P<lower>[\d.e-]+) at δ = (?P<delta>[\d.e-]+)(?:, by one exact test of | \()"
    r"(?P<p>[\d,]+) of (?P<n>[\d,]+) and (?P<q>[\d,]+) of [\d,]+"
    r"(?: fresh outputs in the event below, with an)?,? error probability(?: of)? "
    r"(?P<alpha>[\d.e-]+)"
)


def carried(text):
    """Yield what a page shows as certified, and what the counts beside it carry."""
    for found in _SHOWN.finditer(text.replace("\\", "")):
        p, q, n = (int(found[name].replace(",", "")) for name in "pqn")
        delta, alpha = float(found["delta"]), float(found["alpha"])
        bound = joint_lower_bound(max(p, q), min(p, q), n, n, delta=delta, alpha=alpha)
        yield float(found["lower"]), bound


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.parent.name)
def test_every_finding_of_the_gallery_is_carried_by_its_counts(path):
    scan = json.loads(path.read_text(encoding="utf-8"))
    text = path.with_suffix(".md").read_text(encoding="utf-8")
    for one in scan["findings"]:
        finding = one["finding"]
        tested = CarryingCounts(**finding["tested"])
        assert tested.recomputed() == pytest.approx(finding["lower"], rel=1e-3)
        assert tested.recomputed() >= finding["lower"] * (1 - 1e-9)
        assert tested.runs == finding["trials"]
        shown = format_significant(finding["lower"], rounding=ROUND_FLOOR)
        assert f"epsilon is at least {shown} at delta" in finding["sentence"]
        event = finding["event"]
        assert (event["on_dataset"], event["on_neighbour"]) == (
            tested.on_dataset,
            tested.on_neighbour,
        )
        assert is_the_rarer(tested)
    shown = list(carried(text))
    assert len(shown) >= len(scan["findings"])
    assert all(lower <= again for lower, again in shown)


def is_the_rarer(tested):
    rates = [tested.on_dataset / tested.runs, tested.on_neighbour / tested.runs]
    return min(rates) <= 1 - max(rates)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.parent.name)
def test_no_line_of_a_page_shows_a_bound_without_its_counts(path):
    scan = json.loads(path.read_text(encoding="utf-8"))
    text = path.with_suffix(".md").read_text(encoding="utf-8").replace("\\", "")
    shown = len(re.findall("ε ≥", text))
    kept = [line for line in [*scan["checked"], *scan["floating"]] if line["tested"]]
    assert shown == len(scan["findings"]) + len(kept)
    assert shown == len(_SHOWN.findall(text))
    for line in kept:
        tested = CarryingCounts(**line["tested"])
        assert tested.recomputed() == pytest.approx(line["lower"], rel=1e-3)


def test_what_is_shown_is_what_the_counts_carry():
    tested = CarryingCounts.of((3, 90), 100, False, 1e-3, 1e-4)
    ((lower, again),) = carried(format_certified_bound(tested, tested.lower, 1e-3))
    assert lower <= again == pytest.approx(tested.lower, rel=1e-6)
    ((lower, again),) = carried(format_supported_bound(tested, tested.lower))
    assert lower <= again == pytest.approx(tested.lower, rel=1e-6)


@pytest.mark.parametrize(
    "moved",
    [{"on_neighbour": 80}, {"on_dataset": 9}, {"alpha": 1e-9}, {"runs": 95}, {"delta": 0.2}],
)
def test_moved_counts_carry_less(moved):
    tested = CarryingCounts.of((3, 90), 100, False, 1e-3, 1e-4)
    other = tested.model_copy(update=moved)
    assert other.recomputed() != pytest.approx(tested.lower, rel=1e-4)


def test_the_other_direction_carries_nothing():
    tested = CarryingCounts.of((3, 90), 100, False, 0.0, 1e-3)
    assert tested.model_copy(update={"favours": "dataset"}).recomputed() == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.parent.name)
def test_the_first_findings_are_carried_by_the_definition_of_the_test(path):
    """Berger and Boos's p-value, worked out without a line of the package."""
    scan = json.loads(path.read_text(encoding="utf-8"))
    for one in scan["findings"][:2]:
        tested = CarryingCounts(**one["finding"]["tested"])
        x, y = tested.on_dataset, tested.on_neighbour
        hits = (x, y) if tested.favours == "dataset" else (y, x)
        bound = Printed(
            hits[0], tested.runs, hits[1], tested.runs, tested.lower, tested.delta, tested.alpha
        )
        assert bound.p_value(tested.lower) <= tested.alpha
        assert bound.p_value(1.02 * tested.lower + 0.02) > tested.alpha

"""What is shown claims no more than what was found: each number, in each place, by itself."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from dpaudit.report import figures
from dpaudit.report.document import write_index, write_report
from dpaudit.report.entries import ReportEntries, ReportEntry
from dpaudit.report.formatting import format_surety, make_shown_numbers
from dpaudit.report.index import format_plain_finding
from dpaudit.report.junit import render_junit
from dpaudit.report.schema import Claimed, Measured, Proved

from . import samples

SOURCE = "a proof"


def measured(lower, upper=None, confidence=0.95):
    note = {} if upper is not None else {"upper_note": "an attack certifies a lower end only"}
    return Measured(lower=lower, upper=upper, confidence=confidence, estimator="", **note)


@pytest.mark.parametrize("proved", [0.750101, 0.75001, 1.00004, 3.14159265])
def test_a_proved_number_is_rounded_up(proved):
    result = samples.result(proved=Proved(epsilon=proved, delta=1e-5, source=SOURCE))
    assert float(make_shown_numbers(result).proved) >= proved


def test_a_proved_number_that_is_the_claim_is_shown_as_the_claim():
    result = samples.result(
        claimed=Claimed(epsilon=0.3, delta=0), proved=Proved(epsilon=0.1 + 0.2, source=SOURCE)
    )
    assert make_shown_numbers(result).proved == make_shown_numbers(result).claimed == "0.3"


@pytest.mark.parametrize("times", [1.0999, 1.2, 2.4999, 13.99])
def test_by_how_much_a_claim_is_exceeded_is_rounded_down(times):
    result = samples.searched(
        claimed=Claimed(value=1.0), measured=measured(times, confidence=1.0), proved=None
    )
    said = format_plain_finding(result)
    assert "times" in said
    shown = float(said.removeprefix("It is ").partition(" ")[0])
    assert shown <= times < shown * 1.1


@pytest.mark.parametrize(
    ("rate", "shown"),
    [(0.05, "95%"), (1e-4, "99.99%"), (1e-6, "1 - 1e-6"), (1e-9, "1 - 1e-9")],
)
def test_no_confidence_is_shown_as_certainty(rate, shown):
    assert format_surety(measured(0.1, confidence=1 - rate)) == f"at {shown} confidence"


def test_the_audits_of_an_index_share_their_errors(tmp_path):
    each = samples.report(samples.result())
    spent = sum(entry.alpha for entry in each.results[0].budget)
    for name in ("a", "b", "c"):
        write_report(each, tmp_path / name)
    page = write_index({name: (each, [False]) for name in ("a", "b", "c")}, tmp_path)
    text = page.with_suffix(".md").read_text(encoding="utf-8")
    assert f"at {100 * (1 - 3 * spent):g}% confidence" in text
    assert f"at {100 * (1 - spent):g}% confidence: " not in text


def test_an_infinite_proof_points_beyond_the_picture(monkeypatch):
    marks = []

    class Axes:
        def get_xlim(self):
            return 0.0, 2.0

        def plot(self, x, y, mark="", **look):
            marks.append(mark)

    for proved, mark in ((1.2, figures.PROVED_MARK), (float("inf"), ">")):
        result = samples.result(proved=Proved(epsilon=proved, delta=1e-5, source=SOURCE))
        marks.clear()
        figures._draw_overview_row(Axes(), 0, result, 2.0)
        assert mark in marks
        assert (figures.PROVED_MARK in marks) is (proved < 2)


def test_a_report_without_a_refutation_keeps_no_earlier_certificate(tmp_path):
    (tmp_path / "certificate.json").write_text("[]")
    paths = write_report(samples.report(samples.result()), tmp_path)
    assert paths.certificate is None
    assert not (tmp_path / "certificate.json").exists()


def entry(outcome):
    return ReportEntry(
        name=outcome, outcome=outcome, headline=f"{outcome}.", text=f"{outcome}. More."
    )


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        ("refuted", "failure"),
        ("withheld", "error"),
        ("missing", "error"),
        ("not refuted", None),
        ("hint", None),
    ],
)
def test_results_of_tests_fail_where_there_is_no_good_news(outcome, kind):
    entries = ReportEntries(
        entries=[entry(outcome)],
        summary="",
        surety=None,
        root=Path("/a"),
        version="1",
        created="2026-01-02T03:04:05+00:00",
        seconds=1.0,
    )
    suite = ElementTree.fromstring(render_junit(entries)).find("testsuite")
    counts = {name: int(suite.get(name)) for name in ("tests", "failures", "errors")}
    expected = {"tests": 1, "failures": int(kind == "failure"), "errors": int(kind == "error")}
    assert counts == expected
    assert [child.tag for child in suite.find("testcase")] == ([kind] if kind else [])


def test_infinite_numbers_of_an_index_have_their_sign(tmp_path):
    write_index({"a": (samples.report(samples.no_finite_epsilon()), [False])}, tmp_path)
    (audit,) = json.loads((tmp_path / "index.json").read_text())["audits"]
    assert audit["lower"] == "Infinity"

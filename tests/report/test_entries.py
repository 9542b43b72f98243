"""One list of entries, as JUnit and SARIF write it: each outcome, and what may be absent."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from dpaudit.report.entries import ReportEntries, ReportEntry
from dpaudit.report.junit import render_junit
from dpaudit.report.sarif import make_sarif_log

PLAIN = ReportEntry(name="sum", outcome="refuted", headline="it leaks", text="it leaks a bit")
FULL = replace(
    PLAIN, cells=("1", "", "2"), values={"lower": 2.0}, repeat="dpaudit audit sum --seed 1"
)


def of(*entries, tmp_path):
    return ReportEntries(
        entries=entries, summary="one", surety="95%", version="9", seconds=1.5, root=tmp_path,
        created="2026-01-01T00:00:00+00:00",
    )  # fmt: skip


def results(entries):
    (run,) = json.loads(make_sarif_log(entries))["runs"]
    return run


@pytest.mark.parametrize(
    ("outcome", "rule", "level", "kind"),
    [
        ("refuted", "refuted-claim", "error", "failure"),
        ("withheld", "withheld-verdict", "warning", "error"),
        ("missing", "failed-audit", "error", "error"),
        ("not refuted", None, None, None),
        ("proved", None, None, None),
    ],
)
def test_each_outcome_has_its_rule_and_its_kind(tmp_path, outcome, rule, level, kind):
    entries = of(replace(PLAIN, outcome=outcome), tmp_path=tmp_path)
    run = results(entries)
    assert [(one["ruleId"], one["level"]) for one in run["results"]] == (
        [] if rule is None else [(rule, level)]
    )
    for one in run["results"]:
        assert run["tool"]["driver"]["rules"][one["ruleIndex"]]["id"] == one["ruleId"]
    (suite,) = ElementTree.fromstring(render_junit(entries))
    counts = [suite.get(name) for name in ("tests", "failures", "errors")]
    assert counts == ["1", str(int(kind == "failure")), str(int(kind == "error"))]
    (case,) = suite.iter("testcase")
    assert [child.tag for child in case] == ([] if kind is None else [kind])


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_run_is_complete_without_a_missing_audit(tmp_path, missing):
    given = [replace(PLAIN, outcome="missing")] * missing + [PLAIN] * (2 - missing)
    (invocation,) = results(of(*given, tmp_path=tmp_path))["invocations"]
    assert invocation["executionSuccessful"] == (missing == 0)


def test_numbers_and_the_command_are_shown_where_there_are_any(tmp_path):
    entries = of(PLAIN, FULL, tmp_path=tmp_path)
    plain, full = results(entries)["results"]
    assert plain["message"]["text"] == "sum: it leaks a bit"
    assert plain["properties"] == {}
    assert full["message"]["text"] == "sum: it leaks a bit (claimed 1, measured 2)"
    assert full["properties"] == {"lower": 2.0, "repeat": "dpaudit audit sum --seed 1"}
    one, other = ElementTree.fromstring(render_junit(entries)).iter("failure")
    assert one.text == "sum: refuted\nit leaks a bit"
    assert other.text == (
        "sum: refuted\nit leaks a bit\nclaimed 1, measured 2\nRepeat: dpaudit audit sum --seed 1"
    )

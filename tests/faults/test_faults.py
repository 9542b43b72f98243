"""Kinds of fault: a page for each code, and findings that carry the code that is theirs or none."""

from __future__ import annotations

import ast
import json

import numpy as np
import pytest

import dpaudit.faults.codes as codes
from dpaudit.auditing.explain.event_faults import fault_of_event
from dpaudit.cli.main import main
from dpaudit.estimation.independence import Outputs, check_independence, fault_of
from dpaudit.faults.catalogue import all_faults
from dpaudit.faults.catalogue import fault_of as fault_with
from dpaudit.faults.pages import index_of, page_of
from dpaudit.freezing.lines import noise_lines
from dpaudit.mechanisms.outputs.features import OneValue
from dpaudit.mechanisms.outputs.layout import NAN, LayoutColumn
from dpaudit.mechanisms.outputs.leaves import ABSENT
from dpaudit.replaying.findings import CallFinding
from dpaudit.report.entries import ReportEntries, ReportEntry
from dpaudit.report.sarif import make_sarif_log
from tests.faults.pages import PAGES, can_run, lay_out, printed, shown

FAULTS = all_faults()
CODES = {value for name, value in vars(codes).items() if name.isupper()}


def test_every_code_that_findings_carry_is_in_the_table_and_has_a_page():
    assert set(FAULTS) == CODES
    assert {path.stem for path in PAGES.glob("DPA*.md")} == CODES
    assert all(one.title and one.why and one.cure and one.finding for one in FAULTS.values())


@pytest.mark.parametrize("code", FAULTS)
def test_a_page_is_the_one_that_its_entry_makes(code):
    fault = FAULTS[code]
    page = (PAGES / f"{code}.md").read_text(encoding="utf-8")
    assert page == page_of(fault, shown(code)), "make faults writes it"
    assert not can_run(fault) or code in (shown(code) or ""), "what it prints names the code"


def test_the_index_names_every_code():
    text = (PAGES / "index.md").read_text(encoding="utf-8")
    assert text == index_of(FAULTS.values()), "make faults writes it"


@pytest.mark.parametrize("code", FAULTS)
def test_what_is_broken_is_short(code):
    for source in (FAULTS[code].broken, FAULTS[code].repaired):
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef):
                assert node.end_lineno - node.lineno < 12


def carried(document) -> set[str]:
    """Return the codes that the findings of a report, a replay or a proof carry."""
    found = [one.get("fault") for one in document.get("findings", ())]
    found += [(document.get("refusal") or {}).get("fault")]
    found += [one.get("fault") for one in document.get("results", ())]
    return {one for one in found if one is not None}


def said_of(fault, text):
    """Return what is printed; of times, which no seed gives again, what any machine says."""
    if "--observe time" not in fault.command:
        return text.rstrip("\n")
    words = (f"{fault.code}: {fault.title}", "refuted", "exceeds the claimed epsilon", "`seconds`")
    assert all(one in text for one in words), text
    return words


@pytest.mark.slow
@pytest.mark.parametrize("code", FAULTS)
def test_what_is_broken_is_found_with_its_code_and_what_is_repaired_is_not(
    code, tmp_path, monkeypatch, capsys
):
    fault = FAULTS[code]
    if not can_run(fault):
        pytest.skip(f"needs {fault.needs}")
    assert said_of(fault, printed(fault)) == said_of(fault, shown(code)), "make faults writes it"
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main([*lay_out(fault, fault.repaired, tmp_path), "--json"])
    assert code not in carried(json.loads(capsys.readouterr().out))


# What decides a kind


UNITS, PROCESSES = np.repeat(np.arange(64), 100), np.repeat(np.arange(8), 800)


def scores(kind: str, rng: np.random.Generator):
    """Return scores of one side with a dependence of one kind."""
    each = rng.normal(size=6400)
    match kind:
        case "one call":
            return each + np.repeat(rng.normal(size=64), 100)
        case "one process":
            return each + np.repeat(rng.normal(size=8), 800)
        case "a trend":
            return each + np.tile(np.linspace(-0.5, 0.5, 800), 8)
        case "again":
            return np.tile(each[:400], 16)
    return each


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("one call", codes.NOISE_SHARED_IN_CALL),
        ("one process", codes.STATE_KEPT),
        ("a trend", codes.LAW_MOVES),
        ("again", codes.CALLS_REPEAT),
        ("nothing", None),
    ],
)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_each_dependence_has_the_code_of_its_kind(kind, code, seed):
    rng = np.random.default_rng(seed)
    sides = [Outputs(scores(kind, rng), UNITS, PROCESSES) for _ in range(2)]
    assert fault_of(check_independence(*sides)) == code


def test_a_check_that_passed_decides_nothing():
    sides = [Outputs(np.random.default_rng(n).normal(size=6400), UNITS, PROCESSES) for n in (1, 2)]
    assert {one.fault for one in check_independence(*sides)} == {None}


@pytest.mark.parametrize(
    ("path", "hits", "code"),
    [
        ("output.raised", (300, 0), codes.EXCEPTION_FROM_DATA),
        ("output.keys", (0, 300), codes.STRUCTURE_FROM_DATA),
        ("output.keys", (299, 0), None),  # a noisy threshold may have left it out
        ("output['keys']", (300, 0), None),  # a key of that name is a number of the output
        ("output", (300, 0), None),
        ("seconds", (200, 3), codes.RUN_TIME),
        ("output['seconds']", (200, 3), None),
        ("warnings", (300, 0), codes.WARNING_FROM_DATA),
    ],
)
def test_an_event_of_one_part_has_the_code_of_that_part(path, hits, code):
    column = LayoutColumn(path, discrete=True)
    assert fault_of_event([column], None, hits, 300) == code
    assert fault_of_event([column, column], None, hits, 300) is None


@pytest.mark.parametrize(
    ("seen", "hits", "code"),
    [
        ((0.0, ABSENT.code), (300, 0), codes.STRUCTURE_FROM_DATA),
        ((0.0, ABSENT.code), (300, 1), None),  # as a noisy threshold leaves it out
        ((0.0, ABSENT.code, 7.0), (300, 0), None),  # it may be a value that leaks
        ((0.0,), (300, 0), None),
    ],
)
def test_a_key_that_is_there_for_one_dataset_alone_is_of_the_structure(seen, hits, code):
    column = LayoutColumn("output['70s']", discrete=True, everywhere=False)
    assert fault_of_event([column], None, hits, 300, seen) == code


def test_only_what_is_always_missing_on_one_side_is_a_missing_value():
    column = LayoutColumn("output", discrete=False)
    score = OneValue(0, NAN, 1.0)
    assert fault_of_event([column], score, (0, 300), 300) == codes.MISSING_VALUE
    assert fault_of_event([column], score, (1, 299), 300) is None


def test_hints_of_what_may_not_be_released_have_no_code():
    assert CallFinding("budget", "proof", "w").fault == codes.BUDGET_EXCEEDED
    assert CallFinding("budget", "hint", "w").fault is None
    assert CallFinding("sensitivity", "hint", "w").fault is None
    assert CallFinding("counted event", "proof", "w").fault is None
    assert CallFinding("hidden state", "withheld", "w").fault is None


# Where noise is drawn

A, B = np.array([1.0, 2.0, 9.0]), np.array([1.0, 2.0, 3.0])


def wide(data, rng):
    return data.sum() + rng.laplace(scale=np.ptp(data))


def adaptive(data, rng):
    width = abs(data.sum() + rng.laplace(scale=1.0))
    return width, data.sum() + rng.laplace(scale=width)


def fails(data, rng):
    raise ValueError("no")


def test_a_line_says_whether_the_data_decide_the_scale_of_its_noise():
    (line,) = noise_lines(wide, A, B)
    assert (line.file, line.function, line.scale_moved) == ("test_faults.py", "wide", True)
    assert line.text == "return data.sum() + rng.laplace(scale=np.ptp(data))"
    assert not noise_lines(wide, A, A + 1)[0].scale_moved


def test_a_scale_that_earlier_noise_decides_is_not_that_of_the_data():
    assert [one.scale_moved for one in noise_lines(adaptive, A, B)] == [False, False]


def test_what_raises_or_draws_nothing_has_no_line():
    assert noise_lines(fails, A, B) == []
    assert noise_lines(lambda data, rng: data.sum(), A, B) == []


# How it is shown


def entries(*faults):
    made = [
        ReportEntry(
            name=f"f{n}", outcome="refuted", headline="It leaks.", text="It leaks.", fault=fault
        )
        for n, fault in enumerate(faults)
    ]
    return ReportEntries(
        entries=made, summary="", surety=None, root=PAGES, version="1", created="now", seconds=1.0
    )


def test_sarif_has_a_rule_with_a_page_for_each_kind_that_was_found():
    run = json.loads(make_sarif_log(entries("DPA005", None, "DPA001", "DPA005", "DPA999")))["runs"][
        0
    ]
    rules = run["tool"]["driver"]["rules"]
    found = [one["ruleId"] for one in run["results"]]
    assert found == ["DPA005", "refuted-claim", "DPA001", "DPA005", "refuted-claim"]
    assert [rules[one["ruleIndex"]]["id"] for one in run["results"]] == found
    (rule,) = [one for one in rules if one["id"] == "DPA005"]
    assert rule["helpUri"].endswith("DPA005.md")
    assert rule["fullDescription"]["text"] == fault_with("DPA005").why
    assert "## Repaired" in rule["help"]["markdown"]
    assert sum(one["id"] == "DPA005" for one in rules) == 1


def test_findings_link_to_the_pages_of_a_site(monkeypatch):
    fault = fault_with("DPA001")
    assert fault.address is None
    assert fault.line.endswith("(dpaudit explain DPA001)")
    monkeypatch.setenv("DPAUDIT_DOCS", "https://docs.example/dp/")
    assert fault.address == "https://docs.example/dp/faults/DPA001.html"
    assert fault.uri == fault.address
    assert fault.address in fault.line


@pytest.mark.parametrize(("words", "begins"), [(["dpa009"], "DPA009: noise"), ([], "DPA001  ")])
def test_explain_shows_one_kind_or_lists_all(words, begins, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["explain", *words])
    assert ended.value.code == 0
    out = capsys.readouterr().out
    assert out.startswith(begins)
    assert len([line for line in out.splitlines() if line.startswith("DPA")]) == (
        1 if words else len(FAULTS)
    )


def test_a_code_that_there_is_not_ends_with_a_suggestion(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["explain", "DPA01"])
    assert ended.value.code == 2
    assert "DPA010" in capsys.readouterr().err

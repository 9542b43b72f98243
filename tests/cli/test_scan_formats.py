"""``dpaudit scan --format``: what the terminal shows, as other tools read it, and nothing more."""

import json
from xml.etree import ElementTree

import pytest

from dpaudit.scan.write import make_scan_document
from tests.cli.test_formats import HOSTILE, valid_sarif
from tests.scan import samples
from tests.scan.accountants.test_document import scanned

ALPHA = samples.finding("tools.alpha", fault="DPA008")
GAMMA = samples.finding("models.gamma", "`out` > 3", edit="record 1 moved")
ASIDE = samples.finding("tools.beta", "`out` > 3.333", violation=False)
SKIPPED = {"models.eta": "it raised in every call"}


@pytest.fixture
def scan(dpaudit, monkeypatch, tmp_path):
    """Return a function that runs the command, which finds what a test says."""
    monkeypatch.chdir(tmp_path)

    def run(result, *options):
        monkeypatch.setattr("dpaudit.scan.scan.scan_package", lambda *_, **__: result)
        return dpaudit("scan", "mbi", "--quiet", *options)

    return run


def sarif_of(scan, result):
    ran = scan(result, "--format=sarif")
    return ran.status, valid_sarif(ran.out)


def test_each_finding_is_a_result_with_its_kind_and_the_call_that_shows_it(scan):
    found = samples.scan(ALPHA, GAMMA, ALPHA)
    status, run = sarif_of(scan, found)
    assert status == 1
    rules = run["tool"]["driver"]["rules"]
    named = [(one["ruleId"], rules[one["ruleIndex"]]["id"], one["level"]) for one in run["results"]]
    assert named == [(rule, rule, "error") for rule in ("DPA008", "refuted-claim", "DPA008")]
    first, second, again = (one["message"]["text"] for one in run["results"])
    for words in (
        "toy: tools.alpha: `out` is NaN in 0 of 4321 outputs",
        "ε ≥ 5.432 at δ = 0, where 1-DP is claimed",
        "Release: toy 1.0",
        "Call: tools.alpha with {'epsilon': 1.0}",
        "Neighbours: replace-record",
        "Dataset: [0.0, 1.0]",
        "Neighbour: [0.0, float('nan')]",
        "Claimed: 1-DP: docstring of it, first paragraph",
    ):
        assert words in first
    assert again.startswith("toy: tools.alpha (2): ")
    assert "record 1 moved" in second
    assert len({one["partialFingerprints"]["audit/v1"] for one in run["results"]}) == 3
    (where,) = run["results"][1]["locations"]
    assert where["logicalLocations"][0]["fullyQualifiedName"] == "toy.models.gamma"
    assert "toolExecutionNotifications" not in run["invocations"][0]


def test_what_held_is_no_result_and_what_is_withheld_is_a_notification(scan):
    status, run = sarif_of(scan, samples.scan(skipped=SKIPPED))
    assert (status, run["results"]) == (2, [])
    (told,) = run["invocations"][0]["toolExecutionNotifications"]
    assert told["message"]["text"] == "toy: models.eta: it raised in every call"
    described = run["tool"]["driver"]["notifications"]
    assert [one["id"] for one in described] == [told["descriptor"]["id"]] == ["withheld-verdict"]


def test_nothing_is_told_that_the_terminal_does_not_show(scan):
    """A format may be uploaded: scripts and what nobody claims wait in files of their own."""
    found = samples.scan(ALPHA, information=[ASIDE], notes=["models.delta looked worse"])
    document = json.dumps(make_scan_document(found))
    ran = scan(found, *(f"--format={one}=out.{one}" for one in ("sarif", "junit", "markdown")))
    text = " ".join(ran.out.split())
    for path in (f"out.{one}" for one in ("sarif", "junit", "markdown")):
        with open(path, encoding="utf-8") as file:
            written = file.read()
        for secret in ("import toy", "seen in 0 of 20 outputs", "3.333", "looked worse"):
            assert secret in document
            assert secret not in written
        assert "is NaN" in written
    assert all(one in text for one in ("[0.0, float('nan')]", "is NaN", "DPA008"))


def test_every_subject_is_a_test_case(scan):
    ran = scan(samples.scan(ALPHA, skipped=SKIPPED), "--format=junit")
    cases = {
        one.get("name"): one for one in ElementTree.fromstring(ran.out.encode()).iter("testcase")
    }
    assert [len(cases[f"toy: {one}"]) for one in ("tools.alpha", "tools.beta")] == [1, 0]
    assert len(cases) == len(samples.SUBJECTS) + len(SKIPPED)
    brief = scan(samples.scan(ALPHA, skipped=SKIPPED), "--format=markdown").out
    assert "1 finding; the verdict on 1 subject is withheld." in brief
    assert "(DPA008: " in brief


def test_words_of_a_package_cannot_break_a_format(scan):
    hostile = samples.finding("tools.alpha", HOSTILE, edit=HOSTILE, dataset=HOSTILE)
    _, run = sarif_of(scan, samples.scan(hostile, skipped={HOSTILE: HOSTILE}))
    assert len(run["results"]) == len(run["invocations"][0]["toolExecutionNotifications"]) == 1
    (line,) = scan(samples.scan(hostile), "--format=github").out.splitlines()[:1]
    assert line.startswith("::error title=toy%3A tools.alpha%3A refuted::")


def test_an_accountant_has_a_result_for_each_kind_of_false_claim(dpaudit, monkeypatch, tmp_path):
    class Place:
        command = "python"

    monkeypatch.setattr("dpaudit.scan.remote.environments.place_of", lambda *_: Place())
    monkeypatch.setattr("dpaudit.scan.accountants.scan.scan_accountant", lambda *_, **__: scanned())
    ran = dpaudit("scan", "dp-accounting", f"--format=sarif={tmp_path}/a.sarif", "--format=github")
    run = valid_sarif((tmp_path / "a.sarif").read_text("utf-8"))
    assert (ran.status, [one["ruleId"] for one in run["results"]]) == (1, ["refuted-claim"])
    assert run["results"][0]["message"]["text"].startswith("synthetic: halved: under: ")
    assert "Stated: upper bound" in run["results"][0]["message"]["text"]
    assert "::notice title=synthetic%3A sound%3A not refuted::" in ran.out

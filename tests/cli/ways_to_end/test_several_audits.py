"""Several audits in one run, where one failure does not take the others with it."""

import sys
from types import SimpleNamespace

import pytest

from dpaudit.cli import publish
from dpaudit.extension.case import SearchCase
from dpaudit.extension.claim import Claim
from dpaudit.extension.parameters import Parameters
from dpaudit.refutation import WorstInstance
from dpaudit.report.document import read_index, read_report

from .runs import LAW, full_disk, interrupt, leave, nothing
from .ways import FULL, INTERRUPTED, MISSING, REFUTED, STREAM, WITHHELD, WRITING, Ways

WAYS = Ways()


@WAYS.end(2, MISSING, "error: two: .*ended the program.*")
def _one_of_three_that_leaves(here):
    code = "Leaving = doing(lambda: sys.exit(0))\n"
    out = here.folder / "out"
    ran = here.audit(here.audits("Sound", "Leaving", "Broken", code=code), "--out", out)
    report = read_report(out / "report.json")
    assert [one.claim for one in report.results] == ["one", "three"]
    assert report.missing == ["two"]
    assert "Only 2 of 3 audits gave a verdict. Missing: two." in (out / "report.html").read_text()
    assert "three: The certified lower bound" in ran.out
    assert ran.err.count("\n") == 1
    return ran


@WAYS.end(2, MISSING, "error: one: mechanism: got .*ended the program.*")
def _one_of_two_that_leaves_as_it_is_prepared(here):
    code = "class Leaving(Broken):\n    def __init__(self): sys.exit(1)\n"
    ran = here.audit(here.audits("Leaving", "Broken", code=code))
    assert "two: The certified lower bound" in ran.out
    return ran


@WAYS.end(2, WITHHELD, "error: one: the law does not match the code .*")
def _a_law_of_other_code(here):
    path = here.audits("mechanism", code=LAW + "mechanism = Other(Following())\n", delta=1e-5)
    return here.audit(path)


def every(here, deeds, *arguments):
    """Audit every claim of a few that do something when they are audited."""

    def prepared(deed):
        def prepare(settings, parameters):
            def attain(trials, rng):
                deed()
                return WorstInstance(value=2.0, bound=1.0, instance="here")

            return SearchCase(
                bound=1.0, attain=attain, view="all", data="none", relation="any", pair="any",
                default_trials=100, parameters={},
            )  # fmt: skip

        return prepare

    cards = {
        name: Claim(
            name=name, title=name, statement=name, source="an example", relation="any",
            assumptions={}, prepare=prepared(deed), parameters=Parameters, kind="sensitivity",
        )
        for name, deed in deeds.items()
    }  # fmt: skip
    claims = SimpleNamespace(all=lambda: cards, get=cards.__getitem__)
    here.monkeypatch.setattr(publish.registry, "CLAIMS", claims)
    here.monkeypatch.setattr("dpaudit.auditing.run.registry.CLAIMS", claims)
    return here.run("audit", "--all", "--workers", "1", "--out", "out", *arguments)


def index(here):
    entries = read_index(here.folder / "out" / "index.json")
    return {one["label"]: one["verdict"] for one in entries}


@WAYS.end(1, REFUTED, "Index: out/index.html")
def _every_claim(here):
    ran = every(here, {"a": nothing, "b": nothing})
    assert index(here) == {"a": "refuted", "b": "refuted"}
    return ran


@WAYS.end(2, MISSING, "error: a: ended the program with sys.exit.0.*")
def _every_claim_and_one_that_leaves(here):
    ran = every(here, {"a": leave, "b": nothing})
    assert index(here) == {"b": "refuted", "a": None}
    page = (here.folder / "out" / "index.html").read_text()
    assert "Only 1 of 2 audits gave a verdict. Missing: a (failed: " in page
    return ran


@WAYS.end(130, INTERRUPTED, "interrupted: 1 of 3 ended; missing: b, c")
def _an_interrupt_of_every_claim(here):
    ran = every(here, {"a": nothing, "b": interrupt, "c": nothing})
    assert index(here) == {"a": "refuted", "b": None, "c": None}
    assert read_report(here.folder / "out" / "a" / "report.json").results[0].verdict == "refuted"
    page = (here.folder / "out" / "index.html").read_text()
    assert "Interrupted, 1 of 3. Missing: b (not run); c (not run)." in page
    return ran


@WAYS.end(2, STREAM, FULL)
def _every_claim_onto_a_full_disk(here):
    with full_disk() as full, here.monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", full)
        ran = every(here, {"a": nothing})
    assert index(here) == {"a": "refuted"}
    return ran


@WAYS.end(2, WRITING, r"error: .*the report cannot be written here .*")
def _every_claim_and_a_report_that_cannot_be_written(here):
    (here.folder / "out").mkdir()
    (here.folder / "out" / "a").write_text("mine")
    ran = every(here, {"a": nothing, "b": nothing})
    assert (here.folder / "out" / "b" / "report.json").exists()
    return ran


@pytest.mark.parametrize("way", WAYS.cases)
def test_it_ends_as_the_page_says(here, way):
    assert way.complaints(way.ends(here)) == []


def test_an_earlier_index_is_gone_before_a_report_is_replaced(here):
    every(here, {"a": nothing, "b": nothing})
    seen, write = [], publish.write_report

    def watched(*arguments):
        seen.append(index(here))
        return write(*arguments)

    here.monkeypatch.setattr(publish, "write_report", watched)
    every(here, {"a": nothing, "b": nothing})
    assert seen == [{"a": None, "b": None}, {"a": "refuted", "b": None}]

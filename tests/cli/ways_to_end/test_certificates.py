"""Certificates that stand, fail or are missing."""

import json

import pytest

from dpaudit.auditing import run_claim
from dpaudit.execution import Executor
from dpaudit.extension.settings import Settings
from dpaudit.refutation import certificates_text
from dpaudit.verification import many

from .runs import full_disk, interrupt, leave
from .ways import FAILS, FULL, INTERRUPT, INTERRUPTED, MISSING, STANDS, STREAM, Ways

WAYS = Ways()


@pytest.fixture(scope="module")
def genuine():
    parameters = {"features": 8, "samples": 32, "parties": 2}
    found = run_claim("hu2020-lemma1", Settings(trials=400, parameters=parameters), Executor())
    return certificates_text((found.certificate,))


@pytest.fixture(autouse=True)
def certificates(here, genuine):
    (here.folder / "good.json").write_text(genuine)
    changed = json.loads(genuine)
    changed["quantities"]["ratio"] *= 2
    (here.folder / "bad.json").write_text(json.dumps(changed))


@WAYS.end(0, STANDS, r"good\.json: hu2020-lemma1: verified, .*")
def _a_certificate_that_stands(here):
    return here.run("verify", "good.json")


@WAYS.end(1, FAILS, r"  ratio: the file states .*")
def _a_certificate_that_fails(here):
    return here.run("verify", "good.json", "bad.json")


@WAYS.end(2, MISSING, r"error: gone\.json: cannot be read \(No such file or directory\)")
def _a_certificate_that_is_missing_among_others(here):
    ran = here.run("verify", "gone.json", "bad.json", "good.json")
    assert "bad.json: hu2020-lemma1: fails" in ran.out
    assert "good.json: hu2020-lemma1: verified" in ran.out
    return ran


@WAYS.end(2, MISSING, r"error: no\.json: is not JSON .*")
def _a_certificate_that_is_none_among_others_as_json(here):
    (here.folder / "no.json").write_text("{")
    ran = here.run("verify", "no.json", "good.json", "--json")
    assert [one["verified"] for one in json.loads(ran.out)] == [True]
    return ran


@WAYS.end(2, STREAM, FULL)
def _a_certificate_that_stands_on_a_full_disk(here):
    with full_disk() as full:
        return here.onto(full, "verify", "good.json")


def verifying(here, deed):
    verify, done = many.verify, []

    def acting(document, *asked, **more):
        if done:
            deed()
        done.append(document)
        return verify(document, *asked, **more)

    here.monkeypatch.setattr(many, "verify", acting)
    ran = here.run("verify", "good.json", "bad.json")
    assert "good.json: hu2020-lemma1: verified" in ran.out
    return ran


@WAYS.end(2, MISSING, "error: .*ended the program with sys.exit.0.*")
def _a_verifier_of_a_certificate_that_leaves(here):
    return verifying(here, leave)


@WAYS.end(130, INTERRUPTED, INTERRUPT)
def _an_interrupt_at_the_second_certificate(here):
    return verifying(here, interrupt)


@pytest.mark.parametrize("way", WAYS.cases)
def test_it_ends_as_the_page_says(here, way):
    assert way.complaints(way.ends(here)) == []

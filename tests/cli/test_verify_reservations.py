"""``dpaudit verify`` says when a certificate is right, but not about the claim as published."""

import copy
import json

import pytest

from dpaudit.auditing import audit_claim, run_claim
from dpaudit.auditing.rerun import statistical_certificate
from dpaudit.errors import DataError
from dpaudit.execution import Executor
from dpaudit.extension.settings import Settings
from dpaudit.refutation import certificates_text
from dpaudit.verification import read, verify

STRICTER = "factor 0.5 makes it stricter"


@pytest.fixture(scope="module")
def half():
    settings = Settings(trials=300, parameters={"factor": 0.5})
    found = run_claim("huang2020-lemma5", settings, Executor())
    return json.loads(certificates_text((found.certificate,)))


@pytest.fixture
def written(tmp_path):
    def write(content, name="c.json"):
        path = tmp_path / name
        path.write_text(json.dumps(content))
        return str(path)

    return write


def test_the_command_names_what_is_not_the_papers(dpaudit, half, written):
    ran = dpaudit("verify", written(half))
    assert ran.status == 0
    assert f"verified, but not the claim as published ({STRICTER}): " in ran.out
    assert "0.5 times that of Lemma 5" in ran.out
    (listed,) = json.loads(dpaudit("verify", written(half), "--json").out)
    assert (listed["verified"], listed["refutes_as_published"]) == (True, False)
    assert listed["reservations"] == [STRICTER]


def test_a_file_named_like_an_entry_of_another_hides_nothing(dpaudit, half, written):
    bad = copy.deepcopy(half)
    bad["quantities"]["ratio"] = 7.0
    ran = dpaudit("verify", written([bad], "c.json"), written(half, "c.json[0]"))
    assert ran.status == 1
    assert "fails" in ran.out


# Counts that are drawn again


@pytest.fixture(scope="module")
def counted():
    settings = Settings(
        trials=300,
        confidence=0.5,
        estimator="event",
        seed=3,
        parameters={"factor": 0.01, "c0": 0.05},
    )
    result = audit_claim("huang2020-theorem6", settings)
    return json.loads(certificates_text((statistical_certificate(result, settings),)))


def test_counts_of_a_stricter_claim_or_a_low_confidence_say_so(counted, written):
    (found,) = read(written(counted))
    again = verify(found)
    assert again.verified
    assert again.reservations == ("confidence 0.5", "factor 0.01 makes it stricter")
    assert "(with factor = 0.01, c0 = 0.05)" in again.summary


@pytest.mark.parametrize("factor", ["0.01", 0.01])
def test_a_factor_in_words_is_one_too(counted, written, factor):
    counted = copy.deepcopy(counted)
    counted["instance"]["settings"]["parameters"]["factor"] = factor
    (found,) = read(written(counted))
    assert "factor 0.01 makes it stricter" in verify(found).reservations


def test_a_confidence_that_was_not_asked_for_is_refused(counted, written):
    counted = copy.deepcopy(counted)
    counted["parameters"]["confidence"] = 0.999
    (found,) = read(written(counted))
    with pytest.raises(DataError, match=r"parameters\.confidence: got 0\.999, expected 0\.5"):
        verify(found)


def test_an_audit_that_refutes_nothing_is_no_certificate(counted, written):
    counted = copy.deepcopy(counted)
    counted["instance"]["settings"]["parameters"] = {}
    (found,) = read(written(counted))
    with pytest.raises(DataError, match="run again, does not refute the claim"):
        verify(found)


@pytest.mark.parametrize("version", ["corrected", "published"])
def test_the_ratio_of_negative_numbers_is_no_quotient(version):
    """-2 is below -1, however large their quotient."""
    settings = Settings(trials=400, parameters={"version": version})
    result = audit_claim("hu2019-lemma4", settings)
    assert result.claimed.value < 0
    ratio = statistical_certificate(result, settings).quantities["ratio"]
    assert (ratio > 1) == (result.verdict == "refuted")

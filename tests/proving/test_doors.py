"""The doors of a proof: Python, the command line, an audit, a file of audits, and pytest."""

from __future__ import annotations

import json

import numpy as np
import pytest

import dpaudit
from dpaudit.errors import InvalidArgument
from dpaudit.proving.report import CodeProof

DOMAIN = {"bounds": (0, 10), "records": 4}
SOURCE = """
import numpy as np


def noisy_sum(data, rng):
    return np.clip(data, 0, 1).sum() + rng.laplace(scale=1.0)


def too_little(data, rng):
    return np.clip(data, 0, 1).sum() + rng.laplace(scale=0.5)


def branching(data, rng):
    noise = rng.laplace(scale=1.0)
    if data[0] > 0.5:
        return 1.0 + noise
    return noise
"""


def noisy_sum(data, rng):
    return np.clip(data, 0, 1).sum() + rng.laplace(scale=1.0)


def too_little(data, rng):
    return np.clip(data, 0, 1).sum() + rng.laplace(scale=0.5)


def branching(data, rng):
    noise = rng.laplace(scale=1.0)
    if data[0] > 0.5:
        return 1.0 + noise
    return noise


@pytest.fixture
def module(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(SOURCE)
    return tmp_path


ASKED = ("--domain", "bounds=[0,10]", "--domain", "records=4", "--epsilon", "1")


def test_a_claim_is_proved_or_the_number_that_is_proved_is_larger():
    found = dpaudit.prove(noisy_sum, domain=DOMAIN, epsilon=1)
    assert (found.verdict, found.status, found.numbers.pure) == ("proved", 0, 1.0)
    found = dpaudit.prove(too_little, domain=DOMAIN, epsilon=1)
    assert (found.verdict, found.status, found.numbers.pure) == ("withheld", 2, 2.0)


def test_a_refusal_names_the_line_and_what_it_does():
    found = dpaudit.prove(branching, domain=DOMAIN, epsilon=1)
    assert found.numbers is None
    assert "test_doors.py" in found.refusal.place
    assert "branch" in str(found)


def test_claims_are_of_epsilon_mu_or_rho():
    def gaussian(data, rng):
        return np.clip(data, 0, 1).sum() + rng.normal(scale=2.0)

    for claim in (dpaudit.GaussianDP(0.5), dpaudit.ZeroConcentratedDP(0.125)):
        assert dpaudit.prove(gaussian, domain=DOMAIN, claim=claim).verdict == "proved"
    below = (dpaudit.GaussianDP(0.49), dpaudit.ZeroConcentratedDP(0.12))
    assert all(dpaudit.prove(gaussian, domain=DOMAIN, claim=c).verdict == "withheld" for c in below)
    with pytest.raises(InvalidArgument, match="claim"):
        dpaudit.prove(gaussian, domain=DOMAIN, claim=dpaudit.RenyiDP(2.0, 0.5))
    with pytest.raises(InvalidArgument, match="epsilon"):
        dpaudit.prove(gaussian, domain=DOMAIN, epsilon=1, claim=dpaudit.GaussianDP(1.0))


def test_a_proof_comes_back_from_json_as_it_was():
    for function in (noisy_sum, too_little, branching):
        found = dpaudit.prove(function, domain=DOMAIN, epsilon=1)
        again = CodeProof.from_document(json.loads(json.dumps(found.document())), None)
        assert (again.document(), again.verdict, str(again)) == (
            found.document(),
            found.verdict,
            str(found),
        )


def test_the_command_proves_and_ends_with_the_status(dpaudit, module):
    done = dpaudit("prove", "mine.py:noisy_sum", *ASKED, "--out", "here")
    assert (done.status, "proved" in done.out) == (0, True)
    assert json.loads((module / "here" / "report.json").read_text())["verdict"] == "proved"
    done = dpaudit("prove", "mine.py:too_little", *ASKED, "--json")
    assert (done.status, json.loads(done.out)["numbers"]["pure"]) == (2, 2.0)
    done = dpaudit("prove", "mine.py:branching", *ASKED)
    assert (done.status, "mine.py:14" in done.out) == (2, True)


def test_an_audit_has_three_numbers_and_one_verdict():
    given = {"domain": DOMAIN, "relation": "replace-record", "epsilon": 1, "trials": 400}
    found = dpaudit.audit(noisy_sum, **given)
    assert (found.verdict, found.proved.epsilon) == ("proved", 1.0)
    found = dpaudit.audit(branching, **given)
    assert found.proved is None
    assert "branch" in found.proof_stop.reason
    assert "Not proved, because of test_doors.py" in str(found)


def test_a_command_may_require_a_proof(dpaudit, module):
    told = ("--relation", "replace-record", "--trials", "400", "--no-store", "--quiet")
    for name, status in (("noisy_sum", 0), ("branching", 2)):
        asked = ("audit", f"mine.py:{name}", *ASKED[:-1], "3", *told, "--require", "proved")
        assert dpaudit(*asked).status == status
    done = dpaudit("audit", "mine.py:noisy_sum", *ASKED, *told, "--require", "proof")
    assert (done.status, "require: got" in done.err) == (2, True)


def test_a_marker_may_require_a_proof(pytester):
    pytester.makepyfile(
        SOURCE
        + """
import pytest

GIVEN = dict(epsilon=3, domain=dict(bounds=(0, 10), records=4), relation="replace-record")


@pytest.mark.dp(proved=True, trials=200, **GIVEN)
def test_proved(dp_audit):
    dp_audit(noisy_sum)


@pytest.mark.dp(proved=True, trials=200, **GIVEN)
def test_not_proved(dp_audit):
    dp_audit(branching)
"""
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*not proved: epsilon = 3*"])

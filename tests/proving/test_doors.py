"""Proofs and audits of functions in Python."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dpaudit
from dpaudit.errors import InvalidArgument
from dpaudit.mechanisms.foreign.isolation import Isolation
from dpaudit.proving.report import CodeProof, ProofNumbers

DOMAIN = {"bounds": (0, 10), "records": 4}


def noisy_sum(data, rng):
    return np.clip(data, 0, 1).sum() + rng.laplace(scale=1.0)


def too_little(data, rng):
    return np.clip(data, 0, 1).sum() + rng.laplace(scale=0.5)


def branching(data, rng):
    noise = rng.laplace(scale=1.0)
    if data[0] > 0.5:
        return 1.0 + noise
    return noise


def test_a_claim_is_proved_or_the_number_that_is_proved_is_larger():
    found = dpaudit.prove(noisy_sum, domain=DOMAIN, epsilon=1)
    assert (found.verdict, found.status) == ("proved", 0)
    assert found.numbers.pure == pytest.approx(1.0, rel=1e-12)
    found = dpaudit.prove(too_little, domain=DOMAIN, epsilon=1)
    assert (found.verdict, found.status) == ("withheld", 2)
    assert found.numbers.pure == pytest.approx(2.0, rel=1e-12)


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


def test_an_audit_has_three_numbers_and_one_verdict():
    given = {"domain": DOMAIN, "relation": "replace-record", "epsilon": 1, "trials": 400}
    given |= {"isolation": Isolation(in_process=True)}
    found = dpaudit.audit(noisy_sum, **given)
    assert (found.verdict, found.proved.epsilon) == ("proved", pytest.approx(1.0))
    found = dpaudit.audit(branching, **given)
    assert found.proved is None
    assert "branch" in found.proof_stop.reason
    assert "Not proved, because of test_doors.py" in str(found)


def test_a_certificate_is_made_unless_nobody_asks_for_it():
    asked = {"domain": {"bounds": (0, 1), "records": 3}, "epsilon": 1.0}
    with_one, without = (
        dpaudit.prove(noisy_total, **asked, certified=one) for one in (True, False)
    )
    assert with_one.certificate is not None
    assert (without.verdict, without.certificate) == ("proved", None)
    assert without.uncertified == "none was asked for"


def test_a_record_that_is_repeated_is_counted_as_often():
    """The only record stands in three rows of the product with three equal private numbers."""
    only = {"domain": {"bounds": (0.1, 0.7), "records": 1}, "relation": "replace-record"}
    found = dpaudit.prove(repeated, **only, epsilon=1.0)
    assert found.verdict == "withheld"
    assert found.numbers.pure == pytest.approx(3.0, rel=1e-9)


def repeated(data, rng):
    alike = np.sign(data.mean()) * np.ones(3)
    return np.sum(data * (0.5 < alike)) + rng.laplace(scale=0.6)


def test_a_weaker_certificate_says_what_it_shows():
    asked = {"domain": {"bounds": (0, 1), "records": 3}, "epsilon": 1.0}
    found = dpaudit.prove(noisy_total, **asked, certified=True)
    assert "certificate" not in str(found)
    instance = {**found.certificate["instance"], "claim": {"epsilon": 3.0, "delta": 0.0}}
    weaker = replace(found, certificate={**found.certificate, "instance": instance})
    assert "The certificate shows only (3, 0)-DP" in str(weaker)


def noisy_total(data, rng):
    return data.sum() + rng.laplace(scale=1.0)


def test_a_domain_that_records_say_goes_into_no_certificate():
    """Its ends are somebody's numbers."""
    table = pd.DataFrame({"pay": [41.5, 97.25, 60.0, 12.0]})

    def noisy_pay(data, rng):
        return data["pay"].clip(0, 50).sum() + rng.laplace(scale=50)

    found = dpaudit.prove(noisy_pay, domain=table, relation="add-remove-record", certified=True)
    assert found.numbers.pure == pytest.approx(1.0)
    assert found.certificate is None
    assert "97.25" not in str(found) + json.dumps(found.document())


@pytest.mark.parametrize(
    "claim",
    [
        dpaudit.ApproximateDP(1.0, 1e-5),
        dpaudit.GaussianDP(0.5),
        dpaudit.ZeroConcentratedDP(0.1),
    ],
    ids=str,
)
def test_a_claim_is_judged_by_the_number_that_says_most_about_it(claim):
    """Epsilon of many releases is less at a delta than at none; rho of Laplace noise than of mu."""
    numbers = ProofNumbers(epsilon=0.9, delta=1e-5, pure=1.2, mu=0.4, rho=0.09)
    told = numbers.guarantee_for(claim)
    if isinstance(claim, dpaudit.ApproximateDP):
        assert told.epsilon(1e-5) <= 0.9
    else:
        assert told == type(claim)(numbers.of(claim))


@pytest.mark.parametrize(
    ("records", "said"),
    [
        ((1, 1), "of 1 record"),
        ((3, 3), "of 3 records"),
        ((1, 3), "of 1 to 3 records"),
        (None, "of any size"),
    ],
)
def test_a_proof_says_how_many_records_datasets_have(records, said):
    proof = CodeProof(name="f", relation="replace-record", records=records)
    assert proof.of_whom == f"For all neighbours in the domain (replace-record), datasets {said}."

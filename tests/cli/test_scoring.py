"""``dpaudit attack`` with an attack that scores outputs: an audit with it alone."""

import json

import pytest

import dpaudit.extension.registry as registry
from dpaudit.auditing import audit_claim
from dpaudit.extension.settings import Settings

CLAIM = "huang2020-theorem6"
ASKED = ("--set", f"claim={CLAIM}", "--set", "trials=300", "--set", "epsilon=8")


@pytest.mark.slow
def test_it_is_the_audit_that_tries_no_other_attack(dpaudit, tmp_path):
    ran = dpaudit("attack", "likelihood-ratio", *ASKED, "--seed", "5", "--out", str(tmp_path))
    assert ran.status == 0
    document = json.loads((tmp_path / "likelihood-ratio.json").read_text())
    (row,) = document["rows"]
    settings = Settings(
        epsilon=8.0, trials=300, seed=5, estimator="event", distinguisher="likelihood-ratio"
    )
    result = audit_claim(CLAIM, settings)
    assert row["certified"] == result.measured.lower > 0.5
    assert document["threat_model"]["sees"] == "one output"
    assert "The attacker knows the algorithm, its law and both datasets." in ran.out
    assert (tmp_path / "likelihood-ratio.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_claims_own_parameters_are_passed_on(dpaudit):
    own = ("--set", 'parameters={"iterations": 2, "inner_steps": 1}')
    ran = dpaudit("attack", "likelihood-ratio", *ASKED, *own, "--json")
    assert json.loads(ran.out)["parameters"]["parameters"] == {"iterations": 2, "inner_steps": 1}
    assert dpaudit("attack", "likelihood-ratio", *ASKED, "--json").out != ran.out


@pytest.mark.parametrize("name", sorted(registry.DISTINGUISHERS.all()))
def test_every_scoring_attack_shows_its_threat_model(dpaudit, name):
    ran = dpaudit("show", name)
    assert ran.status == 0
    for verb in ("sees", "wants"):
        assert f"The attacker {verb} " in ran.out
    assert f"dpaudit attack {name} --set claim=..." in " ".join(ran.out.split())


def test_a_claim_without_outputs_of_the_attacks_kind_is_refused(dpaudit):
    ran = dpaudit("attack", "column-space", *ASKED)
    assert ran.status == 2
    assert ran.err.startswith("error: relation: ")

"""Certificates of proofs: the checker by itself, and the code of the reader."""

import copy
import json
import shutil
import subprocess
import sys

import jsonschema
import numpy as np
import pytest

import dpaudit
from dpaudit.domains import Domain
from dpaudit.guarantees.kinds import ApproximateDP, GaussianDP, ZeroConcentratedDP
from dpaudit.proving import checker
from dpaudit.proving.certificate import make_proof_certificate
from dpaudit.proving.refusals import NotProved
from dpaudit.proving.runs.reading import read_trace
from dpaudit.verification import Reader, verify
from dpaudit.verification.document import read
from dpaudit.verification.schema import certificate_schema

DOMAIN = Domain(bounds=(0, 10), records=20)


def noisy_sum(data, rng):
    return np.clip(data, 0, 2).sum() + rng.laplace(scale=2.0)


def noisier_sum(data, rng):
    return np.clip(data, 0, 2).sum() + rng.laplace(scale=2.5)


def wider_sum(data, rng):
    return np.clip(data, 0, 3).sum() + rng.laplace(scale=2.0)


def gaussian_sum(data, rng):
    return np.clip(data, 0, 2).sum() + rng.normal(scale=2.0)


def sum_that_looks_again(data, rng):
    noisy = np.clip(data, 0, 2).sum() + rng.laplace(scale=4.0)
    if noisy > 10:
        return noisy + np.clip(data, 0, 2).sum() + rng.laplace(scale=4.0)
    return noisy


def sum_without_noise(data, rng):
    return np.clip(data, 0, 2).sum()


CLAIM = ApproximateDP(1.0, 0.0)


def certified(function, claim=CLAIM):
    return make_proof_certificate(
        read_trace(function, DOMAIN, runs=20), None, claim, f"{__name__}:x"
    )


def written(document, tmp_path):
    path = tmp_path / "proof.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def verdict_of(document, tmp_path, **given):
    (found,) = read(written(document, tmp_path))
    return verify(found, Reader(**given))


@pytest.fixture(scope="module")
def certificate():
    return certified(noisy_sum)


def test_a_certificate_follows_its_schema(certificate):
    jsonschema.validate(certificate, certificate_schema())


def test_a_proof_of_the_readers_code_is_proved(certificate, tmp_path):
    found = verdict_of(certificate, tmp_path, mechanism=noisy_sum)
    assert found.on_the_claim == "proved", found
    assert found.claim == "noisy_sum"


def test_without_the_code_there_is_a_reservation(certificate, tmp_path):
    found = verdict_of(certificate, tmp_path)
    assert found.verified
    assert found.on_the_claim == "not refuted"
    assert dpaudit.verify(written(certificate, tmp_path))[0].reservations


OTHERS = [
    wider_sum,
    *(
        pytest.param(one, marks=pytest.mark.slow)
        for one in (noisier_sum, gaussian_sum, sum_that_looks_again, sum_without_noise)
    ),
]


@pytest.mark.parametrize("other", OTHERS)
def test_other_code_than_that_of_the_file_fails(certificate, tmp_path, other):
    found = verdict_of(certificate, tmp_path, mechanism=other)
    assert not found.verified
    assert found.on_the_claim == "withheld"


def test_a_file_that_is_true_of_itself_and_no_code_fails(certificate, tmp_path):
    bent = copy.deepcopy(certificate)
    nodes = bent["instance"]["paths"][0]["nodes"]
    (most,) = (one for one in nodes if one["parameters"].get("value") == 2)
    most["parameters"]["value"] = 1
    assert verdict_of(bent, tmp_path).verified
    assert not verdict_of(bent, tmp_path, mechanism=noisy_sum).verified


@pytest.mark.slow
def test_the_module_of_a_reader_runs_elsewhere(certificate, tmp_path, monkeypatch):
    text = "import numpy as np\n\n\ndef total(data, rng):\n"
    text += "    return np.clip(data, 0, 2).sum() + rng.laplace(scale=2.0)\n"
    (tmp_path / "of_a_reader.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    found = verdict_of(certificate, tmp_path, mechanism="of_a_reader:total")
    assert found.on_the_claim == "proved", found


def test_paths_that_noise_chooses_count_the_largest(tmp_path):
    document = certified(sum_that_looks_again)
    assert len(document["instance"]["paths"]) == 2
    assert document["instance"]["claim"]["epsilon"] == pytest.approx(1.0)
    bent = copy.deepcopy(document)
    bent["instance"]["paths"].pop()
    with pytest.raises(checker.NotVerified, match="one way"):
        checker.check_proof_certificate(bent)


@pytest.mark.slow
def test_claims_of_each_kind():
    claims = [certified(gaussian_sum, one)["instance"]["claim"]
              for one in (GaussianDP(1.0), ZeroConcentratedDP(0.5), ApproximateDP(5.0, 1e-5),
                          ApproximateDP(1.0, 1e-5), None)]  # fmt: skip
    assert claims[:3] == [{"mu": 1.0}, {"rho": 0.5}, {"epsilon": 5.0, "delta": 1e-5}]
    assert claims[3]["epsilon"] == pytest.approx(dpaudit.GaussianDP(1.0).epsilon(1e-5), rel=1e-6)
    assert claims[4] == {"rho": 0.5}
    with pytest.raises(NotProved):
        certified(gaussian_sum, ApproximateDP(1.0, 0.0))


@pytest.mark.slow
def test_delta_of_gaussian_noise_is_never_below_the_truth():
    for square in (0.01, 0.5, 1.0, 4.0, 30.0):
        for epsilon in (0.1, 1.0, 3.0):
            mu = square**0.5
            true = dpaudit.GaussianDP(mu).delta(epsilon)
            found = checker.delta_of_mu(checker.F(epsilon), checker.F(square))
            assert true * (1 - 1e-9) <= found <= true * (1 + 1e-6) + 1e-40
            cost = checker.Cost([(0, "normal", checker.F(square), None)])
            wide = [cost.delta(checker.F(epsilon), checker.F(order)) for order in (1.5, 2, 8)]
            assert min(wide) >= true


def test_the_checker_needs_no_other_file(certificate, tmp_path):
    path = written(certificate, tmp_path)
    alone = tmp_path / "checker.py"
    shutil.copy(checker.__file__, alone)
    command = [sys.executable, "-I", "-S", str(alone), str(path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran
    assert "verified: epsilon = 1, delta = 0" in ran.stdout
    bent = copy.deepcopy(certificate)
    bent["instance"]["claim"]["epsilon"] = 0.9
    written(bent, tmp_path)
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "not verified" in ran.stdout
    assert ran.stderr == ""


@pytest.mark.parametrize("text", ["", "[", "{}", "[[]]", "null", '{"kind": "proof", "kind": 1}',
                                  '{"instance": NaN}', "[" * 100_000, '{"instance": 1e999}',
                                  '{"kind": "proof", "instance": {"claim": {}}}'])  # fmt: skip
def test_what_is_no_certificate_is_not_verified(text, tmp_path, capsys):
    path = tmp_path / "proof.json"
    path.write_text(text, encoding="utf-8")
    assert checker.main([str(path)]) == 1
    assert "not verified" in capsys.readouterr().out

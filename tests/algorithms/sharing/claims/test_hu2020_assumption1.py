"""hu2020's Assumption 1.1 on real runs, and what noise does to any bound."""

import math
import os

import mpmath
import numpy as np
import pytest
from numpy.random import default_rng

from dpaudit.algorithms.sharing.algorithm import SharingADMM
from dpaudit.algorithms.sharing.claims.hu2020.assumption1 import CLAIM, Assumption1Parameters
from dpaudit.algorithms.sharing.claims.hu2020.norms import (
    _format_rounded_down_chance,
    log_exceeding,
    measure_variable_norms,
)
from dpaudit.algorithms.sharing.noise import MessageNoise, ParameterNoise, WhitenedNoise
from dpaudit.algorithms.sharing.verify.hu2020.assumption1 import recompute
from dpaudit.algorithms.sharing.vertical import Risk
from dpaudit.datasets import Dataset, breast_cancer
from dpaudit.errors import DataError, InvalidArgument
from dpaudit.extension.settings import Settings

FEW = {"iterations": 3, "records": 60}


@pytest.mark.parametrize("noise", ["parameter", "whitened", "message"])
def test_noise_refutes_it_and_the_certificate_stands(audited, plain, judged, noise):
    found = audited(CLAIM, parameters=FEW | {"noise": noise}, trials=100)
    result = found.result
    assert result.verdict == "refuted"
    assert result.measured.lower > 10 * result.claimed.value
    assert "probability above 0 at every iteration" in result.reason
    assert all(a.holds for a in result.assumptions)
    verdict = judged(plain(found.certificate), recompute)
    assert verdict.failures == ()
    assert verdict.ratio <= result.measured.lower / result.claimed.value * (1 + 1e-9)


def test_the_default_audit_says_what_was_reached_and_when(audited):
    result = audited(CLAIM).result
    assert result.verdict == "refuted"
    assert result.data.startswith("breast-cancer: 569 records, 30 features")
    (found,) = (note for note in result.notes if note.startswith("Found at"))
    for name in ("model up to", "perturbed up to", "dual up to", "prediction up to"):
        assert name in found
    assert "above the bound from iteration 1, 100% of runs" in found


def test_without_noise_the_iterates_grow_past_it(audited):
    found = audited(CLAIM, parameters={"noise": "none", "iterations": 30})
    assert found.result.verdict == "refuted"
    assert found.certificate is None  # the audit itself is run again instead


@pytest.mark.parametrize("noise", ["parameter", "none"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_bound_far_above_is_not_refuted(audited, noise, seed):
    asked = {"parameters": FEW | {"noise": noise, "factor": 1e6}, "seed": seed, "trials": 100}
    found = audited(CLAIM, **asked)
    assert found.result.verdict == "not refuted"
    assert found.certificate is None


@pytest.mark.parametrize("share", [0.5, 2.0])
def test_half_of_what_is_reached_is_refuted_and_twice_is_not(audited, share):
    quiet = FEW | {"noise": "none", "iterations": 10}
    reached = audited(CLAIM, parameters=quiet).result.measured.lower
    result = audited(CLAIM, parameters=quiet | {"factor": share * reached}).result
    assert result.verdict == ("refuted" if share < 1 else "not refuted")


@pytest.mark.parametrize("bound", [1.0, 100.0, 1e4])
def test_a_larger_bound_brings_as_much_more_noise(audited, bound):
    parameters = FEW | {"bound": bound, "regulariser_weight": 1e-6}
    result = audited(CLAIM, parameters=parameters, trials=100).result
    assert result.verdict == "refuted"
    assert result.measured.lower > 5 * bound


@pytest.mark.slow
@pytest.mark.skipif("DPAUDIT_DATA" not in os.environ, reason="a9a is a file")
def test_a9a_refutes_it_too(audited):
    parameters = {"records": 500, "iterations": 3}
    result = audited(CLAIM, data="a9a", parameters=parameters, trials=100).result
    assert result.verdict == "refuted"
    assert result.data.startswith("a9a-train: 500 records, 123 features")


# The proof: probabilities against draws, duals against their bound


def test_the_tail_is_that_of_mpmath():
    data = Dataset(np.eye(6)[:, :5], [1, -1] * 3)
    algorithm = SharingADMM(block_sizes=(5,), iterations=1, noise=ParameterNoise(0.5))
    for bound in (0.5, 2.0, 8.0):
        exact = mpmath.gammainc(2.5, a=mpmath.mpf(bound / 0.5) ** 2 / 2, regularized=True)
        assert log_exceeding(algorithm, data, bound) == pytest.approx(float(mpmath.log(exact)))
    far = log_exceeding(algorithm, data, 1e3)
    assert -math.inf < far < float(mpmath.log(mpmath.gammainc(2.5, a=2e6, regularized=True)))


@pytest.mark.parametrize("scaling", ["mean", "sum"])
@pytest.mark.parametrize("kind", [ParameterNoise, WhitenedNoise, MessageNoise])
def test_norms_exceed_at_least_as_often_as_proved(kind, scaling):
    rng = default_rng(0)
    features = rng.standard_normal((12, 4))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    data = Dataset(features, rng.choice([-1.0, 1.0], 12))
    algorithm = SharingADMM(
        block_sizes=(4,), iterations=4, penalty=4.0, noise=kind(1.0), risk=Risk(scaling=scaling)
    )
    runs = 4_000
    for bound in (1.0, 2.0, 4.0):
        norms = measure_variable_norms(algorithm, data, runs, bound, rng)
        seen = norms.exceeding.max(axis=0) / runs
        proved = math.exp(log_exceeding(algorithm, data, bound))
        assert (seen >= proved - 4 * math.sqrt(proved / runs)).all()


def test_the_dual_is_a_slope_of_the_loss():
    data = breast_cancer()
    parameters = Assumption1Parameters(iterations=5)
    algorithm = parameters.algorithm(Settings(), data)
    norms = measure_variable_norms(algorithm, data, 3, 1.0, default_rng(0))
    assert norms.largest[2].max() <= math.sqrt(len(data.labels))


# Certificates that were tampered with


@pytest.fixture(scope="module", params=["parameter", "message"])
def genuine(audited, plain, request):
    parameters = {"iterations": 1, "records": 20, "noise": request.param}
    return plain(audited(CLAIM, parameters=parameters, trials=100).certificate)


def smaller(values):
    return [smaller(value) for value in values] if isinstance(values, list) else values / 1e3


TAMPERED = {
    "a longer row": (lambda d: [[1.01 * v for v in d[0]], *d[1:]], ("instance", "design"), "unit"),
    "another factor": (3.0, ("parameters", "factor"), "bound"),
    "another epsilon": (4.0, ("parameters", "epsilon"), "probability"),
    "another probability": (0.3, ("quantities", "probability of exceeding"), "probability"),
    "another norm": (7.0, ("quantities", "norm"), "norm"),
    "another ratio": (7.0, ("quantities", "ratio"), "ratio"),
}


@pytest.mark.parametrize("how", TAMPERED)
def test_a_tampered_certificate_is_named(genuine, judged, changed, how):
    value, path, named = TAMPERED[how]
    verdict = judged(changed(genuine, value, *path), recompute)
    assert any(failure.startswith(named) for failure in verdict.failures)


def test_other_labels_give_another_prediction(audited, plain, judged, changed):
    parameters = {"iterations": 1, "records": 20, "noise": "message"}
    found = plain(audited(CLAIM, parameters=parameters, trials=100).certificate)
    other = changed(found, lambda labels: [-label for label in labels], "instance", "labels")
    assert any(f.startswith("norm: the file") for f in judged(other, recompute).failures)
    stiff = changed(found, 5.0, "parameters", "penalty")
    assert any(f.startswith("norm: the file") for f in judged(stiff, recompute).failures)


def test_small_noise_is_no_evidence(genuine, judged, changed):
    sent = "messages" if genuine["parameters"]["noise"] == "message" else "perturbed"
    quiet = changed(genuine, 1000.0, "parameters", "penalty")
    verdict = judged(changed(quiet, smaller, "instance", sent), recompute)
    assert any(failure.startswith("ratio: ") for failure in verdict.failures)


MALFORMED = {
    "kind": ("sensitivity", ("kind",)),
    "parameters.noise": ("none", ("parameters", "noise")),
    "parameters.scaling": ("both", ("parameters", "scaling")),
    "parameters.parties": (31, ("parameters", "parties")),
    "parameters.delta": (1.0, ("parameters", "delta")),
    "parameters.bound": (0, ("parameters", "bound")),
    "instance.labels": (lambda b: [0.0, *b[1:]], ("instance", "labels")),
    "instance.design": (lambda d: d[1:], ("instance", "design")),
}


@pytest.mark.parametrize("field", MALFORMED)
def test_a_malformed_certificate_names_the_field(genuine, judged, changed, field):
    value, path = MALFORMED[field]
    with pytest.raises(DataError, match=field):
        judged(changed(genuine, value, *path), recompute)


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"delta": 0.0}, "delta"),
        ({"parameters": {"parties": 31}}, "parties"),
        ({"parameters": {"noise": "laplace"}}, "noise"),
        ({"parameters": {"factor": 0}}, "factor"),
    ],
)
def test_bad_input_is_named(audited, asked, named):
    with pytest.raises(InvalidArgument, match=f"^{named}: "):
        audited(CLAIM, **asked)


def test_rows_of_every_party_have_norm_1():
    case = CLAIM.prepare(Settings(), Assumption1Parameters(parties=3, iterations=1))
    assert all(outcome.holds for outcome in case.assumptions)


@pytest.mark.parametrize(
    ("chance", "said"), [(0.10006, "0.1"), (0.99998, "0.9999"), (0.5, "0.4999")]
)
def test_a_chance_that_is_said_to_be_the_least_is_rounded_down(chance, said):
    assert _format_rounded_down_chance(math.log(chance)) == said

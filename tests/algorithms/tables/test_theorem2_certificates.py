"""Certificates against Theorem 2 on joined tables: verified, and refused once tampered with."""

import copy
import json
import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import norm

from dpaudit.algorithms.tables.claims.models import certify_clipped_clients, learning_rate
from dpaudit.algorithms.tables.claims.noise import Theorem2
from dpaudit.algorithms.tables.verify.theorem2 import recompute
from dpaudit.auditing import run_claim
from dpaudit.errors import DataError
from dpaudit.execution import Executor
from dpaudit.extension.registry import CLAIMS
from dpaudit.extension.settings import Settings
from dpaudit.refutation import certificates_text
from dpaudit.verification import read, verify

CLAIM = "tables-theorem2"


@pytest.fixture(scope="module")
def support():
    found = run_claim(CLAIM, Settings(trials=300), Executor()).certificate
    return json.loads(certificates_text((found,)))


@pytest.fixture(scope="module")
def across():
    theorem = Theorem2(epsilon=1.0, delta=1e-5, iterations=3)
    found = certify_clipped_clients(
        CLAIMS.get(CLAIM), theorem, 20, learning_rate(theorem, 20), seed=0
    )
    return json.loads(certificates_text((found,)))


@pytest.fixture
def judged(tmp_path):
    def judge(document):
        path = tmp_path / "c.json"
        path.write_text(json.dumps(document))
        (found,) = read(path)
        return verify(found)

    return judge


def test_certificates_are_verified(judged, support, across):
    for document in (support, across):
        verdict = judged(document)
        assert verdict.failures == ()
        assert verdict.ratio > 1e4
    assert "the neighbour cannot give" in judged(support).summary
    assert "delta is at least" in judged(across).summary


def test_both_tails_of_the_model_are_left_out(across, tmp_path):
    """At a bound of one deviation, each of the two tails holds a sixth."""
    parameters = across["parameters"]
    deviation = parameters["learning_rate"] / parameters["rows"] * parameters["clip_norm"]
    deviation *= parameters["noise_multiplier"]
    document = copy.deepcopy(across)
    document["instance"] |= {"model_bound": [deviation], "model_least": [2 * deviation]}
    path = tmp_path / "c.json"
    path.write_text(json.dumps(document))
    (found,) = read(path)
    stays, leaves = norm.cdf(1) - norm.cdf(-1), 2 * norm.cdf(-2)
    probability = recompute(found).quantities["probability"]
    assert float(probability) == pytest.approx(stays * leaves, rel=1e-12)


def scale(document, part, name, factor):
    value = document[part][name]
    document[part][name] = (
        (factor * np.array(value)).tolist() if isinstance(value, list) else factor * value
    )


def second_tuple(document):
    document["instance"]["neighbour"][1][0] += 1e-6


def same_table(document):
    document["instance"]["neighbour"] = document["instance"]["table"]


def unbalanced(document):
    document["instance"]["labels"][1] = 1.0


SUPPORT = {
    "bounded tuples: ": lambda d: scale(d, "instance", "table", 1.1),
    "bounded tuples of the neighbour: ": lambda d: scale(d, "instance", "neighbour", 1.1),
    "one tuple differs: ": second_tuple,
    "published noise: ": lambda d: scale(d, "parameters", "noise_multiplier", 0.99),
    "published noise (value)": lambda d: scale(d, "parameters", "second_constant", 0.5),
    "range of epsilon: ": lambda d: scale(d, "parameters", "first_constant", 0.1),
    "distance: ": lambda d: scale(d, "instance", "model", [1.0, -3.0]),
    "ratio: 0": same_table,
    "attained delta: ": lambda d: scale(d, "quantities", "attained delta", 0.5),
    "bound: ": lambda d: scale(d, "parameters", "factor", 2.0),
}
ACROSS = {
    "opposite tuples: ": lambda d: scale(d, "instance", "other", 0.9),
    "equal facts: ": lambda d: scale(d, "instance", "facts", [1.0, 0.9] * 10),
    "balanced labels: ": unbalanced,
    "clipped gradients: ": lambda d: scale(d, "instance", "model_least", 0.5),
    "clipped gradients (limit)": lambda d: scale(d, "parameters", "penalty", 2.0),
    "probability: ": lambda d: scale(d, "instance", "model_least", 2.0),
    "mu: ": lambda d: scale(d, "parameters", "noise_multiplier", 2.0),
    "bound: ": lambda d: scale(d, "parameters", "factor", 2.0),
    "bounded tuples: ": lambda d: scale(d, "parameters", "tuple_norm", 0.5),
    "range of epsilon: ": lambda d: scale(d, "parameters", "first_constant", 0.1),
    "published noise: ": lambda d: scale(d, "parameters", "second_constant", 1.5),
    "ratio: ": lambda d: scale(d, "quantities", "ratio", 1.01),
}


@pytest.mark.parametrize(
    ("kind", "failure"),
    [*(("support", failure) for failure in SUPPORT), *(("across", failure) for failure in ACROSS)],
)
def test_tampering_is_named(judged, support, across, kind, failure):
    document = copy.deepcopy({"support": support, "across": across}[kind])
    {"support": SUPPORT, "across": ACROSS}[kind][failure](document)
    verdict = judged(document)
    assert any(found.startswith(failure) for found in verdict.failures), verdict.failures


def put(part, **values):
    return lambda document: document[part].update(values)


BAD_SUPPORT = {
    "kind": lambda d: d.update(kind="pure-dp"),
    "parameters.tuples": put("parameters", tuples=2.5),
    "instance.table": put("instance", table=[[1.0, 2.0]]),
    "instance.model": put("instance", model=[1.0, "2"]),
    "parameters.iterations": put("parameters", iterations=1),
    "parameters.delta": put("parameters", delta=1.0),
    "parameters.epsilon": put("parameters", epsilon=-1.0),
    "parameters.sampling_ratio": put("parameters", sampling_ratio=2.0),
    "quantities.distance": lambda d: d["quantities"].pop("distance"),
}
BAD_ACROSS = {
    "parameters.local_steps": put("parameters", local_steps=2),
    "parameters.iterations": put("parameters", iterations=1),
    "parameters.sampling_ratio": put("parameters", sampling_ratio=0.5),
    "parameters.penalty": put("parameters", penalty=0.0),
    "instance.labels": put("instance", labels=[0.5] * 20),
    "instance.facts": put("instance", facts=[1.0]),
    "instance.model_least": lambda d: d["instance"].pop("model_least"),
    "parameters.learning_rate": put("parameters", learning_rate=0.0),
}


@pytest.mark.parametrize(
    ("kind", "field"),
    [*(("support", field) for field in BAD_SUPPORT), *(("across", field) for field in BAD_ACROSS)],
)
def test_malformed_certificates_are_refused(judged, support, across, kind, field):
    document = copy.deepcopy({"support": support, "across": across}[kind])
    {"support": BAD_SUPPORT, "across": BAD_ACROSS}[kind][field](document)
    with pytest.raises(DataError, match=field):
        judged(document)


@pytest.mark.parametrize("module", ["theorem1", "theorem2"])
def test_a_verifier_shares_nothing_with_the_search(module):
    code = f"import sys, dpaudit.algorithms.tables.verify.{module}; print(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "numpy" not in loaded
    assert not [name for name in loaded if name.startswith("dpaudit.algorithms.tables.claims")]

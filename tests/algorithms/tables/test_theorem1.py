"""Theorem 1 on joined tables: attained by every encoding, refuted as soon as less is claimed."""

import copy
import json
import math

import mpmath
import numpy as np
import pytest
from numpy.random import default_rng

from dpaudit.algorithms.tables.claims.labels import (
    Labels,
    exact_loss,
    make_label_inequality,
    most_revealing,
)
from dpaudit.algorithms.tables.claims.theorem1 import LabelParameters, prepare_label_search
from dpaudit.auditing import audit_claim, run_claim
from dpaudit.errors import DataError, InvalidArgument
from dpaudit.execution import Executor
from dpaudit.extension.registry import CLAIMS
from dpaudit.extension.settings import Settings
from dpaudit.refutation import certificates_text
from dpaudit.verification import read, verify

CLAIM = "tables-theorem1"
ENCODINGS = ("one-hot", "sign", "unit-l1")


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("epsilon", [1e-6, 0.3, 1.0, 20.0])
def test_the_bound_is_attained_and_not_exceeded(encoding, epsilon):
    settings = Settings(epsilon=epsilon, parameters={"encoding": encoding})
    result = audit_claim(CLAIM, settings)
    assert result.verdict == "proved"
    assert result.measured.lower == pytest.approx(epsilon, rel=1e-9)
    assert result.proved.epsilon == pytest.approx(epsilon, rel=1e-12)
    assert result.claimed.delta == 0
    assert all(outcome.holds for outcome in result.assumptions)


@pytest.mark.parametrize("classes", [2, 10, 40])
def test_many_classes_are_as_private_as_two(classes):
    result = audit_claim(CLAIM, Settings(parameters={"classes": classes}))
    assert result.measured.lower == pytest.approx(1.0, rel=1e-9)
    assert result.verdict == "proved"


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 0.3, 1.0, 1.7, 3.0, 20.0])
@pytest.mark.parametrize("noise", [1.0, 1.1, 3.7])
def test_what_is_proved_is_rounded_up_and_by_an_ulp_at_most(epsilon, noise):
    labels = Labels(epsilon=epsilon, encoding="one-hot", noise=noise)
    with mpmath.workdps(50):
        exact = 2 * mpmath.sqrt(2) / mpmath.mpf(labels.deviation)
        assert math.nextafter(labels.proved, 0) < exact <= labels.proved <= epsilon


TRUE = [
    {"factor": 2.0},
    {"noise": 2.0},
    {"factor": 1.001, "encoding": "sign"},
    {"noise": 1.5, "encoding": "unit-l1"},
    {"classes": 7, "noise": 3.0},
    {"encoding": "unit-l1", "classes": 2},
    {"factor": 0.5, "noise": 2.0},
]


@pytest.mark.parametrize("parameters", TRUE, ids=str)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_true_variants_are_not_refuted(parameters, seed):
    result = audit_claim(CLAIM, Settings(seed=seed, parameters=parameters))
    assert result.verdict == "proved"
    assert result.measured.lower <= result.proved.epsilon * (1 + 1e-12)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("seed", [0, 1])
def test_half_of_it_is_refuted_by_one_output(encoding, seed):
    settings = Settings(seed=seed, parameters={"encoding": encoding, "factor": 0.5})
    audited = run_claim(CLAIM, settings, Executor())
    assert audited.result.verdict == "refuted"
    assert audited.certificate.kind == "pure-dp"
    assert audited.certificate.quantities["ratio"] == pytest.approx(2.0, rel=1e-9)
    assert audited.certificate.search == {"seed": seed, "budget": 4000}
    assert any("Smallest instance" in note for note in audited.result.notes)


def test_the_search_and_the_density_agree():
    labels = Labels(epsilon=0.7, encoding="unit-l1")
    found = most_revealing(labels, 300, default_rng(5))
    with mpmath.mp.workdps(50):
        scale = mpmath.mpf(labels.deviation) / mpmath.sqrt(2)

        def log_density(label):
            return -sum(
                abs(mpmath.mpf(o) - mpmath.mpf(y)) for o, y in zip(found.output, label, strict=True)
            )

        loss = (log_density(found.label) - log_density(found.other)) / scale
    assert make_label_inequality(CLAIMS.get(CLAIM), labels).sides(found)[0] == pytest.approx(
        float(loss), rel=1e-12
    )


@pytest.mark.parametrize("classes", [2, 3, 8])
def test_several_classes_at_once_are_outside_the_assumption_and_cost_half_of_each(classes):
    case = prepare_label_search(Settings(epsilon=2.0), LabelParameters(classes=classes))
    many = np.ones(classes)
    loss = float(exact_loss(many, 0 * many, many, math.sqrt(2)))
    assert loss == pytest.approx(classes, rel=1e-12)
    assert f"exact loss of {classes:g}." in case.notes[0]


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"data": "breast-cancer"}, "data"),
        ({"data_path": "a"}, "data_path"),
        ({"data_options": {"a": 1}}, "data_option"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"parameters": {"classes": 1}}, "classes"),
        ({"parameters": {"noise": 0.5}}, "noise"),
        ({"parameters": {"factor": 0}}, "factor"),
        ({"parameters": {"encoding": "binary"}}, "encoding"),
        ({"parameters": {"labels": 3}}, "parameter"),
    ],
)
def test_bad_input_is_named(asked, named):
    with pytest.raises(InvalidArgument, match=f"^{named}: "):
        audit_claim(CLAIM, Settings(**asked))


# The certificate


@pytest.fixture(scope="module")
def genuine():
    audited = run_claim(CLAIM, Settings(parameters={"factor": 0.5}), Executor())
    return json.loads(certificates_text((audited.certificate,)))


@pytest.fixture
def judged(tmp_path):
    def judge(document):
        path = tmp_path / "c.json"
        path.write_text(json.dumps(document))
        (found,) = read(path)
        return verify(found)

    return judge


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_certificates_are_verified(judged, encoding):
    settings = Settings(parameters={"factor": 0.5, "encoding": encoding}, epsilon=0.1)
    found = run_claim(CLAIM, settings, Executor()).certificate
    verdict = judged(json.loads(certificates_text((found,))))
    assert verdict.failures == ()
    assert verdict.ratio == pytest.approx(2.0, rel=1e-9)


def other_label(document):
    document["instance"]["label"] = [0.5, 0.5, 0.0]


def two_classes(document):
    document["instance"]["other"] = [1.0, 1.0, 0.0]


def less_noise(document):
    document["parameters"]["deviation"] *= 0.999


def larger_claim(document):
    document["parameters"]["factor"] = 1.0


def other_output(document):
    document["instance"]["output"] = [0.5, 0.5, 0.5]


def larger_ratio(document):
    document["quantities"]["ratio"] *= 1.01


def left_out(document):
    document["assumptions"].pop()


TAMPERED = {
    "unit label: ": other_label,
    "unit label of the neighbour: ": two_classes,
    "published noise: ": less_noise,
    "bound: ": larger_claim,
    "loss: ": other_output,
    "ratio: ": larger_ratio,
    "published noise: the file does not state": left_out,
}


@pytest.mark.parametrize("failure", TAMPERED)
def test_tampering_is_named(judged, genuine, failure):
    document = copy.deepcopy(genuine)
    TAMPERED[failure](document)
    verdict = judged(document)
    assert any(found.startswith(failure) for found in verdict.failures), verdict.failures


MALFORMED = {
    "kind": lambda d: d.update(kind="support"),
    "parameters.encoding": lambda d: d["parameters"].update(encoding="two-hot"),
    "parameters.epsilon": lambda d: d["parameters"].update(epsilon=0),
    "parameters.coordinates": lambda d: d["parameters"].update(coordinates=0),
    "instance.label": lambda d: d["instance"].update(label=[1.0]),
    "instance.output": lambda d: d["instance"].pop("output"),
    "quantities.loss": lambda d: d["quantities"].pop("loss"),
}


@pytest.mark.parametrize("field", MALFORMED)
def test_malformed_certificates_are_refused(judged, genuine, field):
    document = copy.deepcopy(genuine)
    MALFORMED[field](document)
    with pytest.raises(DataError, match=field):
        judged(document)

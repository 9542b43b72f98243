"""Lemma 2 of hu2019 holds, is attained, and fails in the very first iteration alone."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from dpaudit.algorithms.problems.sample_losses import SAMPLE_LOSSES
from dpaudit.algorithms.sharing.claims.hu2019.dual_step import (
    compute_dual_identity_sides,
    dual_step,
)
from dpaudit.algorithms.sharing.claims.hu2019.iterations import (
    IterationSetting,
    Problems,
    compute_loss_slopes,
    run_sharing_iterations,
    starting_point,
)
from dpaudit.algorithms.sharing.claims.hu2019.lemma2 import CLAIM, Lemma2Parameters
from dpaudit.algorithms.sharing.verify.hu2019.lemma2 import recompute
from dpaudit.auditing.run import run_case
from dpaudit.errors import DataError, InvalidArgument
from dpaudit.extension.parameters import parse_parameters
from dpaudit.extension.settings import Settings
from dpaudit.refutation import exceeds
from dpaudit.verification import Document
from dpaudit.verification.reals import precision

FIRST = CLAIM.published["first-iteration"].settings["parameters"]


def audited(budget=3_000, seed=0, **parameters):
    asked = Settings(trials=budget, seed=seed, parameters=parameters)
    case = CLAIM.prepare(asked, parse_parameters(Lemma2Parameters, asked.parameters))
    return run_case(case, asked, statement=CLAIM, rerun="rerun")


def documented(certificate):
    content = certificate.document()
    return Document(
        path="c.json",
        claim=content["claim"],
        kind=content["kind"],
        parameters=content["parameters"],
        quantities=content["quantities"],
        instance=content["instance"],
        assumptions={a["name"]: (a["value"], a["limit"]) for a in content["assumptions"]},
    )


def checked(document):
    with precision(60):
        outcome = recompute(document)
        broken = [n for n, (value, limit) in outcome.assumptions.items() if not value <= limit]
        return outcome, broken


def test_the_dual_step_is_attained_and_proved():
    result = audited().result
    assert result.verdict == "proved"
    assert result.proved.value == 1.0
    assert result.trials == 3_000
    assert 1 - 1e-9 <= result.measured.lower / result.claimed.value <= 1
    assert {a.name for a in result.assumptions} == set(CLAIM.assumptions)


def test_the_identity_is_proved():
    found = audited(part="identity")
    assert found.result.verdict == "proved"
    # What rounding may add is taken off: a rounding error is no certified number.
    assert (found.result.measured.lower, found.result.claimed.value) == (0.0, 0.0)
    assert found.certificate is None


# False alarms: the claim is true of every loss, from any start, and with a larger bound


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(
    "parameters",
    [
        {"loss": "squared"},
        {"loss": "logistic"},
        {"loss": "smoothed-hinge"},
        {"loss": "sigmoid"},
        {"start": "zero"},
        {"factor": 2.0},
        {"loss_weight": 30.0},
        {"part": "identity", "loss_weight": 30.0},
        {"penalty": 500.0, "parties": 3, "iterations": 12},
    ],
    ids=str,
)
def test_true_variants_are_not_refuted(parameters, seed):
    assert audited(1_000, seed, **parameters).result.verdict == "proved"


# Negative controls: a halved bound, a penalty put in for L, a dual variable that is off


@pytest.mark.sampled(2)
@pytest.mark.parametrize("loss", SAMPLE_LOSSES)
def test_half_the_bound_is_refuted_for_every_loss(loss):
    found = audited(1_000, loss=loss, factor=0.5)
    assert found.result.verdict == "refuted"
    assert found.certificate.quantities["ratio"] > 1.9
    outcome, broken = checked(documented(found.certificate))
    assert broken == []
    assert float(outcome.quantities["ratio"]) == pytest.approx(
        found.certificate.quantities["ratio"], rel=1e-8
    )


def test_a_broken_update_is_caught_by_both_parts():
    """A dual step with 1.001 rho in place of rho, as a slip in (8) would make it."""
    setting = IterationSetting(parties=2)
    rng = default_rng(0)
    problems = Problems(
        setting=setting,
        designs=0.5 * np.linalg.qr(rng.standard_normal((4, 2, 4, 2)))[0],
        labels=np.ones((4, 4)),
    )
    zero = starting_point(problems, np.zeros((4, 2, 2)), np.zeros((4, 4)), np.zeros((4, 4)))
    _, first, second = run_sharing_iterations(problems, zero, 2)
    wrong = dataclasses.replace(second, dual=second.dual + 1e-3 * (second.dual - first.dual))
    assert not exceeds(compute_dual_identity_sides(problems, first, second).ratio.max())
    assert exceeds(compute_dual_identity_sides(problems, first, wrong).ratio.min())
    assert exceeds(dual_step(problems, first, wrong).ratio.min())


@given(st.sampled_from(sorted(SAMPLE_LOSSES)), st.integers(1, 5), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_both_parts_by_their_definition(loss, parties, seed):
    rng = default_rng(seed)
    setting = IterationSetting(parties=parties, penalty=float(rng.uniform(2.5, 50)), loss=loss)
    designs = np.linalg.qr(rng.standard_normal((3, parties, 4, 2)))[0]
    labels = rng.choice([-1.0, 1.0], size=(3, 4))
    problems = Problems(setting=setting, designs=designs, labels=labels)
    state = (rng.standard_normal(shape) for shape in ((3, parties, 2), (3, 4), (3, 4)))
    _, first, second = run_sharing_iterations(problems, starting_point(problems, *state), 2)
    for point in (first, second):
        assert point.dual == pytest.approx(
            compute_loss_slopes(problems, point.prediction), abs=1e-9
        )
    steps = [
        np.linalg.norm(b - a, axis=1)
        for a, b in zip(
            (first.dual, first.prediction), (second.dual, second.prediction), strict=True
        )
    ]
    assert (steps[0] <= setting.smoothness * steps[1] + 1e-9).all()


# The first iteration


@pytest.mark.parametrize("penalty", [3.0, 10.0])
def test_the_first_iteration_from_zero_breaks_it_by_the_square_of_penalty_over_smoothness(penalty):
    found = audited(400, **FIRST | {"penalty": penalty})
    assert found.result.verdict == "refuted"
    assert found.certificate.quantities["ratio"] == pytest.approx(penalty**2, rel=1e-9)
    outcome, broken = checked(documented(found.certificate))
    assert broken == []
    assert float(outcome.quantities["ratio"]) == pytest.approx(penalty**2, rel=1e-12)
    assert "not the slope of the loss" in found.result.reason
    assert any("Smallest instance" in note for note in found.result.notes)


def test_a_factor_above_the_square_makes_the_first_iteration_true():
    assert audited(400, **FIRST | {"factor": 100.01}).result.verdict == "not refuted"


# The certificate


@pytest.fixture(scope="module")
def genuine():
    return documented(audited(400, **FIRST).certificate)


def put(document, part, **changes):
    return dataclasses.replace(document, **{part: {**getattr(document, part), **changes}})


TAMPERED = {
    "full column rank": lambda d: put(
        d, "instance", designs=[[[1.0, 1.0]] * 4 for _ in d.instance["designs"]]
    ),
    "strongly convex parties": lambda d: put(
        d, "instance", designs=[[[1.0, 0], [0, 0.01], [0, 0], [0, 0]]] * d.parameters["parties"]
    ),
    "signed labels": lambda d: put(d, "instance", labels=[0.5, 1.0, 1.0, 1.0]),
    "penalty above smoothness": lambda d: put(d, "parameters", penalty=0.9),
    "penalty against smoothness": lambda d: put(d, "parameters", penalty=1.0),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_a_violated_assumption_is_named(genuine, name):
    outcome, broken = checked(TAMPERED[name](genuine))
    assert set(TAMPERED) == set(outcome.assumptions)
    assert name in broken


@pytest.mark.parametrize(
    ("part", "changes", "named"),
    [
        ("parameters", {"penalty": 0.0}, "parameters.penalty"),
        ("parameters", {"factor": -1.0}, "parameters.factor"),
        ("parameters", {"loss": "hinge"}, "parameters.loss"),
        ("parameters", {"loss": ["squared"]}, "parameters.loss"),
        ("parameters", {"loss_weight": 0}, "parameters.loss_weight"),
        ("parameters", {"regulariser_weight": -1.0}, "parameters.regulariser_weight"),
        ("parameters", {"iteration": 0}, "parameters.iteration"),
        ("parameters", {"iteration": 51}, "parameters.iteration"),
        ("parameters", {"parties": 7}, "instance.designs"),
        ("parameters", {"loss": "sigmoid", "penalty": 0.01}, "parameters.penalty"),
        ("parameters", {"regulariser_weight": 0.0}, "instance.designs"),
        ("instance", {"labels": [1.0]}, "instance.labels"),
        ("instance", {"models": None}, "instance.models"),
        ("instance", {"dual": ["a"] * 4}, "instance.dual"),
    ],
)
def test_a_malformed_certificate_names_the_field(genuine, part, changes, named):
    if named == "instance.designs" and "regulariser_weight" in changes:
        genuine = TAMPERED["full column rank"](genuine)
    with pytest.raises(DataError, match=named):
        checked(put(genuine, part, **changes))


def test_another_kind_of_certificate_is_refused(genuine):
    with pytest.raises(DataError, match="kind"):
        checked(dataclasses.replace(genuine, kind="sensitivity"))


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"data": "breast-cancer"}, "data"),
        ({"data_path": "a"}, "data_path"),
        ({"data_options": {"a": 1}}, "data_option"),
        ({"parameters": {"factor": 0}}, "factor"),
        ({"parameters": {"loss": "hinge"}}, "loss"),
        ({"parameters": {"penalty": 0.5}}, "penalty"),
        ({"parameters": {"earliest": 9}}, "iterations"),
        ({"parameters": {"rho": 5}}, "parameter"),
    ],
)
def test_bad_input_is_named(asked, named):
    with pytest.raises(InvalidArgument, match=f"^{named}: "):
        CLAIM.prepare(
            Settings(**asked), parse_parameters(Lemma2Parameters, asked.get("parameters", {}))
        ).attain(100, default_rng(0))

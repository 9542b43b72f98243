"""The audit of Lemma 5: attained in its class, approached by a deployment, halved it is refuted."""

from dataclasses import replace

import pytest

from algorithms.claims.huang2020_cases import lemma5
from algorithms.claims.huang2020_parameters import Parameters
from dpaudit.audit import audit_case, audit_claim
from dpaudit.case import Attained
from dpaudit.execution import Executor
from dpaudit.registry import claim
from dpaudit.settings import Settings

LEMMA_5 = "huang2020-lemma5"


def test_the_worst_case_attains_the_bound_and_never_exceeds_it():
    result = audit_claim(LEMMA_5, Settings(trials=5000))
    assert result.verdict == "not refuted"
    assert result.measured.lower == pytest.approx(result.claimed.sensitivity, rel=1e-9)
    assert result.kind == "sensitivity"


@pytest.mark.parametrize("graph", ["ring", "star", "random"])
def test_a_deployment_stays_below_the_bound_but_comes_near_it(graph):
    parameters = {"graph": graph, "nodes": 4, "split": "uneven"}
    settings = Settings(data="breast-cancer", trials=2000, parameters=parameters)
    result = audit_claim(LEMMA_5, settings)
    ratio = result.measured.lower / result.claimed.sensitivity
    assert 0.9 < ratio <= 1 + 1e-9


@pytest.mark.parametrize(
    ("epsilon", "delta", "parameters"),
    [
        (1.0, 1e-5, {"step_size": 1e6}),
        (1.0, 1e-5, {"step_size": 1e9}),
        (1e-3, 1e-5, {"diameter": 1e-3}),
        (1.0, 1e-5, {"diameter": 1e-4}),
        (1e-6, 1e-300, {}),
        (1.0, 1e-5, {"penalty": 1e6, "regulariser_weight": 1e3}),
    ],
)
def test_rounding_never_refutes_a_true_lemma(epsilon, delta, parameters):
    settings = Settings(epsilon=epsilon, delta=delta, trials=3000, parameters=parameters)
    result = audit_claim(LEMMA_5, settings)
    assert result.verdict == "not refuted"
    assert result.measured.lower <= result.claimed.sensitivity * (1 + 1e-9)


def test_half_the_bound_is_refuted():
    settings = Settings(trials=1000)
    case = lemma5(settings, Parameters())

    def halved(trials, rng):
        found = case.attain(trials, rng)
        return Attained(value=found.value, bound=found.bound / 2, instance=found.instance)

    broken = replace(case, bound=case.bound / 2, attain=halved)
    result = audit_case(claim(LEMMA_5), broken, settings, Executor(), "rerun")
    assert result.verdict == "refuted"
    assert result.measured.lower == pytest.approx(case.bound, rel=1e-9)

"""The audit of Lemma 5: attained in its class, approached by a deployment, halved it is refuted."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dpaudit.algorithms.multistep.claims import movement
from dpaudit.algorithms.multistep.claims.lemma5 import prepare_lemma5_search
from dpaudit.algorithms.multistep.claims.theorem6 import Deployment
from dpaudit.auditing import audit_case, audit_claim, run_claim
from dpaudit.errors import DataError
from dpaudit.execution import Executor
from dpaudit.extension.registry import CLAIMS
from dpaudit.extension.settings import Settings
from dpaudit.refutation import WorstInstance, certificates_text
from dpaudit.verification import read, verify

LEMMA_5 = "huang2020-lemma5"


def test_the_worst_case_attains_the_bound_and_never_exceeds_it():
    result = audit_claim(LEMMA_5, Settings(trials=5000))
    assert result.verdict == "proved"
    assert result.measured.lower == pytest.approx(result.claimed.sensitivity, rel=1e-9)
    assert result.kind == "sensitivity"


@pytest.mark.parametrize("graph", ["ring", "star", "random"])
def test_a_deployment_stays_below_the_bound_but_comes_near_it(graph):
    parameters = {"graph": graph, "nodes": 4, "split": "uneven"}
    settings = Settings(data="breast-cancer", trials=2000, parameters=parameters)
    result = audit_claim(LEMMA_5, settings)
    ratio = result.measured.lower / result.claimed.sensitivity
    assert 0.9 < ratio <= 1 + 1e-9


@pytest.mark.sampled(2)
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
    assert result.verdict == "proved"
    assert result.measured.lower <= result.claimed.sensitivity * (1 + 1e-9)


def test_half_the_bound_is_refuted():
    settings = Settings(trials=1000)
    case = prepare_lemma5_search(settings, Deployment())

    def halved(trials, rng):
        found = case.attain(trials, rng)
        return WorstInstance(value=found.value, bound=found.bound / 2, instance=found.instance)

    broken = replace(case, bound=case.bound / 2, attain=halved)
    result = audit_case(broken, settings, statement=CLAIMS.get(LEMMA_5), rerun="rerun")
    assert result.verdict == "refuted"
    assert result.measured.lower == pytest.approx(case.bound, rel=1e-9)


# The claim times a factor, and its certificate


def halved(data="worst-case", factor=0.5, seed=0):
    asked = Settings(data=data, trials=1_000, seed=seed, parameters={"factor": factor})
    return run_claim(LEMMA_5, asked, Executor())


@pytest.fixture
def checked(tmp_path):
    def check(document):
        path = tmp_path / "c.json"
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        (one,) = read(path)
        return verify(one)

    return check


@pytest.fixture(scope="module")
def genuine():
    return json.loads(certificates_text((halved().certificate,)))


@pytest.mark.parametrize("data", ["worst-case", "breast-cancer"])
def test_half_the_bound_is_refuted_with_a_certificate_that_verifies(data, checked):
    found = halved(data)
    assert found.result.verdict == "refuted"
    verdict = checked(certificates_text((found.certificate,)))
    assert verdict.failures == ()
    assert verdict.ratio == pytest.approx(
        found.result.measured.lower / found.result.claimed.sensitivity, rel=1e-8
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("factor", [1.0, 1.01, 2.0])
def test_the_lemma_and_anything_above_it_are_not_refuted(factor, seed):
    found = halved(factor=factor, seed=seed)
    assert found.result.verdict == "proved"
    assert found.certificate is None


TAMPERING = {
    "bounded records": ("instance", "record", [1.5, 0.0]),
    "connected graph": ("parameters", "nodes", 6),
    "movement: the file states": ("parameters", "eta", 100.0),
    "bound: the file states": ("parameters", "factor", 0.25),
    "ratio": ("instance", "replacement", [1.0, 0.0]),
}


@pytest.mark.parametrize("named", TAMPERING)
def test_tampering_is_named(named, genuine, checked):
    part, name, value = TAMPERING[named]
    verdict = checked(genuine | {part: genuine[part] | {name: value}})
    assert not verdict.verified
    assert any(named in failure for failure in verdict.failures)


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("parameters", "loss", "square"),
        ("parameters", "eta", 0.0),
        ("parameters", "node", 5),
        ("parameters", "node_size", 0),
        ("instance", "model", [0.0]),
        ("instance", "edges", [[0, 9]] * 10),
        ("instance", "edges", [[0, 1]] * 10),
    ],
)
def test_malformed_certificates_are_refused_by_name(part, name, value, genuine, checked):
    with pytest.raises(DataError, match=f"{part}.{name}"):
        checked(genuine | {part: genuine[part] | {name: value}})


def test_a_margin_that_cancels_is_not_lost(genuine, checked):
    """50 digits take the margin 2 for 0 and the slope 0 for -1: twice the movement."""
    quantities = {"bound": 0.2, "movement": 0.2165063509461097, "ratio": 1.0825317547305482}
    true = {"bounded records": (0.8660254037844386, 1 + 1e-12), "connected graph": (1, 1)}
    document = genuine | {
        "parameters": {"loss": "hinge", "penalty": 1.0, "nodes": 2, "edges": 1, "node": 0}
        | {"node_size": 2, "dimension": 3, "eta": 2.0, "factor": 0.8},
        "instance": {
            "record": [0.5] * 3,
            "replacement": [-0.5] * 3,
            "model": [1e200, 4.0, -1e200],
            "edges": [[0, 1]],
        },
        "quantities": quantities,
        "assumptions": [{"name": n, "value": v, "limit": w} for n, (v, w) in true.items()],
    }
    verdict = checked(document)
    assert any(f.startswith("ratio: ") and "above 1" in f for f in verdict.failures)
    assert verdict.ratio == pytest.approx(1.0825317547305482 / 2)
    document["instance"]["model"][1] = -4.0  # and now the slope is -1 on one side only
    assert checked(document).ratio == pytest.approx(1.0825317547305482 / 2)
    document["instance"]["model"] = [0.0] * 3
    assert checked(document).verified


@pytest.mark.parametrize("loss", ["hinge", "smoothed-hinge", "absolute"])
def test_an_exact_tie_at_a_kink_is_decided(loss, genuine, checked):
    """The margins are 1 and -1 without error: the record's slope is 0 there."""
    document = json.loads(json.dumps(genuine))
    document["parameters"] |= {"loss": loss}
    document["instance"] |= {
        "record": [1.0, 0.0],
        "replacement": [-1.0, 0.0],
        "model": [1.0, 1e-300],
    }
    assert checked(document).ratio == pytest.approx(1.0)


def test_what_rounding_may_add_is_a_share_of_every_term_over_the_curvature():
    algorithm = SimpleNamespace(
        penalty=0.5,
        graph=SimpleNamespace(degrees=np.array([1.0, 3.0])),
        regulariser_weight=2.0,
        loss=SimpleNamespace(lipschitz=10.0),
    )
    dataset = SimpleNamespace(node_sizes=(4, 9))
    instance = SimpleNamespace(algorithm=algorithm, pair=SimpleNamespace(dataset=dataset))
    state = SimpleNamespace(
        inner=np.array([[[3.0, 4.0], [0.0, 1.0]]]), pull=np.array([[[0.0, 2.0], [6.0, 8.0]]])
    )
    found = movement._bound_movement_rounding(instance, state, np.array([1.0, 4.0]))
    models = np.array([5 * 3 + 2, 1 * 6 + 10])
    expected = (models + np.array([100, 110])) / np.array([2.0, 7.0])
    assert found == pytest.approx(16 * 2.0**-52 * expected[None], rel=1e-12, abs=0)

"""Theorem 6 of Huang & Gong: its variants, and certificates with the worst case's exact law."""

import copy
import json
import math

import pytest

from dpaudit.algorithms.multistep.claims.leakage import valid_up_to
from dpaudit.algorithms.multistep.guarantees import chosen_constant
from dpaudit.auditing import audit_claim, run_claim
from dpaudit.errors import DataError, InvalidArgument
from dpaudit.execution import Executor
from dpaudit.extension.registry import CLAIMS
from dpaudit.extension.settings import Settings
from dpaudit.guarantees.kinds import GaussianDP
from dpaudit.refutation import certificates_text
from dpaudit.verification import read, verify

THEOREM_6 = "huang2020-theorem6"
TWICE = {"factor": 2.0}
SMALL = {"nodes": 2, "iterations": 2, "inner_steps": 2}


def audited(epsilon=20.0, trials=300, seed=0, data="worst-case", **parameters):
    asked = Settings(
        epsilon=epsilon, trials=trials, seed=seed, data=data, parameters=SMALL | parameters
    )
    return run_claim(THEOREM_6, asked, Executor())


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
    return json.loads(certificates_text((audited().certificate,)))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("size", [SMALL, pytest.param({}, marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize("variant", CLAIMS.get(THEOREM_6).published)
def test_published_variants_are_refuted_by_their_exact_law(variant, size, checked):
    published = dict(CLAIMS.get(THEOREM_6).published[variant].settings)
    parameters = size | dict(published.pop("parameters", {}))
    asked = Settings(**published, trials=300, parameters=parameters)
    found = run_claim(THEOREM_6, asked, Executor())
    assert found.result.verdict == "refuted"
    assert found.certificate.kind == "approximate-dp"
    verdict = checked(certificates_text((found.certificate,)))
    assert verdict.failures == ()
    c0 = found.certificate.parameters["c0"]
    mu = 20.0 / (c0 * math.sqrt(2 * math.log(1.25e5)))
    assert verdict.ratio == pytest.approx(GaussianDP(mu).epsilon(1e-5) / 20, rel=1e-5)


def test_the_law_is_the_same_on_real_records_with_the_linear_loss(checked):
    found = audited(factor=0.5, data="breast-cancer", loss="linear")
    assert found.result.verdict == "refuted"
    assert checked(certificates_text((found.certificate,))).verified


@pytest.mark.parametrize("parameters", [{"loss": "logistic"}, {"view": "broadcast"}])
def test_where_the_law_is_not_one_gaussian_pair_counts_are_the_certificate(parameters):
    found = audited(epsilon=20.0, factor=0.01, trials=300, **parameters)
    assert found.result.verdict == "refuted"
    assert found.certificate.kind == "statistical"


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in (1, 2))])
@pytest.mark.parametrize(
    ("epsilon", "parameters"),
    [
        # The same as in the table of true variants, and beside it.
        *(pytest.param(*case, marks=pytest.mark.slow) for case in ((1.0, {}), (20.0, TWICE))),
        pytest.param(20.0, {"c0": 2.0}, marks=pytest.mark.slow),
        (7.9, {"c0_of_proof": True}),
        (8.4, {}),
    ],
)
def test_true_variants_are_not_refuted(epsilon, parameters, seed):
    found = audited(epsilon=epsilon, seed=seed, **parameters)
    assert found.result.verdict == "proved"
    assert found.certificate is None


def test_half_the_claimed_epsilon_is_refuted_where_it_is_attained_to_three_quarters(checked):
    found = audited(epsilon=1.0, factor=0.5)
    assert found.result.verdict == "refuted"
    assert checked(certificates_text((found.certificate,))).ratio == pytest.approx(
        1.50195, rel=1e-4
    )


def test_the_constant_of_the_proof_and_where_the_theorem_turns_false():
    assert chosen_constant(1e-5, 1.0, of_proof=True) == pytest.approx(0.9904476, rel=1e-6)
    assert "up to epsilon = 8.4198" in valid_up_to(1e-5, 1.0)[0]
    assert (
        "up to epsilon = 7.9681" in valid_up_to(1e-5, chosen_constant(1e-5, 1.0, of_proof=True))[0]
    )
    with pytest.raises(InvalidArgument, match=r"^c0: "):
        audit_claim(THEOREM_6, Settings(parameters={"c0": 2.0, "c0_of_proof": True}))


TAMPERING = {
    "claimed delta exceeded": ("quantities", "epsilon", 27.0),
    "bounded records": ("instance", "record", [2.0, 0.0]),
    "connected graph": ("parameters", "nodes", 3),
    "mu: the file states": ("quantities", "mu", 1.0),
    "sigma: the file states": ("quantities", "sigma", 1.0),
    "bound: the file states": ("parameters", "factor", 0.9),
    "ratio": ("quantities", "epsilon", 19.0),
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
        ("parameters", "loss", "logistic"),
        ("parameters", "delta", 1.0),
        ("parameters", "epsilon", 0.0),
        ("instance", "eta", [1.0]),
        ("instance", "eta", [0.0] * 4),
        ("instance", "shift", [1.0] * 4),
        ("instance", "scale", [1.0] * 4),
    ],
)
def test_malformed_certificates_are_refused_by_name(part, name, value, genuine, checked):
    with pytest.raises(DataError, match=f"{part}.{name}"):
        checked(genuine | {part: genuine[part] | {name: value}})
    with pytest.raises(DataError, match="kind"):
        checked(genuine | {"kind": "property"})


@pytest.mark.parametrize("name", ["shift", "scale"])
def test_a_step_that_is_a_millionth_off_is_refused(name, genuine, checked):
    document = copy.deepcopy(genuine)
    document["instance"][name][-1] *= 1 + 1e-6
    with pytest.raises(DataError, match=rf"instance\.{name}: got .*at step 4"):
        checked(document)


def test_a_delta_that_cancels_is_not_exceeded(genuine, checked):
    """50 digits find a delta of 6.7e-52 above the claimed 5.732e-53, where it is 5.694e-53."""
    epsilon, delta = 2.3043356744526012e-54, 5.732283068489219e-53
    true = {"bounded records": (1, 1 + 1e-12), "connected graph": (1, 1)}
    true |= {"claimed delta exceeded": (delta, 6.681911775230489e-52)}
    document = genuine | {
        "parameters": {"loss": "linear", "penalty": 0.5, "nodes": 2, "edges": 1, "node": 0}
        | {"node_size": 2, "dimension": 1, "epsilon": epsilon, "delta": delta, "c0": 1e-3}
        | {"factor": 1.0, "iterations": 1, "inner_steps": 1},
        "instance": {
            "record": [1.0],
            "replacement": [-1.0],
            "edges": [[0, 1]],
            "eta": [1.0],
            "shift": [0.5],
            "scale": [3.368666989658541e51],
        },
        "quantities": {
            "bound": epsilon,
            "sigma": 6.737333979317082e51,
            "mu": 1.4842666299012288e-52,
            "epsilon": 2 * epsilon,
            "delta": 6.681911775230489e-52,
            "ratio": 2.0,
        },
        "assumptions": [{"name": n, "value": v, "limit": w} for n, (v, w) in true.items()],
    }
    otherwise = "the file states 6.681911775e-52, recomputed 5.69378778e-53"
    assert checked(document).failures == (
        "claimed delta exceeded: 5.732283068e-53 is above 5.69378778e-53",
        f"claimed delta exceeded (limit): {otherwise}",
        f"delta: {otherwise}",
    )

"""Theorem 4.1 of zhang2018 holds: the largest exact loss found is close to it, never above."""

import copy
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from dpaudit.algorithms.consensus.claims.theorem41 import (
    CLAIM,
    Theorem41Parameters,
    outputs_of,
    prepare_theorem41_search,
)
from dpaudit.algorithms.consensus.verify.theorem41 import recompute
from dpaudit.auditing.run import run_case, run_claim
from dpaudit.errors import DataError, InvalidArgument
from dpaudit.execution import Executor
from dpaudit.extension.parameters import parse_parameters
from dpaudit.extension.settings import Settings
from dpaudit.refutation import certificates_text, maximise
from dpaudit.verification import read, verify


def audited(trials=3_000, seed=0, **parameters):
    asked = Settings(trials=trials, seed=seed, parameters=parameters)
    parsed = parse_parameters(Theorem41Parameters, parameters)
    return run_case(prepare_theorem41_search(asked, parsed), asked, statement=CLAIM, rerun="rerun")


@pytest.fixture
def verified(monkeypatch, tmp_path):
    """Verify a document without the entry point."""
    monkeypatch.setattr("dpaudit.verification.judge._verifier", lambda claim: recompute)

    def check(document):
        path = tmp_path / "c.json"
        path.write_text(json.dumps(document))
        (one,) = read(path)
        return verify(one)

    return check


def document(audit):
    return json.loads(certificates_text((audit.certificate,)))


VARIANTS = [
    {},
    {"records": 1, "noise_rate": 0.1},
    {"noise_rate": 30.0, "iterations": 1},
    {"nodes": 4, "records": 5, "dimension": 3, "growth": 1.3},
    {"start": "zero"},
    {"dimension": 1},
    {"loss_weight": 2.0, "regulariser_weight": 5.0},
    {"noise_growth": 1.5, "factor": 2.0},
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("parameters", VARIANTS)
def test_the_claim_is_not_refuted(parameters, seed):
    result = audited(seed=seed, **parameters).result
    assert result.verdict == "proved"
    assert result.measured.lower <= result.proved.epsilon * (1 + 1e-12)
    assert result.proved.epsilon <= result.claimed.epsilon
    assert all(outcome.holds for outcome in result.assumptions)
    assert {outcome.name for outcome in result.assumptions} == set(CLAIM.assumptions)
    assert result.claimed.delta == 0


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("noise_rate", "share"), [(0.1, 0.4), (3.0, 0.885), (30.0, 0.98), (300.0, 0.99)]
)
def test_the_tightness_that_is_reached(noise_rate, share):
    result = audited(12_000, noise_rate=noise_rate).result
    assert share * result.claimed.epsilon < result.measured.lower <= result.proved.epsilon


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_it_holds_without_the_condition_on_theta(seed):
    result = audited(seed=seed, penalty=0.01, dual_step=0.01, records=1).result
    assert [o.name for o in result.assumptions if not o.holds] == ["small curvature"]
    assert result.verdict == "not refuted"
    assert 0.88 * result.claimed.epsilon < result.measured.lower <= result.proved.epsilon


@given(
    st.integers(2, 5),
    st.integers(1, 20),
    st.floats(1e-3, 10),
    st.floats(1e-3, 10),
    st.floats(1e-3, 10),
    st.floats(1e-3, 1e3),
)
@settings(max_examples=60, deadline=None)
def test_the_proved_bound_is_never_above_the_claim(nodes, records, penalty, rho, weight, rate):
    chosen = Theorem41Parameters(
        nodes=nodes,
        records=records,
        penalty=penalty,
        regulariser_weight=rho,
        loss_weight=weight,
        noise_rate=rate,
    )
    case = prepare_theorem41_search(Settings(), chosen)
    assert case.proved[0] <= case.bound


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_half_the_bound_is_refuted_by_one_output(verified, seed):
    audit = audited(seed=seed, factor=0.5)
    assert audit.result.verdict == "refuted"
    assert audit.certificate.kind == "pure-dp"
    verdict = verified(document(audit))
    assert verdict.failures == ()
    assert verdict.ratio > 1.7


def test_a_bound_just_below_what_is_reached_is_refuted_and_one_just_above_is_not():
    reached = audited().result
    share = reached.measured.lower / reached.claimed.epsilon
    assert audited(factor=share * (1 - 1e-3)).result.verdict == "refuted"
    assert audited(factor=share * (1 + 1e-3)).result.verdict == "not refuted"


@pytest.mark.parametrize("parameters", [{}, {"nodes": 3, "records": 3, "dimension": 4}])
def test_the_batched_loss_is_that_of_the_audited_code(parameters):
    chosen = Theorem41Parameters(start="zero", **parameters)
    outputs = outputs_of(chosen)
    space = outputs.space(1.0)
    batch, losses = space.evaluate(space.start(8, default_rng(1)))
    for i, loss in enumerate(losses):
        instance = {name: values[i] for name, values in batch.items()}
        assert outputs.exact_loss(instance) == pytest.approx(loss, rel=1e-8, abs=1e-10)
        output = outputs.broadcasts(instance)[None, 1:]
        mechanism = outputs.algorithm.penalty_perturbation()
        whole = mechanism.privacy_loss(output, outputs.pair(instance))[0]
        assert whole == pytest.approx(loss, rel=1e-8, abs=1e-10)


def test_a_free_start_is_a_start_that_the_algorithm_may_draw():
    outputs = outputs_of(Theorem41Parameters(iterations=2))
    found = maximise(outputs.space(1.0), 200, default_rng(0))
    assert outputs.exact_loss(found.instance) == pytest.approx(found.ratio, rel=1e-8)
    assert np.abs(outputs.broadcasts(found.instance)[0]).max() > 0


# --- certificates that are not true ------------------------------------------------------------


@pytest.fixture(scope="module")
def genuine():
    return document(audited(1_000, factor=0.5))


def changed(genuine, value, *path):
    found = copy.deepcopy(genuine)
    inner = found
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return found


def test_every_stated_number_is_checked(verified, genuine):
    for name, value in genuine["quantities"].items():
        failures = verified(changed(genuine, value * 1.01, "quantities", name)).failures
        assert any(failure.startswith(f"{name}: ") for failure in failures)
    for i, stated in enumerate(genuine["assumptions"]):
        for word in ("value", "limit"):
            other = changed(genuine, stated[word] + 0.1, "assumptions", i, word)
            assert any(stated["name"] in failure for failure in verified(other).failures)


VIOLATIONS = {
    "unit records": lambda d: changed(d, [1.0, 1.0], "instance", "old"),
    "weight at most records": lambda d: changed(d, 3.0, "parameters", "loss_weight"),
    "penalties at least theta": lambda d: changed(d, 0.6, "parameters", "dual_step"),
    "small curvature": lambda d: changed(d, 0.01, "parameters", "dual_step"),
}


@pytest.mark.parametrize("name", VIOLATIONS)
def test_a_violated_assumption_is_named(verified, genuine, name):
    failures = verified(VIOLATIONS[name](genuine)).failures
    assert any(failure.startswith(f"{name}: ") for failure in failures)


def test_the_full_claim_is_not_refuted_by_the_certificate(verified, genuine):
    failures = verified(changed(genuine, 1.0, "parameters", "factor")).failures
    assert any(failure.startswith("ratio: ") and "above 1" in failure for failure in failures)


@pytest.mark.parametrize("path", [("old", 0), ("new", 1), ("outputs", 0, 1, 0), ("others", 0, 0)])
def test_a_changed_instance_is_noticed(verified, genuine, path):
    inner = genuine["instance"]
    for key in path:
        inner = inner[key]
    assert verified(changed(genuine, inner * 0.5 + 0.1, "instance", *path)).failures


MALFORMED = {
    "parameters.nodes": lambda d: changed(d, 1, "parameters", "nodes"),
    "parameters.iterations": lambda d: changed(d, 10**9, "parameters", "iterations"),
    "parameters.records": lambda d: changed(d, 0, "parameters", "records"),
    "parameters.penalty": lambda d: changed(d, -1.0, "parameters", "penalty"),
    "parameters.loss": lambda d: changed(d, "hinge", "parameters", "loss"),
    "instance.old": lambda d: changed(d, [1.0], "instance", "old"),
    "instance.outputs": lambda d: changed(d, None, "instance", "outputs"),
    "kind": lambda d: changed(d, "support", "kind"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_certificate_names_the_field(verified, genuine, name):
    with pytest.raises(DataError) as refused:
        verified(MALFORMED[name](genuine))
    assert f": {name}: got " in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"nodes": 1}, "nodes"),
        ({"growth": 0.5}, "growth"),
        ({"factor": 0}, "factor"),
        ({"alpha": 1.0}, "parameter"),
    ],
)
def test_bad_parameters_are_named(parameters, named):
    with pytest.raises(InvalidArgument, match=f"^{named}: "):
        audited(**parameters)


def test_the_installed_claim_and_verifier_work_together(tmp_path):
    asked = Settings(trials=400, parameters={"factor": 0.5})
    audit = run_claim("zhang2018-theorem41", asked, Executor())
    assert audit.result.verdict == "refuted"
    (one,) = read(audit.certificate.write(tmp_path / "c.json"))
    assert verify(one).failures == ()


# --- what cancels ------------------------------------------------------------------------------


def extreme(genuine, loss=30.0, ratio=1.8650337260265455):
    """Return one release after broadcasts of 2e50: 50 digits lose the noise behind it."""
    broadcast = [0.0, -2.4319387245186225e50]
    true = {"unit records": (0.9999999, 1), "slopes within 1": (1, 1)}
    true |= {"curvature above 0": (0, 8.75651076269647e-27)}
    true |= {"curvature at most c_1": (8.75651076269647e-27, 0.25)}
    true |= {"weight at most records": (0.53, 1), "penalties at least theta": (1, 1)}
    true |= {"small curvature": (0.5, 4.716981132075471)}
    names = ("penalty", "growth", "dual_step", "noise_growth", "regulariser_weight", "factor")
    return genuine | {
        "parameters": dict.fromkeys(names, 1.0)
        | {"noise_rate": 30.0, "loss_weight": 0.53, "loss": "logistic"}
        | {"nodes": 2, "records": 1, "dimension": 2, "iterations": 1},
        "instance": {
            "others": [],
            "old": [0.01414178065174007, 0.9998999000100001],
            "new": [0.01414178065174007, -0.9998999000100001],
            "outputs": [[broadcast, broadcast], [[-4242.747181389589, 0.0], [0.0, 0.0]]],
        },
        "quantities": {"loss": loss, "bound": 16.0855, "ratio": ratio},
        "assumptions": [{"name": n, "value": v, "limit": w} for n, (v, w) in true.items()],
    }


def test_noise_that_cancels_is_not_lost(verified, genuine):
    """50 digits find a loss of 30, where it is 15.898 of 16.09."""
    verdict = verified(extreme(genuine))
    assert any(f.startswith("ratio: ") and "above 1" in f for f in verdict.failures)
    assert any(f.startswith("loss: ") for f in verdict.failures)
    assert verdict.ratio == pytest.approx(0.988368929, rel=1e-8)


def test_the_extreme_release_breaks_half_the_bound(verified, genuine):
    """The assumptions are borne out, slopes of 1 - e^-60 among them."""
    found = extreme(genuine, 15.898408405922826, 2 * 0.988368929222747)
    halved = changed(found, 16.0855 / 2, "quantities", "bound")
    assert verified(changed(halved, 0.5, "parameters", "factor")).failures == ()


def test_a_slope_of_one_can_be_decided_where_no_digits_tell(verified, genuine):
    found = extreme(genuine)
    failures = verified(changed(found, -1e7, "instance", "outputs", 1, 0, 0)).failures
    assert not any(f.startswith("slopes within 1") for f in failures)


def test_records_and_a_curvature_at_their_limits_are_borne_out(verified, genuine):
    found = changed(extreme(genuine), [0.0, 1.0], "instance", "old")
    for path in (("new",), ("outputs", 1, 0)):
        found = changed(found, [0.0, -1.0] if path == ("new",) else [0.0, 0.0], "instance", *path)
    failures = verified(found).failures
    assert not any("is above" in failure for failure in failures)
    longer = changed(found, [1e-160, 1.0], "instance", "old")
    assert any(
        f.startswith("unit records: ") and "is above" in f for f in verified(longer).failures
    )

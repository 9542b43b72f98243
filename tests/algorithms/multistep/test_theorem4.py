"""Theorem 4 of Huang & Gong: refuted by pairs found by search; true compositions survive."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from dpaudit.accounting.events import ApproximateRelease
from dpaudit.accounting.optimal import OptimalComposition
from dpaudit.algorithms.multistep.claims.composition import (
    CompositionSettings,
    build_law_pair_space,
    compute_composed_delta,
    compute_composition_conditions,
    gaussian_mu,
    hockey_stick,
    make_randomised_response_pair,
)
from dpaudit.algorithms.multistep.claims.theorem4 import (
    CompositionParameters,
    prepare_theorem4_search,
)
from dpaudit.auditing import audit_claim, run_claim
from dpaudit.errors import DataError, InvalidArgument
from dpaudit.execution import Executor
from dpaudit.extension.registry import CLAIMS
from dpaudit.extension.settings import Settings
from dpaudit.guarantees.kinds import GaussianDP
from dpaudit.refutation import certificates_text, exceeds, maximise
from dpaudit.verification import read, verify

THEOREM_4 = "huang2020-theorem4"


def audited(epsilon=1.0, delta=1e-5, trials=1_000, seed=0, **parameters):
    asked = Settings(epsilon=epsilon, delta=delta, trials=trials, seed=seed, parameters=parameters)
    return run_claim(THEOREM_4, asked, Executor())


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("c0", [1.0, 100.0])
@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_no_constant_rescues_the_theorem(epsilon, c0, seed):
    result = audited(epsilon=epsilon, seed=seed, c0=c0).result
    assert result.verdict == "refuted"
    assert result.measured.lower > 5e-5
    assert result.measured.lower <= result.proved.value * (1 + 1e-9)
    assert "No constant rescues it" in result.reason
    assert any("delta = 1/2" in note for note in result.notes)


def test_the_smallest_instance_is_two_coin_flips_that_reveal_everything():
    notes = audited(epsilon=0.0).result.notes
    assert any("t = 2, c_0 = 1, epsilon = 0, delta = 1/2" in note for note in notes)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("epsilon", "delta", "count"), [(1.0, 1e-5, 10), (0.0, 0.1, 5), (1.0, 0.1, 5), (0.5, 0.0, 10)]
)
def test_the_search_finds_the_dominating_pair_and_nothing_above_it(epsilon, delta, count):
    setting = CompositionSettings(epsilon=epsilon, delta=delta, count=count)
    found = maximise(build_law_pair_space(setting), 3_000, default_rng(0))
    worst = float(
        compute_composed_delta(
            setting, *make_randomised_response_pair(epsilon, delta), setting.claimed_epsilon
        )
    )
    assert 0.98 * worst < found.ratio <= worst * (1 + 1e-9)
    assert all(
        c.holds
        for c in compute_composition_conditions(
            setting, found.instance["one"], found.instance["other"]
        )
    )


def test_exact_deltas_with_rational_numbers():
    one, other = ([Fraction(k, 8) for k in law] for law in ((4, 2, 1, 1), (1, 1, 2, 4)))
    total = Fraction(0)
    for i in range(4):
        for j in range(4):
            for k in range(4):
                p, q = (law[i] * law[j] * law[k] for law in (one, other))
                total += max(Fraction(0), p - q)
    setting = CompositionSettings(epsilon=0.0, delta=0.5, count=3)
    laws = (np.array([float(p) for p in law]) for law in (one, other))
    assert float(compute_composed_delta(setting, *laws, 0.0)) == pytest.approx(
        float(total), rel=1e-12
    )


@given(st.floats(0, 3), st.floats(0, 0.4), st.integers(1, 8), st.floats(0, 4))
@settings(max_examples=60, deadline=None)
def test_randomised_response_is_what_optimal_composition_counts(epsilon, delta, count, at):
    setting = CompositionSettings(epsilon=epsilon, delta=delta, count=count)
    found = float(
        compute_composed_delta(setting, *make_randomised_response_pair(epsilon, delta), at)
    )
    part = ApproximateRelease(epsilon=epsilon, delta=delta, count=count)
    exact = OptimalComposition((part,)).delta(at)
    assert found == pytest.approx(exact, rel=1e-9, abs=1e-13)


# True variants survive


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (0.1, 0.01), (0.0, 0.1)])
def test_basic_composition_survives(epsilon, delta, seed):
    count = 6
    result = audited(epsilon, delta, seed=seed, count=count, c0=math.sqrt(count), factor=count)
    assert result.result.verdict == "proved"
    assert result.certificate is None


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_optimal_composition_survives(seed):
    setting = CompositionSettings(epsilon=0.5, delta=1e-3, count=8)
    pair = make_randomised_response_pair(0.5, 1e-3)
    worst = float(compute_composed_delta(setting, *pair, setting.claimed_epsilon))
    result = audited(0.5, 1e-3, seed=seed, count=8, factor=worst / 1e-3).result
    assert result.verdict == "proved"
    assert result.measured.lower > 0.9 * worst
    halved = audited(0.5, 1e-3, seed=seed, count=8, factor=worst / 2e-3).result
    assert halved.verdict == "refuted"


@pytest.mark.parametrize(
    ("count", "verdict"),
    [(1, "proved"), (4, "proved"), (283, "proved"), (284, "refuted")],
)
def test_gaussian_mechanisms_survive_up_to_a_large_epsilon(count, verdict):
    """sqrt(t) epsilon is below and above 8.4198 at t = 283 and 284."""
    result = audited(epsilon=0.5, algorithms="gaussian", count=count).result
    assert result.verdict == verdict
    setting = CompositionSettings(epsilon=0.5, delta=1e-5, count=count)
    exact = GaussianDP(gaussian_mu(setting)).delta(setting.claimed_epsilon)
    assert result.measured.lower == pytest.approx(exact, rel=1e-12)


def test_one_algorithm_composes_to_itself_but_not_with_the_constant_of_the_proof():
    assert audited(count=1, delta=0.1).result.verdict == "proved"
    assert audited(count=1, delta=0.1, c0_of_proof=True).result.verdict == "refuted"


def test_a_private_pair_is_left_alone_and_another_is_mixed():
    setting = CompositionSettings(epsilon=0.3, delta=0.05, count=2)
    batch = build_law_pair_space(setting).start(50, default_rng(0))
    inside, _ = build_law_pair_space(setting).evaluate(batch)
    for p, q in ((inside["one"], inside["other"]), (inside["other"], inside["one"])):
        assert hockey_stick(p, q, 0.3).max() <= 0.05


# Certificates


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
    return json.loads(certificates_text((audited(0.5, 0.01, count=4).certificate,)))


@pytest.mark.parametrize("variant", ["default", *CLAIMS.get(THEOREM_4).published])
def test_published_audits_and_their_certificates(variant, checked):
    published = CLAIMS.get(THEOREM_4).published
    changes = {} if variant == "default" else dict(published[variant].settings)
    asked = Settings(**({"trials": 1_000} | changes))
    found = run_claim(THEOREM_4, asked, Executor())
    survives = variant == "Gaussian mechanisms"
    assert found.result.verdict == ("proved" if survives else "refuted")
    assert all(check.holds for check in found.result.assumptions)
    if not survives:
        assert found.certificate.kind == "approximate-dp"
        assert checked(certificates_text((found.certificate,))).verified


def changed(part, name, value):
    def change(document):
        document[part][name] = value

    return change


TAMPERING = {
    "delta of one": changed("instance", "one", [0.1, 0.5, 0.4, 0.0]),
    "delta: the file states": changed("quantities", "delta", 0.5),
    "ratio: the file states": changed("quantities", "ratio", 50.0),
    "bound: the file states": changed("parameters", "factor", 100.0),
    "claimed epsilon: the file states": changed("parameters", "c0", 2.0),
    "is no assumption": lambda d: d["assumptions"].append({"name": "x", "value": 0, "limit": 1}),
    "does not state this assumption": lambda d: d["assumptions"].pop(),
}


@pytest.mark.parametrize("named", TAMPERING)
def test_tampering_is_named(named, genuine, checked):
    document = json.loads(json.dumps(genuine))
    TAMPERING[named](document)
    verdict = checked(document)
    assert not verdict.verified
    assert any(named in failure for failure in verdict.failures)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (changed("instance", "one", [0.5, 0.5, 0.5, 0.0]), "instance.one"),
        (changed("instance", "one", [1.5, -0.5, 0.0, 0.0]), "instance.one"),
        (changed("instance", "other", [1.0]), "instance.other"),
        (changed("parameters", "epsilon", -1.0), "parameters.epsilon"),
        (changed("parameters", "delta", 1.0), "parameters.delta"),
        (changed("parameters", "count", 0), "parameters.count"),
        (changed("parameters", "count", 10**9), "parameters.count"),
        (changed("parameters", "c0", 0.0), "parameters.c0"),
        (changed("parameters", "algorithms", "some"), "parameters.algorithms"),
        (lambda d: d.update(kind="property"), "kind"),
    ],
)
def test_malformed_certificates_are_refused_by_name(change, named, genuine, checked):
    document = json.loads(json.dumps(genuine))
    change(document)
    with pytest.raises(DataError, match=named):
        checked(document)


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"data": "breast-cancer"}, "data"),
        ({"epsilon": 0.0, "delta": 0.0}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"parameters": {"count": 21}}, "count"),
        ({"parameters": {"count": 0}}, "count"),
        ({"parameters": {"factor": 0}}, "factor"),
        ({"delta": 0.0, "parameters": {"algorithms": "gaussian"}}, "algorithms"),
        ({"parameters": {"c0": 2.0, "c0_of_proof": True}}, "c0"),
        ({"delta": 0.0, "parameters": {"c0_of_proof": True}}, "c0_of_proof"),
    ],
)
def test_bad_input_is_named(asked, named):
    with pytest.raises(InvalidArgument, match=f"^{named}: "):
        audit_claim(THEOREM_4, Settings(**asked))


def test_the_claimed_delta_is_a_bound_and_not_the_search_s():
    case = prepare_theorem4_search(Settings(delta=0.2), CompositionParameters(factor=0.5))
    assert case.bound == 0.1
    assert not exceeds(case.attain(200, default_rng(0)).bound / case.bound)


def test_gaussian_mechanisms_that_cancel_survive(checked):
    """50 digits find a delta 4.2 times the bound, where it is half of it."""
    genuine = audited(0.5, 0.01, count=284, algorithms="gaussian", factor=0.1).certificate
    document = json.loads(certificates_text((genuine,)))
    document["parameters"] |= {"epsilon": 1.55e-51, "delta": 1.6e-52, "count": 4, "c0": 1e-3}
    document["parameters"] |= {"factor": 1.0}
    document["quantities"] = {
        "claimed epsilon": 3.1e-54,
        "bound": 1.6e-52,
        "delta": 6.681911775230489e-52,
        "ratio": 4.176194859519056,
    }
    document["assumptions"] = [{"name": "delta of one", "value": 0.0, "limit": 1.6e-52}]
    verdict = checked(document)
    assert any(f.startswith("ratio: ") and "above 1" in f for f in verdict.failures)
    assert verdict.ratio == pytest.approx(0.49037848361, rel=1e-9)


def test_a_delta_that_is_attained_exactly_is_borne_out_and_an_ulp_more_is_not(genuine, checked):
    document = json.loads(json.dumps(genuine))
    document["parameters"] |= {"epsilon": 0.0, "delta": 0.5, "count": 2, "c0": 1.0, "factor": 1.0}
    document["instance"] = {"one": [0.5, 0.5, 0.0, 0.0], "other": [0.0, 0.5, 0.0, 0.5]}
    document["quantities"] = {"claimed epsilon": 0, "bound": 0.5, "delta": 0.75, "ratio": 1.5}
    names = ("delta of one", "delta of one, exchanged")
    document["assumptions"] = [{"name": n, "value": 0.5, "limit": 0.5} for n in names]
    assert checked(document).failures == ()
    document["parameters"]["delta"] = math.nextafter(0.5, 0)
    assert any("delta of one" in failure for failure in checked(document).failures)

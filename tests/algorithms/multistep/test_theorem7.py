"""Theorem 7 of Huang & Gong: refuted as stated; with every node's Lipschitz constant it stands."""

import json
import math

import numpy as np
import pytest
from numpy.random import default_rng

from dpaudit.algorithms.multistep.claims.star import (
    StarSetting,
    certain_value,
    compute_loss_pieces,
    compute_noise_spread,
    compute_utility_sides,
    run,
)
from dpaudit.algorithms.multistep.claims.utility import build_star_space
from dpaudit.auditing import audit_claim, run_claim
from dpaudit.errors import DataError, InvalidArgument
from dpaudit.execution import Executor
from dpaudit.extension.registry import CLAIMS
from dpaudit.extension.settings import Settings
from dpaudit.refutation import certificates_text, maximise
from dpaudit.verification import read, verify

THEOREM_7 = "huang2020-theorem7"
ODD = StarSetting(nodes=5, iterations=6, inner_steps=3, records=10**4, epsilon=1.0, delta=1e-5)


def audited(trials=2_000, seed=0, **parameters):
    asked = Settings(trials=trials, seed=seed, parameters=parameters)
    return run_claim(THEOREM_7, asked, Executor())


def one_instance(star, seed=0):
    return build_star_space(star).start(1, default_rng(seed))


def network(star, batch, rng=None, trials=1):
    """Run eq. (13a)-(15) edge by edge on all nodes; return w^ of all and the duals' norms."""
    n, rho = star.nodes, float(batch["penalty"][0])
    edges = [(0, j) for j in range(1, n)]
    near = {i: [b if a == i else a for a, b in edges if i in (a, b)] for i in range(n)}
    models = np.zeros((trials, n, 2))
    sent, total, mean = np.zeros_like(models), np.zeros_like(models), np.zeros_like(models)
    dual = {(i, j): np.zeros((trials, 2)) for i in range(n) for j in near[i]}
    longest = 0.0
    repeated = {name: np.repeat(values, trials, axis=0) for name, values in batch.items()}
    for k in range(1, star.iterations + 1):
        for r in range(1, star.inner_steps + 1):
            eta = math.sqrt(2 * k * r) * star.share
            mean += models / star.steps
            new = np.empty_like(models)
            for i in range(n):
                unit = 2 * rho * len(near[i]) + eta
                pull = sum((2 * dual[i, j] + rho * (sent[:, i] + sent[:, j]) for j in near[i]), 0)
                new[:, i] = (eta * models[:, i] + pull) / unit
                if i == 0:
                    new[:, 0] -= gradient(repeated, models[:, 0]) / unit
                if rng is not None:
                    noise = star.noise / math.sqrt(2) / unit
                    new[:, i] += noise * rng.standard_normal((trials, 2))
            models = new
            total = models if r == 1 else total + models
        sent = total / star.inner_steps
        for i, j in dual:
            dual[i, j] = dual[i, j] - rho / 2 * (sent[:, i] - sent[:, j])
            longest = max(longest, float(np.linalg.norm(dual[i, j], axis=1).max()))
    return mean, longest


def gradient(batch, models):
    active = np.argmax(compute_loss_pieces(batch, models), axis=1)
    right, left, up = batch["slopes"].T
    zero = np.zeros_like(up)
    first = np.choose(active, [right, -left, zero, zero])
    return np.stack([first, np.where(active == 2, up, 0.0)], axis=1)


@pytest.mark.parametrize("seed", range(4))
def test_the_star_is_the_network_node_by_node(seed):
    batch = one_instance(ODD, seed)
    mean, longest = network(ODD, batch)
    done = run(ODD, batch)
    assert mean[0, 0] == pytest.approx(done.centre[0, :-1].mean(axis=0), abs=1e-12)
    for leaf in range(1, ODD.nodes):
        assert mean[0, leaf] == pytest.approx(done.leaf[0, :-1].mean(axis=0), abs=1e-12)
    assert longest == pytest.approx(float(done.dual.max()), rel=1e-10)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_spread_is_that_of_noisy_runs_with_a_constant_gradient(seed):
    batch = one_instance(ODD, seed)
    batch["slopes"] = np.array([[1e-9, 1e-9, 1.0]])
    batch["target"] = np.array([[0.0, -1e3]])  # one piece leads throughout
    mean, _ = network(ODD, batch, default_rng(seed), trials=4_000)
    noise = compute_noise_spread(ODD, float(batch["penalty"][0]))
    deviations = mean - network(ODD, batch)[0]
    rms = np.sqrt((deviations**2).sum(axis=2).mean(axis=0))
    assert rms[0] == pytest.approx(noise.centre, rel=0.05)
    assert rms[1:] == pytest.approx(np.full(4, noise.leaf), rel=0.05)


def test_the_certain_value_is_below_the_mean_of_noisy_runs():
    star = StarSetting(
        nodes=30, iterations=40, inner_steps=1, records=10**8, epsilon=1.0, delta=1e-5
    )
    instance = maximise(build_star_space(star), 2_000, default_rng(0)).instance
    batch = {name: np.asarray(values)[None] for name, values in instance.items()}
    found = compute_utility_sides(star, batch)
    mean, _ = network(star, batch, default_rng(1), trials=50)
    repeated = {name: np.repeat(values, 50, axis=0) for name, values in batch.items()}
    risk = compute_loss_pieces(repeated, mean[:, 0]).max(axis=1).mean()
    apart = np.linalg.norm(mean[:, :1] - mean[:, 1:], axis=2).sum(axis=1).mean()
    value = certain_value(found, compute_noise_spread(star, float(batch["penalty"][0])), star)
    measured = risk + 2 * float(found.beta[0]) * apart
    assert 0.97 * measured < value <= measured


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in (1, 2))])
def test_the_theorem_is_refuted_as_stated(seed):
    found = audited(2_000 if seed == 0 else 4_000, seed).result
    assert found.verdict == "refuted"
    assert found.measured.lower > 1.15 * found.claimed.value
    assert all(check.holds for check in found.assumptions)
    assert "(39)" in found.reason


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "true",
    [
        {"lipschitz": "node"},
        {"nodes": 1},
        {"nodes": 1, "iterations": 10, "inner_steps": 10},
        {"nodes": 2, "iterations": 5},
        {"factor": 10.0},
        {"records": 1_000},
    ],
)
def test_true_variants_are_not_refuted(true, seed):
    found = audited(400, seed, **true)
    assert found.result.verdict == "not refuted"
    assert found.certificate is None


def test_half_the_bound_of_one_step_is_refuted_and_certified(checked):
    """With t = l = 1 the mean is the start itself: 1 / sqrt(2) of the bound is attained."""
    whole = audited(nodes=1, iterations=1).result
    assert 0.69 < whole.measured.lower / whole.claimed.value < 1 / math.sqrt(2)
    halved = audited(nodes=1, iterations=1, factor=0.5)
    assert halved.result.verdict == "refuted"
    assert checked(certificates_text((halved.certificate,))).verified


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
    return json.loads(certificates_text((audited(4_000, nodes=40, iterations=50).certificate,)))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("variant", ["default", *CLAIMS.get(THEOREM_7).published])
def test_published_audits_and_their_certificates(variant, checked):
    published = CLAIMS.get(THEOREM_7).published
    changes = {} if variant == "default" else dict(published[variant].settings)
    asked = Settings(**({"trials": 1_500} | changes))
    found = run_claim(THEOREM_7, asked, Executor())
    refuted = variant in ("default", "several inner steps")
    assert found.result.verdict == ("refuted" if refuted else "not refuted")
    if refuted:
        assert found.certificate.kind == "property"
        assert checked(certificates_text((found.certificate,))).verified


def changed(part, name, value):
    def change(document):
        document[part][name] = value

    return change


TAMPERING = {
    "Lipschitz objective": changed("instance", "slopes", [1.1, 1.0, 1.0]),
    "bounded models": changed("instance", "target", [3.0, 0.0]),
    "bounded duals": changed("parameters", "beta", 1e-6),
    "clear of kinks": changed("parameters", "slack", 0.2),
    "noise stays inside": changed("parameters", "records", 1_000),
    "value: the file states": changed("quantities", "value", 0.9),
    "bound: the file states": changed("parameters", "factor", 0.5),
    "risk: the file states": changed("parameters", "penalty", 0.5),
}


@pytest.mark.sampled(2)
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
        (changed("parameters", "nodes", 0), "parameters.nodes"),
        (changed("parameters", "iterations", 10**6), "parameters.iterations"),
        (changed("parameters", "delta", 1.0), "parameters.delta"),
        (changed("parameters", "penalty", -1.0), "parameters.penalty"),
        (changed("parameters", "steepest", "all"), "parameters.steepest"),
        (changed("instance", "slopes", [1.0, -1.0, 1.0]), "instance.slopes"),
        (changed("instance", "target", [1.0]), "instance.target"),
        (lambda d: d.update(kind="sensitivity"), "kind"),
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
        ({"epsilon": 0.0}, "epsilon"),
        ({"delta": 0.0}, "delta"),
        ({"parameters": {"nodes": 0}}, "nodes"),
        ({"parameters": {"iterations": 100, "inner_steps": 100}}, "iterations"),
        ({"parameters": {"factor": -1}}, "factor"),
    ],
)
def test_bad_input_is_named(asked, named):
    with pytest.raises(InvalidArgument, match=f"^{named}: "):
        audit_claim(THEOREM_7, Settings(**asked))


@pytest.mark.parametrize(
    ("target", "slopes", "named"),
    [
        ([0.5, -0.5], [1.0, 1.0, 1.0], "clear of kinks"),
        ([0.5, -0.5], [1.0, 1.0, math.nextafter(1, 2)], "Lipschitz objective"),
        ([1e-200, -1e-200], [1.0, 1.0, 1.0], "clear of kinks"),
    ],
)
def test_ties_and_last_digits_are_named(target, slopes, named, genuine, checked):
    document = json.loads(json.dumps(genuine))
    document["parameters"] |= {"iterations": 1, "inner_steps": 1, "slack": 1e-299}
    document["parameters"] |= {"records": 10**299}
    document["instance"] = {"target": target, "slopes": slopes}
    assert any(f.startswith(f"{named}: ") and "is above" in f for f in checked(document).failures)


@pytest.mark.slow
def test_the_longest_runs_are_decided_in_time(genuine, checked):
    document = json.loads(json.dumps(genuine))
    document["parameters"] |= {"iterations": 20, "inner_steps": 20}
    assert any(f.startswith("bound: ") for f in checked(document).failures)

"""Theorem 3.2 of zhang2018: the rate of (23) is refuted, the repaired one survives."""

import copy
import json

import numpy as np
import pytest
from numpy.random import default_rng

from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.consensus.claims.networks import Family, build_network_space
from dpaudit.algorithms.consensus.claims.theorem32 import (
    CLAIM,
    Theorem32Parameters,
    prepare_theorem32_search,
)
from dpaudit.algorithms.consensus.quadratics import compute_contraction_rate, first_step
from dpaudit.algorithms.consensus.verify.theorem32 import recompute
from dpaudit.algorithms.problems.graphs import from_edges
from dpaudit.algorithms.problems.schedules import TableSchedule
from dpaudit.algorithms.problems.smooth_losses import LINEAR
from dpaudit.auditing.run import run_case, run_claim
from dpaudit.datasets import Dataset
from dpaudit.errors import DataError, InvalidArgument
from dpaudit.execution import Executor
from dpaudit.extension.parameters import parse_parameters
from dpaudit.extension.settings import Settings
from dpaudit.refutation import certificates_text
from dpaudit.verification import read, verify


def audited(trials=2_000, seed=0, **parameters):
    settings = Settings(trials=trials, seed=seed, parameters=parameters)
    parsed = parse_parameters(Theorem32Parameters, parameters)
    case = prepare_theorem32_search(settings, parsed)
    return run_case(case, settings, statement=CLAIM, rerun="rerun")


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


SIZES = [(0, 2), pytest.param(1, 3, marks=pytest.mark.slow), (2, 6)]


def document(audit):
    return json.loads(certificates_text((audit.certificate,)))


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "nodes"), SIZES)
def test_the_printed_rate_is_refuted_for_a_shared_penalty(verified, seed, nodes):
    audit = audited(seed=seed, nodes=nodes)
    assert audit.result.verdict == "refuted"
    assert audit.result.measured.lower > 1.2
    assert "2 m_o" in audit.result.reason
    assert {outcome.name for outcome in audit.result.assumptions} == set(CLAIM.assumptions)
    assert verified(document(audit)).failures == ()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_it_is_refuted_for_penalties_of_their_own(verified, seed):
    audit = audited(seed=seed, penalties="own")
    assert audit.result.verdict == "refuted"
    assert verified(document(audit)).failures == ()


@pytest.mark.slow
def test_two_nodes_with_one_penalty_are_the_smallest_instance():
    notes = " ".join(audited().result.notes)
    assert "Smallest instance that breaks the claim: edges 0-1; theta 0.5; penalties [1., 1.]" in (
        notes
    )


def test_the_limit_of_two_nodes_that_agree():
    """Nothing contracts as m goes to 0, and delta tends to a number above 0."""
    batch = {
        "adjacency": np.array([[[0.0, 1.0], [1.0, 0.0]]]),
        "penalty": np.full((1, 2), 1.3),
        "curvature": np.full((1, 2), 1e-9),
        "slope": np.zeros((1, 2)),
        "start": np.ones((1, 2)),
        "mu": np.array([1.2]),
    }
    step = first_step(batch, 1.0)
    assert step.after / step.before == pytest.approx(1, abs=1e-8)
    # theta s = 2, sigma~ = 2.6, sigma- = 0.6
    expected = min(2 / (1.44 * 2.6), 1.2 / (1.2 * 0.36 / (2 * 0.2) + 2.6))
    assert compute_contraction_rate(batch, 1.0, proved=False)[0] == pytest.approx(
        expected, rel=1e-6
    )
    assert compute_contraction_rate(batch, 1.0, proved=True)[0] < 1e-8


# --- what is true --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "nodes"), SIZES)
def test_the_repaired_rate_survives_ten_times_the_budget_and_is_close(seed, nodes):
    result = audited(40_000, seed, nodes=nodes, rate="proved").result
    assert result.verdict == "proved"
    assert 0.999 < result.measured.lower <= 1
    assert result.proved.value == 1


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_twice_the_bound_is_not_refuted(seed):
    assert audited(8_000, seed, factor=2.0).result.verdict == "not refuted"


@pytest.mark.slow
def test_half_the_repaired_bound_is_refuted(verified):
    audit = audited(rate="proved", factor=0.5)
    assert audit.result.verdict == "refuted"
    assert "2 m_o" not in audit.result.reason
    assert verified(document(audit)).failures == ()


def test_the_repaired_rate_holds_along_runs_with_growing_shared_penalties():
    """The proof takes one step at a time, so the penalty may grow between them."""
    source = default_rng(0)
    for _ in range(20):
        nodes = int(source.integers(2, 6))
        starts = build_network_space(Family(nodes=nodes), lambda batch: np.ones(len(batch["over"])))
        batch, _ = starts.evaluate(starts.start(1, source))
        growth = source.uniform(1, 1.5)
        ratios = run_ratios({**batch, "slope": batch["slope"] + 1.0}, growth)
        assert max(ratios) < 1 + 1e-9


def run_ratios(batch, growth, iterations=12):
    """Return both sides of Theorem 3.2 along a run, by matrices of the whole state."""
    adjacency, m, b = (batch[name][0] for name in ("adjacency", "curvature", "slope"))
    nodes, mu = len(m), batch["mu"][0]
    laplacian = np.diag(adjacency.sum(1)) - adjacency
    signless = np.diag(adjacency.sum(1)) + adjacency
    inverse = np.linalg.pinv(laplacian)
    best = b.sum() / m.sum()
    f, p = batch["start"][0], np.zeros(nodes)
    ratios = []
    for t in range(iterations):
        w = float(batch["penalty"][0, 0]) * growth**t

        def distance(f, p, w=w):
            gap, e = p - (b - m * best), f - best
            return gap @ inverse @ gap + w * (e @ signless @ e)

        before = distance(f, p)
        f = np.linalg.solve(np.diag(m + 2 * w * adjacency.sum(1)), b - p + w * signless @ f)
        p = p + laplacian @ f
        s, sigma = np.linalg.eigvalsh(laplacian)[1], w * np.linalg.eigvalsh(signless)[-1]
        above = (w - 1) * np.linalg.eigvalsh(laplacian)[-1]
        squares = (mu**2 * max(m) ** 2 + mu * above**2) / (s * (mu - 1))
        delta = min(s / (mu**2 * sigma), 2 * min(m) / (squares + sigma))
        if before < 1e-9:
            break
        ratios.append((1 + delta) * distance(f, p) / before)
    return ratios


def test_the_step_is_that_of_the_algorithm():
    """`ConsensusADMM` starts at 0, has records of norm 1 and one curvature for all nodes."""
    starts = build_network_space(
        Family(nodes=4, shared=False), lambda batch: np.ones(len(batch["over"]))
    )
    batch, _ = starts.evaluate(starts.start(1, default_rng(5)))
    batch = {**batch, "curvature": np.full((1, 4), 0.7), "start": np.zeros((1, 4))}
    batch["slope"] = np.clip(batch["slope"] + 0.3, -1, 1)
    edges = [
        (int(i), int(j)) for i, j in zip(*np.nonzero(np.triu(batch["adjacency"][0])), strict=True)
    ]
    graph = from_edges(4, edges)
    algorithm = ConsensusADMM(
        graph=graph,
        iterations=1,
        penalty=TableSchedule(batch["penalty"]),
        dual_step=1.0,
        regulariser_weight=4 * 0.7,
        loss=LINEAR,
    )
    data = Dataset(batch["slope"][0][:, None], np.ones(4), node_sizes=(1,) * 4)
    f = algorithm.penalty_perturbation().sample(data, 1, default_rng(0))[0, 0, :, 0]
    laplacian = np.diag(graph.degrees) - graph.adjacency
    signless = np.diag(graph.degrees) + graph.adjacency
    best = batch["slope"].sum() / 2.8
    gap = laplacian @ f - (batch["slope"][0] - 0.7 * best)
    e = f - best
    after = gap @ np.linalg.pinv(laplacian) @ gap
    after += e @ np.diag(batch["penalty"][0]) @ signless @ e
    assert first_step(batch, 1.0).after[0] == pytest.approx(after, rel=1e-9)


# --- certificates that are not true ------------------------------------------------------------


@pytest.fixture(scope="module")
def genuine():
    return document(audited(1_000))


def changed(genuine, value, *path):
    found = copy.deepcopy(genuine)
    inner = found
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return found


def test_every_stated_number_is_checked(verified, genuine):
    for name, value in genuine["quantities"].items():
        failures = verified(changed(genuine, value * 1.01 + 0.01, "quantities", name)).failures
        assert any(failure.startswith(f"{name}: ") for failure in failures)
    for i, stated in enumerate(genuine["assumptions"]):
        for word in ("value", "limit"):
            other = changed(genuine, stated[word] + 0.1, "assumptions", i, word)
            assert any(stated["name"] in failure for failure in verified(other).failures)


@pytest.mark.parametrize("name", ["penalty", "curvature", "slope", "start"])
def test_a_changed_instance_is_noticed(verified, genuine, name):
    value = genuine["instance"][name][0]
    assert verified(changed(genuine, value * 1.1 + 0.01, "instance", name, 0)).failures


def test_violated_assumptions_are_named(verified, genuine):
    penalties = [0.1] * 3
    failures = verified(changed(genuine, penalties, "instance", "penalty")).failures
    assert any(failure.startswith("penalties at least theta: ") for failure in failures)
    failures = verified(changed(genuine, 40.0, "instance", "penalty", 1)).failures
    assert any(failure.startswith("one penalty: ") for failure in failures)


def test_an_instance_that_contracts_refutes_nothing(verified, genuine):
    failures = verified(changed(genuine, [0.5] * 3, "instance", "curvature")).failures
    assert any(failure.startswith("ratio: ") and "above 1" in failure for failure in failures)


MALFORMED = {
    "parameters.nodes": lambda d: changed(d, 2.0, "parameters", "nodes"),
    "parameters.dual_step": lambda d: changed(d, 0, "parameters", "dual_step"),
    "parameters.penalties": lambda d: changed(d, "any", "parameters", "penalties"),
    "parameters.rate": lambda d: changed(d, {}, "parameters", "rate"),
    "instance.mu": lambda d: changed(d, 1.0, "instance", "mu"),
    "instance.curvature": lambda d: changed(d, 0.0, "instance", "curvature", 0),
    "instance.start": lambda d: changed(d, "here", "instance", "start"),
    "instance.adjacency[0][1]": lambda d: changed(d, 0.5, "instance", "adjacency", 0, 1),
    "kind": lambda d: changed(d, "pure-dp", "kind"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_certificate_names_the_field(verified, genuine, name):
    with pytest.raises(DataError) as refused:
        verified(MALFORMED[name](genuine))
    assert f": {name}: got " in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("parameters", "named"),
    [({"nodes": 40}, "nodes"), ({"rate": "mine"}, "rate"), ({"theta": 1.0}, "parameter")],
)
def test_bad_parameters_are_named(parameters, named):
    with pytest.raises(InvalidArgument, match=f"^{named}: "):
        audited(**parameters)


def test_the_installed_claim_and_verifier_work_together(tmp_path):
    asked = Settings(trials=400, parameters={"nodes": 2})
    audit = run_claim("zhang2018-theorem32", asked, Executor())
    assert audit.result.verdict == "refuted"
    (one,) = read(audit.certificate.write(tmp_path / "c.json"))
    assert verify(one).failures == ()


def test_a_step_beside_the_optimum_contracts(verified, genuine):
    """50 digits find a ratio of 1 + 1.8e-7 with the repaired rate, where it is .9993."""
    theta, start = 1.323942311613528e-44, 7.938569372448455e-49
    true = {"connected graph": (1, 1), "penalties at least theta": (theta, theta)}
    true |= {"strongly convex": (0, 7.8520759261016765e-59), "one penalty": (0, 0)}
    true |= {"mu above 1": (1, 1.5)}
    found = genuine | {
        "parameters": {"nodes": 3, "dual_step": theta, "factor": 1.0}
        | {"penalties": "shared", "rate": "proved"},
        "instance": {
            "adjacency": [[0, 1, 1], [1, 0, 1], [1, 1, 0]],
            "penalty": [theta] * 3,
            "curvature": [7.8520759261016765e-59, 5.680895978358288e-41, 0.00106342050606125],
            "slope": [6.233424945709061e-107, 4.509818682186071e-89, 8.442037459451476e-52],
            "start": [start] * 3,
            "mu": 1.5,
        },
        "quantities": {
            "before": 1.338593394140924e-160,
            "after": 1.3385936379153312e-160,
            "size": 1.338593394140924e-160,
            "rate": 1.2256944728501927e-96,
            "value": 1.0000001821123636,
            "bound": 1.0,
            "ratio": 1.0000001821123636,
        },
        "assumptions": [{"name": n, "value": v, "limit": w} for n, (v, w) in true.items()],
    }
    verdict = verified(found)
    assert any(f.startswith("ratio: ") and "above 1" in f for f in verdict.failures)
    assert verdict.ratio == pytest.approx(0.9992966569, rel=1e-9)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("nodes", [3, 4])
def test_equal_eigenvalues_and_a_penalty_of_theta_can_be_decided(verified, nodes):
    """A complete graph has one Laplacian eigenvalue n - 1 times; sigma- is 0 at theta."""
    audit = audited(400, nodes=nodes, rate="proved", factor=0.5)
    found = document(audit)
    found["instance"]["adjacency"] = (np.ones((nodes, nodes)) - np.eye(nodes)).tolist()
    found["instance"]["penalty"] = [0.5] * nodes
    found["parameters"]["dual_step"] = 0.5
    verdict = verified(found)
    assert not any("penalt" in failure for failure in verdict.failures if "states" not in failure)

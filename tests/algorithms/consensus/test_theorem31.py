"""Theorem 3.1 of zhang2018: growing penalties stall, (19) fails, settled penalties do converge."""

import json

import numpy as np
import pytest
from numpy.random import default_rng

from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.consensus.claims.growing import (
    GrowingPenaltyRun,
    bound_stalled_distance,
    find_network_optimum,
)
from dpaudit.algorithms.consensus.claims.growing import build_growing_space as growing_space
from dpaudit.algorithms.consensus.claims.networks import Family, build_network_space
from dpaudit.algorithms.consensus.claims.theorem31 import (
    CLAIM,
    Theorem31Parameters,
    prepare_theorem31_search,
)
from dpaudit.algorithms.consensus.quadratics import iteration_map, spectral_radius
from dpaudit.algorithms.consensus.verify.theorem31 import recompute
from dpaudit.algorithms.problems.graphs import from_edges, random_connected
from dpaudit.algorithms.problems.schedules import Geometric, TableSchedule
from dpaudit.algorithms.problems.smooth_losses import LINEAR, LOGISTIC
from dpaudit.auditing.run import run_case, run_claim
from dpaudit.datasets import Dataset
from dpaudit.errors import InvalidArgument
from dpaudit.execution import Executor
from dpaudit.extension.parameters import parse_parameters
from dpaudit.extension.settings import Settings
from dpaudit.refutation import certificates_text
from dpaudit.verification import read, verify

FIGURE_1A = CLAIM.published["penalties-of-figure-1a"].settings["parameters"]


def audited(trials=300, seed=0, **parameters):
    settings = Settings(trials=trials, seed=seed, parameters=parameters)
    parsed = parse_parameters(Theorem31Parameters, parameters)
    case = prepare_theorem31_search(settings, parsed)
    return run_case(case, settings, statement=CLAIM, rerun="rerun")


@pytest.fixture
def verified(judged):
    return lambda document: judged(document, recompute)


def document(audit):
    return json.loads(certificates_text((audit.certificate,)))


# --- penalties that grow ---------------------------------------------------------------------


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("seed", "loss", "nodes"),
    [(0, "logistic", 3), (1, "linear", 2), (2, "linear", 6), (3, "linear", 12)],
)
def test_growing_penalties_stop_short_of_the_optimum(verified, seed, loss, nodes):
    audit = audited(150, seed, loss=loss, nodes=nodes, iterations=60)
    assert audit.result.verdict == "refuted"
    assert audit.result.measured.lower > 0.7
    assert all(outcome.holds for outcome in audit.result.assumptions)
    assert {outcome.name for outcome in audit.result.assumptions} <= set(CLAIM.assumptions)
    assert verified(document(audit)).failures == ()


def test_a_smallest_instance_is_named():
    notes = " ".join(audited(loss="linear", dual_step=1.0, iterations=60).result.notes)
    assert "Smallest instance that breaks the claim: edges 0-1; linear loss" in notes
    assert "records [1., 1.], eta_i(1) [1., 1.], growing by [2., 2.]" in notes
    assert "weighted mean is 0.580578" in notes


def test_the_smallest_case_in_closed_form_and_by_the_algorithm_itself():
    left = np.prod(1 / (1 + 2.0 ** -np.arange(1, 80)))
    batch = {
        "adjacency": np.array([[[0.0, 1.0], [1.0, 0.0]]]),
        "records": np.ones((1, 2)),
        "first": np.ones((1, 2)),
        "growth": np.full((1, 2), 2.0),
    }
    run = GrowingPenaltyRun(nodes=2, loss=LINEAR, dual_step=1.0, iterations=80)
    assert bound_stalled_distance(run, batch).distance[0] == pytest.approx(left, rel=1e-12)
    algorithm = ConsensusADMM(
        graph=from_edges(2, [(0, 1)]),
        iterations=80,
        penalty=Geometric(1.0, 2.0),
        dual_step=1.0,
        regulariser_weight=2.0,
        loss=LINEAR,
    )
    data = Dataset([[1.0], [1.0]], [1, 1], node_sizes=(1, 1))
    path = algorithm.penalty_perturbation().sample(data, 1, default_rng(0))
    assert 1 - path[0, -1, :, 0] == pytest.approx(left, rel=1e-12)


@pytest.mark.parametrize("loss", [LINEAR, LOGISTIC])
def test_the_recursion_is_that_of_the_algorithm_and_the_tail_bounds_what_follows(loss):
    short, long = (GrowingPenaltyRun(nodes=4, loss=loss, ridge=0.3, iterations=t) for t in (25, 60))
    starts = growing_space(short, 1.0)
    batch, _ = starts.evaluate(starts.start(6, default_rng(3)))
    before, after = bound_stalled_distance(short, batch), bound_stalled_distance(long, batch)
    assert (np.abs(after.mean - before.mean) <= before.tail).all()
    assert (before.tail < 1).any()
    for i in range(6):
        edges = list(zip(*np.nonzero(np.triu(batch["adjacency"][i])), strict=True))
        graph = from_edges(4, [(int(a), int(b)) for a, b in edges])
        algorithm = ConsensusADMM(
            graph=graph,
            iterations=25,
            penalty=Geometric(tuple(batch["first"][i]), tuple(batch["growth"][i])),
            dual_step=0.5,
            regulariser_weight=4 * 0.3,
            loss=loss,
        )
        data = Dataset(batch["records"][i][:, None], np.ones(4), node_sizes=(1,) * 4)
        models = algorithm.penalty_perturbation().sample(data, 1, default_rng(0))[0, -1, :, 0]
        mean = models @ graph.degrees / graph.degrees.sum()
        assert mean == pytest.approx(before.mean[i], abs=1e-9)


@pytest.mark.slow
def test_penalties_of_figure_1a_are_refuted(verified):
    audit = audited(trials=100, **FIGURE_1A | {"iterations": 1800, "loss": "linear"})
    assert audit.result.verdict == "refuted"
    assert audit.result.measured.lower > 0.3
    assert verified(document(audit)).failures == ()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_penalties_of_figure_1a_are_refuted_with_the_papers_loss(verified, seed):
    audit = audited(trials=200, seed=seed, **FIGURE_1A)
    assert audit.result.measured.lower > 0.5
    assert verified(document(audit)).failures == ()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_that_no_more_than_the_start_is_left_is_not_refuted(seed):
    assert audited(seed=seed, factor=100.0, iterations=60).result.verdict in (
        "not refuted",
        "proved",
    )


# --- penalties that settle ---------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("nodes", "penalties"), [(2, "own"), (5, "own"), (4, "shared")])
def test_no_mode_grows_once_penalties_have_settled(seed, nodes, penalties):
    result = audited(4_000, seed, part="bounded", nodes=nodes, penalties=penalties).result
    assert result.verdict == "proved"
    assert 0.999 < result.measured.lower < 1


@pytest.mark.slow
@pytest.mark.parametrize("nodes", [3, 5, 8])
def test_no_mode_grows_at_ten_times_the_budget(nodes):
    result = audited(200_000, part="bounded", nodes=nodes).result
    assert result.verdict == "proved"


def test_half_the_modulus_is_refuted_and_the_eigenvalue_verified(verified):
    audit = audited(part="bounded", factor=0.5, nodes=4)
    assert audit.result.verdict == "refuted"
    verdict = verified(document(audit))
    assert verdict.failures == ()
    assert verdict.ratio > 1.9


def test_the_spectral_radius_is_that_of_a_long_run():
    family = Family(nodes=4, shared=False)
    starts = build_network_space(family, lambda batch: np.ones(len(batch["over"])))
    batch, _ = starts.evaluate(starts.start(10, default_rng(1)))
    radius = spectral_radius(batch, 1.0)
    state = default_rng(2).standard_normal((10, 8, 1))
    steps = 4000
    logs = np.zeros(10)
    for _ in range(steps):
        state = iteration_map(batch, 1.0) @ state
        size = np.linalg.norm(state, axis=(1, 2))
        logs += np.log(size)
        state = state / size[:, None, None]
    assert np.exp(logs / steps) == pytest.approx(radius, rel=5e-3)


def test_the_proof_for_regular_graphs_step_by_step():
    ring = np.roll(np.eye(5), 1, axis=1)
    batch = {
        "adjacency": (ring + ring.T)[None],
        "penalty": default_rng(4).uniform(1, 30, (1, 5)),
        "curvature": np.zeros((1, 5)),
    }
    values, vectors = np.linalg.eig(iteration_map(batch, 1.0)[0])
    laplacian, signless = 2 * np.eye(5) - ring - ring.T, 2 * np.eye(5) + ring + ring.T
    seen = 0
    for z, vector in zip(values, vectors.T, strict=True):
        f = vector[:5]
        moved = laplacian @ f
        a = np.vdot(moved, moved).real
        if abs(z) < 1e-9 or a < 1e-9:
            continue
        b = np.vdot(f, laplacian @ signless @ f).real
        c = np.vdot(moved, moved / batch["penalty"][0]).real
        assert 0 < c <= a
        assert abs((a + b) * z**2 - (a + 2 * b - c) * z + b) < 1e-9 * (a + b)
        assert abs(z) < 1
        seen += 1
    assert seen >= 4


SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))]


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_bounded_penalties_that_grow_for_a_while_converge(seed):
    source = default_rng(seed)
    nodes = int(source.integers(2, 7))
    graph = random_connected(nodes, source)
    growth = source.uniform(1, 1.2, nodes)
    table = 0.5 * growth ** np.minimum(np.arange(600), 15)[:, None]
    records = source.uniform(0.5, 1, (nodes, 1))
    algorithm = ConsensusADMM(
        graph=graph,
        iterations=600,
        penalty=TableSchedule(table),
        dual_step=0.5,
        regulariser_weight=float(nodes),
    )
    data = Dataset(records, np.ones(nodes), node_sizes=(1,) * nodes)
    models = algorithm.penalty_perturbation().sample(data, 1, default_rng(0))[0, -1, :, 0]
    best = find_network_optimum(
        GrowingPenaltyRun(nodes=nodes, loss=LOGISTIC, ridge=1.0), records.T
    )[0]
    assert models == pytest.approx(best, abs=1e-7)


# --- inequality (19) ---------------------------------------------------------------------------


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("seed", "nodes"), [(0, 2), (1, 3)])
def test_inequality_19_fails_for_penalties_of_their_own(verified, seed, nodes):
    audit = audited(2_000, seed, part="inequality", nodes=nodes)
    assert audit.result.verdict == "refuted"
    assert audit.result.measured.lower > 0.5
    assert "(38) to (39)" in audit.result.reason
    assert verified(document(audit)).failures == ()


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_inequality_19_survives_for_a_shared_penalty(seed, factor):
    chosen = {"part": "inequality", "penalties": "shared", "factor": factor, "nodes": 4}
    result = audited(4_000, seed, **chosen).result
    assert result.verdict == "proved"
    if factor == 1:
        assert -1e-3 < result.measured.lower <= 0


def test_a_smaller_bound_than_19_is_refuted_for_a_shared_penalty(verified):
    audit = audited(part="inequality", penalties="shared", factor=0.5)
    assert audit.result.verdict == "refuted"
    assert verified(document(audit)).failures == ()


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"nodes": 1}, "nodes"),
        ({"factor": 0}, "factor"),
        ({"part": "all"}, "part"),
        ({"dual_step": 0.1}, "dual_step"),
        ({"first": (1.0,)}, "first"),
        ({"growth": (1.0, 2.0, 2.0)}, "growth"),
        ({"eta": 1.0}, "parameter"),
    ],
)
def test_bad_parameters_are_named(parameters, named):
    with pytest.raises(InvalidArgument, match=f"^{named}: "):
        audited(**parameters)


def test_penalties_that_do_not_grow_are_refused_in_words_that_tell():
    with pytest.raises(InvalidArgument, match=r"^growth: got .*at least 1\.000001 for each of 3"):
        audited(growth=(1.0, 1.0, 1.0))


def test_how_finite_penalties_are_read_is_said():
    notes = " ".join(audited(loss="linear", dual_step=1.0, iterations=60).result.notes)
    assert "eta_i(t) < infinity for all t and i as printed" in notes
    assert "part = bounded" in notes


def test_data_is_refused():
    with pytest.raises(InvalidArgument, match=r"^data: "):
        prepare_theorem31_search(Settings(data="breast-cancer"), Theorem31Parameters())


def test_the_installed_claim_and_verifier_work_together(tmp_path):
    asked = Settings(trials=400, parameters={"loss": "linear", "iterations": 60})
    audit = run_claim("zhang2018-theorem31", asked, Executor())
    assert audit.result.verdict == "refuted"
    (one,) = read(audit.certificate.write(tmp_path / "c.json"))
    assert verify(one).failures == ()

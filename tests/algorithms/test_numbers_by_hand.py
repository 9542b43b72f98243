"""Constants, losses, schedules and one step of each family, worked out by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from dpaudit.accounting.events import GaussianRelease, LaplaceRelease
from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.consensus.guarantees import (
    NodeUpdate,
    node_events,
    node_updates,
    run_event,
    slope_bound,
)
from dpaudit.algorithms.consensus.law import (
    compute_published_update_bound,
    log_determinant_drop,
    log_determinants,
    noise_shift,
)
from dpaudit.algorithms.consensus.margin_problem import MarginProblem
from dpaudit.algorithms.consensus.releases import (
    PenaltyPerturbationParameters,
    publish_theorem41_epsilon,
)
from dpaudit.algorithms.known_answer.discrete import RandomisedResponse
from dpaudit.algorithms.known_answer.laws import (
    FiniteLaw,
    best_event,
    build_kink_quadrature,
    compute_outcome_losses,
    laplace_cdf,
    laplace_density,
    laplace_loss,
    log_ratio,
    split_real_line,
)
from dpaudit.algorithms.multistep.algorithm import (
    MultiStepADMM,
    compute_theorem6_multiplier,
    final_model,
)
from dpaudit.algorithms.multistep.averages import Averages, broadcast_mu
from dpaudit.algorithms.multistep.guarantees import (
    chosen_constant,
    theorem4_constant,
    theorem6_epsilon,
    theorem6_holds_up_to,
)
from dpaudit.algorithms.problems import losses as margin_losses
from dpaudit.algorithms.problems import sample_losses, smooth_losses
from dpaudit.algorithms.problems.graphs import Graph, complete, path, ring, star
from dpaudit.algorithms.problems.records import Differing, check_records
from dpaudit.algorithms.problems.regularisers import (
    L1,
    L2,
    apply_soft_threshold,
    elastic_net,
    project_on_ball,
)
from dpaudit.algorithms.problems.schedules import (
    Constant,
    Geometric,
    TableSchedule,
    as_schedule,
    table_of,
)
from dpaudit.algorithms.problems.step_sizes import ConstantStepSize, DecayingStepSize
from dpaudit.algorithms.sharing.algorithm import SharingADMM
from dpaudit.algorithms.sharing.noise import (
    MessageNoise,
    ball_sensitivity,
    compute_published_noise_scale,
    compute_published_sensitivity,
    corollary1_epsilon,
    corollary1_gaussian_epsilon,
    corollary1_optimal_epsilon,
    message_event,
    party_scales,
    theorem1_epsilon,
)
from dpaudit.algorithms.sharing.vertical import Risk
from dpaudit.algorithms.tables import loss as tables_loss
from dpaudit.algorithms.tables.guarantees import (
    compute_published_multiplier as tables_noise,
)
from dpaudit.algorithms.tables.guarantees import (
    label_event,
    model_event,
    theorem2_epsilon,
)
from dpaudit.algorithms.tables.guarantees import theorem1_epsilon as labels_epsilon
from dpaudit.algorithms.views.multistep import LinearMultiStep
from dpaudit.datasets import Dataset
from dpaudit.errors import InvalidArgument, UnknownName, UnsupportedEvent
from dpaudit.guarantees.kinds import GaussianDP
from dpaudit.neighbours import REPLACE_RECORD, Pair

# --- losses and regularisers ----------------------------------------------------------------------

MARGINS = np.array([-3.0, -0.7, 0.2, 0.6, 1.4, 2.5])


@pytest.mark.parametrize("loss", [*margin_losses.LOSSES.values(), margin_losses.SQUARED])
def test_slopes_are_those_of_the_values_and_within_their_range(loss):
    step = 1e-6
    exact = (loss.value(MARGINS + step) - loss.value(MARGINS - step)) / (2 * step)
    assert np.allclose(loss.slope(MARGINS), exact, atol=1e-6)
    low, high = loss.slope_range
    assert np.all((low <= loss.slope(MARGINS)) & (loss.slope(MARGINS) <= high))
    assert loss.lipschitz == max(-low, high)
    far = np.abs(np.diff(loss.slope(np.linspace(-5, 5, 4001)))).max() / (10 / 4000)
    assert far <= loss.curvature * (1 + 1e-6)
    if 0 < loss.curvature < math.inf:
        assert far >= 0.99 * loss.curvature


@pytest.mark.parametrize("loss", [*smooth_losses.SMOOTH_LOSSES.values(), smooth_losses.SQUARED])
def test_curvatures_are_those_of_the_slopes(loss):
    step = 1e-6
    slope = loss.margin.slope
    exact = (slope(MARGINS + step) - slope(MARGINS - step)) / (2 * step)
    assert np.allclose(loss.curvature(MARGINS), exact, atol=1e-6)
    assert loss.curvature(np.linspace(-5, 5, 1001)).max() <= loss.largest_curvature
    assert loss.strictly_convex is bool((loss.curvature(MARGINS) > 0).all())
    assert loss.slope_scale == (1.0 if math.isinf(loss.lipschitz) else loss.lipschitz)


@pytest.mark.parametrize("loss", sample_losses.SAMPLE_LOSSES.values())
@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_derivatives_of_sample_losses_are_those_of_their_values(loss, label):
    z, labels, step = MARGINS, np.full(6, label), 1e-5
    slope, curvature = loss.derivatives(z, labels)
    ahead, behind = (loss.value(z + s, labels) for s in (step, -step))
    assert np.allclose(slope, (ahead - behind) / (2 * step), atol=1e-8)
    one, two = (loss.derivatives(z + s, labels)[0] for s in (step, -step))
    assert np.allclose(curvature, (one - two) / (2 * step), atol=1e-8)
    fine = np.linspace(-6, 6, 20_001)
    curved = loss.derivatives(fine, np.full(len(fine), label))[1]
    low, high = loss.curvature_range
    assert low - 1e-12 <= curved.min()
    assert curved.max() <= high + 1e-12
    assert loss.convex is (low >= 0)
    assert loss.smoothness == max(abs(low), abs(high))
    if math.isfinite(loss.curvature_lipschitz):
        steepest = np.abs(np.diff(curved)).max() / (12 / 20_000)
        assert steepest <= loss.curvature_lipschitz + 1e-6
        assert steepest >= 0.99 * loss.curvature_lipschitz


@pytest.mark.parametrize(
    "called",
    [margin_losses.loss_called, smooth_losses.smooth_loss_called, sample_losses.sample_loss_called],
)
def test_losses_are_known_by_their_names(called):
    assert called("logistic").name == "logistic"
    with pytest.raises(UnknownName, match="loss: got 'log'"):
        called("log")


def test_regularisers_by_hand():
    x = np.array([[3.0, -4.0], [0.0, 1.0]])
    assert L2.value(x).tolist() == [12.5, 0.5]
    assert L1.value(x).tolist() == [7.0, 1.0]
    assert elastic_net(0.25).value(x).tolist() == [0.75 * 12.5 + 0.25 * 7, 0.75 * 0.5 + 0.25]
    assert elastic_net(0.25).gradient(x).tolist() == [[2.5, -3.25], [0.0, 1.0]]
    assert L2.gradient(x).tolist() == x.tolist()
    assert apply_soft_threshold(np.array([3.0, -0.5, -2.0]), 1.0).tolist() == [2.0, 0.0, -1.0]
    assert project_on_ball(x, 1.0) == pytest.approx(np.array([[0.6, -0.8], [0.0, 1.0]]))
    assert project_on_ball(x, None) is x
    assert project_on_ball(np.zeros((1, 2)), 0.5).tolist() == [[0.0, 0.0]]
    for share in (-0.1, 1.1):
        with pytest.raises(InvalidArgument, match="lasso_share"):
            elastic_net(share)
    assert elastic_net(1.0) == L1


# --- schedules, steps, graphs ---------------------------------------------------------------------


def test_schedules_by_hand():
    assert Geometric((2.0, 3.0), 0.5).values(3, 2).tolist() == [[2, 3], [1, 1.5], [0.5, 0.75]]
    assert Geometric(2.0, 1.0).values(1, 3).tolist() == [[2.0, 2.0, 2.0]]
    assert TableSchedule([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]).values(2, 2).tolist() == [
        [1, 2],
        [3, 4],
    ]
    assert as_schedule("x", 0.5) == Constant(0.5)
    assert table_of("x", Constant(2.0), 1, 2).tolist() == [[2.0, 2.0]]
    for schedule, rows, nodes in (
        (Geometric((1.0, 2.0), 1.0), 2, 3),
        (Geometric(1.0, 0.1), 400, 1),
        (Geometric(1.0, 10.0), 400, 1),
        (TableSchedule([[1.0, 2.0]]), 2, 2),
        (TableSchedule([[1.0, 2.0]]), 1, 1),
    ):
        with pytest.raises(InvalidArgument, match=r"^rate\."):
            table_of("rate", schedule, rows, nodes)
    for bad in (0.0, -1.0, True, math.nan):
        with pytest.raises(InvalidArgument):
            as_schedule("x", bad)
    for table in ([[0.0]], [[-1.0]], [[math.inf]], [1.0]):
        with pytest.raises(InvalidArgument, match="table"):
            TableSchedule(table)


def test_step_sizes_by_hand():
    given = {"objective_lipschitz": 3.0, "regulariser_weight": 0.5, "noise": np.array([0.0, 2.0])}
    assert ConstantStepSize(2.0).weights(3, **given).tolist() == [2.0, 2.0]
    share = (3.0 + 0.5 * 4.0) / 2
    exact = [math.sqrt(6) / 4 * share, math.sqrt(6) / 4 * math.hypot(share, 2)]
    assert DecayingStepSize(diameter=4.0).weights(3, **given) == pytest.approx(exact)
    own = DecayingStepSize(diameter=4.0, objective_lipschitz=1.0).weights(3, **given)
    assert own[0] == pytest.approx(math.sqrt(6) / 4 * 0.5)


def test_graphs_by_hand():
    assert complete(4).degrees.tolist() == [3.0] * 4
    assert ring(2).degrees.tolist() == [1.0, 1.0]
    assert ring(4).adjacency[0].tolist() == [0.0, 1.0, 0.0, 1.0]
    assert path(3).degrees.tolist() == [1.0, 2.0, 1.0]
    assert star(4).degrees.tolist() == [3.0, 1.0, 1.0, 1.0]
    assert complete(1).degrees.tolist() == [0.0]
    for nodes, links in ((3, ((0, 1),)), (2, ((0, 0),)), (2, ((0, 2),)), (2, ((0, -1),))):
        with pytest.raises(InvalidArgument, match=r"graph|edge"):
            Graph(nodes, links)


DATA = Dataset([[0.6, 0.0], [0.0, 0.8], [0.5, 0.5]], [1, -1, 1], node_sizes=(1, 2))


def test_the_record_that_differs_is_signed_and_has_its_node():
    pair = Pair(DATA, DATA.with_record(1, np.array([0.3, 0.0]), -1.0), REPLACE_RECORD)
    found = Differing.of(pair)
    assert found.node == 1
    assert found.old.tolist() == [-0.0, -0.8]
    assert found.new.tolist() == [-0.3, -0.0]
    with pytest.raises(InvalidArgument, match="2 nodes"):
        check_records(DATA, 3, "3 nodes")
    with pytest.raises(InvalidArgument):
        check_records(Dataset([[1.1]], [1], node_sizes=(1,)), 1, "1 node")
    with pytest.raises(InvalidArgument):
        check_records(Dataset([[0.5]], [2], node_sizes=(1,)), 1, "1 node")


# --- consensus ------------------------------------------------------------------------------------


def update(**changes):
    given = {
        "loss": smooth_losses.LOGISTIC,
        "loss_weight": 2.0,
        "records": 5,
        "ridge": 0.5,
        "stretch": 3.0,
        "noise_rate": 4.0,
    }
    return NodeUpdate(**given | changes)


def test_constants_of_one_update_by_hand():
    one = update()
    assert one.sensitivity == pytest.approx(2 * 2.0 / (3.0 * 5))
    assert one.log_determinant == pytest.approx(math.log1p(2.0 * 0.25 / 5 / 3.5))
    assert one.minimiser_sensitivity == pytest.approx(2 * 2.0 / 5 / 3.5)
    assert one.published_bound == pytest.approx(2 * 2.0 * (1.4 * 0.25 + 4.0) / (3.0 * 5))
    assert one.pure_bound() == pytest.approx(4.0 * one.sensitivity + one.log_determinant)
    share = 1 / (1 + math.exp(-2.0))
    assert slope_bound(smooth_losses.LOGISTIC, 2.0) == pytest.approx(share)
    assert one.pure_bound(2.0) == pytest.approx(4.0 * one.sensitivity * share + one.log_determinant)
    pp, pvp = one.perturbation(7), one.primal_perturbation(7)
    assert (pp.sensitivity, pp.noise_rate, pp.dimension) == (one.sensitivity, 4.0, 7)
    assert pp.log_determinant == one.log_determinant
    assert (pvp.sensitivity, pvp.noise_rate) == (one.minimiser_sensitivity, 4.0)
    with pytest.raises(InvalidArgument, match="one sign"):
        update(loss=smooth_losses.SQUARED)
    bound = compute_published_update_bound(
        smooth_losses.LOGISTIC,
        loss_weight=2.0,
        records=np.array([5, 10]),
        stretch=np.array(3.0),
        rate=np.array(4.0),
    )
    assert bound[0] == pytest.approx(2 * bound[1])


def test_events_of_runs_are_of_the_iterations_that_release_something():
    updates = [update(noise_rate=float(rate)) for rate in (1, 2, 3, 4, 5)]
    every = run_event("penalty", updates, 3).events
    odd = run_event("recycled", updates, 3).events
    primal = run_event("primal", updates, 3).events
    assert [one.noise_rate for one in every] == [1, 2, 3, 4, 5]
    assert [one.noise_rate for one in odd] == [1, 3, 5]
    assert primal == tuple(one.primal_perturbation(3) for one in updates)
    with pytest.raises(UnsupportedEvent):
        run_event("dual", updates, 3)


def test_updates_of_a_graph_are_node_by_node():
    algorithm = ConsensusADMM(
        graph=star(3),
        iterations=2,
        noise_rate=TableSchedule([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
        penalty=TableSchedule([[1.0, 1.0, 2.0], [3.0, 1.0, 4.0]]),
        regulariser_weight=0.6,
    )
    found = node_updates(algorithm, (10, 20, 30))
    assert [[one.noise_rate for one in node] for node in found] == [[1, 4], [2, 5], [3, 6]]
    assert [[one.stretch for one in node] for node in found] == [[4, 12], [2, 2], [4, 8]]
    assert [node[0].records for node in found] == [10, 20, 30]
    assert found[0][0].ridge == pytest.approx(0.2)
    events = node_events(algorithm.penalty_perturbation(), node_sizes=(10, 20, 30), dimension=2)
    assert [one.events[1].noise_rate for one in events] == [4.0, 5.0, 6.0]
    with pytest.raises(InvalidArgument, match="node_sizes"):
        node_updates(algorithm, (10, 20))


def test_the_law_of_an_update_by_both_hessians():
    rng = np.random.default_rng(0)
    records = rng.normal(size=(4, 3)) / 3
    old, new = records[2], rng.normal(size=3) / 3
    problem = MarginProblem(loss=smooth_losses.LOGISTIC, weight=0.4, curvature=1.7)
    models = rng.normal(size=(5, 3))
    there = records.copy()
    there[2] = new

    def hessian(rows, f):
        curved = smooth_losses.LOGISTIC.curvature(rows @ f)
        return 0.4 * (rows.T * curved) @ rows + 1.7 * np.eye(3)

    exact = [
        np.linalg.slogdet(hessian(records, f))[1] - np.linalg.slogdet(hessian(there, f))[1]
        for f in models
    ]
    found = log_determinant_drop(problem, models, records, old, new)
    assert np.allclose(found, exact)
    here, other = log_determinants(problem, models, records, old, new)
    assert np.allclose(here - other, exact)
    assert np.allclose(here, [np.linalg.slogdet(hessian(records, f))[1] for f in models])
    slope = smooth_losses.LOGISTIC.margin.slope
    shift = 0.4 * (slope(models @ old)[:, None] * old - slope(models @ new)[:, None] * new)
    assert np.allclose(noise_shift(problem, models, old, new), shift)
    gradient = problem.gradient(models, records) - problem.gradient(models, there)
    assert np.allclose(noise_shift(problem, models, old, new), gradient)


@pytest.mark.parametrize(
    ("changes", "holds"),
    [({}, True), ({"penalty_ratio": 0.9}, False), ({"loss": "smoothed-hinge"}, False)],
)
def test_theorem_4_1_answers_under_its_conditions_alone(changes, holds):
    found = publish_theorem41_epsilon(PenaltyPerturbationParameters(iterations=3, **changes), 0.1)
    assert (found.epsilon < math.inf) is holds


# --- multi-step -----------------------------------------------------------------------------------


def multistep(**changes):
    given = {
        "graph": path(2),
        "iterations": 3,
        "inner_steps": 2,
        "noise_multiplier": 4.0,
        "penalty": 0.5,
        "loss": margin_losses.LINEAR,
        "step_size": ConstantStepSize(3.0),
        "regulariser_weight": 0.2,
    }
    return MultiStepADMM(**given | changes)


def test_one_step_of_the_multi_step_algorithm_by_hand():
    algorithm = multistep()
    assert algorithm.sensitivity(DATA, np.full(2, 3.0)).tolist() == [
        2 / (1 + 3.0),
        2 / (1 + 3.0) / 2,
    ]
    first = algorithm.step(algorithm.start(DATA, 1), DATA)
    gradient = np.array([[-0.6, 0.0], [-(0.0 + 0.5) / 2, -(-0.8 + 0.5) / 2]])
    assert np.allclose(first.mean[0], -gradient / 4.0)
    assert first.scale.ravel().tolist() == [4.0 * 0.5, 4.0 * 0.25]
    state = algorithm.advance(algorithm.start(DATA, 1), np.ones((1, 2, 2)))
    second = algorithm.step(state, DATA)
    kept = (3.0 - 0.2 / 2) / 4.0
    assert np.allclose(second.mean[0], kept - gradient / 4.0)
    state = algorithm.advance(state, np.array([[[3.0, 3.0], [5.0, 5.0]]]))
    sent = np.array([[2.0, 2.0], [3.0, 3.0]])  # averages
    assert np.allclose(state.broadcast[0], sent)
    dual = -0.5 / 2 * (sent - sent[::-1])
    assert np.allclose(state.dual[0], dual)
    assert np.allclose(state.pull[0], 2 * dual + 0.5 * (sent + sent[::-1]))
    last = multistep(message="last")
    state = last.advance(last.start(DATA, 1), np.ones((1, 2, 2)))
    state = last.advance(state, np.full((1, 2, 2), 3.0))
    assert np.allclose(state.broadcast, 3.0)


def test_what_multi_step_runs_release_and_what_is_refused():
    assert multistep().event() == GaussianRelease(sensitivity=1.0, noise_scale=4.0, count=6)
    for changes in ({"batch_size": 1}, {"noise_multiplier": 0.0}):
        with pytest.raises(UnsupportedEvent):
            multistep(**changes).event()
    assert final_model(np.arange(8.0).reshape(1, 4, 2, 1))[0].ravel().tolist() == [
        (0 + 2 + 4) / 4,
        (1 + 3 + 5) / 4,
    ]


@pytest.mark.parametrize("message", ["average", "last"])
def test_the_mu_of_what_is_sent_is_that_of_a_plain_gaussian(message):
    """One iteration: noise of both steps, and the change through both, by hand."""
    algorithm = multistep(iterations=1, message=message)
    pair = Pair(DATA, DATA.with_record(0, np.array([-0.6, 0.0]), 1.0), REPLACE_RECORD)
    kept, push = (3.0 - 0.1) / 4.0, 1 / 4.0
    noise = 4.0 * 0.5
    moved = 1.2  # of the gradient
    if message == "average":
        factor, variance = push * (1 + (1 + kept)) / 2, noise**2 * ((1 + kept) ** 2 + 1) / 4
    else:
        factor, variance = push * (1 + kept), noise**2 * (kept**2 + 1)
    assert broadcast_mu(algorithm, pair) == pytest.approx(moved * factor / math.sqrt(variance))
    for changes in ({"loss": margin_losses.LOGISTIC}, {"batch_size": 1}):
        with pytest.raises(InvalidArgument):
            Averages(multistep(**changes))


@pytest.mark.parametrize("message", ["average", "last"])
@pytest.mark.parametrize("inner_steps", [1, 3])
def test_the_mu_of_several_iterations_is_that_of_the_linear_view(message, inner_steps):
    algorithm = multistep(iterations=3, inner_steps=inner_steps, message=message)
    pair = Pair(DATA, DATA.with_record(1, np.array([0.3, 0.0]), 1.0), REPLACE_RECORD)
    linear = LinearMultiStep(algorithm)
    here, there = (linear.data(one) for one in (pair.dataset, pair.neighbour))
    network = linear.network(DATA)
    exact = network.view(network.eavesdropper(), tuple(there - here)).mu
    assert broadcast_mu(algorithm, pair) == pytest.approx(exact.upper, rel=1e-9)


def test_formulas_of_theorem_6():
    exact = 1.5 * math.sqrt(2 * 9 * math.log(1.25 / 1e-3)) / 7.0
    assert theorem6_epsilon(
        noise_multiplier=7.0, steps=9, delta=1e-3, constant=1.5
    ) == pytest.approx(exact)
    assert theorem6_epsilon(noise_multiplier=7.0, steps=9, delta=0.0) == math.inf
    assert theorem6_epsilon(noise_multiplier=7.0, steps=0, delta=1e-3) == 0.0
    assert compute_theorem6_multiplier(exact, 1e-3, 9, 1.5) == pytest.approx(7.0)
    limit = theorem6_holds_up_to(1e-3)
    unit = math.sqrt(2 * math.log(1.25 / 1e-3))
    assert GaussianDP(limit / unit).epsilon(1e-3) == pytest.approx(limit)
    assert theorem4_constant(1e-3) == pytest.approx(math.sqrt(math.log(1e3) / math.log(1.25e3)))
    assert chosen_constant(1e-3, 1.0, of_proof=True) == theorem4_constant(1e-3)
    assert chosen_constant(1e-3, 1.0, of_proof=False) == 1.0
    with pytest.raises(InvalidArgument, match="c0"):
        chosen_constant(1e-3, 2.0, of_proof=True)


# --- sharing and tables ---------------------------------------------------------------------------


def test_formulas_of_sharing():
    assert compute_published_sensitivity(
        features=4,
        parties=3,
        penalty=0.5,
        regulariser_weight=0.2,
        regulariser_curvature=2.0,
        bound=1.5,
    ) == pytest.approx(3 / (4 * 0.5) * (0.4 + (1 + 1.5) * 1.5))
    sigma = compute_published_noise_scale(0.5, 1e-3, 2.0)
    assert sigma == pytest.approx(math.sqrt(2 * math.log(1.25e3)) * 2.0 / 0.5)
    one = {"sensitivity": 2.0, "noise_scale": sigma}
    assert theorem1_epsilon(**one, delta=1e-3) == pytest.approx(0.5)
    assert theorem1_epsilon(**one, delta=0.0) == math.inf
    near = compute_published_noise_scale(1.0, 1e-3, 2.0)
    least = {"sensitivity": 2.0, "noise_scale": near}
    assert theorem1_epsilon(**least | {"noise_scale": near * 1.001}, delta=1e-3) <= 1
    assert theorem1_epsilon(**least | {"noise_scale": near * 0.999}, delta=1e-3) == math.inf
    assert message_event(**one, iterations=9).count == 8
    assert message_event(**one, iterations=1).count == 0
    assert ball_sensitivity(spectral_norm=3.0, radius=0.25) == 1.5
    with pytest.raises(InvalidArgument, match="one for each"):
        party_scales(MessageNoise((1.0, 2.0)), 3)
    assert party_scales(MessageNoise((1.0, 2.0)), 2).tolist() == [1.0, 2.0]


def test_labels_of_a_shared_run_are_public_and_those_of_the_run():
    risk = Risk(loss=sample_losses.SQUARED, scaling="sum", regulariser_weight=1.0)
    sharing = SharingADMM(block_sizes=(1, 1), iterations=2, risk=risk, noise=MessageNoise(1.0))
    same = Dataset(DATA.features, DATA.labels.copy(), node_sizes=(1, 2))
    other = Dataset(DATA.features, -DATA.labels, node_sizes=(1, 2))
    state = sharing.start(DATA, 1)
    assert np.allclose(sharing.step(state, same).mean, 0)
    with pytest.raises(InvalidArgument, match="labels"):
        sharing.step(state, other)


def test_targets_of_margins_are_probabilities():
    encoded = tables_loss.LOGISTIC.encode(np.array([-1.0, 1.0]))
    assert tables_loss.LOGISTIC.targets(encoded).ravel().tolist() == [0.0, 1.0]
    three = tables_loss.CrossEntropy(3)
    assert three.targets(three.encode(np.array([2.0]))).tolist() == [[0.0, 0.0, 1.0]]


def test_corollary_1_splits_delta_in_halves():
    run = {"sensitivity": 1.0, "noise_scale": 80.0, "iterations": 10, "delta": 1e-4}
    share = 1e-4 / 20
    epsilon = math.sqrt(2 * math.log(1.25 / share)) / 80
    root = math.sqrt(2 * 10 * math.log(1 / 5e-5)) * epsilon
    assert corollary1_epsilon(**run) == pytest.approx(root + 10 * epsilon * math.expm1(epsilon))
    assert corollary1_optimal_epsilon(**run) < corollary1_epsilon(**run)
    exact = GaussianDP(math.sqrt(10) / 80).epsilon(1e-4)
    assert corollary1_gaussian_epsilon(**run) == pytest.approx(exact)
    assert corollary1_epsilon(**run | {"noise_scale": 1.0}) == math.inf


def test_formulas_of_tables():
    assert label_event(deviation=math.sqrt(8)) == LaplaceRelease(
        sensitivity=1.0, noise_scale=math.sqrt(8) / math.sqrt(2), count=2
    )
    sign = label_event(deviation=1.0, encoding="sign")
    assert (sign.sensitivity, sign.count) == (2.0, 1)
    assert labels_epsilon(0.5) == pytest.approx(4 * math.sqrt(2))
    run = {"iterations": 4, "local_steps": 3, "noise_multiplier": 20.0}
    owner, others = model_event(**run, joined=(3, 4)).events
    assert (owner.sensitivity, owner.count) == (2.0, 12)
    assert (others.sensitivity, others.count) == (10.0, 9)
    with pytest.raises(UnsupportedEvent):
        model_event(**run, joined=(), sampling_ratio=0.5)
    given = {"sampling_ratio": 0.5, "first_constant": 2.0, "second_constant": 3.0}
    exact = 3.0 * 0.5 * math.sqrt(100 * math.log(1e3)) / 10
    assert theorem2_epsilon(noise_multiplier=10.0, steps=100, delta=1e-3, **given) == pytest.approx(
        exact
    )
    assert theorem2_epsilon(noise_multiplier=0.5, steps=100, delta=1e-3, **given) == math.inf
    assert theorem2_epsilon(noise_multiplier=10.0, steps=100, delta=0.0, **given) == math.inf
    assert tables_noise(
        epsilon=exact, delta=1e-3, steps=100, sampling_ratio=0.5, second_constant=3.0
    ) == pytest.approx(10.0)


# --- known answers --------------------------------------------------------------------------------


class Three:
    """Three outcomes, of which one is never seen on the neighbour and one on neither."""

    def __init__(self, p, q):
        self.p, self.q = p, q

    def pair(self):
        return SimpleNamespace(dataset=self.p, neighbour=self.q)

    def law(self, dataset):
        return FiniteLaw(np.array([[0.0], [1.0], [2.0]]), np.array(dataset))


def test_losses_of_finitely_many_outcomes():
    both = Three([0.2, 0.8, 0.0], [0.6, 0.4, 0.0])
    _, loss = compute_outcome_losses(both)
    assert loss == pytest.approx([math.log(1 / 3), math.log(2), 0.0])
    assert best_event(both) == pytest.approx(math.log(3))
    assert log_ratio(both, np.array([[1.0], [0.0]])) == pytest.approx([math.log(2), -math.log(3)])
    assert best_event(Three([0.5, 0.5, 0.0], [1.0, 0.0, 0.0])) == math.inf
    assert best_event(Three([1.0, 0.0, 0.0], [0.5, 0.5, 0.0])) == math.inf
    answer = RandomisedResponse(epsilon=0.7)
    assert best_event(answer) == pytest.approx(0.7)
    assert answer.law(np.array([1.0])).probabilities[1] == pytest.approx(1 / (1 + math.exp(-0.7)))


def test_laplace_by_hand():
    x = np.array([-2.0, 0.0, 3.0])
    assert laplace_cdf(x, 0.5) == pytest.approx([math.exp(-1) / 2, 0.5, 1 - math.exp(-1.5) / 2])
    assert laplace_cdf(x, math.inf).tolist() == [0.0, 0.5, 1.0]
    assert laplace_density(x, 0.5) == pytest.approx([math.exp(-1) / 4, 0.25, math.exp(-1.5) / 4])
    rows = np.array([[0.0, 5.0], [2.0, -1.0]])
    assert laplace_loss(rows, 0.0, np.array([1.0, 0.0]), 2.0).tolist() == [2.0, -2.0]
    nodes, weights = build_kink_quadrature([0.0, 1.0], 0.5, 2.0)
    assert weights @ np.exp(-0.5 * np.abs(nodes)) == pytest.approx(4.0, rel=1e-12)
    ends = split_real_line([0.0, 1.0], 0.5, 2.0)
    assert 0.0 in ends
    assert 1.0 in ends
    assert (ends[0], ends[-1]) == (-90.0, 91.0)
    assert np.diff(ends).max() <= 1.0 + 1e-12

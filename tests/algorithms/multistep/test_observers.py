"""Observers who see no inner model: what is proved, what is measured, and releases by name."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaudit.algorithms.multistep.algorithm import FinalView, final_model
from dpaudit.algorithms.multistep.averages import broadcast_mu
from dpaudit.algorithms.multistep.claims.broadcast import (
    CLAIM,
    STIFF,
    Broadcast,
    prepare_broadcast_audit,
)
from dpaudit.algorithms.multistep.final import final_mu, final_pair_mu
from dpaudit.algorithms.multistep.hidden_state import ROUNDING, InnerLoops, averages_mu
from dpaudit.algorithms.multistep.releases import (
    ObservedModels,
    SmoothObservedModels,
    final_models,
    last_models,
    make_averages_event,
)
from dpaudit.algorithms.problems.losses import LOSSES
from dpaudit.auditing import audit_claim
from dpaudit.errors import InvalidArgument
from dpaudit.extension.settings import Settings

from .affine import figure_1

QUESTION = "huang2020-broadcast"
FINAL = {"view": "final", "iterations": 50, "inner_steps": 10}


def epsilons(parameters, **settings):
    """Return what is claimed, proved and exact on the pair."""
    case = prepare_broadcast_audit(Settings(**settings), Broadcast(**parameters))
    ceiling = case.pair_ceiling.guarantee.epsilon(case.at_delta)
    return case.claimed.epsilon(case.at_delta), case.proved.guarantee.epsilon(1e-5), ceiling


def test_last_models_where_nodes_are_stiff_are_half_as_much_again_below_composition():
    """2 rho |V| = 0.8 is above eta = 0.5, as was stated beforehand."""
    composed, proved, exact = epsilons(STIFF | {"view": "last"})
    assert composed > 2.2 * proved
    assert exact == pytest.approx(proved, rel=1e-6)  # linear losses attain it
    _, of_logistic, _ = epsilons(STIFF | {"view": "last", "loss": "logistic"})
    assert of_logistic == pytest.approx(proved, rel=1e-3)


def test_final_models_of_five_nodes_are_three_times_below_composition():
    composed, proved, exact = epsilons(FINAL)
    assert composed > 3 * proved
    assert exact == pytest.approx(proved, rel=1e-6)


def test_averages_gain_little():
    composed, proved, exact = epsilons({})
    assert proved < composed < 1.1 * proved
    assert exact == pytest.approx(proved, rel=1e-3)


@pytest.mark.parametrize(
    ("parameters", "trials"),
    [(STIFF | {"view": "last"}, 1_000), (FINAL | {"iterations": 10}, 1_000), ({}, 500)],
    ids=["last", "final", "averages"],
)
def test_what_is_measured_is_at_most_15_percent_below_what_is_proved(parameters, trials):
    found = audit_claim(QUESTION, Settings(trials=trials, parameters=parameters))
    assert found.verdict == "proved"
    assert all(check.passed for check in found.self_checks)
    proved = found.proved.epsilon
    assert 0.85 * proved < found.measured.lower <= proved * (1 + 1e-9)


@pytest.mark.parametrize("view", ["last", "final"])
def test_a_bound_below_what_is_leaked_is_refuted(view):
    parameters = {"nodes": 2, "iterations": 2, "inner_steps": 3, "view": view}
    composed, _, exact = epsilons(parameters)
    asked = parameters | {"factor": 0.9 * exact / composed}
    assert audit_claim(QUESTION, Settings(trials=1_000, parameters=asked)).verdict == "refuted"


@given(
    st.integers(0, 10**6),
    st.sampled_from(["broadcast", "last", "final"]),
    st.sampled_from(["complete", "ring", "star"]),
)
def test_no_pair_of_linear_losses_is_above_what_is_proved(seed, view, graph):
    rng = np.random.default_rng(seed)
    given_ = Broadcast(
        view=view,
        graph=graph,
        nodes=int(rng.integers(2, 5)),
        iterations=int(rng.integers(1, 4)),
        inner_steps=int(rng.integers(2, 5)),
        penalty=float(rng.uniform(0.01, 2)),
        step_size=float(rng.uniform(0.01, 3)),
        regulariser_weight=float(rng.uniform(0, 1)),
    )
    case = prepare_broadcast_audit(Settings(seed=seed), given_)
    algorithm, data = given_.algorithm(Settings(seed=seed)), case.pair.dataset
    index = int(rng.integers(len(data.labels)))
    record = rng.standard_normal(data.dimension)
    other = data.with_record(index, record / np.linalg.norm(record), -1.0)
    mu = final_pair_mu if view == "final" else broadcast_mu
    seen = mu(algorithm, type(case.pair)(data, other, case.pair.relation))
    assert seen <= case.proved.guarantee.mu * (1 + 1e-9)


def test_losses_with_a_kink_have_composition_alone():
    case = prepare_broadcast_audit(Settings(), Broadcast(view="last", loss="hinge"))
    assert case.proved.guarantee.epsilon(1e-5) == pytest.approx(case.claimed.epsilon(1e-5))
    assert "composition" in case.proved.source
    case = prepare_broadcast_audit(Settings(), Broadcast(view="final", loss="logistic"))
    assert case.proved.guarantee.epsilon(1e-5) == pytest.approx(case.claimed.epsilon(1e-5))
    assert isinstance(case.mechanism, FinalView)


def test_the_view_of_final_models_is_equation_22():
    given_ = Broadcast(view="final", loss="logistic", iterations=2, inner_steps=2, nodes=2)
    case = prepare_broadcast_audit(Settings(), given_)
    inner = given_.algorithm(Settings()).inner()
    drawn = inner.sample(case.pair.dataset, 3, np.random.default_rng(0))
    seen = case.mechanism.sample(case.pair.dataset, 3, np.random.default_rng(0))
    assert seen == pytest.approx(final_model(drawn))


@pytest.mark.parametrize("name", LOSSES)
def test_curvature_bounds_every_difference_of_slopes(name):
    loss, margins = LOSSES[name], np.linspace(-30, 30, 60_001)
    steepest = float(np.abs(np.diff(loss.slope(margins)) / np.diff(margins)).max())
    assert steepest <= loss.curvature * (1 + 1e-9)
    if math.isfinite(loss.curvature):
        assert steepest >= 0.999 * loss.curvature


# Releases


def same(**given):
    return {"iterations": 3, "inner_steps": 4, "records": 2, "nodes": 3, **given}


@pytest.mark.parametrize("graph", ["complete", "ring", "star"])
def test_releases_are_the_mu_of_the_node_that_leaks_most(graph):
    """The audit's own parameters, with the noise of the release."""
    asked = Broadcast(graph=graph, nodes=3, iterations=3, inner_steps=4)
    case = prepare_broadcast_audit(Settings(), asked)
    algorithm, data = asked.algorithm(Settings()), case.pair.dataset
    given_ = ObservedModels(
        **same(graph=graph, noise_multiplier=algorithm.noise_multiplier, diameter=10.0),
        dimension=data.dimension,
    ).model_copy(update={"records": data.node_sizes[0]})
    assert len(set(data.node_sizes)) == 1
    proved = case.proved.guarantee.mu
    assert 1 / make_averages_event(given_).noise_scale == pytest.approx(proved, rel=1e-12)
    final = prepare_broadcast_audit(
        Settings(), asked.model_copy(update={"view": "final"})
    ).proved.guarantee.mu
    assert 1 / final_models(given_).noise_scale == pytest.approx(final, rel=1e-12)


@pytest.mark.parametrize("curvature", [0.0, 0.3, 2.0])
def test_releases_of_quadratic_losses_are_their_exact_laws(curvature):
    algorithm, sizes = figure_1(nodes=3)
    given_ = ObservedModels(
        iterations=50, noise_multiplier=algorithm.noise_multiplier, nodes=3, penalty=0.001,
        records=sizes.node_sizes[0], curvature=curvature,
    )  # fmt: skip
    eigenvalue = curvature + 1e-4 / 3
    loops = InnerLoops.of(algorithm, sizes, 0)
    for release, exact in (
        (make_averages_event, averages_mu(loops, eigenvalue)),
        (final_models, final_mu(algorithm, sizes, 0, eigenvalue)),
    ):
        found = 1 / release(given_).noise_scale
        assert exact < found <= exact * (1 + 1.01 * ROUNDING)


def test_a_smoother_loss_and_more_noise_release_less():
    one = SmoothObservedModels(**same(step_size=0.5))
    rough = one.model_copy(update={"smoothness": 3.0})
    noisier = one.model_copy(update={"noise_multiplier": 300.0})
    assert last_models(one).noise_scale > last_models(rough).noise_scale
    assert last_models(noisier).noise_scale == pytest.approx(2 * last_models(one).noise_scale)


def test_nothing_is_released_of_one_step():
    given_ = ObservedModels(**same(inner_steps=1) | {"iterations": 1})
    assert final_models(given_).count == 0
    assert 1 / make_averages_event(given_).noise_scale == pytest.approx(1 / 150)


def test_the_statement_says_that_it_is_a_question():
    assert CLAIM.question
    with pytest.raises(InvalidArgument, match=r"^batch_size: "):
        prepare_broadcast_audit(Settings(), Broadcast(view="final", batch_size=1))

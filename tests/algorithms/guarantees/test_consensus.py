"""Consensus ADMM: the derivation piece by piece, events from configurations, refusals."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaudit.accounting.events import ExponentialNormRelease, get_releases
from dpaudit.accounting.grid.numerical import numerical_epsilon
from dpaudit.accounting.strongest_guarantee import bound_worst_proved_epsilon, proved_guarantee
from dpaudit.algorithms.consensus import releases as parameters
from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.consensus.guarantees import (
    NodeUpdate,
    node_events,
    node_updates,
    run_event,
    slope_bound,
)
from dpaudit.algorithms.consensus.law import log_determinant_drop, noise_behind
from dpaudit.algorithms.consensus.releases import node_updates as updates_of
from dpaudit.algorithms.problems.graphs import complete, ring, star
from dpaudit.algorithms.problems.losses import ABSOLUTE
from dpaudit.algorithms.problems.records import Differing
from dpaudit.algorithms.problems.schedules import Constant, Geometric
from dpaudit.algorithms.problems.smooth_losses import LINEAR, LOGISTIC, SMOOTHED_HINGE, SmoothLoss
from dpaudit.datasets import Dataset
from dpaudit.errors import InvalidArgument, UnsupportedEvent
from dpaudit.laws.exponential_norm import norm_gain
from dpaudit.neighbours import REPLACE_RECORD, Pair

from .runs import algorithm, neighbours, unit

SETTINGS = [(loss, d) for loss in (LOGISTIC, SMOOTHED_HINGE, LINEAR) for d in (2, 5, 20)]


def update(**options):
    usual = {
        "loss": LOGISTIC,
        "loss_weight": 1.0,
        "records": 10,
        "ridge": 0.5,
        "stretch": 2.0,
        "noise_rate": 3.0,
    }
    return NodeUpdate(**usual | options)


# The determinant


@given(
    st.integers(1, 6),
    st.floats(0.01, 10),
    st.floats(0, 50),
    st.floats(0, 50),
    st.integers(0, 2**32 - 1),
)
def test_the_determinants_differ_by_at_most_the_bound(d, q, c_u, c_w, seed):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((d, d)) * rng.exponential()
    shared = root @ root.T + q * np.eye(d)
    u, w = (unit(rng.standard_normal(d)) * rng.random() ** 0.2 for _ in range(2))
    logs = [np.linalg.slogdet(shared + c * np.outer(x, x))[1] for c, x in ((c_u, u), (c_w, w))]
    assert abs(logs[0] - logs[1]) <= math.log1p(max(c_u, c_w) / q) + 1e-9


@pytest.mark.parametrize(("old", "new"), [([1.0, 0.0], [0.0, 0.0]), ([0.0, 0.0], [0.0, 1.0])])
def test_the_bound_on_the_determinants_is_attained(old, new):
    run = algorithm(LOGISTIC, 2, 1)
    data = Dataset([old, [1.0, 0.0]], [1, 1], node_sizes=(1, 1))
    problem, old, new = run.problem(data, 1, 0), np.array(old), np.array(new)
    drop = log_determinant_drop(problem, np.zeros((1, 2)), old[None], old, new)[0]
    bound = node_updates(run, (1, 1))[0][0].log_determinant
    assert abs(drop) == pytest.approx(bound, rel=1e-12)


def test_the_bound_is_below_the_design_s_and_the_paper_s():
    for records in (1, 2, 10, 1000):
        one = update(records=records)
        share = one.loss.largest_curvature / (records * (one.ridge + one.stretch))
        assert one.log_determinant < -math.log1p(-share) < -2 * math.log1p(-share)
        published = 1.4 * one.loss.largest_curvature / (one.stretch / 2 * records)
        assert 2.8 * one.log_determinant < published


# The shift and the corners, output by output


def pointwise(loss, dimension):
    """Yield, for pairs and real outputs, the loss, j, and the losses of the three corners."""
    rng = np.random.default_rng(11)
    run = algorithm(loss, dimension, 1)
    data = neighbours(dimension, 3, rng)
    bound = node_updates(run, data[0].node_sizes)[0][0]
    mechanism, kappa = run.penalty_perturbation(), bound.sensitivity / 2
    for i, j in ((0, 1), (1, 0), (0, 7), (5, 6), (4, 0), (2, 3)):
        pair = Pair(data[i], data[j], REPLACE_RECORD)
        outputs = mechanism.sample(data[i], 300, rng)
        record, state = Differing.of(pair), run.start(data[i], 300)
        problem, own = run.problem(data[i], 1, 0), data[i].signed_records[:3]
        stretch = float(run.stretch[0, 0])
        noise = noise_behind(problem, outputs[:, 0, 0], run.pull(state)[:, 0], own) / stretch
        corners = [
            bound.noise_rate * norm_gain(noise, kappa * shift)
            for shift in (-record.old, record.new, record.new - record.old)
        ]
        doubled = [
            bound.noise_rate * norm_gain(noise, 2 * kappa * shift)
            for shift in (-record.old, record.new)
        ]
        yield mechanism.privacy_loss(outputs, pair), bound.log_determinant, corners, doubled


@pytest.mark.parametrize(("loss", "dimension"), SETTINGS)
def test_every_loss_is_below_the_worst_corner(loss, dimension):
    for losses, j, corners, _ in pointwise(loss, dimension):
        assert (losses <= j + np.maximum(0, np.max(corners, axis=0)) + 1e-9).all()


@pytest.mark.parametrize(("loss", "dimension"), SETTINGS)
def test_every_loss_is_below_the_mean_of_two_full_shifts(loss, dimension):
    """Convexity again: e + p u + q w is midway between e + 2 p u and e + 2 q w."""
    for losses, j, _, doubled in pointwise(loss, dimension):
        mean = sum(np.maximum(0, each) for each in doubled) / 2
        assert (losses <= j + mean + 1e-9).all()


def test_the_far_corner_is_needed():
    """The slopes of the linear loss are those of the far corner."""
    over = []
    for losses, j, corners, _ in pointwise(LINEAR, 2):
        over.append((losses - j - np.maximum(0, np.max(corners[:2], axis=0))).max())
    assert max(over) > 0.1


def test_an_output_has_the_largest_loss():
    """The smoothed hinge attains alpha s + j: slopes -1 and curvatures 1 and 0 at ``u'f = 0+``."""
    u = np.array([1.0, 0.0])
    data = Dataset([u, -u, -u, -u, u], np.ones(5), node_sizes=(4, 1))
    pair = Pair(data, data.with_record(0, -u, 1.0), REPLACE_RECORD)
    run = algorithm(SMOOTHED_HINGE, 2, 1)
    output = np.zeros((1, 1, 2, 2))
    output[..., 0] = 1e-9
    found = run.penalty_perturbation().privacy_loss(output, pair)[0]
    bound = node_updates(run, data.node_sizes)[0][0]
    assert found == pytest.approx(bound.pure_bound(), rel=1e-7)
    assert found <= proved_guarantee(bound.perturbation(2)).epsilon(0.0)
    without = replace(bound.perturbation(2), log_determinant=0.0)
    assert found > proved_guarantee(without).epsilon(0.0) + 0.5  # j = 0 is refuted


@pytest.mark.parametrize("loss", [LOGISTIC, SMOOTHED_HINGE, LINEAR], ids=lambda loss: loss.name)
def test_the_bound_on_slopes_holds_and_is_attained(loss):
    for radius in (0.0, 0.5, 3.0, math.inf):
        margins = np.linspace(-min(radius, 40.0), min(radius, 40.0), 2001)
        most = np.abs(loss.margin.slope(margins)).max()
        assert most == pytest.approx(slope_bound(loss, radius), rel=1e-12)
    assert slope_bound(LOGISTIC, 2.0) == pytest.approx(1 / (1 + math.exp(-2)), rel=1e-14)


def test_losses_of_short_outputs_are_below_their_bound():
    rng = np.random.default_rng(5)
    run, data = algorithm(LOGISTIC, 2, 1), neighbours(2, 3, rng)
    bound = node_updates(run, (3, 3))[0][0]
    outputs = rng.uniform(-0.7, 0.7, (4000, 1, 2, 2))
    pair = Pair(data[0], data[7], REPLACE_RECORD)
    losses = run.penalty_perturbation().privacy_loss(outputs, pair)
    assert losses.max() <= bound.pure_bound(radius=1.0) < bound.pure_bound()


# Events from configurations


@pytest.mark.slow
def test_less_noise_is_never_more_private():
    for mechanism in ("penalty", "primal", "recycled"):
        found = []
        for rate in (0.5, 1.0, 2.0, 4.0):
            given = parameters.PenaltyPerturbationParameters(noise_rate=rate, iterations=6)
            event = run_event(mechanism, updates_of(given), 104)
            found.append(numerical_epsilon(event, 1e-5, 2**10).upper)
        assert found == sorted(found)


def test_dvp_is_pp_with_the_dual_step_as_penalty():
    run = ConsensusADMM(
        graph=complete(3), iterations=4, penalty=Geometric(0.7, 1.1), noise_rate=Constant(2.0)
    )
    sizes = {"node_sizes": (5, 6, 7), "dimension": 3}
    dvp = node_events(run.dual_variable_perturbation(), **sizes)
    same = node_events(replace(run, penalty=Constant(0.5)).penalty_perturbation(), **sizes)
    assert dvp == same != node_events(run.penalty_perturbation(), **sizes)
    assert [part.count for part in get_releases(dvp[0])] == [4]


@pytest.mark.slow
def test_the_worst_node_has_few_records_and_neighbours():
    run = ConsensusADMM(graph=star(4), iterations=3, noise_rate=Constant(2.0))
    events = node_events(run.penalty_perturbation(), node_sizes=(9, 9, 4, 9), dimension=5)
    found = [proved_guarantee(event).epsilon(1e-3) for event in events]
    assert found[0] < found[1] == found[3] < found[2] == bound_worst_proved_epsilon(events, 1e-3)


def test_recycling_releases_odd_iterations_only():
    run = ConsensusADMM(
        graph=ring(2), iterations=5, penalty=Geometric(0.5, 1.2), noise_rate=Constant(2.0)
    )
    sizes = {"node_sizes": (3, 3), "dimension": 2}
    all_of, odd = (
        node_events(m, **sizes)[0].events for m in (run.penalty_perturbation(), run.recycled())
    )
    assert odd == all_of[::2]


def test_primal_perturbation_has_no_determinant():
    run = ConsensusADMM(graph=ring(2), iterations=1, noise_rate=Constant(2.0))
    (release,) = node_events(run.primal_perturbation(), node_sizes=(4, 8), dimension=2)[0].events
    sensitivity = 2 / (4 * (1e-2 / 2 + 1.0))
    assert release.sensitivity == pytest.approx(sensitivity, rel=1e-14)
    expected = ExponentialNormRelease(sensitivity=1.0, noise_rate=2.0, dimension=2)
    assert replace(release, sensitivity=1.0) == expected


def test_an_event_carries_its_constants():
    one = update().perturbation(7)
    assert (one.sensitivity, one.noise_rate, one.dimension) == (0.1, 3.0, 7)
    assert one.log_determinant == pytest.approx(math.log(1 + 0.25 / 10 / 2.5), rel=1e-13)


# Refusals


def test_slopes_of_both_signs_are_refused():
    absolute = SmoothLoss(ABSOLUTE, np.zeros_like, 0.0)
    with pytest.raises(InvalidArgument, match=r"^loss: got absolute with slopes in \[-1, 1\]"):
        update(loss=absolute)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"records": 0}, "records: got 0"),
        ({"stretch": 0.0}, "stretch: got 0.0"),
        ({"noise_rate": -1.0}, "noise_rate: got -1.0"),
        ({"ridge": -1.0}, "ridge: got -1.0"),
        ({"loss_weight": math.nan}, "loss_weight: got nan"),
    ],
)
def test_bad_constants_are_refused(options, message):
    with pytest.raises(InvalidArgument, match=f"^{message}"):
        update(**options)


def test_what_no_theorem_covers_is_refused():
    run = ConsensusADMM(graph=ring(2), iterations=1, noise_rate=Constant(2.0))
    with pytest.raises(InvalidArgument, match=r"^node_sizes: got 3 sizes"):
        node_events(run.penalty_perturbation(), node_sizes=(1, 2, 3), dimension=2)
    with pytest.raises(InvalidArgument, match=r"^noise_rate: got None"):
        node_events(run.without_noise().recycled(), node_sizes=(1, 2), dimension=2)
    with pytest.raises(UnsupportedEvent, match=r"^event: got secondary"):
        run_event("secondary", [update()], 2)
    foreign = replace(run.penalty_perturbation(), algorithm=object())
    with pytest.raises(UnsupportedEvent, match=r"^event: got a process of type object"):
        node_events(foreign, node_sizes=(1, 2), dimension=2)

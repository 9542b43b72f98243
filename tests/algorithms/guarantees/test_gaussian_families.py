"""Multi-step DP-ADMM, ADMM sharing and joined tables: events against laws, formulas by hand."""

import math

import mpmath
import numpy as np
import pytest

from dpaudit.accounting.composition import gaussian_guarantee
from dpaudit.accounting.grid.numerical import numerical_delta, numerical_epsilon
from dpaudit.algorithms.multistep import guarantees as multistep
from dpaudit.algorithms.sharing import noise as sharing
from dpaudit.algorithms.sharing.algorithm import SharingADMM
from dpaudit.algorithms.sharing.noise import MessageNoise
from dpaudit.algorithms.tables import guarantees as tables
from dpaudit.algorithms.tables.algorithm import TablesADMM
from dpaudit.algorithms.tables.clients import LocalSGD
from dpaudit.algorithms.tables.joined_tables import JoinedTables
from dpaudit.algorithms.tables.labels import LabelRelease
from dpaudit.algorithms.tables.loss import LOGISTIC, CrossEntropy
from dpaudit.datasets import Dataset
from dpaudit.errors import InvalidArgument, UnsupportedEvent
from dpaudit.neighbours import REPLACE_COLUMN, REPLACE_LABEL, REPLACE_TUPLE, Pair

from .runs import lower_bound, payoffs

# Theorem 6 of Huang & Gong


def test_theorem_6_by_hand():
    """sqrt(2 * 1000 * ln(125000)) / 150 = sqrt(2000 * 11.736069) / 150 = 153.2062 / 150."""
    found = multistep.theorem6_epsilon(noise_multiplier=150.0, steps=1000, delta=1e-5)
    assert found == pytest.approx(153.2062 / 150, rel=1e-6)
    assert multistep.theorem6_epsilon(noise_multiplier=1.0, steps=1, delta=0.0) == math.inf


@pytest.mark.parametrize(("delta", "constant"), [(1e-5, 1.0), (1e-3, 1.0), (1e-5, 0.99)])
def test_theorem_6_is_true_up_to_its_limit(delta, constant):
    limit = multistep.theorem6_holds_up_to(delta, constant)
    with mpmath.workdps(50):
        unit = constant * mpmath.sqrt(2 * mpmath.log(mpmath.mpf(1.25) / delta))

        def exact(epsilon):
            mu = mpmath.mpf(epsilon) / unit
            below, beyond = (mpmath.ncdf(-epsilon / mu + sign * mu / 2) for sign in (1, -1))
            return below - mpmath.exp(epsilon) * beyond

        assert exact(limit * 0.999) < delta < exact(limit * 1.001)


def test_the_constant_of_theorem_4_breaks_earlier():
    lower = multistep.theorem6_holds_up_to(1e-5, multistep.theorem4_constant(1e-5))
    assert lower < multistep.theorem6_holds_up_to(1e-5)
    assert multistep.theorem6_holds_up_to(1e-5, 1e-6) == 0.0
    assert multistep.theorem6_holds_up_to(1e-5, 1e9) == math.inf


# Theorem 1 and Corollary 1 of hu2020


def test_corollary_1_by_hand():
    """delta 1e-5 in halves: 2.5e-7 for each of 20 iterations, 5e-6 for delta'."""
    run = {"sensitivity": 1.0, "noise_scale": 50.0}
    one = 5.554267 / 50  # sqrt(2 ln(1.25 / 2.5e-7)) = sqrt(2 ln 5e6)
    assert sharing.theorem1_epsilon(**run, delta=2.5e-7) == pytest.approx(one, rel=1e-6)
    total = math.sqrt(40 * math.log(2e5)) * one + 20 * one * (math.exp(one) - 1)
    found = sharing.corollary1_epsilon(**run, iterations=20, delta=1e-5)
    assert found == pytest.approx(total, rel=1e-6)


@pytest.mark.parametrize(("iterations", "scale"), [(1, 10.0), (20, 50.0), (200, 400.0)])
def test_each_accountant_improves_on_the_one_before(iterations, scale):
    run = {"sensitivity": 1.0, "noise_scale": scale, "iterations": iterations, "delta": 1e-5}
    assert (
        sharing.corollary1_gaussian_epsilon(**run)
        < sharing.corollary1_optimal_epsilon(**run)
        < sharing.corollary1_epsilon(**run)
    )


def test_theorem_1_has_no_answer_beyond_epsilon_1():
    run = {"sensitivity": 1.0, "noise_scale": 3.0, "delta": 1e-5}
    assert sharing.theorem1_epsilon(**run) == math.inf
    assert sharing.corollary1_epsilon(**run, iterations=2) == math.inf
    assert sharing.corollary1_optimal_epsilon(**run, iterations=2) == math.inf
    assert sharing.corollary1_gaussian_epsilon(**run, iterations=2) < math.inf


def test_messages_in_a_ball_have_the_event_s_law():
    rng = np.random.default_rng(0)
    features = rng.standard_normal((12, 3)) / 2
    data = Dataset(features, rng.choice([-1.0, 1.0], 12))
    moved = features.copy()
    moved[:, 1] *= -1
    pair = Pair(data, Dataset(moved, data.labels), REPLACE_COLUMN)
    run = SharingADMM(block_sizes=(2, 1), iterations=4, noise=MessageNoise(0.7), radius=0.3)
    norm = max(np.linalg.norm(d.features[:, :2], 2) for d in (pair.dataset, pair.neighbour))
    event = sharing.message_event(
        sensitivity=sharing.ball_sensitivity(spectral_norm=norm, radius=0.3),
        noise_scale=0.7,
        iterations=4,
    )
    mu = gaussian_guarantee(event).mu
    assert run.squared_shift_bounds(pair)[1] == pytest.approx(mu**2, rel=1e-9)
    losses = run.messages().privacy_loss(run.messages().sample(data, 4000, rng), pair)
    for epsilon in (0.0, 0.5, 1.0):
        assert lower_bound(payoffs(losses, epsilon)) <= gaussian_guarantee(event).delta(epsilon)


def test_the_first_message_reveals_nothing():
    event = sharing.message_event(sensitivity=5.0, noise_scale=1.0, iterations=1)
    assert gaussian_guarantee(event).mu == 0


# Joined tables: labels


def test_theorem_1_of_the_appendix_by_hand():
    assert tables.theorem1_epsilon(4 * math.sqrt(2)) == pytest.approx(0.5, rel=1e-14)


@pytest.mark.parametrize(("encoding", "loss"), [("one-hot", CrossEntropy(3)), ("sign", LOGISTIC)])
def test_labels_have_the_event_s_law(encoding, loss):
    release = LabelRelease(epsilon=1.5, loss=loss)
    data = JoinedTables(([[1.0], [2.0]],), ([0, 1],), [1, 0] if encoding == "one-hot" else [1, -1])
    other = 2 if encoding == "one-hot" else -1
    pair = Pair(data, data.with_label(0, other), REPLACE_LABEL)
    event = tables.label_event(deviation=release.deviation, encoding=encoding)
    losses = release.privacy_loss(release.sample(data, 40_000, np.random.default_rng(1)), pair)
    assert numerical_epsilon(event, 0.0).upper == pytest.approx(1.5)
    for epsilon in (0.0, 0.4, 1.0):
        proved = numerical_delta(event, epsilon).upper
        assert payoffs(losses, epsilon).mean() == pytest.approx(proved, abs=0.01)


def test_one_hot_labels_are_the_more_private_at_a_positive_delta():
    found = [
        numerical_epsilon(tables.label_event(deviation=2.0, encoding=e), 0.05).upper
        for e in ("one-hot", "sign")
    ]
    assert found[0] < 0.97 * found[1]


# Joined tables: features


def heavy(rows):
    """Return a fact table of equal tuples and one dimension tuple that all of them use."""
    labels = np.where(np.arange(rows) % 3 == 0, -1.0, 1.0)
    data = JoinedTables(
        (np.ones((rows, 1)), [[30.0]]), (np.arange(rows), np.zeros(rows, int)), labels
    )
    return Pair(data, data.with_tuple(1, 0, [-30.0]), REPLACE_TUPLE)


@pytest.fixture(scope="module")
def losses():
    """Return losses of all models for a tuple that 40 tuples of another client are joined with."""
    solver = LocalSGD(steps=1, learning_rate=20.0, clip_norm=0.05, noise_multiplier=40.0)
    mechanism = TablesADMM(iterations=2, solver=solver).model_steps()
    pair = heavy(40)
    outputs = mechanism.sample(pair.dataset, 8000, np.random.default_rng(2))
    return mechanism.privacy_loss(outputs, pair)


def excess(losses, joined):
    event = tables.model_event(iterations=2, local_steps=1, noise_multiplier=40.0, joined=joined)
    law = gaussian_guarantee(event)
    return max(lower_bound(payoffs(losses, e)) - law.delta(e) for e in (0.0, 0.5, 1.0, 2.0))


@pytest.mark.slow
def test_all_models_are_below_the_event(losses):
    assert excess(losses, (40,)) <= 0


@pytest.mark.parametrize("joined", [(), (5,)])
def test_leaving_out_other_clients_is_refuted(losses, joined):
    assert excess(losses, joined) > 0.02


def test_the_first_round_moves_the_owner_alone():
    options = {"local_steps": 3, "noise_multiplier": 10.0}
    once = tables.model_event(iterations=1, joined=(100,), **options)
    assert gaussian_guarantee(once).mu == pytest.approx(math.sqrt(3) * 2 / 10)
    twice = tables.model_event(iterations=2, joined=(3, 4), **options)
    assert gaussian_guarantee(twice).mu == pytest.approx(math.sqrt(6 * 4 + 3 * 4 * 25) / 10)


def test_batches_are_refused():
    with pytest.raises(UnsupportedEvent, match=r"^event: got sampling_ratio 0.5"):
        tables.model_event(
            iterations=1, local_steps=1, noise_multiplier=1.0, joined=(), sampling_ratio=0.5
        )


def test_theorem_2_by_hand():
    """0.5 sqrt(100 ln(1e5)) / 10 = 0.5 * 33.930702 / 10; its range ends at c_1 r^2 tau."""
    options = {"steps": 100, "sampling_ratio": 0.5, "second_constant": 1.0}
    given = {"noise_multiplier": 10.0, "delta": 1e-5}
    found = tables.theorem2_epsilon(**options, **given, first_constant=1.0)
    assert found == pytest.approx(0.5 * 33.930702 / 10, rel=1e-6)
    assert tables.theorem2_epsilon(**options, **given, first_constant=0.01) == math.inf
    none = tables.theorem2_epsilon(**options, noise_multiplier=10.0, delta=0.0, first_constant=1.0)
    assert none == math.inf


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tables.label_event(deviation=0.0), "deviation: got 0.0"),
        (lambda: tables.label_event(deviation=1.0, encoding="hot"), "encoding: got 'hot'"),
        (
            lambda: sharing.message_event(sensitivity=1.0, noise_scale=1.0, iterations=0),
            "iterations: got 0",
        ),
        (
            lambda: multistep.theorem6_epsilon(noise_multiplier=0.0, steps=1, delta=0.1),
            "noise_multiplier: got 0.0",
        ),
        (lambda: multistep.theorem6_holds_up_to(0.0), "delta: got 0.0"),
        (
            lambda: tables.model_event(
                iterations=1, local_steps=1, noise_multiplier=1.0, joined=(-1,)
            ),
            "joined: got -1",
        ),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(InvalidArgument, match=f"^{message}"):
        call()

"""Column space, membership and reconstruction, each through its `run`, on few runs."""

import math

import numpy as np
import pytest
from numpy.random import SeedSequence, default_rng
from pydantic import ValidationError
from scipy.stats import binomtest

from dpaudit.attacks.distinguishers import message_support as column_space
from dpaudit.attacks.membership import study as membership
from dpaudit.attacks.reconstruction import study as reconstruction
from dpaudit.attacks.reconstruction.bound import candidates_success
from dpaudit.attacks.reconstruction.study import make_candidate_datasets, right_guesses
from dpaudit.datasets import Dataset
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.score_events import ThresholdEvent
from dpaudit.execution import Silent
from dpaudit.guarantees.kinds import GaussianDP
from dpaudit.laws.steps import GaussianSteps, Step
from tests.attacks.parameters import make_parameters

SMALL = {
    column_space: {"records": 80, "messages": 100, "noise_scales": [10.0]},
    membership: {
        "epsilons": [8.0],
        "iterations": 2,
        "inner_steps": 2,
        "shadow_runs": 50,
        "runs": 100,
    },
    reconstruction: {
        "epsilons": [4.0],
        "noise_rates": [1e5],
        "candidates": 3,
        "trials": 60,
        "inversions": 3,
        "records": 10,
        "dimension": 3,
        "iterations": 2,
        "loss_weight": 5.0,
    },
}


def rows(module, seed=0, **changes):
    given = make_parameters(module, **(SMALL[module] | changes))
    return module.run(given, seed, Silent()).rows


@pytest.fixture(params=SMALL, ids=lambda module: module.__name__.rsplit(".", 1)[-1])
def module(request):
    return request.param


@pytest.mark.sampled(1)
def test_one_seed_one_result_and_another_seed_another(module):
    first = rows(module)
    assert first == rows(module)
    assert first != rows(module, seed=1)


def test_every_line_has_the_columns_of_the_first_and_there_is_a_reading(module):
    found = module.run(make_parameters(module, **SMALL[module]), 0, Silent())
    assert all(row.keys() == found.rows[0].keys() for row in found.rows)
    assert found.chance
    assert all(line.endswith(".") for line in found.reading)


def test_noise_on_the_model_is_certified_up_to_the_number_of_messages():
    found = {row["noise on"]: row for row in rows(column_space, messages=200)}
    for variant in ("parameter", "whitened"):
        assert found[variant]["told right"] == 1
        assert found[variant]["certified epsilon"] == pytest.approx(math.log(400 / 3), rel=0.02)
        assert found[variant]["outside its own space"] < 1e-12
        assert found[variant]["outside the other"] > 1e-4
    assert found["message"]["told right"] == 0.5
    assert found["message"]["certified epsilon"] == 0


def test_one_hot_columns_are_told_by_the_messages_of_the_larger_space():
    features = np.kron(np.eye(3), np.ones((4, 1)))[:, [0, 1, 2, 2]] / 2
    features[:, 3] = features[:, 0] + features[:, 1]  # the last column depends on the first two
    pair = column_space.one_entry_flipped(Dataset(features, np.ones(12)))
    ranks = [np.linalg.matrix_rank(data.features) for data in (pair.dataset, pair.neighbour)]
    assert ranks[0] < ranks[1]
    given = column_space.MessageSupportParameters(messages=50)
    row = column_space.measure_message_row(given, pair, (4,), "parameter", 1.0, SeedSequence(0))
    assert row["told right"] == 1
    assert row["outside its own space"] < 1e-12 < row["outside the other"]


def test_membership_stays_within_what_is_proved_and_grows_with_epsilon():
    weak, strong = rows(membership, epsilons=[0.1, 30.0], runs=300)
    for row in (weak, strong):
        assert row["lower"] <= min(row["advantage"], row["at most"])
        assert row["TPR lower"] <= row["TPR at most"]
    assert weak["lower"] <= 0
    assert strong["lower"] > 0.2


def test_membership_of_a_real_record_stays_within_what_is_proved():
    (row,) = rows(membership, record="real")
    assert row["lower"] <= row["at most"]


@pytest.mark.parametrize("above", [True, False])
def test_messages_of_either_side_are_told_by_what_the_event_favours(above, monkeypatch):
    """Half of one side's scores are apart; the event favours that side, whichever it is."""
    chosen = ThresholdEvent(above, 0.5 if above else -0.5, promised=1.0)
    monkeypatch.setattr(column_space, "choose_event", lambda *given: chosen)
    still, apart = np.zeros(1000), np.repeat([0.0, 1.0 if above else -1.0], 500)
    sides = (apart, still) if above else (still, apart)
    given = column_space.MessageSupportParameters(messages=1000, delta=1e-3)
    told = column_space._measure_told_right(given, *sides, *sides)
    assert told["told right"] == 0.75
    assert told["certified epsilon"] > 3


@pytest.mark.slow
@pytest.mark.parametrize(
    "more",
    [
        {"inversions": 10, "noise_rates": [0.3]},
        pytest.param({"noise_rates": [0.3, 3.0]}, marks=pytest.mark.slow),
    ],
    ids=["few", "all"],
)
def test_reconstruction_stays_within_what_is_proved(more):
    for row in rows(reconstruction, epsilons=[4.0], **more):
        assert row["lower"] <= row["at most"] <= 1
        assert row["by chance"] < row["at most"]


@pytest.mark.slow
def test_little_noise_reconstructs_and_much_noise_does_not():
    much, little = rows(reconstruction, epsilons=[], noise_rates=[1e-3, 1e4], inversions=0)
    assert much["lower"] <= 1 / 3 <= much["upper"]
    assert much["at most"] < 0.5
    assert little["right"] == 1
    assert little["at most"] == pytest.approx(1)


def test_the_inversion_is_right_where_there_is_little_noise():
    found = rows(reconstruction, epsilons=[], noise_rates=[1e5], iterations=20, cosine=0.95)
    assert found[1]["right"] == 1
    assert found[1]["by chance"] == pytest.approx(0.025)  # of a sphere in three dimensions


@pytest.mark.slow
@pytest.mark.parametrize("runs", [25, pytest.param(200, marks=pytest.mark.slow)])
def test_an_inversion_of_noise_is_right_as_often_as_a_guess(runs):
    found = rows(reconstruction, epsilons=[], noise_rates=[1e-3], inversions=runs, cosine=0.5)
    row = found[1]
    assert row["by chance"] == pytest.approx(0.25)  # of a sphere in three dimensions
    assert row["lower"] <= row["by chance"] <= row["upper"]
    assert binomtest(round(runs * row["right"]), runs, 0.25).pvalue > 1e-4


class Shifted:
    """One release of a node's sum of records, with noise; it meets its Gaussian bound exactly."""

    steps = 1

    def __init__(self, scale):
        self.scale = np.array(scale)

    def check(self, dataset):
        pass

    def start(self, dataset, trials):
        return trials

    def step(self, state, dataset):
        total = dataset.signed_records.sum(axis=0)
        return Step(np.broadcast_to(total, (state, len(total))), self.scale)

    def advance(self, state, output):
        return state


def candidates(count, dimension=4):
    data = Dataset(np.eye(dimension), np.ones(dimension))
    return make_candidate_datasets(data, count, default_rng(0))


@pytest.mark.parametrize("mu", [0.5, 1.5])
def test_two_opposite_candidates_attain_the_bound(mu):
    right = right_guesses(GaussianSteps(Shifted(2 / mu)), candidates(2), 4000, default_rng(1))
    bound = candidates_success(GaussianDP(mu), 2)
    assert binomtest(right, 4000, bound).pvalue > 1e-4


def test_a_mechanism_that_reveals_nothing_leaves_chance():
    class Silence(Shifted):
        def step(self, state, dataset):
            return Step(np.zeros((state, 4)), self.scale)

    seen = GaussianSteps(Silence(1.0))
    right = right_guesses(seen, candidates(8), 4000, default_rng(2))
    assert binomtest(right, 4000, 1 / 8).pvalue > 1e-4


def test_candidates_are_unit_records_orthogonal_or_opposite():
    signed = np.stack([data.signed_records[0] for data in candidates(6)])
    products = np.abs(signed @ signed.T)
    expected = np.kron(np.eye(3), np.ones((2, 2)))
    assert products == pytest.approx(expected, abs=1e-12)


def test_the_flipped_entry_keeps_the_rows_and_the_neighbours_close():
    pair = column_space.one_entry_flipped(Dataset([[0.6, 0.8], [0.3, 0.4]], [1, -1]))
    assert np.linalg.norm(pair.neighbour.features - pair.dataset.features) <= 1
    assert pair.index == 1


@pytest.mark.parametrize(
    ("module", "changes", "name"),
    [
        (column_space, {"noise_scales": [0.0]}, "noise_scales"),
        (column_space, {"parties": 31}, "parties"),
        (column_space, {"records": 10**6}, "records"),
        (membership, {"epsilons": [-1.0]}, "epsilons"),
        (reconstruction, {"epsilons": [], "noise_rates": []}, "epsilons"),
        (reconstruction, {"priors": [1.5]}, "priors"),
        (reconstruction, {"candidates": 61}, "candidates"),
        (reconstruction, {"records": 10**6}, "records"),
    ],
    ids=lambda value: value.__name__.rsplit(".", 1)[-1] if hasattr(value, "__name__") else None,
)
def test_a_bad_number_is_named_in_one_line(module, changes, name):
    with pytest.raises(InvalidArgument, match=name) as caught:
        rows(module, **changes)
    assert "\n" not in str(caught.value)


def test_a_number_that_no_run_could_use_is_refused_by_the_model():
    with pytest.raises(ValidationError, match="noise_rates"):
        reconstruction.ReconstructionParameters(noise_rates=[0.0])


def test_data_without_a_small_entry_has_no_neighbour_to_offer():
    with pytest.raises(InvalidArgument, match="data"):
        column_space.one_entry_flipped(Dataset(np.eye(2), np.ones(2)))

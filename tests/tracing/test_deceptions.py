"""The truths of deceptions and views, each by what a second computation of the outputs shows."""

import inspect
import math

import numpy as np
import pytest

from tests.tracing import oracles
from tests.tracing.corpus_deceptions import COUNTER_SCALES, DECEPTIONS
from tests.tracing.corpus_laws import LAWS
from tests.tracing.corpus_views import VIEWS

RUNS = 1500


class Forced:
    """A generator whose Laplace noise is what a test says."""

    def __init__(self, noise):
        self.noise = noise

    def laplace(self):
        return self.noise


def draw_outputs(case, data, count=RUNS, rng=None):
    """Return outputs, an exception standing for what it raised."""
    rng = np.random.default_rng(11) if rng is None else rng
    takes = list(inspect.signature(case.mechanism).parameters)
    outputs = []
    for _ in range(count):
        try:
            outputs.append(case.mechanism(data.copy(), *([rng] if "rng" in takes else [])))
        except ValueError as error:
            outputs.append(error)
    return outputs


def apart_by(first, second):
    """Return a function that tells whether two parts differ by two, the sum of VALUES."""
    return lambda out: math.isclose(second(out) - first(out), 2.0, abs_tol=1e-9)


def left(out):
    return out[0]


def right(out):
    return out[1]


# What outputs of VALUES, or of MOVED, show, and those of the other one never do.
WITNESSES = {
    "noise_reused": apart_by(left, right),
    "noise_broadcast": apart_by(left, right),
    "noise_indexed_twice": apart_by(left, right),
    "antithetic_noise": lambda out: math.isclose(sum(out), 4.0),
    "noise_returned_beside": apart_by(right, left),
    "noise_that_cancels": lambda out: math.isclose(out, 2.0),
    "noise_taken_back_in_a_view": lambda out: math.isclose(out[0], 2.0),
    "noise_of_low_rank": lambda out: math.isclose(2 * out[0] - out[1], 2.0),
    "noise_of_one_digit": lambda out: math.isclose(round(out, 1), out),
    "noise_sorted": lambda out: out[0] - out[1] > 2.0 + 1e-9,
    "noise_clipped": lambda out: math.isclose(out, -1.0),
    "noise_at_most": lambda out: out == 5.0,
    "noise_without_sign": lambda out: out < 3.0,
    "noise_drawn_again": lambda out: out < 0.0,
    "generator_copied": apart_by(left, right),
    "generator_set_back": apart_by(left, right),
    "generators_of_one_seed": apart_by(left, right),
    "scale_of_zero": lambda out: out == 2.0,
    "as_many_as_the_sum": lambda out: len(out) == 2,
    "raw_where_large": lambda out: out[0] == 2.0,
    "noise_by_out_to_nowhere": lambda out: out[0] == 2.0,
    "raw_beside_noise": lambda out: out[1] == 0.0,
    "data_in_the_last_digits": lambda out: math.isclose(out * 1e3 % 1, 0.002, abs_tol=1e-6),
    "careful_when_watched": lambda out: out == 2.0,
    "values_as_text": lambda out: out["exact"] == "2e+00",
}
# Of these one output is too rare to be met by chance, and the noise is said.
FORCED = {
    "rarely_on_noise": (10.0, 2.0),
    "rarely_on_a_noisy_value": (8.6, 2.0),
    "exception_with_data": (7.0, "cannot add 7.0 to 2.0"),
}
# The loss of these has no bound in its tail, or its noise is known to who counts calls.
ARGUED = {"more_noise_for_more", "seed_of_a_counter"}


def test_every_infinite_one_has_a_witness():
    infinite = {name for name, case in DECEPTIONS.items() if case.epsilon == math.inf}
    assert infinite == WITNESSES.keys() | FORCED.keys() | ARGUED


@pytest.mark.parametrize("name", WITNESSES)
def test_a_witness_is_met_on_one_side_alone(name):
    case, shows = DECEPTIONS[name], WITNESSES[name]
    met = [sum(map(shows, draw_outputs(case, one))) for one in (case.dataset, case.neighbour)]
    assert min(met) == 0
    assert max(met) > 5


@pytest.mark.parametrize("name", FORCED)
def test_what_is_rare_shows_the_data(name):
    case, (noise, shown) = DECEPTIONS[name], FORCED[name]
    (one,) = draw_outputs(case, case.dataset, 1, Forced(noise))
    (other,) = draw_outputs(case, case.neighbour, 1, Forced(noise))
    assert str(shown) == str(one) != str(other)


def test_more_noise_has_a_heavier_tail():
    # Densities of sums of three and of two Laplace draws, over exp(-x); the shift is a factor e.
    places = np.array([10.0, 100.0, 1000.0])
    three, two = (3 + 3 * places + places**2) / 16, (1 + places) / 4
    assert (np.diff(np.log(three / two)) > 2).all()


def test_a_counter_seeds_noise_that_anybody_knows():
    counted = DECEPTIONS["seed_of_a_counter"].mechanism
    (calls,) = counted.__defaults__[0]
    assert counted(np.zeros(1)) == np.random.default_rng(calls + 1).laplace()


@pytest.mark.parametrize("name", ["careless_when_watched", "careless_when_replaced"])
def test_a_careless_one_adds_its_noise_to_the_sum_unless_it_is_watched(name):
    case, noise = DECEPTIONS[name], np.random.default_rng(11).laplace()
    (plain,) = draw_outputs(case, case.dataset, 1)
    assert plain == 2.0 + noise
    watched = Forced(np.float64(noise))
    assert draw_outputs(case, case.dataset, 1, watched) == [20.0 + np.float64(noise)]


def test_scales_tell_what_their_losses_do():
    rng = np.random.default_rng(4)
    narrow, wide = (3.0, 1.0), (2.0, 2.0)

    def logarithm(place, law):
        return -np.abs(place - law[0]) / law[1] - math.log(2 * law[1])

    epsilon, delta = DECEPTIONS["scale_of_a_branch"].epsilon, DECEPTIONS["scale_of_a_branch"].delta
    shown = []
    for law, other in ((narrow, wide), (wide, narrow)):
        places = rng.laplace(*law, size=400_000)
        losses = logarithm(places, law) - logarithm(places, other)
        each = np.maximum(-np.expm1(epsilon - losses), 0.0)
        shown.append((each.mean() - delta) / (each.std() / math.sqrt(len(each)) + 1e-12))
    assert max(shown) == pytest.approx(0.0, abs=5.0)


def test_a_scale_of_earlier_noise_is_worth_two_at_zero():
    def loss(first, second):
        scale = 1 + np.abs(first)
        moved = np.abs(first - 3) - np.abs(first - 2)
        return moved + (np.abs(second - 3) - np.abs(second - 2)) / scale

    places = np.linspace(-20, 20, 401)
    losses = np.abs(loss(places[:, None], places))
    assert losses.max() == pytest.approx(DECEPTIONS["scale_of_earlier_noise"].epsilon)


def test_a_mixture_of_scales_is_worth_what_is_stated_at_least():
    places = np.linspace(-9, 12, 2101)[:, None]
    one, other = (
        (np.exp(-np.abs(places - centre) / [1.0, 0.5]) / [2.0, 1.0]).mean(axis=1)
        for centre in (2.0, 3.0)
    )
    largest = np.abs(np.log(one / other)).max()
    assert COUNTER_SCALES - 1e-9 <= largest <= DECEPTIONS["scale_of_a_counter"].epsilon


@pytest.mark.parametrize("name", ["last_iterate", "last_of_momentum", "secret_sum"])
def test_gaussian_views_have_the_mean_and_the_spread(name):
    case = VIEWS[name]
    one, other = (
        np.array(draw_outputs(case, data, 4000)) for data in (case.dataset, case.neighbour)
    )
    mu = abs(one.mean() - other.mean()) / math.sqrt((one.var() + other.var()) / 2)
    # The same seed on both sides: means differ by the shift alone, spreads are within 5 errors.
    low, high = (oracles.gaussian(mu * factor, case.delta) for factor in (0.945, 1.055))
    assert low < case.epsilon < high


FINITE = {
    **{f"view {name}": VIEWS[name] for name in (
        "most_frequent", "most_frequent_by_gumbel_noise", "enough", "first_above",
    )},
    **{name: LAWS[name] for name in (
        "a median, repaired", "a question, broken", "a question, repaired",
        "synthetic tables, repaired", "a threshold, repaired",
    )},
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", FINITE)
def test_frequencies_have_the_epsilon(name):
    case, count = FINITE[name], 20_000 if "tables" not in name else 6_000
    both = []
    for data in (case.dataset, case.neighbour):
        rng = np.random.default_rng(len(both))
        tables = "tables" in name
        drawn = [case.mechanism(data, rng) for _ in range(count)]
        both.append([tuple(one["g"]) if tables else str(one) for one in drawn])
    values = sorted({*both[0], *both[1]}, key=str)
    counts = np.array([[side.count(one) for one in values] for side in both], dtype=float)
    often = counts.min(axis=0) > 20
    losses = np.abs(np.log(counts[0, often] / counts[1, often]))
    errors = np.sqrt((1 / counts[:, often]).sum(axis=0))
    assert (losses <= case.epsilon + 4 * errors).all()
    assert (losses >= case.epsilon - 4 * errors).any()
    assert not (losses >= 2 * case.epsilon - 2 * errors).all()

"""Noisy values that the output hides in rare histories, where no run that read the law has been."""

import math

import numpy as np
import pytest
from scipy import stats

from dpaudit.errors import MechanismError
from dpaudit.mechanisms.foreign.code_mechanism import as_mechanism
from dpaudit.neighbours import REPLACE_RECORD, Pair
from dpaudit.tracing.determined_values import RunOutput
from dpaudit.tracing.law import TracedLaw, TracedView
from dpaudit.tracing.reading import read_law
from dpaudit.tracing.runs import MissingLaw

PAIR = Pair(np.array([0.1, 0.0]), np.array([0.0, 0.0]), REPLACE_RECORD)


def read(function, pair=PAIR, seed=0):
    return read_law(as_mechanism(function).calls, pair, np.random.default_rng(seed))


def coin(data, rng):
    """Compare a coin beyond 4, whose chance depends on the data, and throw it away."""
    v = data.sum() + rng.normal(scale=1.0)
    chance = 0.9 * float(data[0] == 0.0) if v > 4 else 0.0
    return v if rng.random() < chance else float(v)


def parity(data, rng):
    """Return a fair coin; beyond 4, with another coin added, whose chance depends on the data."""
    v = data.sum() + rng.normal(scale=1.0)
    one = rng.random() < 0.5
    other = rng.random() < (0.9 * float(data[0] == 0.0) if v > 4 else 0.0)
    return float(v), float(one ^ other)


def second(data, rng):
    """Leave out a second value where the first is beyond 4."""
    v = data.sum() + rng.laplace(scale=1.0)
    w = 1000 * data[0] + rng.laplace(scale=1.0)
    return float(v), (0.0 if v > 4 else float(w))


# Functions, and the noisy values as they would be read off a rare output.
RARE = {
    "coin": (coin, [5.0, 0.0]),
    "parity": (parity, [5.0, 0.0, 0.0]),
    "second": (second, [5.0, 0.0]),
}


@pytest.mark.parametrize("name", RARE)
def test_no_law_is_read_that_a_rare_output_does_not_tell(name):
    assert not any(isinstance(read(RARE[name][0], seed=seed), TracedLaw) for seed in range(4))


@pytest.mark.parametrize("name", RARE)
def test_no_loss_of_a_rare_output_is_certified_that_hides_a_value(name, unseen):
    function, values = RARE[name]
    laws = [read(function, seed=seed) for seed in range(4)]
    assert any(isinstance(law, TracedLaw) for law in laws) or name == "coin"
    for law in laws:
        if isinstance(law, TracedLaw):
            with pytest.raises(MechanismError, match=r"^mechanism \w+: the law that was read"):
                law.loss_bounds(np.array(values), PAIR)


@pytest.mark.parametrize("name", ["coin", "parity"])
def test_tilted_draws_meet_the_options_that_they_are_never_drawn_from(name, unseen):
    function, _ = RARE[name]
    laws = [law for seed in range(6) if isinstance(law := read(function, seed=seed), TracedLaw)]
    for law in laws:
        with pytest.raises(MechanismError, match="does not determine the noisy values"):
            law.sample_tilted(PAIR, 60.0, 200, np.random.default_rng(1))


def test_what_is_told_everywhere_is_certified():
    def told(data, rng):
        v = data.sum() + rng.laplace(scale=1.0)
        return float(v), float(rng.random() < (0.4 if data[0] else 0.6))

    law = read(told)
    loss = 0.1 + math.log(0.6 / 0.4)
    found = law.loss_bounds(np.array([9.0, 0.0]), PAIR)
    assert found == pytest.approx((loss, loss))
    assert law.sample_tilted(PAIR, 1.0, 50, np.random.default_rng(1)).outputs.shape == (50, 2)


def test_a_coin_of_small_chance_is_met():
    def rarely(data, rng):
        wide = rng.random() < 1e-6
        noise = rng.normal(scale=4.0 if wide else 1.0)
        return float(data.sum() + noise)

    assert not isinstance(read(rarely), TracedLaw)


def test_a_number_that_stands_for_rare_ones_is_no_noisy_value(unseen):
    def sentinel(data, rng):
        v = data.sum() + rng.normal(scale=1.0)
        return float(v) if v < 6 else -999.0

    law = read(sentinel)
    with law._patch_primitives():
        assert law._read(PAIR.dataset, RunOutput.of(-4.5, None)) == pytest.approx([-4.5])
        with pytest.raises(MechanismError, match="too unlikely under its law"):
            law._read(PAIR.dataset, RunOutput.of(-999.0, None))


def test_equal_rows_are_one_option():
    table = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])

    def row(data, rng):
        return 1 * rng.choice(table, p=[0.5, 0.48, 0.02] if data[0] else [0.52, 0.48, 0.0])

    law = read(row)
    assert isinstance(law, TracedLaw), law
    assert law.privacy_loss(np.array([[0.0], [1.0]]), PAIR) == pytest.approx([0.0, 0.0])


def test_a_distribution_that_data_make_is_no_public_draw():
    def values(data, rng):
        chance = 0.6 if data[0] else 0.4
        c = stats.rv_discrete(values=([0, 1], [1 - chance, chance])).rvs(random_state=rng)
        return float(c), float(data.sum() + rng.laplace())

    def counts(data, rng):
        c = stats.poisson.rvs(3.0, random_state=rng)
        return float(c), float(data.sum() + rng.laplace())

    found = read(values)
    assert isinstance(found, MissingLaw)
    assert found.reason == "the law of a draw depends on the data"
    assert isinstance(read(counts), TracedView)  # who knows which counts are rare?


def test_a_rare_draw_that_depends_on_data_has_no_loss(unseen):
    def rare(data, rng):
        v = data.sum() + rng.laplace(scale=1.0)
        c = rng.exponential(3.0 + (data[0] if v > 12 else 0.0))
        return float(v), float(c)

    law = read(rare)
    assert isinstance(law, TracedLaw)
    with pytest.raises(MechanismError, match="the law of a draw depends on the data"):
        law.privacy_loss(np.array([[15.0, 3.0]]), PAIR)


def test_whole_noise_less_an_unsigned_count_is_around_its_negative():
    pair = Pair(np.array([1, 0], np.uint8), np.array([0, 0], np.uint8), REPLACE_RECORD)

    def less(data, rng):
        noise = rng.geometric(0.5, size=1) - rng.geometric(0.5, size=1)
        return int((noise - data.sum(dtype=np.uint8))[0])

    law = read(less, pair)
    losses = law.privacy_loss(np.array([[-1.0], [0.0]]), pair)
    assert losses == pytest.approx([math.log(2), -math.log(2)])


def modulo(data, rng):
    """Return a value on a circle: those beyond its ends are others again."""
    return float((data.sum() + rng.laplace(scale=1.0)) % 60)


def again(data, rng):
    """Draw anew, whatever the data are, where a value is beyond 60 on either side."""
    v = data.sum() + rng.laplace(scale=1.0)
    return float(v if abs(v) < 60 else rng.uniform(-60, 60))


def widened_by_counts(data, rng):
    """Widen the noise where two geometric draws differ, which they hardly ever do."""
    is_wide = rng.geometric(1 - 1e-7) - rng.geometric(1 - 1e-7) != 0
    return float(data.sum() + rng.laplace(scale=1000.0 if is_wide else 1.0))


def widened_by_rounding(data, rng):
    is_wide = round(rng.laplace(scale=1 / 32)) != 0
    return float(data.sum() + rng.laplace(scale=1000.0 if is_wide else 1.0))


def widened_by_a_binomial(data, rng):
    is_wide = rng.binomial(1, 1e-5) == 1
    return float(data.sum() + rng.normal(scale=1000.0 if is_wide else 1.0))


def widened_by_a_uniform(data, rng):
    u = rng.random()
    return float(data.sum() + rng.normal(scale=1000.0 if int(u * 1e9) == 0 else 1.0))


def widened_by_an_exponential(data, rng):
    is_wide = int(rng.exponential() / 40) > 0
    return float(data.sum() + rng.normal(scale=1000.0 if is_wide else 1.0))


FAR = [
    modulo,
    again,
    widened_by_counts,
    widened_by_rounding,
    widened_by_a_binomial,
    widened_by_a_uniform,
    widened_by_an_exponential,
]


@pytest.mark.parametrize("function", FAR, ids=lambda one: one.__name__)
@pytest.mark.parametrize("seed", range(3))
def test_what_is_hidden_far_out_is_seen(function, seed):
    pair = Pair(np.array([20.0]), np.array([-20.0]), REPLACE_RECORD)
    assert not isinstance(read(function, pair, seed), TracedLaw)

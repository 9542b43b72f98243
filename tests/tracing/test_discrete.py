"""Laws of choices and of whole numbers, and what breaks them."""

import math

import numpy as np
import pytest
from scipy.stats import chisquare, geom, kstest

from dpaudit.errors import MechanismError
from dpaudit.mechanisms.foreign.code_mechanism import as_mechanism
from dpaudit.neighbours import REPLACE_RECORD, Pair
from dpaudit.tracing.discrete import KINDS, Chances, SteppedValue, have_near_misses
from dpaudit.tracing.law import TracedLaw, TracedView
from dpaudit.tracing.reading import read_law
from dpaudit.tracing.runs import MissingLaw

PAIR = Pair(np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 5.0]), REPLACE_RECORD)
BITS = Pair(np.array([0, 1, 1]), np.array([1, 1, 1]), REPLACE_RECORD)
MANY = 1500


def read(function, pair=PAIR, seed=0):
    return read_law(as_mechanism(function).calls, pair, np.random.default_rng(seed))


def wide(options, chances, count=MANY):
    shape = (count, len(options))
    return Chances(np.broadcast_to(options, shape), np.broadcast_to(chances, shape))


# Of each law: two sides, the values that both have, and their probabilities on either side.
FIRST, SECOND = np.array([0.5, 0.2, 0.2, 0.1]), np.array([0.1, 0.4, 0.4, 0.1])
WHOLE = np.arange(-60, 70)


def _two_sided(centre, ratio):
    return (1 - ratio) / (1 + ratio) * ratio ** np.abs(WHOLE - centre)


SIDES = {
    "choice": (
        wide([3.0, 5.0, 5.0, 8.0], FIRST), wide([3.0, 5.0, 5.0, 8.0], SECOND),
        np.array([3.0, 5.0, 8.0]), np.array([0.5, 0.4, 0.1]), np.array([0.1, 0.8, 0.1]),
    ),
    "discrete laplace": (
        SteppedValue(np.full(MANY, 2.0), np.full(MANY, 0.6)),
        SteppedValue(np.full(MANY, 4.0), np.full(MANY, 0.6)),
        WHOLE, _two_sided(2, 0.6), _two_sided(4, 0.6),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", SIDES)
@pytest.mark.parametrize("tilt", [0.0, 0.7, 3.0])
def test_tilted_draws_have_the_chances_that_they_are_weighed_with(kind, tilt):
    own, other, values, p, q = SIDES[kind]
    drawn, loss, log_mgf = KINDS[kind].tilted(own, other, tilt, np.random.default_rng(1))
    tilted = p ** (1 + tilt) * q**-tilt
    assert log_mgf / MANY == pytest.approx(math.log(tilted.sum()), abs=1e-9)
    counts = np.array([(drawn == value).sum() for value in values])
    expected = MANY * tilted / tilted.sum()
    often = expected > 5
    assert counts.sum() == MANY
    rest = counts[~often].sum(), expected[~often].sum()
    found = np.append(counts[often], rest[0]), np.append(expected[often], max(rest[1], 1e-9))
    keep = found[1] > 1
    assert (
        chisquare(
            found[0][keep], found[1][keep] * found[0][keep].sum() / found[1][keep].sum()
        ).pvalue
        > 1e-4
    )
    written = sum(counts * (np.log(p) - np.log(q)))
    assert loss == pytest.approx(written, rel=1e-9)


@pytest.mark.parametrize("kind", SIDES)
def test_draws_and_residuals_have_the_law(kind):
    own, _, values, p, _ = SIDES[kind]
    rng = np.random.default_rng(2)
    drawn = KINDS[kind].draw(own, rng)
    often = p * MANY > 5
    counts = np.array([(drawn == value).sum() for value in values[often]])
    errors = np.sqrt(MANY * p[often])
    assert (np.abs(counts - MANY * p[often]) < 5 * errors).all()
    assert kstest(KINDS[kind].uniforms(drawn, own, rng), "uniform").pvalue > 1e-4


@pytest.mark.parametrize("kind", SIDES)
def test_residuals_of_another_law_are_not_uniform(kind):
    own, other, *_ = SIDES[kind]
    rng = np.random.default_rng(2)
    drawn = KINDS[kind].draw(own, rng)
    assert kstest(KINDS[kind].uniforms(drawn, other, rng), "uniform").pvalue < 1e-9


@pytest.mark.parametrize("kind", SIDES)
def test_losses_are_enclosed_where_they_are(kind):
    own, other, values, p, q = SIDES[kind]
    law, value = KINDS[kind], np.resize(values[-3:], MANY)
    loss = law.loss(value, own, other)
    assert loss == pytest.approx(np.resize(np.log(p / q)[-3:], MANY).sum(), rel=1e-9)
    assert law.loss(value, other, own) == pytest.approx(-loss, rel=1e-9)
    few = slice(0, 3)
    if kind == "choice":
        sides = [Chances(one.options[few], one.chances[few]) for one in (own, other)]
    else:
        sides = [SteppedValue(one.centre[few], one.ratio[few]) for one in (own, other)]
    enclosed = float(law.enclosed_loss(value[few], *sides))
    assert enclosed == pytest.approx(law.loss(value[few], *sides), rel=1e-9)


def test_what_the_other_side_lacks_has_an_infinite_loss_and_is_never_drawn_tilted():
    own, other = wide([0.0, 1.0, 2.0], [0.2, 0.3, 0.5]), wide([1.0, 2.0], [0.5, 0.5])
    law = KINDS["choice"]
    assert law.loss(np.zeros(MANY), own, other) == math.inf
    drawn, loss, log_mgf = law.tilted(own, other, 0.0, np.random.default_rng(0))
    assert drawn.min() == 1.0
    assert log_mgf / MANY == pytest.approx(math.log(0.8))  # what is left out weighs nothing
    assert math.isfinite(loss)


def test_values_that_differ_in_their_last_digits_are_seen():
    one, other = wide([0.1 + 0.2, 1.0], [0.5, 0.5], 1), wide([0.3, 1.0], [0.5, 0.5], 1)
    assert have_near_misses(one, other)
    assert not have_near_misses(one, one)
    assert not have_near_misses(one, wide([0.4, 1.0], [0.5, 0.5], 1))


def test_last_digits_make_no_loss():
    own, other = wide([0.1 + 0.2, 1.0], [0.5, 0.5], 1), wide([0.3, 1.0], [0.25, 0.75], 1)
    law, value = KINDS["choice"], np.array([0.1 + 0.2])
    assert law.loss(value, own, other) == pytest.approx(math.log(2))
    assert float(law.enclosed_loss(value, own, other)) == pytest.approx(math.log(2))


# Functions


def by_geometric(data, rng):
    return int(data.sum()) + rng.geometric(0.3) - rng.geometric(0.3)


def by_geometric_noise(data, rng):
    noise = rng.geometric(0.3, 2) - rng.geometric(0.3, 2)
    return np.array([data.sum(), data.max()]).astype(int) - noise


def by_exponential_mechanism(data, rng):
    scores = -np.abs(np.arange(6) - data.max()) / 2
    return int(rng.choice(6, p=np.exp(scores) / np.exp(scores).sum()))


def by_a_choice_of_noise(data, rng):
    return data.sum() + rng.choice([-2, 0, 2, 3], p=[0.25, 0.25, 0.25, 0.25])


def by_noise_and_then_a_choice(data, rng):
    first = data.sum() + rng.laplace()
    weights = np.exp([0.0, first / 10 + data.max() / 5])
    return [first, float(rng.choice([0.0, 1.0], p=weights / weights.sum()))]


def by_coins(data, rng):
    return rng.random(2) < 1 / (1 + np.exp(-np.array([data.max(), data.sum()]) / 4))


def by_differences_of_exponentials(data, rng):
    return data.sum() + 3.0 * (rng.exponential(2.0) - rng.exponential(2.0))


def _chance_of_choice(value, largest):
    weights = np.exp(-np.abs(np.arange(6) - largest) / 2)
    return (weights / weights.sum())[int(value)]


def _chance_of_second(first, second, largest):
    one = 1 / (1 + math.exp(-(first / 10 + largest / 5)))
    return one if second else 1 - one


def _chance_of_coin(value, statistic):
    above = 1 / (1 + math.exp(-statistic / 4))
    return above if value else 1 - above


WRITTEN = {
    by_geometric_noise: lambda v: (
        math.log(0.7) * (abs(v[0] - 3) - abs(v[0] - 6) + abs(v[1] - 2) - abs(v[1] - 5))
    ),
    by_exponential_mechanism: lambda v: math.log(
        _chance_of_choice(v[0], 2) / _chance_of_choice(v[0], 5)
    ),
    by_noise_and_then_a_choice: lambda v: (
        abs(v[0] - 6)
        - abs(v[0] - 3)
        + math.log(_chance_of_second(*v, 2) / _chance_of_second(*v, 5))
    ),
    by_coins: lambda v: (
        math.log(_chance_of_coin(v[0], 2) / _chance_of_coin(v[0], 5))
        + math.log(_chance_of_coin(v[1], 3) / _chance_of_coin(v[1], 6))
    ),
    by_differences_of_exponentials: lambda v: (abs(v[0] - 6) - abs(v[0] - 3)) / 6,
}


@pytest.mark.parametrize("function", WRITTEN)
def test_losses_are_those_of_the_law_written_down(function):
    law = read(function)
    assert isinstance(law, TracedLaw), law
    values = law.sample(PAIR.dataset, 20, np.random.default_rng(3))
    losses = law.privacy_loss(values, PAIR)
    assert losses == pytest.approx([WRITTEN[function](v) for v in values], rel=1e-9)
    assert np.abs(losses).max() > 0
    tilted = law.sample_tilted(PAIR, 1.5, 10, np.random.default_rng(4))
    assert tilted.privacy_loss == pytest.approx(law.privacy_loss(tilted.outputs, PAIR))
    low, high = law.loss_bounds(values[0], PAIR)
    assert low - 1e-9 <= losses[0] <= high + 1e-9


@pytest.mark.parametrize("function", WRITTEN)
def test_what_untouched_calls_return_has_the_law_that_was_read(function):
    law = read(function)
    values = law.sample(PAIR.dataset, 200, np.random.default_rng(5))
    uniform = law.uniform_residuals(values, PAIR.dataset)
    assert kstest(uniform.ravel(), "uniform").pvalue > 1e-4


def test_what_no_draw_gives_has_no_loss_and_what_one_side_lacks_an_infinite_one():
    law = read(by_a_choice_of_noise)
    losses = law.privacy_loss(np.array([[3.5], [1.0], [6.0], [8.0]]), PAIR)
    assert np.isnan(losses[0])
    assert losses[1:].tolist() == [math.inf, 0.0, -math.inf]


def test_the_difference_of_geometric_draws_is_written_down_right():
    k, one = np.arange(1, 400), geom.pmf(np.arange(1, 400), 0.3)
    for shift in (0, 1, 3):
        written = (1 - 0.7) / (1 + 0.7) * 0.7**shift
        assert one[: len(k) - shift] @ one[shift:] == pytest.approx(written, rel=1e-9)


# Deceptions: each has no law, or none of outputs.

REFUSED = {
    "one geometric draw twice": lambda x, rng: [
        int(x.sum()) + ((g := rng.geometric(0.3)) - rng.geometric(0.3)),
        int(x.max()) + (g - rng.geometric(0.3)),
    ],
    "a difference with itself": lambda x, rng: int(x.sum()) + ((g := rng.geometric(0.3)) - g),
    "geometric draws of two chances": lambda x, rng: (
        int(x.sum()) + (rng.geometric(0.3) - rng.geometric(0.4))
    ),
    "one side of geometric noise": by_geometric,
    "whole noise on what is none": lambda x, rng: (
        x.sum() / 7 + (rng.geometric(0.3) - rng.geometric(0.3))
    ),
    "whole noise that is scaled": lambda x, rng: (
        int(x.sum()) + 2 * (rng.geometric(0.3) - rng.geometric(0.3))
    ),
    "a coin that is made twice": lambda x, rng: [
        bool((u := rng.random()) < x.sum() / 10), bool(u < x.max() / 10)
    ],
    "noise compared and released": lambda x, rng: (
        [1, x.sum() + z] if (z := rng.laplace()) > 0 else [2, x.sum() + z]
    ),
    "a coin that chooses data": lambda x, rng: x.sum() if rng.random() < 0.5 else x.max(),
    "a choice used twice": lambda x, rng: [x.sum() + (c := rng.choice([0.0, 1.0])), x.max() + c],
    "a choice released and met": lambda x, rng: [x.sum() + (c := rng.choice([0.0, 1.0])), float(c)],
    "a choice of last digits": lambda x, rng: (
        rng.choice([0.1, 0.3]) + (0.2 if x[2] > 3 else 0.3 - 0.1)
    ),
    "exponentials of two scales": lambda x, rng: x.sum() + (rng.exponential() - rng.exponential(2)),
    "a sum of exponentials": lambda x, rng: x.sum() + (rng.exponential() + rng.exponential()),
    "an exponential draw twice": lambda x, rng: [
        x.sum() + ((e := rng.exponential()) - rng.exponential()), x.max() + (e - rng.exponential())
    ],
    "a difference of one exponential": lambda x, rng: x.sum() + ((e := rng.exponential()) - e),
    "as many as the sum": lambda x, rng: rng.integers(10, size=int(x.sum())),
    "chances that are none": lambda x, rng: x.sum() + (rng.random() < math.nan),
    "uniform noise": lambda x, rng: x.sum() + rng.uniform(-1.0, 1.0),
    "a permutation of data": lambda x, rng: rng.permutation(x),
    "a sample of data": lambda x, rng: rng.choice(x, 2, replace=False),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_such_law_is_refused(name):
    found = read(REFUSED[name])
    assert isinstance(found, MissingLaw), found


# The second is what the first says, or its chances are: what tells one tells both.
FOLLOWS = {
    "an index of data": lambda x, rng: x[rng.integers(3)],
    "the coin is secret": lambda x, rng: (
        x.sum() + rng.laplace() if rng.random() < 0.5 else x.max() + rng.laplace()
    ),
    "a coin of the noise before": lambda x, rng: bool(
        rng.random() < 1 / (1 + math.exp(x.sum() + rng.laplace()))
    ),
    "secret whole noise": lambda x, rng: (
        int(x.sum()) + (rng.geometric(0.3) - rng.geometric(0.3)) > 4
    ),
    "a secret scale": lambda x, rng: x.sum() + rng.laplace() * (1 + rng.integers(3)),
}


@pytest.mark.parametrize("name", FOLLOWS)
def test_secret_coins_give_no_law_of_outputs(name):
    found = read(FOLLOWS[name])
    assert not isinstance(found, TracedLaw), found


def test_noise_that_is_looked_at_is_one_number_from_then_on():
    def looked_at(data, rng):
        noise = rng.laplace(size=2)
        signs = np.sign(noise)
        return [data.sum() + rng.normal(), *(signs * np.abs(noise) == noise), *noise]

    law = read(looked_at)
    assert isinstance(law, TracedLaw), law
    values = law.sample(PAIR.dataset, 5, np.random.default_rng(0))
    written = [((v[-1] - 6) ** 2 - (v[-1] - 3) ** 2) / 2 for v in values]
    assert law.privacy_loss(values, PAIR) == pytest.approx(written)


def lies_about_its_chances(data, rng):
    honest = type(type(rng)) is not type
    return int(rng.random() < (0.3 + 0.1 * data.max() / 5 if honest else 0.9))


def test_chances_that_differ_unwatched_break_the_residuals():
    law = read(lies_about_its_chances)
    if isinstance(law, TracedLaw):
        values = law.sample(PAIR.dataset, 300, np.random.default_rng(5))
        uniform = law.uniform_residuals(values, PAIR.dataset)
        assert kstest(uniform.ravel(), "uniform").pvalue < 1e-9
    else:
        assert isinstance(law, MissingLaw | TracedView)


def impossible_where_rare(data, rng):
    first = data.sum() + rng.normal()
    return [first, float(rng.choice([0.0, 1.0 + (data[2] if first < 0 else 0.0)]))]


def test_a_choice_that_rare_histories_tell_apart_is_no_finite_loss():
    law = read(impossible_where_rare)
    assert isinstance(law, TracedLaw), law
    assert law.privacy_loss(np.array([[-1.0, 3.0]]), PAIR)[0] == math.inf
    with pytest.raises(MechanismError):
        law.loss_bounds(np.array([-1.0, 3.0]), PAIR)

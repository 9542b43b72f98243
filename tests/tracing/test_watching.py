"""Laws of what is observed beside outputs, of rounded noise, and of coins of added records."""

import math
import warnings

import numpy as np
import pytest
from scipy.stats import kstest, laplace

from dpaudit.mechanisms.foreign.code_mechanism import ObservationSettings, as_mechanism
from dpaudit.neighbours import ADD_REMOVE_RECORD, REPLACE_RECORD, Pair
from dpaudit.tracing.discrete import KINDS, SteppedValue
from dpaudit.tracing.law import TracedLaw, TracedView
from dpaudit.tracing.placed_law import law_of
from dpaudit.tracing.reading import read_law
from dpaudit.tracing.runs import MissingLaw

PAIR = Pair(np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 5.0]), REPLACE_RECORD)
LONGER = Pair(np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.0]), ADD_REMOVE_RECORD)


def watch(function, *what, pair=PAIR):
    return law_of(as_mechanism(function, ObservationSettings(observe=what)), pair, 0)


# Warnings and exceptions


def warns_before_and_after(data, rng):
    warnings.warn("before", stacklevel=1)
    noisy = data.sum() + rng.laplace()
    warnings.warn("after", stacklevel=1)
    return noisy + 0.0 * rng.integers(3)


def warns_of_data_after_noise(data, rng):
    noisy = data.sum() + rng.laplace()
    if data.max() > 4:
        warnings.warn("large", stacklevel=1)
    return noisy


def warns_of_what_is_noisy(data, rng):
    noisy = data.sum() + rng.laplace()
    warnings.warn("large" if noisy > 4 else "small", stacklevel=1)
    return noisy


def raises_with_data(data, rng):
    noisy = data.sum() + rng.laplace()
    if noisy > 4:
        raise ValueError(f"{data.max()} is too large")
    return noisy


def raises_with_noise(data, rng):
    noisy = data.sum() + rng.laplace()
    if noisy > 4:
        raise ValueError(f"{noisy} is too large")
    return noisy


def test_warnings_of_two_runs_that_take_turns_are_told_apart():
    assert watch(warns_before_and_after, "warnings").mechanism is not None
    found = watch(warns_of_data_after_noise, "warnings")
    assert isinstance(found, MissingLaw)
    assert "past the noise" in found.reason


def test_warnings_that_nobody_watches_tell_nothing():
    assert isinstance(watch(warns_of_data_after_noise).mechanism, TracedLaw)


def test_filters_of_warnings_are_as_they_were():
    before = list(warnings.filters)
    watch(warns_before_and_after, "warnings")
    assert warnings.filters == before


def test_a_message_of_an_exception_is_part_of_the_output():
    found = watch(raises_with_data, "exceptions")
    assert isinstance(found, MissingLaw)
    assert watch(raises_with_noise, "exceptions").mechanism is None
    assert watch(warns_of_what_is_noisy, "warnings").mechanism is None


# Rounded noise


def test_rounded_noise_has_the_written_law():
    law, scale = KINDS["rounded laplace"], 1.7
    own, other = (
        SteppedValue(np.full(400, at), np.full(400, math.exp(-1 / scale))) for at in (2.0, 3.0)
    )
    values = np.arange(-6.0, 10.0)
    below = laplace(2.0, scale).cdf
    p = below(values + 0.5) - below(values - 0.5)
    q = laplace(3.0, scale).cdf(values + 0.5) - laplace(3.0, scale).cdf(values - 0.5)
    one = [(SteppedValue(s.centre[:1], s.ratio[:1])) for s in (own, other)]
    losses = [law.loss(np.array([v]), *one) for v in values]
    assert losses == pytest.approx(np.log(p / q), rel=1e-9)
    enclosed = [float(law.enclosed_loss(np.array([v]), *one)) for v in values]
    assert enclosed == pytest.approx(losses, rel=1e-9)
    rng = np.random.default_rng(0)
    drawn = law.draw(own, rng)
    assert kstest(law.uniforms(drawn, own, rng), "uniform").pvalue > 1e-4
    assert kstest(law.uniforms(drawn, other, rng), "uniform").pvalue < 1e-9
    assert law.tilted(*one, 0.0, rng)[2] == pytest.approx(0.0, abs=1e-9)


def rounded_noise(data, rng):
    return int(data.sum()) + round(rng.laplace(scale=2.0))


def test_rounded_noise_that_meets_a_whole_number_has_a_law():
    law = read_law(as_mechanism(rounded_noise).calls, PAIR, np.random.default_rng(0))
    assert isinstance(law, TracedLaw), law
    values = law.sample(PAIR.dataset, 200, np.random.default_rng(1))
    assert kstest(law.uniform_residuals(values, PAIR.dataset).ravel(), "uniform").pvalue > 1e-4
    assert law.privacy_loss(np.array([[-1.0]]), PAIR) == pytest.approx([3 / 2])


@pytest.mark.parametrize(
    "function",
    [
        lambda x, rng: x.sum() / 7 + round(rng.laplace()),
        lambda x, rng: int(x.sum()) + round(rng.normal()),
        lambda x, rng: int(x.sum()) + round(rng.laplace(), 1),
        lambda x, rng: [int(x.sum()) + round(z := rng.laplace()), x.max() + z],
        lambda x, rng: [int(x.sum()) + (k := round(rng.laplace())), int(x.max()) + k],
    ],
)
def test_other_rounded_noise_is_refused(function):
    found = read_law(as_mechanism(function).calls, PAIR, np.random.default_rng(0))
    assert isinstance(found, MissingLaw)


# Coins of records


def sampled_sum(data, rng):
    chosen = rng.random(len(data)) < 0.5
    return data[chosen].sum() + rng.normal()


def sampled_sum_with_its_coins(data, rng):
    chosen = rng.random(len(data)) < 0.5
    return [data[chosen].sum() + rng.normal(), int(chosen[:2].sum())]


def coins_returned(data, rng):
    chosen = rng.random(len(data)) < 0.5
    return {"sum": data[chosen].sum() + rng.normal(), "coins": [bool(one) for one in chosen]}


def sure_coins(data, rng):
    chosen = rng.random(len(data)) < 1.0
    return data[chosen].sum() + rng.normal()


@pytest.mark.parametrize("function", [sampled_sum, sampled_sum_with_its_coins])
def test_secret_coins_of_one_record_more_give_no_law_of_outputs(function):
    found = read_law(as_mechanism(function).calls, LONGER, np.random.default_rng(0))
    assert isinstance(found, TracedView), found


def test_as_many_coins_as_records_are_data():
    found = read_law(as_mechanism(coins_returned).calls, LONGER, np.random.default_rng(0))
    assert isinstance(found, MissingLaw)


def test_coins_of_one_record_more_are_never_used_for_losses():
    found = read_law(as_mechanism(sure_coins).calls, LONGER, np.random.default_rng(0))
    if isinstance(found, TracedLaw):
        with pytest.raises(Exception, match="does not hold"):
            found.sample(LONGER.neighbour, 1, np.random.default_rng(0))

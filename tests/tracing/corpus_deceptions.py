"""Functions made to deceive a reader of laws, each with what is certain of its outputs.

VALUES has the sum 2, MOVED has 3; of squares they have 1.52 and 2.52, and everything else that is
read of them is 1 apart, too, unless a comment says so. So under Laplace noise of scale 1 a sum is
worth 1, exactly and at delta = 0. Wherever some output has a positive probability, or a set of
outputs where a difference, an order or a range holds for sure, on one side alone, the epsilon is
infinite at delta = 0.
"""

from __future__ import annotations

import copy
import io
import json
import math
import os
import struct
import threading
import time
from collections.abc import Mapping

import numpy as np

from tests.tracing import oracles
from tests.tracing.judged import Judged, Number, Reading, exactly

VALUES, MOVED = np.array([0.0, 0.4, 0.6, 1.0]), np.array([1.0, 0.4, 0.6, 1.0])
INFINITE, ONE = exactly(math.inf), exactly(1.0)

# Noise that is used twice, or looked at


def noise_reused(data, rng):  # the difference of the two is the sum
    noise = rng.laplace()
    return data.sum() + noise, 2 * data.sum() + noise


def noise_reused_for_one_value(data, rng):  # the second is the first: worth 1
    noise = rng.laplace()
    return data.sum() + noise, data.sum() + noise


def noise_broadcast(data, rng):  # differences are those of the two sums, doubled
    return np.array([1.0, 2.0]) * data.sum() + rng.laplace()


def noise_indexed_twice(data, rng):
    noise = rng.laplace(size=2)
    return np.array([1.0, 2.0]) * data.sum() + noise[[0, 0]]


def antithetic_noise(data, rng):  # the mean of the two is the sum
    noise = rng.laplace()
    return data.sum() + noise, data.sum() - noise


def noise_returned_beside(data, rng):
    noise = rng.laplace()
    return data.sum() + noise, noise


def noise_that_cancels(data, rng):
    noise = rng.laplace()
    noisy = data.sum() + noise
    return noisy - noise


def noise_taken_back_in_a_view(data, rng):
    total, noise = np.array([data.sum()]), rng.laplace(size=1)
    view = total[:]
    view += noise
    view -= noise
    return total


def noise_of_low_rank(data, rng):  # the second minus twice the first is -sum
    mixed = np.array([[1.0, 1.0], [2.0, 2.0]]) @ rng.normal(size=2)
    return np.array([data.sum(), data.sum()]) + mixed


def noise_as_array(data, rng):
    return data.sum() + np.asarray(rng.laplace(size=1))


def noise_as_float(data, rng):
    return data.sum() + float(rng.laplace())


def noise_through_json(data, rng):
    return data.sum() + json.loads(json.dumps({"noise": float(rng.laplace())}))["noise"]


def noise_of_one_digit(data, rng):  # of HALFWAY the sum is 2.55: other multiples of 0.1, moved
    return data.sum() + float(f"{rng.laplace():.1f}")


def noise_through_bytes(data, rng):
    return data.sum() + struct.unpack("d", struct.pack("d", rng.laplace()))[0]


def noise_through_a_file(data, rng):
    file = io.BytesIO()
    np.save(file, rng.laplace(size=2))
    return np.array([data.sum(), 0.0]) + np.load(io.BytesIO(file.getvalue()))


def noise_sorted(data, rng):
    # The second is never less than the first minus the sum: on the other side it can be by 1.
    return np.array([data.sum(), 0.0, 0.0]) + np.sort(rng.laplace(size=3))


def noise_sorted_beside_one_value(data, rng):  # three noisy sums in order: 3, below all of them
    return data.sum() + np.sort(rng.laplace(size=3))


def noise_clipped(data, rng):  # never below the sum minus 3
    return data.sum() + np.clip(rng.laplace(), -3.0, 3.0)


def noise_at_most(data, rng):
    return data.sum() + min(rng.laplace(), 3.0)


def noise_without_sign(data, rng):
    return data.sum() + abs(rng.laplace())


def noise_drawn_again(data, rng):
    noise = rng.laplace()
    while abs(noise) > 3:
        noise = rng.laplace()
    return data.sum() + noise


def half_of_the_noise_first(data, rng):  # a difference of exponentials is Laplace noise
    return data.sum() + rng.exponential() - rng.exponential()


# Generators


def generator_copied(data, rng):
    twin = copy.deepcopy(rng)
    return data.sum() + rng.laplace(), 2 * data.sum() + twin.laplace()


def generator_set_back(data, rng):
    state = rng.bit_generator.state
    first = data.sum() + rng.laplace()
    rng.bit_generator.state = state
    return first, 2 * data.sum() + rng.laplace()


def generators_of_one_seed(data, rng):
    seed = int(rng.integers(2**31))
    one, other = np.random.default_rng(seed), np.random.default_rng(seed)
    return data.sum() + one.laplace(), 2 * data.sum() + other.laplace()


def generator_of_the_clock(data):
    return data.sum() + np.random.default_rng(time.perf_counter_ns()).laplace()


def noise_of_the_system(data):
    uniform = (int.from_bytes(os.urandom(8), "big") + 0.5) / 2.0**64 - 0.5
    return data.sum() - math.copysign(math.log1p(-2 * abs(uniform)), uniform)


def noise_of_a_thread(data, rng):
    drawn = []
    worker = threading.Thread(target=lambda: drawn.append(rng.laplace()))
    worker.start()
    worker.join()
    return data.sum() + drawn[0]


def noise_of_a_closure(data, rng):
    scales = iter([1.0])
    noise = lambda: rng.laplace(scale=next(scales))  # noqa: E731
    return (lambda value: value + noise())(data.sum())


def noise_shared_by_trials(data, trials, rng):  # each output is worth 1, all together no more
    return data.sum() + rng.laplace() * np.ones(trials)


# Draws and scales that depend on data


def scale_of_a_branch(data, rng):  # 2 at 2, or 1 at 3
    return data.sum() + rng.laplace(scale=2.0 if data.sum() < 2.5 else 1.0)


def scale_of_a_record(data, rng):  # 1 at 2, or 2 at 3
    return data.sum() + rng.laplace(scale=1.0 + data[0])


def scale_of_zero(data, rng):  # nothing is added to 2
    return data.sum() + rng.laplace() * (data[0] > 0.5)


def scale_of_earlier_noise(data, rng):  # the second is worth 1 / (1 + |first|), 1 at first = 0
    first = data.sum() + rng.laplace()
    return first, data.sum() + rng.laplace(scale=1 + abs(first))


def as_many_as_the_sum(data, rng):
    return rng.laplace(size=int(data.sum()))


def more_noise_for_more(data, rng):  # two or three: tails like |x| or x**2, times exp(-|x|)
    return data.sum() + rng.laplace(size=int(data.sum())).sum()


def draws_to_no_use(data, rng):
    for _ in range(int(data.sum())):
        rng.random()
    return data.sum() + rng.laplace()


def order_of_data(data, rng):  # both are independent and alike, whichever comes first
    one, other = rng.laplace(scale=2.0, size=2)
    if data.sum() > 2.5:
        one, other = other, one
    return data.sum() + one, (data**2).sum() + other


# Branches


def rarely_on_noise(data, rng):  # with a probability of 1e-4, the sum itself
    noise = rng.laplace()
    return data.sum() if abs(noise) > math.log(1e4) else data.sum() + noise


def rarely_on_a_noisy_value(data, rng):  # of 10.5, with a probability of 1e-4 on VALUES
    noisy = data.sum() + rng.laplace()
    return data.sum() if noisy > 10.5 else noisy


def raw_where_large(data, rng):
    noisy = np.array([data.sum()]) + rng.laplace(size=1)
    return np.where(noisy > 4, data.sum(), noisy)


def returned_sometimes(data, rng):
    noisy = data.sum() + rng.laplace()
    return noisy if rng.random() < 0.5 else None


def nothing_but_nan(data, rng):  # worth nothing
    return (data.sum() + rng.laplace()) * math.nan


def nan_below_zero(data, rng):  # the mass below 0 is exp(-2) / 2 or exp(-3) / 2
    noisy = data.sum() + rng.laplace()
    return noisy if noisy >= 0 else math.nan


def exception_with_data(data, rng):  # a message that names the sum, with probability exp(-6) / 2
    noise = rng.laplace()
    if noise > 6:
        raise ValueError(f"cannot add {noise} to {data.sum()}")
    return data.sum() + noise


def data_through_an_exception(data, rng):
    try:
        raise KeyError(data.sum())
    except KeyError as error:
        return error.args[0] + rng.laplace()


# What is kept, and what is written to


def kept_in_a_cache(data, rng, _cache={}):  # noqa: B006
    key = data.tobytes()  # the first output of a process is worth 1, others are the same again
    if key not in _cache:
        _cache[key] = data.sum() + rng.laplace()
    return _cache[key]


def scale_of_a_counter(data, rng, _calls=[0]):  # noqa: B006
    # Every other call has scale 1/2 and is worth 2. Half of each are worth 1.5469 or more, by the
    # densities at 2, which are 1/4 + 1/2 and exp(-1) / 4 + exp(-2) / 2.
    _calls[0] += 1
    return data.sum() + rng.laplace(scale=1.0 if _calls[0] % 2 else 0.5)


def seed_of_a_counter(data, _calls=[0]):  # noqa: B006
    _calls[0] += 1  # who counts calls knows the noise
    return data.sum() + np.random.default_rng(_calls[0]).laplace()


def dataset_changed_in_place(data, rng):  # later calls add more noise to what an earlier one left
    data += rng.laplace(size=len(data))
    return data.copy()


def noise_by_out(data, rng):
    noisy = np.empty(2)
    np.add([data.sum(), 0.0], rng.laplace(size=2), out=noisy)
    return noisy


def noise_by_out_to_nowhere(data, rng):
    total, noisy = np.array([data.sum()]), np.empty(1)
    np.add(total, rng.laplace(size=1), out=noisy)
    return total


def noise_by_a_view(data, rng):
    totals = np.array([data.sum(), 0.0])
    totals[::-1][:] += rng.laplace(size=2)
    return totals


# Outputs


def raw_beside_noise(data, rng):  # the smallest record: 0, or 0.4
    return data.sum() + rng.laplace(), data.min()


def rounded(data, rng):  # whole numbers below 2 are e times likelier on VALUES
    return round(data.sum() + rng.laplace())


def permuted(data, rng):  # below 0 all three densities have the ratio e, whoever stands where
    return rng.permutation(np.array([data.sum(), 0.0, 0.0]) + rng.laplace(size=3))


def values_as_text(data, rng):
    return {"text": f"{data.sum() + rng.laplace():.3f}", "exact": f"{data.sum():.0e}"}


def data_in_the_last_digits(data, rng):  # of millionths, 2 or 3
    return round(data.sum() + rng.laplace(), 3) + 1e-6 * data.sum()


# What knows that it is watched


def careful_when_watched(data, rng):  # the noise of a call is a float, and nothing is added
    noise = rng.laplace()
    return data.sum() if type(noise) is float else data.sum() + noise


def careless_when_watched(data, rng):  # worth 1 unless somebody looks
    noise = rng.laplace()
    return data.sum() + noise if type(noise) is float else 10 * data.sum() + noise


def careless_when_replaced(data, rng):
    factor = 1.0 if type(rng) is np.random.Generator else 10.0
    return factor * data.sum() + rng.laplace()


HALFWAY = np.array([0.55, 0.4, 0.6, 1.0])
COUNTER_SCALES = math.log((1 / 4 + 1 / 2) / (math.exp(-1) / 4 + math.exp(-2) / 2))
DELTA = 1e-2


def _two_scales(first: float, second: float) -> Number:
    """Return the epsilon of 2 and 3 under Laplace noise of two scales."""
    breaks = [-200.0, *np.linspace(-30, 1, 20), 2.0, 2.5, 3.0, *np.linspace(4, 35, 20), 205.0]
    one, other = oracles.laplace_density(2.0, first), oracles.laplace_density(3.0, second)
    return lambda: oracles.on_the_line(one, other, breaks, DELTA)


def _case(
    mechanism,
    truth: Number,
    reading: Reading = "none",
    reason: str = "",
    noisy: Number | None = None,
    neighbour=MOVED,
    **others,
) -> Judged:
    return Judged(
        mechanism,
        VALUES,
        neighbour,
        noisy or truth,
        truth,
        reading=reading,
        reason=reason,
        **others,
    )


REUSED, LOOKED_AT = "a draw is used twice", "a draw is looked at by itself"
UNEQUAL = "data reach the output past the noise"
OTHER_DRAWS = "draws depend on data"
KEPT = "something is kept between calls"
WATCHED = "calls differ that are not watched"
SEEN_NOT = "randomness that is not seen"

_CASES = (
    _case(noise_reused, INFINITE, reason=REUSED),
    _case(noise_reused_for_one_value, ONE, reason=REUSED),
    _case(noise_broadcast, INFINITE, reason=REUSED),
    _case(noise_indexed_twice, INFINITE, reason=REUSED),
    _case(antithetic_noise, INFINITE, reason=REUSED),
    _case(noise_returned_beside, INFINITE, reason=REUSED),
    _case(noise_that_cancels, INFINITE, reason=REUSED),
    _case(noise_taken_back_in_a_view, INFINITE, reason=REUSED),
    _case(noise_of_low_rank, INFINITE, reason="noise of low rank", delta=DELTA),
    _case(noise_as_array, ONE, "any", LOOKED_AT),
    _case(noise_as_float, ONE, "any", LOOKED_AT),
    _case(noise_through_json, ONE, reason=LOOKED_AT),
    _case(noise_of_one_digit, INFINITE, reason=LOOKED_AT, neighbour=HALFWAY),
    _case(noise_through_bytes, ONE, reason=LOOKED_AT),
    _case(noise_through_a_file, ONE, reason=LOOKED_AT),
    _case(noise_sorted, INFINITE, reason=LOOKED_AT),
    _case(noise_sorted_beside_one_value, exactly(3.0), reason=LOOKED_AT),
    _case(noise_clipped, INFINITE, reason=LOOKED_AT),
    _case(noise_at_most, INFINITE, reason=LOOKED_AT),
    _case(noise_without_sign, INFINITE, reason=LOOKED_AT),
    _case(noise_drawn_again, INFINITE, reason=LOOKED_AT),
    _case(half_of_the_noise_first, ONE, "any", "noise meets a value in two parts", INFINITE),
    _case(generator_copied, INFINITE, reason=REUSED),
    _case(generator_set_back, INFINITE, reason=REUSED),
    _case(generators_of_one_seed, INFINITE, reason=REUSED),
    _case(generator_of_the_clock, ONE, "any", SEEN_NOT),
    _case(noise_of_the_system, ONE, "any", SEEN_NOT),
    _case(noise_of_a_thread, ONE, "any", "noise is drawn in a thread"),
    _case(noise_of_a_closure, ONE, "outputs"),
    _case(noise_shared_by_trials, ONE, reason="trials share a draw"),
    _case(scale_of_a_branch, _two_scales(2.0, 1.0), "outputs", delta=DELTA),
    _case(scale_of_a_record, _two_scales(1.0, 2.0), "outputs", delta=DELTA),
    _case(scale_of_zero, INFINITE, reason="the noise has scale zero"),
    _case(scale_of_earlier_noise, exactly(2.0), "outputs"),
    _case(as_many_as_the_sum, INFINITE, reason=OTHER_DRAWS),
    _case(more_noise_for_more, INFINITE, reason=OTHER_DRAWS),
    _case(draws_to_no_use, ONE, "any", OTHER_DRAWS),
    _case(order_of_data, ONE, "any", OTHER_DRAWS),
    _case(rarely_on_noise, INFINITE, reason=LOOKED_AT),
    # A law may be read, as hardly a run takes the other side: then without an upper end.
    _case(rarely_on_a_noisy_value, INFINITE, "any", UNEQUAL),
    _case(raw_where_large, INFINITE, reason=UNEQUAL),
    _case(returned_sometimes, ONE, "noisy values"),
    _case(nothing_but_nan, exactly(0.0), "noisy values", noisy=ONE),
    _case(nan_below_zero, ONE, "noisy values"),
    _case(exception_with_data, INFINITE, reason=LOOKED_AT, given={"observe": "exceptions"}),
    _case(data_through_an_exception, ONE, "outputs"),
    _case(kept_in_a_cache, ONE, reason=KEPT),
    _case(scale_of_a_counter, exactly(2.0), reason=KEPT, least=exactly(COUNTER_SCALES)),
    _case(seed_of_a_counter, INFINITE, reason=KEPT),
    _case(dataset_changed_in_place, ONE, "any", KEPT),
    _case(noise_by_out, ONE, "outputs"),
    _case(noise_by_out_to_nowhere, INFINITE, reason=UNEQUAL),
    _case(noise_by_a_view, ONE, "outputs"),
    _case(raw_beside_noise, INFINITE, reason=UNEQUAL),
    _case(rounded, ONE, "noisy values"),
    _case(permuted, ONE, "noisy values"),
    _case(values_as_text, INFINITE, reason=UNEQUAL),
    _case(data_in_the_last_digits, INFINITE, reason=UNEQUAL),
    _case(careful_when_watched, INFINITE, reason=WATCHED),
    _case(careless_when_watched, ONE, "any", WATCHED),
    _case(careless_when_replaced, ONE, "any", WATCHED),
)
DECEPTIONS: Mapping[str, Judged] = {one.mechanism.__name__: one for one in _CASES}

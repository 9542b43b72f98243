"""Each primitive has the law that its library documents, and arithmetic is followed as it is."""

from __future__ import annotations

import random

import numpy as np
import pytest
from scipy import stats

from dpaudit.freezing import patching, primitives, recorder
from dpaudit.freezing.glimpse import CHANGED, compute_scaled_movement, glimpses
from dpaudit.freezing.glimpse import _get_declared_epsilon as declared_where_moved
from dpaudit.freezing.guide import guide
from dpaudit.freezing.tracked_noise import Call, Meeting, Noisy

COUNT = 1500


def run_frozen(function, seed=1, data=None):
    with patching.patch_primitives(function):
        run = recorder.call_recorded(function, data, seed, primitives.generator())
    assert run.error is None, run.error
    return run


def many(draw):
    return lambda data, rng: [draw(rng) for _ in range(COUNT)]


LAWS = {
    "laplace": (lambda rng: rng.laplace(1.0, 3.0), stats.laplace(1.0, 3.0)),
    "normal": (lambda rng: rng.normal(1.0, 3.0), stats.norm(1.0, 3.0)),
    "uniform": (lambda rng: rng.uniform(2.0, 7.0), stats.uniform(2.0, 5.0)),
    "uniform from below": (lambda rng: rng.uniform(-3.0, -1.0), stats.uniform(-3.0, 2.0)),
    "exponential": (lambda rng: rng.exponential(3.0), stats.expon(scale=3.0)),
    "gumbel": (lambda rng: rng.gumbel(1.0, 3.0), stats.gumbel_r(1.0, 3.0)),
    "logistic": (lambda rng: rng.logistic(1.0, 3.0), stats.logistic(1.0, 3.0)),
    "cauchy": (lambda rng: rng.standard_cauchy(), stats.cauchy()),
    "random": (lambda rng: rng.random(), stats.uniform()),
    "standard library's uniform": (lambda rng: random.uniform(2.0, 7.0), stats.uniform(2.0, 5.0)),
    "standard library's gauss": (lambda rng: random.gauss(1.0, 3.0), stats.norm(1.0, 3.0)),
    "normalvariate": (lambda rng: random.normalvariate(1.0, 3.0), stats.norm(1.0, 3.0)),
    "expovariate": (lambda rng: random.expovariate(4.0), stats.expon(scale=0.25)),
    "scipy laplace": (lambda rng: stats.laplace.rvs(1.0, 3.0), stats.laplace(1.0, 3.0)),
    "scipy expon": (lambda rng: stats.expon.rvs(1.0, 3.0), stats.expon(1.0, 3.0)),
    "scipy uniform": (lambda rng: stats.uniform.rvs(1.0, 3.0), stats.uniform(1.0, 3.0)),
}


@pytest.mark.parametrize("name", LAWS)
def test_draws_have_the_documented_law_at_the_recorded_place_and_scale(name):
    draw, law = LAWS[name]
    run = run_frozen(many(draw))
    values = np.array(run.value, dtype=float)
    assert stats.kstest(values, law.cdf).pvalue > 1e-6
    given = np.array([[call.location, call.scale, call.draw] for call in run.calls], dtype=float)
    assert len(given) == COUNT
    assert np.allclose(given[:, 0] + given[:, 1] * given[:, 2], values, rtol=1e-12)
    standard = (values - given[0, 0]) / given[0, 1]
    assert stats.kstest(standard, recorder_law(run.calls[0].kind).cdf).pvalue > 1e-6


def recorder_law(kind):
    known = {"normal": stats.norm(), "gumbel": stats.gumbel_r(), "exponential": stats.expon()}
    return known[kind] if kind in known else getattr(stats, kind)()


@pytest.mark.parametrize(
    ("combine", "centre", "factor"),
    [
        (lambda x, z: x + z, 5.0, 1.0),
        (lambda x, z: z + x, 5.0, 1.0),
        (lambda x, z: x - z, 5.0, -1.0),
        (lambda x, z: z - x, -5.0, 1.0),
        (lambda x, z: x + 2 * z, 5.0, 2.0),
        (lambda x, z: x - z / 4, 5.0, -0.25),
        (lambda x, z: x + (-z), 5.0, -1.0),
        (lambda x, z: x + z * -3, 5.0, -3.0),
    ],
)
@pytest.mark.parametrize("size", [None, 1])
def test_a_sum_has_its_centre_and_the_sign_of_its_noise(combine, centre, factor, size):
    def release(data, rng):
        shown = combine(data if size is None else np.array([data]), rng.laplace(size=size))
        return float(np.ravel(shown)[0])

    run = run_frozen(release, data=5.0)
    (call,) = run.calls
    last = call.meetings[-1]
    assert float(np.ravel(last.centre)[0]) == centre
    assert float(np.ravel(last.factor)[0]) == factor
    assert run.value == pytest.approx(centre + factor * float(np.ravel(call.draw)[0]))


@pytest.mark.parametrize(
    "combine",
    [
        lambda x, z: x / z,
        lambda x, z: np.divide(x, z),
        lambda x, z: z * z,
        lambda x, z: z**2,
        lambda x, z: abs(z),
        lambda x, z: np.exp(z),
        lambda x, z: np.maximum(z, x),
    ],
)
def test_what_is_not_linear_in_one_noise_is_not_followed(combine):
    run = run_frozen(lambda data, rng: 5.0 + combine(3.0, rng.laplace()))
    (call,) = run.calls
    assert call.meetings == []
    assert not (isinstance(run.value, Noisy) and run.value.call is not None)


def test_one_over_an_array_of_noise_is_not_followed():
    run = run_frozen(lambda data, rng: 5.0 + np.array([1.0, 2.0]) / rng.laplace(size=2))
    assert run.calls[0].meetings == []
    half = run_frozen(lambda data, rng: 5.0 + rng.laplace(size=2) / np.array([1.0, 2.0]))
    assert half.calls[0].meetings[-1].factor.tolist() == [1.0, 0.5]


def test_noise_that_is_added_in_place_leaves_its_centre():
    def release(data, rng):
        sums = np.array(data, dtype=float)
        sums += rng.laplace(size=2)
        return sums

    run = run_frozen(release, data=[3.0, 4.0])
    assert run.calls[0].meetings[-1].centre.tolist() == [3.0, 4.0]


def call(meetings=(), **given):
    found = Call(0, "laplace", "laplace", "?", (), (), "laplace#0", **given)
    found.meetings.extend(Meeting("?", np.array(c, dtype=float), f) for c, f in meetings)
    return found


@pytest.mark.parametrize(
    ("one", "other", "moved"),
    [
        (call([(0.0, 1.0)], scale=2.0), call([(3.0, 1.0)], scale=2.0), 1.5),
        (call([(0.0, 4.0)], scale=2.0), call([(3.0, 4.0)], scale=2.0), 3 / 8),
        (call([([0.0, 0.0], 1.0)], scale=1.0), call([([1.0, 2.0], 1.0)], scale=1.0), 3.0),
        (
            call([(0.0, 1.0), (0.0, 1.0)], scale=1.0),
            call([(1.0, 1.0), (5.0, 1.0)], scale=1.0),
            5.0,
        ),
        (call(location=0.0, scale=4.0), call(location=2.0, scale=4.0), 0.5),
        (call(scale=1.0), call(scale=1.0), None),
    ],
)
def test_how_far_a_centre_moved_in_scales_of_its_noise(one, other, moved):
    assert compute_scaled_movement(one, other) == moved


def test_mechanisms_count_with_what_they_declare_where_their_value_moved():
    def run(*locations):
        calls = [call(location=at, declared={"epsilon": 0.5}) for at in locations]
        return recorder.Run(1, calls=calls)

    assert declared_where_moved(run(0.0, 1.0, 2.0), run(0.0, 1.0, 2.0)) == 0.0
    assert declared_where_moved(run(0.0, 1.0, 2.0), run(0.0, 4.0, 5.0)) == 1.0


def warns(data, rng):
    if data[-1] > 1:
        import warnings

        warnings.warn("large", RuntimeWarning, stacklevel=1)
    return rng.laplace()


def raises(data, rng):
    if data[-1] > 1:
        raise ValueError
    return rng.laplace()


def draws_more(data, rng):
    return sum(rng.laplace() for _ in range(1 + (data[-1] > 1)))


@pytest.mark.parametrize("function", [warns, raises, draws_more])
def test_what_happens_on_one_side_alone_is_a_change(function):
    assert glimpses(function, [1, 1], [[1, 1], [1, 9]], {}) == [(0.0, 0.0), (CHANGED, 0.0)]


@pytest.mark.parametrize(("one", "other"), [([1, 2], [1, 9]), ([1, 9], [1, 2])])
def test_an_event_looks_on_the_side_where_the_dataset_is(one, other):
    (found,) = guide(lambda data, rng: sum(data) + rng.normal(), [(one, other)], runs=12)
    (event,) = found["events"]
    assert event["test"] == ("above" if sum(one) > sum(other) else "below")
    assert min(sum(one), sum(other)) < event["level"] < max(sum(one), sum(other))


@pytest.mark.parametrize(
    ("draw", "ends"),
    [
        (lambda rng: int(rng.integers(3, 9)), {3, 8}),
        (lambda rng: int(rng.integers(9)), {0, 8}),
        (lambda rng: random.randrange(9), {0, 8}),
        (lambda rng: random.randint(3, 9), {3, 9}),
        (lambda rng: random.getrandbits(4), {0, 15}),
        (lambda rng: str(rng.choice(["a", "b", "c", "d"], p=[0.0, 0.5, 0.5, 0.0])), {"b", "c"}),
        (lambda rng: str(rng.choice(["a", "b", "c"])), {"a", "c"}),
    ],
)
def test_far_draws_are_the_ends_of_what_can_be_drawn(draw, ends):
    function = lambda data, rng: draw(rng)  # noqa: E731
    assert {run_frozen(function, seed).value for seed in range(-12, 0)} == ends

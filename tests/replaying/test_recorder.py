"""The primitives are intercepted everywhere, frozen, and as they were when it is over."""

import os
import random
import secrets
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from dpaudit.freezing import patching, primitives, recorder, tracked_noise
from dpaudit.freezing.observing import observe_runs
from dpaudit.freezing.outputs import flatten_output

ROOT = Path(__file__).resolve().parents[2]
KEPT = np.random.default_rng(5)


def _drawn(function, seed=1, data=None):
    with patching.patch_primitives(function):
        run = recorder.call_recorded(function, data, seed, primitives.generator())
    assert run.error is None, run.error
    return run


CALLS = {
    "generator argument": lambda data, rng: rng.laplace(2.0, 3.0),
    "default_rng": lambda data, rng: np.random.default_rng().normal(2.0, 3.0),
    "module's generator": lambda data, rng: KEPT.uniform(1.0, 2.0),
    "vector": lambda data, rng: rng.normal(size=(2, 3)),
    "integers": lambda data, rng: rng.integers(0, 1000),
    "choice": lambda data, rng: rng.choice(["a", "b", "c"], p=[0.2, 0.3, 0.5]),
    "legacy": lambda data, rng: np.random.laplace(0, 1),  # noqa: NPY002
    "legacy randn": lambda data, rng: np.random.randn(3),  # noqa: NPY002
    "RandomState": lambda data, rng: np.random.RandomState().exponential(2.0),
    "random": lambda data, rng: random.random(),
    "gauss": lambda data, rng: random.gauss(0, 1),
    "Random": lambda data, rng: random.Random().expovariate(2.0),
    "secrets": lambda data, rng: secrets.randbelow(10**6),
    "SystemRandom": lambda data, rng: secrets.SystemRandom().random(),
    "urandom": lambda data, rng: int.from_bytes(os.urandom(8), "big"),
    "scipy": lambda data, rng: stats.laplace.rvs(scale=2.0),
    "scipy frozen": lambda data, rng: stats.norm(1.0, 2.0).rvs(size=4),
    "scipy discrete": lambda data, rng: stats.dlaplace(0.8).rvs(size=4),
    "scipy with a generator": lambda data, rng: stats.laplace.rvs(scale=2.0, random_state=rng),
    "geometric": lambda data, rng: rng.geometric(0.3),
    "binomial": lambda data, rng: rng.binomial(10**6, 0.3),
    "multivariate": lambda data, rng: rng.multivariate_normal([0.0, 0.0], np.eye(2)),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_primitive_is_frozen_by_the_seed_alone(name):
    runs = [_drawn(CALLS[name], seed) for seed in (1, 1)]
    values = [np.asarray(run.value).tolist() for run in runs]
    assert len(runs[0].calls) == 1
    assert values[0] == values[1]
    others = (np.asarray(_drawn(CALLS[name], seed).value).tolist() for seed in range(2, 12))
    assert any(values[0] != other for other in others)
    assert "test_recorder.py" in runs[0].calls[0].place


@pytest.mark.parametrize("name", CALLS)
def test_what_is_returned_has_the_type_that_it_has_without(name):
    frozen = _drawn(CALLS[name]).value
    plain = CALLS[name](None, np.random.default_rng(0))
    assert isinstance(frozen, type(plain)) or (np.isscalar(frozen) and np.isscalar(plain))
    assert np.shape(frozen) == np.shape(plain)


def test_everything_is_as_it_was_afterwards():
    before = (
        np.random.laplace,
        np.random.default_rng,
        np.random.Generator,
        random.random,
        random.Random.gauss,
        random.Random.__dict__.get("random"),
        secrets.randbelow,
        os.urandom,
        stats.laplace.rvs.__func__,
        KEPT,
    )
    _drawn(lambda data, rng: np.random.laplace())  # noqa: NPY002
    after = (
        np.random.laplace,
        np.random.default_rng,
        np.random.Generator,
        random.random,
        random.Random.gauss,
        random.Random.__dict__.get("random"),
        secrets.randbelow,
        os.urandom,
        stats.laplace.rvs.__func__,
        KEPT,
    )
    assert all(one is other for one, other in zip(before, after, strict=True))


def test_a_shift_passes_through_and_nothing_else():
    def centred(data, rng):
        return rng.laplace(data, 2.0), rng.normal(size=3) + data, data + 3 * rng.gumbel()

    one, other = (_drawn(centred, data=data).value for data in (5.0, 7.5))
    assert other[0] - one[0] == pytest.approx(2.5, abs=1e-12)
    assert np.allclose(other[1] - one[1], 2.5, atol=1e-12)
    assert other[2] - one[2] == pytest.approx(2.5, abs=1e-12)


def test_a_longer_vector_begins_with_the_shorter_one():
    long, short = (_drawn(lambda data, rng: rng.laplace(size=data), data=n).value for n in (9, 8))
    assert np.array_equal(long[:8], short)


def test_the_sum_with_noise_is_seen_with_its_place_and_scale():
    def noisy(data, rng):
        return data - 2.0 * rng.laplace(scale=3.0)

    (call,) = _drawn(noisy, data=10.0).calls
    (meeting,) = call.meetings
    assert (float(meeting.centre), float(meeting.factor), call.scale) == (10.0, -2.0, 3.0)
    assert meeting.place.endswith("in noisy")


def test_tracking_changes_no_arithmetic():
    plain = np.random.default_rng(3).laplace(size=5)
    call = tracked_noise.Call(0, "laplace", "x", "p", (), (5,), "k")
    noisy = tracked_noise.remembering(plain.copy(), call, 0.0)
    scalar = tracked_noise.remembering(float(plain[0]), call, 0.0)
    for operation in (
        lambda x: x + 1,
        lambda x: 3 - x,
        lambda x: x * 2 / 7,
        lambda x: -x,
        lambda x: abs(x) ** 2,
        lambda x: np.exp(x),
        lambda x: np.round(x, 1),
        lambda x: np.maximum(x, 0.1),
        lambda x: np.sum(x),
        lambda x: x > 0.2,
        lambda x: np.float64(2.0) + x,
        lambda x: np.arange(5.0) - x,
        lambda x: np.concatenate([np.atleast_1d(x), [1.0]]),
    ):
        assert np.array_equal(operation(noisy), operation(plain))
        value = operation(scalar)
        assert np.array_equal(value, operation(float(plain[0])))
        assert str(value) == str(operation(float(plain[0])))


def test_in_place_additions_are_seen():
    def noisy(data, rng):
        total = data.copy()
        total += rng.laplace(size=3)
        return total

    (call,) = _drawn(noisy, data=np.arange(3.0)).calls
    assert call.meetings[0].centre.tolist() == [0.0, 1.0, 2.0]


def test_a_seed_of_the_source_starts_over():
    def twice(data, rng):
        return [np.random.default_rng(4).normal() for _ in range(2)]

    run = _drawn(twice)
    assert run.value[0] == run.value[1]
    assert [text for text, _ in run.seeds] == ["4", "4"]


def test_draws_that_are_far_out_come_in_both_directions():
    values = [_drawn(lambda data, rng: rng.laplace(), seed).value for seed in (-2, -3)]
    assert min(values) < -1e3
    assert max(values) > 1e3


def test_randomness_that_is_not_intercepted_is_noticed():
    state = {"n": 0}

    def counts(data, rng):
        state["n"] += 1
        return data + state["n"]

    assert not observe_runs(counts, 1.0, 2.0).dataset.repeated
    assert observe_runs(lambda data, rng: data + rng.normal(), 1.0, 2.0).dataset.repeated


def test_what_only_the_first_call_draws_is_a_state():
    kept = []

    def cached(data, rng):
        if not kept:
            kept.append(rng.laplace())
        return data + kept[0]

    assert observe_runs(cached, 1.0, 2.0).keeps_state


def test_an_output_is_flattened_leaf_by_leaf():
    found = flatten_output({"a": [1, True, None], "b": np.eye(2), "c": ("x", float("nan"))})
    assert found.structure == "{'a':[f,b,None],'b':array(2, 2),'c':[t,f]}"
    assert found.paths[:3] == ["output['a'][0]", "output['a'][1]", "output['b'][0, 0]"]
    assert flatten_output(None, "ValueError").structure == "raises ValueError"


def test_the_plain_part_runs_without_dpaudit():
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]);"
        "from freezing.observing import observe_runs;"
        "found = observe_runs(lambda data, rng: data + rng.laplace(), 1.0, 3.0);"
        "print(found.neighbour.outputs[0].numbers[0] - found.dataset.outputs[0].numbers[0]);"
        "print(sorted({n.partition('.')[0] for n in sys.modules} & {'dpaudit', 'scipy'}))"
    )
    folder = ROOT / "dpaudit"
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, str(folder)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n")[:2] == ["2.0", "[]"]


def test_a_set_is_the_same_in_whichever_order_it_was_made():
    assert list({8, 0}) != list({0, 8})
    assert flatten_output({8, 0}).structure == flatten_output({0, 8}).structure == "{0,8}"
    assert flatten_output({8, 1}).structure != flatten_output({8, 0}).structure

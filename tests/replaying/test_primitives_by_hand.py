"""Arguments of primitives, ends of what they draw, and what a patch leaves behind, by hand."""

from __future__ import annotations

import hashlib
import random
from types import SimpleNamespace

import numpy as np
import pytest

from dpaudit.freezing import patching, primitives, recorder, seeds
from dpaudit.freezing.primitives import _LOCATED, _at_an_end, _bound, _end_of_python, _size


def run_frozen(function, seed=1):
    with patching.patch_primitives(function):
        run = recorder.call_recorded(function, None, seed, primitives.generator())
    assert run.error is None, run.error
    return run


@pytest.mark.parametrize(
    ("name", "given", "named", "found"),
    [
        ("laplace", (1.0, 2.0, 3), {}, {"loc": 1.0, "scale": 2.0, "size": 3}),
        ("laplace", (1.0,), {"scale": 2.0}, {"loc": 1.0, "scale": 2.0}),
        ("uniform", (1.0, 2.0, (3,)), {}, {"low": 1.0, "high": 2.0, "size": (3,)}),
        ("exponential", (2.0, 3), {}, {"scale": 2.0, "size": 3}),
        ("standard_normal", (3, "f"), {}, {"size": 3, "dtype": "f"}),
        ("random", (3,), {"out": None}, {"size": 3, "out": None}),
        ("standard_exponential", (3, "d", "inv"), {}, {"size": 3, "dtype": "d", "method": "inv"}),
        ("rand", (2, 3), {}, {"size": (2, 3)}),
        ("randn", (), {}, {"size": None}),
    ],
)
def test_arguments_of_numpy_have_their_names(name, given, named, found):
    assert _bound(name, _LOCATED[name][1], (given, named)) == found


@pytest.mark.parametrize(
    ("name", "given", "named"),
    [
        ("laplace", (1.0, 2.0, 3, 4), {}),
        ("laplace", (), {"dtype": "f"}),
        ("random", (1, "f", None, 4), {}),
        ("standard_normal", (), {"method": "inv"}),
    ],
)
def test_arguments_that_are_none_of_a_primitive_are_refused(name, given, named):
    with pytest.raises(TypeError, match=name):
        _bound(name, _LOCATED[name][1], (given, named))


def test_a_size_is_a_shape():
    assert [_size(one) for one in (None, 3, np.int64(2), (), [2, 3])] == [
        None, (3,), (2,), (), (2, 3),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "given", "named", "ends"),
    [
        ("integers", (5,), {}, (0, 4)),
        ("randint", (2, 5), {}, (2, 4)),
        ("integers", (5,), {"endpoint": True}, None),
        ("integers", (2, 5, 3), {}, None),
        ("choice", (4,), {}, (0, 3)),
        ("choice", (["a", "b", "c"],), {}, ("a", "c")),
        ("choice", (3,), {"p": [0.0, 0.5, 0.5]}, (1, 2)),
        ("choice", (3,), {"p": [0.5, 0.5, 0.0]}, (0, 1)),
        ("choice", (3,), {"size": 2}, None),
        ("choice", (3, 2), {}, None),
        ("permutation", (3,), {}, None),
    ],
)
def test_the_ends_of_what_numpy_draws(name, given, named, ends):
    found = [_at_an_end(the_state(up), None, name, given, named) for up in (False, True)]
    assert found == ([None] * 2 if ends is None else [(one,) for one in ends])


@pytest.mark.parametrize(
    ("name", "given", "ends"),
    [
        ("randrange", (5,), (0, 4)),
        ("_randbelow", (5,), (0, 4)),
        ("randrange", (2, 5), None),
        ("randint", (2, 5), (2, 5)),
        ("getrandbits", (3,), (0, 7)),
        ("choice", ("abc",), ("a", "c")),
        ("shuffle", ([1, 2],), None),
    ],
)
def test_the_ends_of_what_python_draws(name, given, ends):
    found = [_end_of_python(the_state(up), None, name, given) for up in (False, True)]
    assert found == ([None] * 2 if ends is None else [(one,) for one in ends])


def the_state(up):
    return SimpleNamespace(up=lambda fresh: up)


@pytest.mark.parametrize(
    ("draw", "kind", "location", "scale", "shape"),
    [
        (lambda rng: rng.uniform(2.0, 5.0), "uniform", 2.0, 3.0, ()),
        (lambda rng: rng.uniform(5.0, 2.0), "uniform", 5.0, -3.0, ()),
        (lambda rng: rng.exponential(4.0, 2), "exponential", 0.0, 4.0, (2,)),
        (lambda rng: rng.standard_normal((1, 2)), "normal", 0.0, 1.0, (1, 2)),
        (lambda rng: rng.laplace(), "laplace", 0.0, 1.0, ()),
        (lambda rng: rng.laplace(7.0), "laplace", 7.0, 1.0, ()),
        (lambda rng: random.uniform(2.0, 5.0), "uniform", 2.0, 3.0, ()),
        (lambda rng: random.expovariate(4.0), "exponential", 0.0, 0.25, ()),
        (lambda rng: random.gauss(), "normal", 0.0, 1.0, ()),
        (lambda rng: random.normalvariate(2.0, 3.0), "normal", 2.0, 3.0, ()),
        (lambda rng: np.random.RandomState(3).rand(2), "uniform", 0.0, 1.0, (2,)),
    ],
)
def test_a_call_has_its_place_scale_and_shape(draw, kind, location, scale, shape):
    (call,) = run_frozen(lambda data, rng: draw(rng)).calls
    assert (call.kind, call.location, call.scale, call.shape) == (kind, location, scale, shape)


@pytest.mark.parametrize(
    "made",
    [
        lambda: np.random.RandomState(3).random_sample(),
        lambda: np.random.RandomState([3, 4]).random_sample(),
        lambda: np.random.default_rng(3).random(),
        lambda: np.random.Generator(np.random.Philox(3)).random(),
        lambda: random.Random(3).random(),
        lambda: np.random.RandomState().random_sample(),
        lambda: np.random.default_rng().random(),
        lambda: random.Random().random(),
    ],
)
def test_to_make_a_generator_is_no_draw(made):
    assert [call.kind for call in run_frozen(lambda data, rng: made()).calls] == ["uniform"]


@pytest.mark.parametrize("seed", [0, 3, [3, 4], np.arange(5)])
def test_a_generator_is_known_by_the_state_that_its_seed_gives_it(seed):
    of_seed = seeds.identity(seed, np.random.RandomState)
    state = np.random.RandomState(seed).get_state(legacy=False)
    assert of_seed == hashlib.sha256(seeds._written(state)).hexdigest()


def test_draws_are_written_into_an_array_that_is_given():
    def into(data, rng):
        out = np.zeros(3)
        assert rng.standard_normal(out=out) is out
        return out

    run = run_frozen(into)
    assert run.calls[0].shape == (3,)
    assert run.value.tolist() == np.asarray(run.calls[0].draw).tolist()
    assert np.all(run.value != 0)


def test_draws_of_single_precision_have_their_type():
    run = run_frozen(lambda data, rng: rng.random(2, dtype=np.float32))
    assert run.value.dtype == np.float32


def test_a_scale_below_zero_is_refused_as_numpy_does():
    def at(scale):
        return lambda data, rng: rng.laplace(0.0, scale)

    with patching.patch_primitives(at(-1.0)):
        run = recorder.call_recorded(at(-1.0), None, 1, primitives.generator())
    assert run.error is not None
    assert run_frozen(at(0.0)).value == 0.0


def test_nothing_of_a_run_stays_behind_when_the_primitives_are_back():
    def seeded(data, rng):
        random.seed(7)
        return random.Random(5).random() + random.random()

    with patching.patch_primitives(seeded):
        recorder.call_recorded(seeded, None, 1, primitives.generator())
        assert len(primitives._streams) > 0
    assert primitives._streams == {}


def test_what_stands_in_for_a_generator_and_its_methods():
    made = np.random.default_rng(3)
    assert primitives.is_generator(made)
    assert not primitives.is_generator(primitives.generator())
    assert primitives.owner(made.normal) is made
    assert primitives.owner(len) is len
    assert primitives.owner(made) is made
    assert type(primitives.instead(made)) is primitives.OwnGenerator
    assert type(primitives.instead(np.random.RandomState(3))) is primitives.OwnRandomState
    assert primitives.instead(made.normal).__name__ == "normal"
    assert primitives.instead("text") is None
    assert isinstance(made, primitives.OwnGenerator)
    assert not isinstance("text", primitives.OwnGenerator)

"""Noise of a location and a scale by hand: rounded, whole, exponential, mixed and put together."""

from __future__ import annotations

import copy
import math
import pickle
from types import SimpleNamespace

import numpy as np
import pytest

from dpaudit.tracing import located_noise, pending
from dpaudit.tracing.located_noise import Exponential, MixedNoise, PendingNoise, WholeNoise
from dpaudit.tracing.pending import JointNoise, Pending, list_call_sources


class AState:
    """Answers with what it is given, or 0, and notes what is decided."""

    of_numpy = False

    def __init__(self, answer=None):
        self.answer, self.decided, self.looks, self.refused = answer, [], 0, []

    def note_look(self):
        self.looks += 1

    def refuse(self, reason):
        self.refused.append(reason)
        return RuntimeError(reason)

    def decide(self, kind, sources, law):
        self.decided.append((kind, law))
        assert not sources or {one[1].shape for one in sources} == {law.shape}
        return np.zeros(law.shape) if self.answer is None else np.array(self.answer, dtype=float)


def a_call(shape=(2,), kind="normal"):
    return SimpleNamespace(shape=shape, kind=kind, name=kind, index=0)


def noise(state, kind="normal", factor=(2.0, 3.0), of=PendingNoise):
    factor = np.array(factor)
    return of(state, kind, list_call_sources(a_call(factor.shape, kind)), factor)


# --- noise with a scale ---------------------------------------------------------------------------


def test_noise_that_is_looked_at_has_a_centre_of_nothing_and_is_one_number_then():
    state = AState([5.0, 7.0])
    made = noise(state, factor=(-2.0, 3.0))
    assert made.plain().tolist() == [5.0, 7.0]
    ((kind, law),) = state.decided
    assert (kind, law.centre.tolist(), law.scale.tolist()) == ("normal", [0, 0], [2, 3])
    assert ((made + 1).tolist(), (2 * made).tolist()) == ([6, 8], [10, 14])
    assert made.ravel().tolist() == made.reshape(2).tolist() == made.T.tolist() == [5, 7]
    assert made.astype(int).tolist() == [5, 7]
    assert (len(state.decided), state.looks) == (1, 1)


def test_gaussian_noise_adds_up_by_squares_and_no_other_noise_does():
    state = AState([1.0, 1.0])
    total = noise(state, factor=(3.0, 5.0)) + noise(state, factor=(4.0, 12.0))
    assert total._factor.tolist() == [5.0, 13.0]
    assert len(total._sources) == 2
    less = noise(state, factor=(3.0, 5.0)) - noise(state, factor=(4.0, 12.0))
    assert less._factor.tolist() == [5.0, 13.0]
    assert state.decided == []
    assert (noise(state, "laplace") + noise(state, "laplace")).tolist() == [2.0, 2.0]
    assert (noise(state, "laplace") - noise(state)).tolist() == [0.0, 0.0]
    assert (noise(state) + noise(state, factor=3.0)).tolist() == [2.0, 2.0]
    decided = noise(state)
    decided.plain()
    state.decided.clear()
    assert (noise(state) - decided).tolist() == [1.0, 1.0]
    ((_, law),) = state.decided
    assert law.centre.tolist() == [-1.0, -1.0]


def test_a_number_over_noise_and_noise_times_noise_look_at_it():
    state = AState([2.0, 4.0])
    assert (8.0 / noise(state)).tolist() == [4.0, 2.0]
    assert (noise(state) * noise(state)).tolist() == [4.0, 16.0]
    assert (noise(state) / noise(state)).tolist() == [1.0, 1.0]
    assert len(state.decided) == 5
    with pytest.raises(RuntimeError, match="multiplied by a value that is not a number"):
        noise(state) * "a"
    with pytest.raises(RuntimeError, match="added to a value that is not a number"):
        noise(state) + np.array(["a", "b"])


@pytest.mark.parametrize(
    ("value", "shape", "kind"),
    [(1, (), float), (1.5, (), float), (np.float64(1.5), (), np.float64)],
)
def test_a_noisy_number_is_of_numpy_where_the_sum_of_plain_ones_is(value, shape, kind):
    state = AState(2.0)
    assert type(value + noise(state, factor=2.0)) is kind
    assert type(noise(state, factor=2.0) + value) is kind
    part = PendingNoise(state, "normal", list_call_sources(a_call())[0:1], np.array([2.0, 3.0]))[0]
    assert type(1.5 + part) is np.float64
    assert type(noise(state, factor=2.0).meet(1.5, of_numpy=False)) is float
    assert type(part.meet(1.5, of_numpy=False)) is float


def test_a_matrix_mixes_gaussian_noise_column_by_column():
    state = AState([7.0, 8.0])
    matrix = np.array([[1.0, 2.0], [0.0, -1.0]])
    mixed = matrix @ noise(state)
    assert isinstance(mixed, MixedNoise)
    assert mixed._matrix.tolist() == [[2.0, 6.0], [0.0, -3.0]]
    assert (-mixed)._matrix.tolist() == [[-2.0, -6.0], [0.0, 3.0]]
    assert (mixed + np.array([1.0, 4.0])).tolist() == [7.0, 8.0]
    assert state.decided[-1][0] == "normal of a matrix"
    assert state.decided[-1][1].centre.tolist() == [1.0, 4.0]
    assert (mixed - 3).tolist() == [7.0, 8.0]
    assert state.decided[-1][1].centre.tolist() == [-3.0, -3.0]
    assert (3 - mixed).tolist() == [7.0, 8.0]
    assert state.decided[-1][1].centre.tolist() == [3.0, 3.0]
    state.decided.clear()
    assert (2 * mixed).tolist() == [14.0, 16.0]
    assert mixed[1] == 8.0
    assert state.decided[-1][1].centre.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("matrix", "kind", "factor"),
    [
        (np.ones((3, 2)), "normal", (2.0, 3.0)),
        (np.ones((2, 2)), "laplace", (2.0, 3.0)),
        (np.ones((2, 2)), "normal", ((2.0, 3.0), (1.0, 1.0))),
        (np.ones((2, 2), dtype=bool), "normal", (2.0, 3.0)),
    ],
)
def test_other_products_of_matrices_look_at_the_noise(matrix, kind, factor):
    state = AState()
    assert isinstance(matrix @ noise(state, kind, factor), np.ndarray)
    assert [one for one, _ in state.decided] == [kind]


# --- whole numbers --------------------------------------------------------------------------------


def test_rounded_laplace_noise_has_the_ratio_of_its_scale():
    state = AState([3.0, 4.0])
    made = np.round(noise(state, "laplace", (2.0, -4.0)))
    assert isinstance(made, WholeNoise)
    assert (made._kind, made.dtype) == ("rounded laplace", np.dtype(float))
    assert made._ratio.tolist() == [math.exp(-0.5), math.exp(-0.25)]
    alone = round(noise(state, "laplace", 2.0))
    assert (type(alone), alone.dtype) == (WholeNoise, np.dtype(np.int64))
    assert state.decided == []


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (lambda s: round(noise(s, factor=2.0)), 2),
        (lambda s: round(noise(s, "laplace", 2.0), 1), 2.4),
        (lambda s: round(noise(s, "laplace", 0.0)), 2),
        (lambda s: np.round(noise(s, factor=2.0)), 2),
        (lambda s: np.round(noise(s, "laplace", 2.0), 1), 2.4),
    ],
)
def test_other_rounded_noise_is_that_of_its_number(made, expected):
    state = AState(2.4)
    found = made(state)
    assert not isinstance(found, Pending)
    assert found == expected
    assert len(state.decided) == 1


def test_rounded_arrays_of_other_noise_are_arrays_of_floats():
    found = np.round(noise(AState([2.4, -0.6])))
    assert (found.tolist(), found.dtype) == ([2.0, -1.0], np.dtype(float))


def whole_noise(state, kind=np.int64):
    return WholeNoise(
        state, "discrete laplace", list_call_sources(a_call()), np.array([0.5, 0.25]), kind
    )


@pytest.mark.parametrize(
    ("use", "centre"),
    [
        (lambda z: z + 3, [3, 3]),
        (lambda z: 3 + z, [3, 3]),
        (lambda z: 3 - z, [3, 3]),
        (lambda z: z - 3, [-3, -3]),
        (lambda z: -z + np.array([1, 2]), [1, 2]),
        (lambda z: z - np.array([1, 2], dtype=np.uint8), [-1, -2]),
        (lambda z: z.plain(), [0, 0]),
    ],
)
def test_whole_noise_meets_a_centre_with_either_sign(use, centre):
    state = AState([7.0, 8.0])
    found = use(whole_noise(state))
    assert (found.tolist(), found.dtype) == ([7, 8], np.int64)
    ((kind, law),) = state.decided
    assert (kind, law.centre.tolist(), law.ratio.tolist()) == (
        "discrete laplace", centre, [0.5, 0.25],
    )  # fmt: skip


def test_what_is_whole_meets_floats_and_parts_keep_their_ratio():
    state = AState([7.0, 8.0])
    assert (whole_noise(state) + 1.0).dtype == np.dtype(float)
    assert (whole_noise(state, float) + 1).dtype == np.dtype(float)
    assert whole_noise(state)[1]._ratio.tolist() == 0.25
    state.decided.clear()
    assert (whole_noise(state) * 2).tolist() == [14, 16]
    assert state.decided[0][1].centre.tolist() == [0, 0]
    assert (whole_noise(state) + np.zeros((3, 1))).shape == (2,)
    assert state.decided[1][1].shape == (3, 2)
    assert (whole_noise(state) + noise(state)).tolist() == [14.0, 16.0]


# --- exponential noise ----------------------------------------------------------------------------


def exponential(state, factor=(2.0, 3.0), kind="exponential"):
    return noise(state, kind, factor, Exponential)


def test_exponential_noise_that_is_looked_at_is_a_draw_that_both_sides_share():
    state = AState([0.5, 0.25])
    assert exponential(state).plain().tolist() == [0.5, 0.25]
    assert type(exponential(AState(0.5), 2.0).plain()) is float
    ((kind, law),) = state.decided
    assert kind == "public"
    assert law.given == b"exponential" + np.array([2.0, 3.0]).tobytes()
    standard = located_noise.standard_draw("exponential", np.random.default_rng(5), (2,))
    assert law.make(np.random.default_rng(5)).tolist() == (standard * [2.0, 3.0]).tolist()


@pytest.mark.parametrize(
    "difference",
    [
        lambda a, b: a - b,
        lambda a, b: a + -b,
        lambda a, b: -a + b,
        lambda a, b: 2 * a / 2 - b,
    ],
)
def test_the_difference_of_two_exponential_draws_is_laplace_noise(difference):
    state = AState()
    made = difference(exponential(state), exponential(state))
    assert (type(made), made._kind) == (PendingNoise, "laplace")
    assert made._factor.tolist() == [2.0, 3.0]
    assert len(made._sources) == 2
    assert state.decided == []


@pytest.mark.parametrize(
    "combined",
    [
        lambda s: exponential(s) + exponential(s),
        lambda s: exponential(s) - exponential(s, (2.0, 4.0)),
        lambda s: exponential(s) - exponential(s, (2.0, 3.0), "gumbel"),
        lambda s: exponential(s, (0.0, 1.0)) - exponential(s, (0.0, 1.0)),
        lambda s: exponential(s, (2.0, 3.0), "gumbel") - exponential(s, (2.0, 3.0), "gumbel"),
    ],
)
def test_other_sums_of_exponential_draws_are_of_numbers(combined, monkeypatch):
    state = AState([1.0, 1.0])
    assert isinstance(combined(state), np.ndarray)
    assert [kind for kind, _ in state.decided] == ["public"] * 2


def test_exponential_noise_meets_no_value():
    for use in (lambda z: z + 1.0, lambda z: 1.0 - z):
        with pytest.raises(RuntimeError, match="no rule for the law of exponential noise"):
            use(exponential(AState()))


# --- noise that is put together -------------------------------------------------------------------


def test_every_part_of_joint_noise_meets_its_own_part_of_a_value():
    state = AState([5.0, 6.0])
    joint = np.stack([noise(state), noise(state, "laplace")])
    assert isinstance(joint, JointNoise)
    assert (joint.shape, joint.ndim, joint.size, len(joint)) == ((2, 2), 2, 4, 2)
    assert (joint + np.array([[1.0, 2.0], [3.0, 4.0]])).tolist() == [[5.0, 6.0]] * 2
    assert [kind for kind, _ in state.decided] == ["normal", "laplace"]
    assert [law.centre.tolist() for _, law in state.decided] == [[1.0, 2.0], [3.0, 4.0]]


def test_joint_noise_is_split_along_the_axis_in_which_it_was_joined():
    state = AState([5.0, 6.0])
    value = np.array([[1.0, 2.0], [3.0, 4.0]])
    (np.stack([noise(state), noise(state)], axis=1) - value).tolist()
    assert [law.centre.tolist() for _, law in state.decided] == [[-1.0, -3.0], [-2.0, -4.0]]
    state.decided.clear()
    row = np.concatenate([noise(state), noise(state), noise(state)])
    assert row.shape == (6,)
    assert (np.arange(6.0) + row).tolist() == [5.0, 6.0] * 3
    assert [law.centre.tolist() for _, law in state.decided] == [[0, 1], [2, 3], [4, 5]]


def test_joint_noise_that_is_scaled_stays_joint():
    state = AState([5.0, 6.0])
    joint = 2 * np.concatenate([noise(state), noise(state)])
    assert isinstance(joint, JointNoise)
    assert [one._factor.tolist() for one in joint._parts] == [[4.0, 6.0]] * 2
    assert isinstance(-joint, JointNoise)
    assert state.decided == []
    assert joint[1:3].tolist() == [6.0, 5.0]
    assert (joint + np.zeros((2, 4))).tolist() == [[5.0, 6.0] * 2] * 2
    assert (joint + joint).tolist() == [10.0, 12.0] * 2


def test_what_is_joined_with_values_or_in_other_ways_is_looked_at():
    state = AState([5.0, 6.0])
    for found in (
        np.stack([noise(state), np.zeros(2)]),
        np.concatenate((noise(state), noise(state)), dtype=float),
        np.vstack([noise(state)]),
    ):
        assert type(found) is np.ndarray
    looked_at = noise(state)
    looked_at.plain()
    assert type(np.stack([looked_at, noise(state)])) is np.ndarray


# --- noise that is looked at ----------------------------------------------------------------------


LOOKS = {
    float: (lambda z: float(z), 2.5),
    int: (lambda z: int(z), 2),
    complex: (lambda z: complex(z), 2.5 + 0j),
    bool: (lambda z: bool(z), True),
    "trunc": (lambda z: math.trunc(z), 2),
    "floor": (lambda z: math.floor(z), 2),
    "ceil": (lambda z: math.ceil(z), 3),
    "round": (lambda z: round(z, 1), 2.5),
    hash: (lambda z: hash(z), hash(2.5)),
    repr: (lambda z: repr(z), "2.5"),
    str: (lambda z: str(z), "2.5"),
    format: (lambda z: f"{z:.2f}", "2.50"),
    "pickle": (lambda z: pickle.loads(pickle.dumps(z)), 2.5),
    "method": (lambda z: z.is_integer(), False),
    "exp": (lambda z: float(np.exp(z)), math.exp(2.5)),
    "compare": (lambda z: bool(z > 2), True),
    "array": (lambda z: np.array(z).tolist(), 2.5),
    "power": (lambda z: z**2, 6.25),
    "maximum": (lambda z: float(np.maximum(z, 3.0)), 3.0),
}


@pytest.mark.parametrize("look", LOOKS)
def test_whatever_looks_at_noise_sees_one_number(look):
    use, expected = LOOKS[look]
    state = AState(2.5)
    made = noise(state, factor=2.0)
    assert use(made) == expected
    assert made.is_decided
    assert float(made) == 2.5
    assert (len(state.decided), state.looks) == (1, 1)


def test_what_does_not_look_at_noise_decides_nothing():
    state = AState()
    made = noise(state)
    assert (made.shape, made.ndim, made.size, len(made), made.dtype) == ((2,), 1, 2, 2, float)
    assert made.copy() is made
    assert copy.deepcopy(made) is made
    assert +made is made
    assert made.astype(float) is made
    assert [one.shape for one in made] == [(), ()]
    assert made[1]._factor.tolist() == 3.0
    assert made.reshape(2, 1)._factor.tolist() == [[2.0], [3.0]]
    assert made.reshape(1, 2).T.shape == (2, 1)
    assert not hasattr(made, "_other")
    assert state.decided == []


def test_noise_is_written_into_nothing():
    state = AState([2.0, 3.0])
    made = noise(state)
    with pytest.raises(RuntimeError, match="changes noise in place"):
        made[0] = 1.0
    target = np.ones(2)
    target += made
    assert target.tolist() == [2.0, 3.0]
    with pytest.raises(RuntimeError, match="changes noise in place"):
        np.multiply(noise(state), 2.0, out=np.zeros(2))
    assert 3.0 in noise(state)
    assert 4.0 not in noise(state)
    with pytest.raises(TypeError):
        len(noise(AState(2.0), factor=2.0))


def test_noise_inside_of_lists_and_dicts_is_decided():
    state = AState(2.0)
    z = noise(state, factor=2.0)
    held = {"a": [z, (1, z)], "b": "text"}
    assert pending.decide_pending_noise(held) == {"a": [2.0, (1, 2.0)], "b": "text"}
    assert type(pending.decide_pending_noise((z,))) is tuple
    assert pending.is_number(np.array([1, 2]))
    assert not pending.is_number(z)
    assert not pending.is_number("a")
    assert pending.number_draw_entries((2, 2)).tolist() == [[0, 1], [2, 3]]
    assert pending.number_draw_entries(()).shape == ()

"""Choices, coins, uniform and geometric draws by hand: which law an operation on them has."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dpaudit.tracing import choices
from dpaudit.tracing.choices import Choosing, Geometric, Uniform, uniform_draws
from dpaudit.tracing.discrete import CommonDraw
from dpaudit.tracing.inverse import Inverse
from dpaudit.tracing.located_noise import Exponential, WholeNoise
from dpaudit.tracing.pending import list_call_sources


class AState:
    """Answers with what it is given, or 0, and notes what is decided."""

    of_numpy = False

    def __init__(self, answer=None):
        self.answer, self.decided, self.looks = answer, [], 0

    def note_look(self):
        self.looks += 1

    def refuse(self, reason):
        return RuntimeError(reason)

    def decide(self, kind, sources, law):
        assert {one[1].shape for one in sources} == {law.shape}
        self.decided.append((kind, law))
        return np.zeros(law.shape) if self.answer is None else np.array(self.answer)

    @property
    def law(self):
        (_, law), = self.decided  # fmt: skip
        return law


def a_call(shape=(2,), kind="choice", name="numpy.random.Generator.choice"):
    return SimpleNamespace(shape=shape, kind=kind, name=name, index=0)


def choosing(state, options, chances):
    options, chances = np.array(options), np.array(chances)
    return Choosing(state, list_call_sources(a_call(options.shape[:-1])), options, chances)


TWO = [[1, 2], [5, 7]], [[0.25, 0.75], [0.5, 0.5]]


# --- choices --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("use", "options"),
    [
        (lambda c: c + 10, [[11, 12], [15, 17]]),
        (lambda c: 10 + c, [[11, 12], [15, 17]]),
        (lambda c: 10 - c, [[9, 8], [5, 3]]),
        (lambda c: c - 10, [[-9, -8], [-5, -3]]),
        (lambda c: c * 2 + 10, [[12, 14], [20, 24]]),
        (lambda c: 8 / c + 0, [[8, 4], [8 / 5, 8 / 7]]),
        (lambda c: c / 2 - 0, [[0.5, 1], [2.5, 3.5]]),
        (lambda c: -c + 0, [[-1, -2], [-5, -7]]),
        (lambda c: c + np.array([0, 100]), [[1, 2], [105, 107]]),
    ],
)
def test_a_choice_is_decided_where_it_is_added_with_every_option_moved(use, options):
    state = AState()
    assert use(choosing(state, *TWO)).tolist() == [0, 0]
    assert state.law.options.tolist() == options
    assert state.law.chances.tolist() == TWO[1]
    assert state.decided[0][0] == "choice"


def test_a_choice_that_is_scaled_stays_one_and_one_that_is_looked_at_is_decided():
    state = AState([2.0, 7.0])
    made = choosing(state, *TWO)
    assert isinstance(made * 3, Choosing)
    assert isinstance(-made, Choosing)
    assert state.decided == []
    assert (made.plain().tolist(), made.dtype, made.plain().dtype) == ([2, 7], int, int)
    assert (state.looks, len(state.decided)) == (1, 1)
    assert (made + 1).tolist() == [3, 8]
    assert len(state.decided) == 1


def test_two_choices_are_decided_each_by_itself():
    state = AState([1.0, 5.0])
    assert (choosing(state, *TWO) + choosing(state, *TWO)).tolist() == [2, 10]
    made = choosing(state, *TWO)
    assert (made - made).tolist() == [0, 0]
    assert len(state.decided) == 3


@pytest.mark.parametrize(
    ("key", "options"),
    [
        (1, [5, 7]),
        (-2, [1, 2]),
        (slice(1, None), [[5, 7]]),
        ([True, False], [[1, 2]]),
        ([1, 0], [[5, 7], [1, 2]]),
        (..., TWO[0]),
        ((..., 1), [5, 7]),
        ((..., slice(None, None, -1)), TWO[0][::-1]),
        (None, [TWO[0]]),
    ],
)
def test_a_part_of_a_choice_has_all_options_of_its_entries(key, options):
    state = AState()
    choosing(state, *TWO)[key].plain()
    assert state.law.options.tolist() == options
    assert state.law.chances.shape == state.law.options.shape
    with pytest.raises(IndexError):
        choosing(state, *TWO)[0, 1]


def test_a_part_of_a_matrix_of_choices_is_that_of_its_entries():
    options = np.arange(12).reshape(2, 2, 3)
    made = choosing(AState(), options, np.full((2, 2, 3), 1 / 3))
    assert made[:, 1]._options.tolist() == [[3, 4, 5], [9, 10, 11]]
    assert made[..., 0]._options.tolist() == [[0, 1, 2], [6, 7, 8]]
    assert made[1, 0]._options.tolist() == [6, 7, 8]


# --- uniform draws --------------------------------------------------------------------------------


def uniform(state, offset=0.0, factor=1.0, shape=(2,)):
    moved = (np.full(shape, one) for one in (offset, factor))
    return uniform_draws(state, list_call_sources(a_call(shape)), *moved)


@pytest.mark.parametrize(
    ("compare", "chance"),
    [
        (lambda u: u < 0.3, 0.3),
        (lambda u: u <= 0.3, 0.3),
        (lambda u: u > 0.3, 0.7),
        (lambda u: u >= 0.3, 0.7),
        (lambda u: 0.3 < u, 0.7),
        (lambda u: 0.3 >= u, 0.3),
        (lambda u: u < 2.0, 1.0),
        (lambda u: u > -2.0, 1.0),
        (lambda u: u < -2.0, 0.0),
        (lambda u: 1 - u < 0.3, 0.3),
        (lambda u: -u > -0.3, 0.3),
        (lambda u: 2 * u < 0.5, 0.25),
        (lambda u: u / 2 < 0.4, 0.8),
        (lambda u: 4 * u - 1 > 1, 0.5),
        (lambda u: 3 - 4 * u > 2, 0.25),
    ],
)
def test_a_uniform_draw_below_a_chance_is_a_coin(compare, chance):
    state = AState([1.0, 0.0])
    coin = compare(uniform(state))
    assert isinstance(coin, Choosing)
    assert coin._options.tolist() == [[False, True]] * 2
    assert coin._chances == pytest.approx(np.array([[1 - chance, chance]] * 2))
    assert coin.plain().tolist() == [True, False]


def test_each_draw_has_the_threshold_of_its_place():
    state = AState()
    coin = uniform(state) < np.array([0.25, 0.5])
    assert coin._chances[:, 1].tolist() == [0.25, 0.5]
    assert (uniform(state) < np.array([[0.25], [0.5]])).shape == (2, 2)
    assert [kind for kind, _ in state.decided] == ["public"]


@pytest.mark.parametrize(("offset", "is_below"), [(0.3, True), (0.5, False), (0.7, False)])
def test_a_draw_from_an_interval_of_no_length_is_its_end_and_no_coin(offset, is_below):
    state = AState([0.25, 0.75])
    found = uniform(state, offset, 0.0) < 0.5
    assert found.tolist() == [is_below] * 2
    assert [kind for kind, _ in state.decided] == ["public"]


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        (lambda u: u + 3, [3.25, 3.75]),
        (lambda u: 3 - u, [2.75, 2.25]),
        (lambda u: u - 3, [-2.75, -2.25]),
        (lambda u: u * 4, [1.0, 3.0]),
        (lambda u: u / 4, [0.0625, 0.1875]),
        (lambda u: -u, [-0.25, -0.75]),
        (lambda u: 2 * (1 - u) + 1, [2.5, 1.5]),
        (lambda u: 3 / u, [12.0, 4.0]),
        (lambda u: u + np.zeros((3, 1)), [[0.25, 0.75]] * 3),
        (lambda u: (4 * u)[1], 3.0),
    ],
)
def test_scaled_and_moved_draws_are_those_of_the_numbers_on_the_unit_interval(use, expected):
    state = AState([0.25, 0.75])
    if isinstance(expected, float):
        state.answer = 0.75
    found = use(uniform(state))
    assert np.asarray(found).tolist() == expected
    kind, law = state.decided[0]
    assert kind == "public"
    assert isinstance(law, CommonDraw)
    assert law.given == b"uniform"
    assert (
        (law.make(np.random.default_rng(0)) >= 0) & (law.make(np.random.default_rng(0)) < 1)
    ).all()


def test_moved_draws_are_decided_with_those_that_they_are_made_of():
    state = AState([0.25, 0.75])
    first = uniform(state)
    moved = 2 * first
    assert not moved.is_decided
    first.plain()
    assert moved.is_decided
    assert (moved < 0.6).tolist() == [True, False]
    assert len(state.decided) == 1
    alone = uniform(AState(0.5), shape=())
    twice = 2 * alone
    assert (type(twice.plain()), twice.plain()) == (float, 1.0)
    assert type(alone.plain()) is float


@pytest.mark.parametrize("function", [np.log, np.log1p, np.abs, np.sign])
def test_functions_of_draws_alike_are_made_of_the_draw(function):
    state = AState([0.25, 0.75])
    made = function(1 + uniform(state))
    assert isinstance(made, Inverse)
    assert np.asarray(made) == pytest.approx(function(np.array([1.25, 1.75])))
    mixed = uniform(state) + np.array([0.0, 1.0])
    assert not isinstance(function(mixed), Inverse)
    scaled = uniform(state) * np.array([1.0, 2.0])
    assert not isinstance(function(scaled), Inverse)
    looked_at = uniform(state)
    looked_at.plain()
    assert not isinstance(function(looked_at), Inverse)


# --- geometric draws ------------------------------------------------------------------------------


def geometric(state, chance=0.25):
    return Geometric(state, list_call_sources(a_call()), np.full(2, chance))


def test_the_difference_of_geometric_draws_is_discrete_laplace_noise():
    state = AState()
    noise = geometric(state) - geometric(state)
    assert isinstance(noise, WholeNoise)
    (noise + np.array([3, 4])).tolist()
    kind, law = state.decided[0]
    assert kind == "discrete laplace"
    assert law.ratio.tolist() == [0.75, 0.75]
    assert law.centre.tolist() == [3, 4]


def test_other_uses_of_geometric_draws_decide_them():
    state = AState([2.2, 3.0])
    one = geometric(state)
    for found in (one + geometric(state), one - geometric(state, 0.5), one - one, one * 2):
        assert not isinstance(found, WholeNoise)
    assert {kind for kind, _ in state.decided} == {"public"}
    assert (one.plain().tolist(), one.plain().dtype) == ([2, 3], np.int64)
    decided = geometric(state)
    decided.plain()
    assert (geometric(state) - decided).tolist() == [0, 0]
    other, law = state.decided[0][1], state.decided[2][1]
    assert other.given != law.given  # of another chance
    assert other.given == b"geometric" + np.full(2, 0.25).tobytes()
    assert geometric(AState(2.0))[0].plain() == 2


# --- primitives -----------------------------------------------------------------------------------


def drawn(kind, given, *, shape=(), name="numpy.random.Generator.x", state=None, draw=None):
    state = AState() if state is None else state
    call = SimpleNamespace(shape=None, kind=kind, name=name, index=0)
    draw = draw or (lambda rng: rng.random(shape) if shape else float(rng.random()))
    return choices.other_draw(state, call, draw, given), state


@pytest.mark.parametrize(
    ("given", "options", "chances"),
    [
        ({"a": 3}, [0, 1, 2], [1 / 3] * 3),
        ({"0": [5, 7]}, [5, 7], [0.5, 0.5]),
        ({"a": [5, 7], "p": [0.25, 0.75]}, [5, 7], [0.25, 0.75]),
        ({"0": 2, "1": (), "2": False, "3": [0.25, 0.75]}, [0, 1], [0.25, 0.75]),
        ({"a": 2, "replace": False, "size": 1}, [[0, 1]], [[0.5, 0.5]]),
        ({"a": 2, "axis": 0, "shuffle": False, "size": 2}, [[0, 1]] * 2, [[0.5, 0.5]] * 2),
        ({"a": 2, "size": (1, 2)}, [[[0, 1]] * 2], [[[0.5, 0.5]] * 2]),
        ({"a": [0.5, 2.5]}, [0.5, 2.5], [0.5, 0.5]),
    ],
)
def test_a_choice_is_among_numbers_with_their_chances(given, options, chances):
    found, _ = drawn("choice", given)
    assert isinstance(found, Choosing)
    assert found._options.tolist() == options
    assert np.allclose(found._chances, chances)


@pytest.mark.parametrize(
    "given",
    [
        {"a": 3, "size": 2, "replace": False},
        {"a": 5000},
        {"a": []},
        {"a": [1, 2], "axis": 1},
        {"a": 3, "other": 1},
    ],
)
def test_a_choice_of_another_kind_is_a_draw_that_both_sides_share(given):
    found, state = drawn("choice", given, shape=(2,))
    assert not isinstance(found, Choosing)
    assert [kind for kind, _ in state.decided] == ["public"]


def test_of_what_is_no_number_the_place_is_chosen():
    found, state = drawn("choice", {"a": ["x", "y"], "p": [0.25, 0.75]}, state=AState(1.0))
    assert found == "y"
    assert state.law.options.tolist() == [0, 1]
    assert state.law.chances.tolist() == [0.25, 0.75]
    rows, _ = drawn("choice", {"a": [[1, 2], [3, 4]]}, state=AState(1.0))
    assert rows.tolist() == [3, 4]
    large, state = drawn("choice", {"a": [2**53, 1]}, state=AState(0.0))
    assert large == 2**53
    assert state.law.options.tolist() == [0, 1]


def test_the_most_options_are_a_choice():
    assert isinstance(drawn("choice", {"a": 4096})[0], Choosing)
    assert not isinstance(drawn("choice", {"a": 4097})[0], Choosing)
    assert isinstance(drawn("integers", {"low": 1, "high": 4097})[0], Choosing)
    assert not isinstance(drawn("integers", {"low": 0, "high": 4097})[0], Choosing)


@pytest.mark.parametrize("kind", ["integers", "randint"])
@pytest.mark.parametrize(
    ("given", "options"),
    [
        ({"low": 3}, [0, 1, 2]),
        ({"low": 3, "high": 5}, [3, 4]),
        ({"0": -1, "1": 2}, [-1, 0, 1]),
        ({"low": 0, "high": 2, "size": 2}, [[0, 1]] * 2),
        ({"low": 7, "high": 8}, [7]),
    ],
)
def test_integers_are_below_their_end_and_equally_likely(kind, given, options):
    found, _ = drawn(kind, given)
    assert found._options.tolist() == options
    assert found._chances == pytest.approx(np.full(np.shape(options), 1 / np.shape(options)[-1]))


@pytest.mark.parametrize(
    "given",
    [
        {"low": 0, "high": 2, "endpoint": True},
        {"low": 0, "high": 2, "dtype": "int32"},
        {"low": [0, 1], "high": 2},
        {"low": 0, "high": [2, 3]},
        {"low": 3, "high": 3},
    ],
)
def test_integers_of_another_kind_are_no_choice(given):
    assert not isinstance(drawn("integers", given)[0], Choosing)


def test_readers_are_those_of_numpy_alone():
    assert not isinstance(drawn("choice", {"a": 3}, name="random.choice")[0], Choosing)
    found, _ = drawn("geometric", {"p": 0.5, "size": 2})
    assert (type(found), found.shape, found._chance.tolist()) == (Geometric, (2,), [0.5, 0.5])
    assert drawn("geometric", {"0": [0.5, 0.25]})[0]._chance.tolist() == [0.5, 0.25]


@pytest.mark.parametrize(
    ("example", "answer", "expected"),
    [
        (lambda rng: int(rng.integers(9)), 3.2, 3),
        (lambda rng: rng.integers(9, size=1), [3.2], np.array([3])),
        (lambda rng: bool(rng.integers(2)), 0.9, True),
        (lambda rng: float(rng.random()), 0.25, 0.25),
        (lambda rng: np.float32(0.5), 0.25, np.float32(0.25)),
        (lambda rng: rng.random(1), [0.25], np.array([0.25])),
    ],
)
def test_a_public_draw_has_the_kind_that_its_primitive_draws(example, answer, expected):
    found, state = drawn("other", {}, state=AState(answer), draw=example)
    assert type(found) is type(expected)
    assert np.array_equal(found, expected)
    assert state.law.shape == np.shape(expected)


@pytest.mark.parametrize("example", ["a", [1.0], 2**53, np.array(["a"]), 1j])
def test_no_law_is_read_of_draws_that_are_no_numbers_or_too_large(example):
    with pytest.raises(RuntimeError, match="no rule for the law of draws of mine"):
        drawn("other", {}, name="mine", draw=lambda rng: example)


def test_draws_are_alike_where_they_are_given_the_same():
    def given(**named):
        return drawn("other", named)[1].law.given

    assert given(a=1, b=2) == given(b=2, a=1)
    assert given(a=1) != given(a=2)
    assert given(a=1) != given(b=1)
    assert given(a=lambda: 0) != given(a=lambda: 0)  # nobody can tell


# --- noise with location and scale ----------------------------------------------------------------


def test_uniform_noise_is_scaled_and_moved_and_any_other_exponential():
    state = AState([0.25, 0.75])
    call = SimpleNamespace(shape=(2,), kind="uniform", name="uniform", index=0)
    found = choices.other_noise(state, call, np.array(3.0), np.array(2.0))
    assert isinstance(found, Uniform)
    assert found.plain().tolist() == [3.5, 4.5]
    plain = choices.other_noise(state, call, np.array(0.0), np.array(1.0))
    assert plain._first is plain
    call.kind = "exponential"
    noise = choices.other_noise(state, call, np.array(0.0), np.array(2.0))
    assert isinstance(noise, Exponential)
    assert noise._factor.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="exponential noise that is added"):
        choices.other_noise(state, call, np.array([0.0, 1.0]), np.array(2.0))


def test_names_of_arguments_are_those_of_their_order():
    assert choices._bind_argument_names("a b c", {"0": 1, "c": 3}) == {"a": 1, "c": 3}
    assert choices._bind_argument_names("a b c", {"0": 1, "d": 3}) is None
    assert [choices._shape_of(one, (9,)) for one in (None, 3, (2, 1), ())] == [
        (9,), (3,), (2, 1), (),
    ]  # fmt: skip
    assert choices._are_exact(np.array([2**53 - 1, -(2**53) + 1]))
    assert not choices._are_exact(np.array([-(2**53)]))
    assert choices._are_exact(np.array([1e300]))

"""Functions of one uniform draw by hand: the pieces of either half, and the noise that they are."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from dpaudit.tracing import inverse
from dpaudit.tracing.choices import uniform_draws
from dpaudit.tracing.inverse import Inverse, InversePiece
from dpaudit.tracing.located_noise import Exponential, PendingNoise
from dpaudit.tracing.pending import list_call_sources

LOWER, UPPER = (0.0, 0.5), (0.5, 1.0)
U, LOG_U, LOG_REST = (
    InversePiece(0.0, 1.0),
    InversePiece(0.0, 1.0, (0.0, 1.0)),
    InversePiece(0.0, 1.0, (1.0, -1.0)),
)
CENTRED = InversePiece(-0.5, 1.0)


class AState:
    """Answers with what it is given, and notes what is decided."""

    of_numpy = False

    def __init__(self, answer=(0.25, 0.75)):
        self.answer, self.decided = answer, []

    def note_look(self):
        pass

    def refuse(self, reason):
        return RuntimeError(reason)

    def decide(self, kind, sources, law):
        self.decided.append((kind, law))
        return np.array(self.answer)


def uniform(state=None, offset=0.0, factor=1.0):
    call = SimpleNamespace(shape=(2,), kind="uniform", name="uniform", index=0)
    moved = (np.full(2, one) for one in (offset, factor))
    return uniform_draws(state or AState(), list_call_sources(call), *moved)


# --- pieces ---------------------------------------------------------------------------------------


def test_a_piece_is_moved_and_scaled_whole():
    assert InversePiece(1.0, 2.0).at(0.25) == 1.5
    assert InversePiece(1.0, 2.0, (3.0, 4.0)).moved(0.5) == InversePiece(1.5, 2.0, (3.0, 4.0))
    assert InversePiece(1.0, 2.0, (3.0, 4.0)).scaled(-3.0) == InversePiece(-3.0, -6.0, (3.0, 4.0))
    assert InversePiece(1.0, 0.0).is_constant
    assert not InversePiece(0.0, 1.0).is_constant


@pytest.mark.parametrize(
    ("piece", "ends", "side"),
    [
        (U, LOWER, 1.0),
        (U, UPPER, 1.0),
        (InversePiece(0.0, -1.0), LOWER, -1.0),
        (CENTRED, LOWER, -1.0),
        (CENTRED, UPPER, 1.0),
        (InversePiece(0.5, -1.0), LOWER, 1.0),
        (InversePiece(0.5, -1.0), UPPER, -1.0),
        (InversePiece(-0.25, 1.0), LOWER, None),
        (InversePiece(0.0, 0.0), LOWER, None),
        (InversePiece(2.0, 0.0), LOWER, 1.0),
        (InversePiece(-2.0, 0.0), LOWER, -1.0),
        (LOG_U, LOWER, None),
    ],
)
def test_the_side_of_an_affine_piece_is_that_of_both_its_ends(piece, ends, side):
    assert inverse._find_piece_sign(piece, ends) == side
    assert inverse._make_absolute_piece(piece, ends) == (
        None if side is None else piece.scaled(side)
    )
    assert inverse._make_sign_piece(piece, ends) == (
        None if side is None else InversePiece(side, 0.0)
    )


@pytest.mark.parametrize(
    ("piece", "more", "ends", "inner"),
    [
        (U, 0.0, LOWER, (0.0, 1.0)),
        (InversePiece(1.0, -1.0), 0.0, UPPER, (1.0, -1.0)),
        (InversePiece(0.0, -1.0), 1.0, UPPER, (1.0, -1.0)),
        (InversePiece(0.0, -2.0), 1.0, LOWER, (1.0, -2.0)),
        (InversePiece(0.0, -2.0), 1.0, UPPER, None),
        (CENTRED, 0.0, UPPER, (-0.5, 1.0)),
        (CENTRED, 0.0, LOWER, None),
        (InversePiece(0.0, 0.0), 0.0, LOWER, None),
        (LOG_U, 0.0, LOWER, None),
    ],
)
def test_the_logarithm_of_a_piece_is_one_where_it_is_positive(piece, more, ends, inner):
    expected = None if inner is None else InversePiece(0.0, 1.0, inner)
    assert inverse._compute_piece_logarithm(piece, more, ends) == expected


@pytest.mark.parametrize(
    ("one", "other", "is_laplace"),
    [
        (InversePiece(0.0, 1.0, (0.0, 2.0)), InversePiece(0.0, -1.0, (2.0, -2.0)), True),
        (
            InversePiece(math.log(2), 1.0, (0.0, 1.0)),
            InversePiece(-math.log(2), -1.0, (1.0, -1.0)),
            True,
        ),
        (
            InversePiece(-3 * math.log(2), 3.0, (0.0, 4.0)),
            InversePiece(3 * math.log(2), -3.0, (4.0, -4.0)),
            True,
        ),
        (InversePiece(0.0, 1.0, (0.0, 1.0)), InversePiece(0.0, -1.0, (1.0, -1.0)), False),
        (InversePiece(0.0, 1.0, (0.0, 2.0)), InversePiece(1e-9, -1.0, (2.0, -2.0)), False),
        (InversePiece(1e-9, 1.0, (0.0, 2.0)), InversePiece(0.0, -1.0, (2.0, -2.0)), False),
        (InversePiece(1e-13, 1.0, (0.0, 2.0)), InversePiece(-1e-13, -1.0, (2.0, -2.0)), True),
        (InversePiece(0.0, 1.0, (0.1, 2.0)), InversePiece(0.0, -1.0, (2.0, -2.0)), False),
        (InversePiece(0.0, 1.0, (0.0, -2.0)), InversePiece(0.0, -1.0, (2.0, -2.0)), False),
        (InversePiece(0.0, 1.0, (0.0, 2.0)), InversePiece(0.0, -1.0, (2.0, 2.0)), False),
        (InversePiece(0.0, 1.0, (0.0, 2.0)), InversePiece(0.0, -1.0, (2.0, -1.0)), False),
    ],
)
def test_halves_are_laplace_noise_where_nothing_is_left_to_add(one, other, is_laplace):
    assert inverse._is_laplace(one, other) is is_laplace


def test_a_product_needs_one_function_that_is_constant_on_either_half():
    sign = InversePiece(-1.0, 0.0), InversePiece(2.0, 0.0)
    logs = LOG_U, LOG_REST
    expected = LOG_U.scaled(-1.0), LOG_REST.scaled(2.0)
    assert inverse._multiply_halves(sign, logs) == expected
    assert inverse._multiply_halves(logs, sign) == expected
    assert inverse._multiply_halves(sign, sign) == (InversePiece(1.0, 0.0), InversePiece(4.0, 0.0))
    assert inverse._multiply_halves(logs, logs) is None
    assert inverse._multiply_halves((InversePiece(1.0, 0.0), U), logs) is None


# --- noise ----------------------------------------------------------------------------------------


def made(*halves):
    return Inverse(uniform(), halves, lambda u: u)


@pytest.mark.parametrize(
    ("halves", "kind", "factor"),
    [
        ((LOG_U.scaled(-3.0),) * 2, "exponential", 3.0),
        ((LOG_REST.scaled(-3.0),) * 2, "exponential", 3.0),
        ((LOG_U.scaled(2.0),) * 2, "exponential", -2.0),
        (
            (InversePiece(0.0, 3.0, (0.0, 2.0)), InversePiece(0.0, -3.0, (2.0, -2.0))),
            "laplace",
            3.0,
        ),
        (
            (InversePiece(0.0, -3.0, (0.0, 2.0)), InversePiece(0.0, 3.0, (2.0, -2.0))),
            "laplace",
            3.0,
        ),
    ],
)
def test_noise_of_a_known_law_has_its_scale(halves, kind, factor):
    noise = made(*halves).noise()
    assert type(noise) is (PendingNoise if kind == "laplace" else Exponential)
    assert (noise._kind, noise._factor.tolist()) == (kind, [factor] * 2)


@pytest.mark.parametrize(
    "halves",
    [
        (U, U),
        (LOG_U, U),
        (U, LOG_U),
        (LOG_U, LOG_REST),
        (LOG_U.moved(1.0),) * 2,
        (InversePiece(0.0, -1.0, (0.0, 2.0)),) * 2,
        (InversePiece(0.0, 3.0, (0.0, 2.0)), InversePiece(0.0, -2.0, (2.0, -2.0))),
        (InversePiece(0.0, 3.0, (0.0, 2.0)), InversePiece(0.0, 3.0, (2.0, -2.0))),
    ],
)
def test_of_other_functions_no_law_is_read(halves):
    assert made(*halves).noise() is None


FORMS = {
    "below and above": lambda u: -2.0 * np.sign(u - 0.5) * np.log(1 - 2 * np.abs(u - 0.5)),
    "log1p": lambda u: np.sign(u - 0.5) * np.log1p(-2 * np.abs(u - 0.5)) * -2.0,
    "centred": lambda u: np.sign(0.5 - u) * np.log1p(-2 * np.abs(0.5 - u)) / 0.5,
    "negative": lambda u: -(np.log1p(-2 * np.abs(u - 0.5)) * (+np.sign(u - 0.5)) * 2),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_inverse_of_a_distribution_function_is_laplace_noise(form):
    state = AState([3.0, 4.0])
    noise = FORMS[form](uniform(state))
    assert (5.0 + noise).tolist() == [3.0, 4.0]
    ((kind, law),) = state.decided
    assert kind == "laplace"
    assert law.centre.tolist() == [5.0, 5.0]
    assert law.scale.tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda u: np.log(u), np.log([0.25, 0.75])),
        (lambda u: np.log1p(-u), np.log1p([-0.25, -0.75])),
        (lambda u: np.abs(u - 0.5), [0.25, 0.25]),
        (lambda u: 3 - np.abs(u - 0.5), [2.75, 2.75]),
        (lambda u: np.abs(u - 0.5) - 3, [-2.75, -2.75]),
        (lambda u: np.abs(u - 0.5) * 4 / 2, [0.5, 0.5]),
        (lambda u: 1 / np.abs(u - 0.5), [4.0, 4.0]),
        (lambda u: np.sign(u - 0.5) * np.log(u), [-math.log(0.25), math.log(0.75)]),
        (lambda u: np.log(u) + np.log(u), 2 * np.log([0.25, 0.75])),
        (lambda u: np.abs(u - 0.5) * np.array([1.0, 2.0]), [0.25, 0.5]),
        (lambda u: np.abs(3 - 2 * u), [2.5, 1.5]),
        (lambda u: np.abs(u - 0.25), [0.0, 0.5]),
        (lambda u: np.exp(np.log(u)), [0.25, 0.75]),
        (lambda u: -np.abs(u - 0.5), [-0.25, -0.25]),
        (lambda u: +np.log(u), np.log([0.25, 0.75])),
    ],
)
def test_a_function_of_draws_is_that_of_their_numbers(function, expected):
    state = AState()
    assert np.asarray(function(uniform(state))) == pytest.approx(np.asarray(expected))
    assert {kind for kind, _ in state.decided} == {"public"}


def test_where_draws_were_looked_at_a_function_is_of_numbers():
    state = AState()
    u = uniform(state)
    function = np.log(u)
    u.plain()
    for found in (np.abs(function), function + 1.0, np.log(u)):
        assert isinstance(found, np.ndarray)
    assert np.abs(np.log(uniform(state))).tolist() == np.abs(np.log([0.25, 0.75])).tolist()


def test_a_half_of_which_no_piece_is_known_makes_no_function():
    base, values = uniform(), lambda u: u
    for halves in ((U, CENTRED), (CENTRED, U)):
        known = inverse.function_of_uniform(base, halves, np.log, values)
        assert (known is None) == (halves[0] == CENTRED)
    assert inverse.function_of_uniform(base, (U, InversePiece(0.5, -1.0)), np.log, values) is None
    both = inverse.function_of_uniform(base, (U, CENTRED), np.log1p, values)
    assert both._halves == (InversePiece(0.0, 1.0, (1.0, 1.0)), InversePiece(0.0, 1.0, (0.5, 1.0)))


def test_a_part_of_a_function_is_the_function_of_that_part():
    state = AState(0.25)
    assert float(np.log(uniform(state, 1.0, 2.0))[1]) == math.log(1.5)
    assert state.decided[0][1].shape == ()
    assert np.log(uniform(AState((0.25,))))[:1].plain().tolist() == [math.log(0.25)]

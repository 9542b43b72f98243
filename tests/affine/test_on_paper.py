"""Views that are worked out on paper, each of which one slip of the pen would change."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
from flint import arb, arb_mat
from scipy.sparse import coo_array

import dpaudit
import dpaudit.affine.view as viewing
from dpaudit.accounting.pairs.composition import Bracket
from dpaudit.affine.certificate import _convert_change, _ProgramWriter, certify_views
from dpaudit.affine.changes import Box, Direction, L1Ball, L2Ball, root_between
from dpaudit.affine.form import NotAffine
from dpaudit.affine.inputs import AdaptiveInputs
from dpaudit.affine.kinds import Rationals, compute_view_ranks
from dpaudit.affine.krylov import _bound_mu_between, _Problem, enclose_mu, multiply_enclosures
from dpaudit.affine.observation import PRIMES
from dpaudit.affine.observers import hear_neighbours
from dpaudit.affine.reading import ids_of, read_recursion
from dpaudit.affine.rounds import Rounds, _bound_block_form_below
from dpaudit.affine.substitution import MidpointEnclosure
from dpaudit.affine.view import View, delta_of, epsilon_of
from dpaudit.reals import precision

ALL = {"x": slice(None)}
FEW = 3  # plain runs, of recursions that are read right
PAIR = np.zeros(2)


def view_of(function, private, change):
    found = read_recursion(function, private, runs=FEW)
    return View(found.program, ids_of(found.output), change)


def mu_of(function, private=0.0, change=None):
    return view_of(function, private, change or Direction([1] * np.size(private))).mu


def is_near(found, value):
    return (
        found.lower <= value * (1 + 1e-15)
        and found.upper >= value * (1 - 1e-15)
        and (found.width <= 1e-12 * value)
    )


# --- ranks and primes ------------------------------------------------------------------------


@pytest.mark.parametrize("prime", PRIMES[:3], ids=range(3))
def test_what_vanishes_modulo_one_prime_is_something(prime):
    large = float(prime)
    assert mu_of(lambda x, rng: large * x).lower == math.inf
    assert is_near(mu_of(lambda x, rng: large * x + rng.normal()), large)


@pytest.mark.parametrize("prime", PRIMES[:3], ids=range(3))
def test_rows_of_noise_that_vanishes_modulo_one_prime_are_a_basis(prime):
    def send(x, rng):
        sent = x + float(prime) * rng.normal()
        return [sent, 2 * sent]

    assert is_near(mu_of(send), 1 / prime)


def test_who_sees_some_of_what_changes_knows_that_it_did():
    def send(x, rng):
        return [x[0], x + rng.normal(size=2)]

    assert mu_of(send, PAIR, L2Ball([0, 1])).lower == math.inf
    assert is_near(mu_of(send, PAIR, L2Ball([1])), 1.0)


def test_data_of_ones_own_that_do_not_change_say_nothing():
    def send(x, rng):
        return [x[0], x[1] + rng.normal()]

    assert is_near(mu_of(send, PAIR, Direction([0, 1])), 1.0)


def test_ranks_of_several_changes():
    table = np.array([[1, 1, 0], [1, 0, 1]], dtype=object)
    assert compute_view_ranks(Rationals(), table, 2) == (1, 2)
    seen = view_of(lambda x, rng: x + rng.normal(), PAIR, L2Ball([0, 1]))
    assert (seen.mu.lower, seen.proof) == (math.inf, "exact")


def test_what_is_too_large_for_rationals_is_not_proved(monkeypatch):
    def twice(x, rng):
        noise = rng.normal()
        return [x + noise, 2 * x + 2 * noise]

    def nothing(x, rng):
        return x - x + rng.normal()

    found = {one: view_of(one, 0.0, Direction([1])) for one in (twice, nothing)}
    assert [one.proof for one in found.values()] == ["exact", "exact"]
    monkeypatch.setattr(viewing, "MOST_EXACT", 0)
    for one in (twice, nothing):
        seen = view_of(one, 0.0, Direction([1]))
        assert seen.mu == found[one].mu
        assert seen.proof == "primes"


# --- the number ------------------------------------------------------------------------------


def test_rows_that_are_nearly_alike_take_more_digits():
    def send(x, rng):
        noise = rng.normal() / 3
        return [x + noise, x + noise + 2.0**-60 * rng.normal() / 3]

    assert is_near(mu_of(send), 3.0)


def test_the_likelihood_ratio_weighs_each_row_by_its_precision():
    seen = view_of(lambda x, rng: [x + 2 * rng.normal(), x + 3 * rng.normal()], 0.0, Direction([1]))
    assert seen.direction() == pytest.approx([1 / 4, 1 / 9], rel=1e-12)


def test_quotients_and_equal_places():
    assert is_near(mu_of(lambda x, rng: x / 4 + rng.normal()), 0.25)
    twice = coo_array(([1.0, 2.0], ([0, 0], [0, 0])), shape=(1, 1))
    assert is_near(mu_of(lambda x, rng: twice @ x + rng.normal(size=1), np.zeros(1)), 3.0)
    other = np.diag([3.0, 4.0])

    def both(x, rng):
        return np.eye(2) @ x + rng.normal(size=2), other @ x + rng.normal(size=2)

    assert is_near(mu_of(both, PAIR, Direction([1, 0])), math.sqrt(10))


def test_whole_numbers_beyond_doubles_are_exact():
    def send(x, rng):
        return np.array(2**53 + 1) * x - np.array(2**53) * x + rng.normal()

    assert is_near(mu_of(send), 1.0)


def test_noise_of_a_covariance_has_it():
    def send(x, rng):
        return x + rng.multivariate_normal([0.0, 0.0], [[4.0, 2.0], [2.0, 3.0]])

    for change, square in (([1, 0], 3 / 8), ([0, 1], 4 / 8)):  # the inverse: [[3, -2], [-2, 4]] / 8
        found = mu_of(send, PAIR, Direction(change))
        assert found.upper == pytest.approx(math.sqrt(square), rel=1e-12)


FINE = 1 + np.longdouble(2) ** -60


@pytest.mark.skipif(float(FINE) == FINE, reason="no more digits than doubles have")
def test_factors_of_more_digits_are_refused():
    with pytest.raises(NotAffine, match="not a double"):
        read_recursion(lambda x, rng: np.array([FINE]) * x + rng.normal(), 0.0)


def test_a_millionth_that_plain_numbers_add_is_seen():
    def send(x, rng):
        return x * (1 + 1e-6 * isinstance(x, float)) + rng.normal()

    with pytest.raises(NotAffine, match="differently"):
        read_recursion(send, 0.0, runs=FEW)


def test_a_dot_of_a_stack_is_over_its_last_axis_but_one():
    left = np.array([[1.0, 2.0], [3.0, 4.0]])

    def send(x, rng):
        return np.dot(left, x) + rng.normal(size=(2, 2, 2))

    change = np.zeros((2, 2, 2))
    change[0, 1, 0] = 1  # enters with 2 and 4
    found = mu_of(send, np.zeros((2, 2, 2)), Direction(change.ravel()))
    assert is_near(found, math.sqrt(20))


def test_sums_that_cancel_are_compared_by_their_summands():
    numbers = np.random.default_rng(1).standard_normal(300)
    weights = np.concatenate([numbers, -numbers[::-1]])
    found = read_recursion(lambda x, rng: weights @ (x * np.ones(600)), 0.0, runs=20)
    assert found.compared == 20


# --- changes ---------------------------------------------------------------------------------


def test_roots_are_rounded_outwards():
    with precision(40):
        found = root_between(arb(4, 1), arb(9, 1))
    assert found.lower <= math.sqrt(3)
    assert found.upper >= math.sqrt(10)


def test_a_ball_holds_its_largest_eigenvalue_whatever_vectors_are_found(monkeypatch):
    monkeypatch.setattr(np.linalg, "eigh", lambda table: (None, np.eye(len(table))))
    with precision(40):
        assert L2Ball([0, 1]).largest(arb_mat([[2, 1], [1, 2]])).upper >= math.sqrt(3)


def test_a_box_is_as_large_as_its_worst_corner():
    def send(x, rng):
        return x[0] - x[1] + x[2] + rng.normal()

    assert is_near(mu_of(send, np.zeros(3), Box([0, 1, 2])), 3.0)
    assert is_near(mu_of(send, np.zeros(3), Box([0, 1, 2], [1, 2, 3])), 6.0)
    signs = (-1.0) ** np.arange(17)
    found = mu_of(lambda x, rng: signs @ x + rng.normal(), np.zeros(17), Box(range(17)))
    assert is_near(found, 17.0)


def test_an_l1_ball_is_as_large_as_its_worst_number():
    def send(x, rng):
        return np.array([1.0, 2.0]) * x + rng.normal(size=2)

    assert is_near(mu_of(send, PAIR, L1Ball([0, 1], 3)), 6.0)


def test_what_changes_by_nothing_is_not_seen():
    assert mu_of(lambda x, rng: x, PAIR, L2Ball([0, 1], 0)).upper == 0.0
    assert is_near(mu_of(lambda x, rng: x + rng.normal(size=2), PAIR, L2Ball([0, 1], 3)), 3.0)


def test_a_box_of_one_number_is_written_with_one_radius():
    written = _convert_change(Box([0, 1], [0, 2]))
    assert written == {"kind": "box", "at": [1], "by": [2.0]}


# --- what it means ---------------------------------------------------------------------------


def test_an_end_that_is_infinite_says_nothing_of_the_other():
    assert delta_of(Bracket(1.0, math.inf), 1.0) == Bracket(0.0, 1.0)
    assert epsilon_of(Bracket(1.0, math.inf), 0.1) == Bracket(0.0, math.inf)
    assert delta_of(Bracket.exactly(math.inf), 1.0) == Bracket(1.0, 1.0)
    assert epsilon_of(Bracket.exactly(math.inf), 0.1).lower == math.inf


@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.01, 0.1])
def test_ends_of_epsilon_are_on_both_sides(delta):
    found = epsilon_of(Bracket.exactly(1.0), delta)
    with mpmath.workdps(50):
        below, above = (
            mpmath.ncdf(mpmath.mpf(1) / 2 - end)
            - mpmath.exp(end) * mpmath.ncdf(-mpmath.mpf(1) / 2 - end)
            for end in map(mpmath.mpf, (found.lower, found.upper))
        )
    assert below >= delta >= above


# --- who sees what ---------------------------------------------------------------------------


def test_a_node_hears_whom_it_has_an_edge_to():
    found = dpaudit.views(
        lambda x, rng: x + rng.normal(size=2),
        private=PAIR,
        observers=hear_neighbours([[0, 1], [0, 0]], axis=0),
    )
    seen = {(one, who): found.mu(f"node {one}", who).upper for one in (0, 1) for who in "01"}
    assert seen == {(0, "0"): 1.0, (0, "1"): 1.0, (1, "0"): 0.0, (1, "1"): 1.0}


def test_messages_and_coalitions():
    def tell(x, rng):
        sent = [dpaudit.Message(x + rng.normal(), 0, one) for one in (1, 2, 3)]
        return [*sent, dpaudit.Message(x + rng.normal(), 0)]

    found = dpaudit.views(tell, private=0.0, observers={"1": 1, "pair": [1, 2], "all": [1, 2, 3]})
    squares = [found.mu(one).upper ** 2 for one in ("1", "pair", "all")]
    assert squares == pytest.approx([2.0, 3.0, 4.0], rel=1e-12)


# --- adaptive inputs ---------------------------------------------------------------------------


def test_one_participation_may_be_the_last():
    def train(inputs, rng):
        return [weight * inputs.at(t) + rng.normal(size=1) for t, weight in enumerate((1.0, 2.0))]

    found = dpaudit.views(train, private=AdaptiveInputs(steps=2, norm=3.0)).worst
    assert is_near(found, 6.0)
    patterns = AdaptiveInputs(steps=2, norm=3.0, patterns=[(0,), (0, 1)])
    assert is_near(dpaudit.views(train, private=patterns).worst, 3 * math.sqrt(5))


def test_no_round_is_asked_for_twice():
    def train(inputs, rng):
        return [inputs.at(one) + rng.normal(size=1) for one in (0, 1, 1)]

    with pytest.raises(NotAffine, match=r"input of round \d+ twice"):
        dpaudit.views(train, private=AdaptiveInputs(steps=2))


def rounds_of(steps, dimension):
    inputs = AdaptiveInputs(steps=steps, dimension=dimension, participation="cyclic")
    places = np.arange(steps * dimension).reshape(steps, dimension)
    return Rounds(inputs, dict(enumerate(places)))


def test_rounds_that_are_nearly_alike_are_within_what_is_paid():
    more = 1 + Fraction(1, 10**10)  # of the second coordinate, in which the worst record is
    table = np.kron(np.ones((2, 2)), np.diag([1, 0])).astype(int).tolist()
    with precision(40):
        apart = arb(10) ** -10
        gram = arb_mat(table) + (1 + apart) * arb_mat(
            np.kron(np.ones((2, 2)), np.diag([0, 1])).astype(int).tolist()
        )
        found = rounds_of(2, 2).largest(gram)
    assert Fraction(found.upper) ** 2 >= 4 * more


def test_what_an_ascent_finds_is_not_above_the_largest():
    with precision(40):
        for size in range(2, 30):
            blocks = np.full((1, 1, size, size), arb(1), dtype=object)
            assert _bound_block_form_below(blocks) <= size


def test_signs_of_both_rounds_count():
    with precision(40):
        gram = arb_mat([[1, -1], [-1, 1]])
        found = rounds_of(2, 1).largest(gram)
    assert is_near(found, 2.0)


# --- without matrices --------------------------------------------------------------------------


def test_sums_of_one_part_are_products_of_their_factors():
    def send(x, rng):
        return 2 * (3 * (5 * x)) + rng.normal()

    seen = view_of(send, 0.0, Direction([1]))
    found = enclose_mu(seen.program, seen.ids, seen.change)
    assert found.lower <= 30.0 <= found.upper <= 30.001


def test_a_box_has_its_radii_without_matrices():
    change = Box([0, 1], [2, Fraction(1, 3)])
    seen = view_of(lambda x, rng: x + rng.normal(size=2), PAIR, change)
    found = enclose_mu(seen.program, seen.ids, seen.change)
    assert found.lower <= math.sqrt(4 + 1 / 9) <= found.upper <= 2.028


@pytest.mark.parametrize("share", [1.0, -1.0])
def test_a_change_without_noise_is_seen_either_way(share):
    def send(x, rng):
        return [x[0] + x[1], x[2] + rng.normal()]

    seen = view_of(send, np.zeros(3), Direction([share, 2 * share, 0]))
    assert enclose_mu(seen.program, seen.ids, seen.change).lower == math.inf


def test_products_are_off_by_what_either_factor_is():
    one, other = (np.full((1, 1), value) for value in (1.0, 2.0))
    for first, second in ((0.1, 0.0), (0.0, 0.2), (0.1, 0.2)):
        errors = np.full((1, 1), first), np.full((1, 1), second)
        found = multiply_enclosures(
            MidpointEnclosure(one, errors[0]), MidpointEnclosure(other, errors[1])
        )
        assert found.error[0, 0] >= (1 + first) * (2 + second) - 2 - 1e-15


def test_the_largest_of_matrices_off_their_diagonals():
    errors = np.array([[0.0, 0.1], [0.1, 0.0]])
    found = _bound_mu_between(*[MidpointEnclosure(np.eye(2), errors)] * 2, L2Ball([0, 1]))
    assert found.upper >= math.sqrt(1.1)
    assert found.lower <= math.sqrt(1.1)


def test_upper_ends_divide_by_the_least_that_scales_may_be():
    scales = MidpointEnclosure(np.ones(1), np.full(1, 0.5))
    through = SimpleNamespace(enclose=lambda given: given, apply=lambda given: given)
    recursion = SimpleNamespace(forwards=through, backwards=through)
    clamped = SimpleNamespace(recursion=recursion, scales=scales, is_free=np.zeros(1, dtype=bool))
    found = _Problem(clamped, np.ones((1, 1)))._upper(np.zeros((1, 1)))
    assert found.middle[0, 0] + found.error[0, 0] >= 4.0


# --- what is written -----------------------------------------------------------------------------


def test_matrices_of_equal_places_are_written_by_their_numbers():
    def send(x, rng):
        return [np.diag(one) @ x + rng.normal(size=2) for one in ([1.0, 2.0], [1.0, 3.0])]

    written = _ProgramWriter(read_recursion(send, PAIR, runs=FEW).program)
    assert [one["numbers"] for one in written.matrices] == [[1.0, 2.0], [1.0, 3.0]]


def test_adaptive_inputs_have_no_certificate():
    def train(private, rng):
        return private["inputs"].at(0) + private["x"] + rng.normal(size=1)

    found = dpaudit.views(train, private={"inputs": AdaptiveInputs(steps=1), "x": 0.0})
    assert is_near(found.worst, 1.0)
    assert certify_views(found) is None

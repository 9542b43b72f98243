"""Views without matrices: two ends that hold, beside the same mu from matrices."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import dpaudit
from dpaudit.affine import krylov, view
from dpaudit.affine.changes import Box, Direction, L1Ball, L2Ball
from dpaudit.affine.form import ids_of
from dpaudit.affine.graph import Withheld
from dpaudit.affine.krylov import enclose_mu
from dpaudit.affine.noise_equations import clamp_view
from dpaudit.affine.reading import read_recursion
from dpaudit.affine.substitution import MidpointEnclosure, Parts, SparseEntries, StateSubstitution
from dpaudit.affine.view import View
from dpaudit.errors import ConvergenceError


def ring(size):
    """Return the weights of a ring, a third each."""
    return sum(np.roll(np.eye(size), shift, axis=1) for shift in (-1, 0, 1)) / 3


def gossip(weights, rounds, seen, scale=2.0):
    """Return gossip with noise on every message, of which some nodes' are seen."""

    def run(x, rng):
        heard = []
        for _ in range(rounds):
            sent = x + rng.normal(scale=scale, size=weights.shape[0])
            heard.append(sent[seen])
            x = weights @ sent
        return heard

    return run


def view_of(function, count, change):
    found = read_recursion(function, np.zeros(count))
    return View(found.program, ids_of(found.output), change)


# --- random recursions ------------------------------------------------------------------------


class Random:
    """A recursion of a few nodes and rounds, of one of eight kinds."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.kind, self.count, self.rounds = seed % 8, int(rng.integers(2, 7)), rng.integers(1, 6)
        self.weights = rng.standard_normal((self.count, self.count))
        self.weights *= rng.random(self.weights.shape) < 0.5
        self.seen = rng.choice(self.count, size=rng.integers(1, self.count), replace=False)
        self.scale = 10.0 ** rng.uniform(-1, 1)
        changes = (
            Direction(rng.integers(-2, 3, self.count)),
            L2Ball(np.arange(self.count)[:2], 0.5),
            L1Ball([self.count - 1, 0], 3),
            Box([0, 1], [2, Fraction(1, 3)]),
        )
        self.change = changes[rng.integers(len(changes))]

    def __call__(self, x, rng):
        heard, pace, before = [], 0 * x, 0 * x
        for _ in range(self.rounds):
            noise = rng.normal(scale=self.scale, size=self.count)
            sent = x + noise
            if self.kind == 1:  # own noise is known
                heard.append(noise[:1])
            if self.kind == 2:  # states are seen, after their noise
                sent = x = self.weights @ x + noise
            if self.kind == 3:  # states with momentum
                pace = pace / 2 + self.weights @ x + noise
                sent = x = x - 3 * pace / 10
            if self.kind == 4:  # sums alone
                heard.append(2 * sent[0] - x[1])
                sent = np.stack([sent[self.seen].sum()] * self.count)
            if self.kind == 5:  # some send no noise
                sent = x + noise * (np.arange(self.count) % 3 != 1)
            if self.kind == 6:  # noise of several
                sent = x + noise - np.roll(rng.normal(size=self.count), 1)
            if self.kind == 7:  # noise that cancels in the next round
                sent, before = x + noise - 0.9 * before, noise
            heard.append(sent[self.seen])
            x = self.weights @ sent if self.kind != 2 else x
        return heard


def enclose(found):
    """Return the bracket of a view without matrices."""
    return enclose_mu(found.program, found.ids, found.change)


@pytest.mark.parametrize("seed", range(160))
def test_both_ways_say_the_same(seed):
    recursion = Random(seed)
    by_matrices = view_of(recursion, recursion.count, recursion.change)
    found, mu = enclose(by_matrices), by_matrices.mu
    assert found.lower <= mu.upper
    assert mu.lower <= found.upper
    assert found.upper == mu.upper or found.width <= 1e-9 * mu.upper


@pytest.mark.parametrize("seed", range(24))
def test_ends_hold_whatever_conjugate_gradients_return(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    recursion = Random(seed)
    by_matrices = view_of(recursion, recursion.count, recursion.change)

    def astray(self, direction, *, solve=krylov._Problem._solve):
        found = solve(self, direction)
        return found * (1 + 0.3 * rng.standard_normal(found.shape))

    monkeypatch.setattr(krylov._Problem, "_solve", astray)
    monkeypatch.setattr(krylov, "WIDTH", math.inf)
    found = enclose(by_matrices)
    assert found.lower <= by_matrices.mu.lower
    assert by_matrices.mu.upper <= found.upper


def test_a_solver_that_stops_early_gives_no_answer(monkeypatch):
    found = view_of(gossip(ring(9), 9, [0, 1, 8]), 9, Direction(np.eye(9)[4]))
    monkeypatch.setattr(krylov, "_STEPS", 1)
    with pytest.raises(Withheld, match="do not meet to 1e-06 of mu"):
        enclose(found)


def test_errors_of_rounding_are_within_their_bounds():
    """Sums that cancel, of thirds: their errors are as large as the bounds have to be."""

    def cancelling(x, rng):
        state, heard = 1e5 * x, []
        for _ in range(6):
            state = state / 3 + rng.normal(size=2) / 7
            heard.append(state - 1e5 * x / 3 + 0.1 * x + rng.normal(size=2))
            state = state * 3
        return heard

    found = view_of(cancelling, 2, Direction([1, Fraction(1, 7)]))
    by_structure = enclose(found)
    assert by_structure.lower <= found.mu.lower <= found.mu.upper <= by_structure.upper
    assert 1e-12 < by_structure.width / found.mu.upper < 1e-6


# --- entries of equal places, which nearly cancel ------------------------------------------------


class Cancelling:
    """Numbers, and noise, of which some multiples nearly cancel, or cancel but for rounding."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.factors = rng.choice([3.0, 7.0, 49.0, 0.1, -0.3, 1 / 3], size=(rng.integers(2, 7), 2))
        self.picks = rng.random((len(self.factors), 3))
        self.kinds = rng.integers(3, size=len(self.factors))
        self.is_large = rng.random(len(self.factors)) < 0.5

    def __call__(self, x, rng):
        pool, heard = [x, rng.normal()], []
        for (one, other), picks, kind, large in zip(
            self.factors, self.picks, self.kinds, self.is_large, strict=True
        ):
            first, second, third = (pool[int(pick * len(pool))] for pick in picks)
            if kind == 0:
                made = first / one - first * (1 / one)
            elif kind == 1:
                made = first * one * other - (one * other) * first
            else:
                made = second / one + second * other - second * (1 / one + other - 1e-9)
            pool.append(made + third if large else 1e15 * made)
            heard.append(pool[-1] + rng.normal())
        return heard


def holds_or_is_withheld(found):
    """Return whether both ways say the same, where structure says something."""
    try:
        by_structure = enclose(found)
    except Withheld:
        return True
    return by_structure.lower <= found.mu.upper and found.mu.lower <= by_structure.upper


@pytest.mark.parametrize("seed", range(40))
def test_entries_of_equal_places_are_rounded_one_by_one(seed):
    recursion = Cancelling(seed)
    assert holds_or_is_withheld(view_of(lambda x, rng: recursion(x[0], rng), 1, Direction([1])))


def thirds(x, rng):
    return 1e17 * (x / 3 - (1 / 3) * x) + rng.normal(size=1)


def no_thirds_of_noise(x, rng):
    noise = rng.normal(size=1)
    return 1e-16 * x + (noise / 3 - (1 / 3 - 2.0**-54) * noise)


def lone(x, rng):
    return 1e9 * (x * 0.3 * 0.7 - 0.21 * x + 1e-9 * x) + rng.normal(size=1)


def nothing_of_data(x, rng):
    return [x / 49 * 49 - x, x + rng.normal(size=1)]


@pytest.mark.parametrize("function", [thirds, no_thirds_of_noise, lone, nothing_of_data])
def test_what_cancels_is_as_far_off_as_its_parts(function, monkeypatch):
    expected = view_of(function, 1, Direction([1])).mu
    assert holds_or_is_withheld(view_of(function, 1, Direction([1])))
    monkeypatch.setattr(view, "_MOST_WORK", 0)
    found = view_of(function, 1, Direction([1])).mu
    assert found.lower <= expected.upper
    assert expected.lower <= found.upper


def test_bounds_leave_the_entries_as_they_are():
    entries = SparseEntries(np.zeros(2, np.int64), np.zeros(2, np.int64), np.array([1 / 3, -1 / 3]))
    none = SparseEntries(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    recursion = StateSubstitution(
        Parts(none, none, none, entries), np.zeros(1, np.int64), (1, 1), 2
    )
    for one in (recursion.forwards, recursion.backwards):
        for _ in range(2):
            found = one.enclose(MidpointEnclosure(np.ones(1), np.zeros(1)))
            assert found.error[0] > 2.0**-54
        assert one.direct.nnz == 2


# --- what has no answer, and what is infinite ---------------------------------------------------


@pytest.fixture
def large(monkeypatch):
    """Every view is too large for matrices."""
    monkeypatch.setattr(view, "_MOST_WORK", 0)
    monkeypatch.setattr(view, "_MOST_ENTRIES", 0)


@pytest.mark.usefixtures("large")
def test_noise_at_the_start_alone_has_no_answer():
    def averaged(x, rng):
        state, heard = x + rng.normal(size=5), []
        for _ in range(4):
            state = ring(5) @ state
            heard.append(state[:2])
        return heard

    found = view_of(averaged, 5, Direction([1, 0, 0, 0, 0]))
    with pytest.raises(ConvergenceError, match=r"8 numbers of 5 normals .* no noise of their own"):
        _ = found.mu


def test_noise_that_rounds_share_is_solved_for_one_normal_after_the_other():
    mixing = np.tril(1 / (1.0 + np.abs(np.subtract.outer(np.arange(12), np.arange(12)))))

    def correlated(x, rng):
        return x + mixing @ rng.normal(size=(12, 2))

    found = view_of(correlated, 2, L2Ball([0, 1]))
    clamped = clamp_view(found.program, found.ids, found.program.leaves("data"))
    assert clamped.is_pivot.sum() == 2 * 11  # the last normal of each is its own
    expected = np.linalg.norm(np.linalg.solve(mixing, np.ones(12)))
    assert enclose(found).lower == pytest.approx(expected, rel=1e-9)
    assert enclose(found).upper == pytest.approx(expected, rel=1e-9)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize(
    "bare", [lambda x: x[1] + 2 * x[0], lambda x: (3 * x)[0], lambda x: x[0] / 7 + x[2]]
)
def test_what_is_seen_without_noise_is_infinite(bare):
    def beside(x, rng):
        return [x + rng.normal(size=3), bare(x)]

    found = view_of(beside, 3, Direction([1, 0, 0]))
    assert found.infinite
    assert found.proof == "exact"
    assert found.mu.lower == math.inf
    assert view_of(beside, 3, Direction([0, 0, 0])).mu.upper == 0.0


@pytest.mark.usefixtures("large")
def test_noise_that_another_number_tells_hides_nothing():
    def told(x, rng):
        noise = rng.normal(size=3)
        sent = x + noise
        return [sent, 2 * sent[0] - x[1], noise[2] + 1]

    assert not view_of(told, 3, Direction([1, 0, 0])).infinite
    assert view_of(told, 3, Direction([0, 1, 0])).infinite
    assert view_of(told, 3, Direction([0, 0, 1])).infinite


@pytest.mark.usefixtures("large")
def test_a_sum_that_cancels_determines_nothing():
    """Of ``a - a`` nothing follows about a."""

    def cancelled(x, rng):
        noise = rng.normal(size=2)
        return [(x + noise - noise)[1] - x[1] + x[0] + noise[0], x[0] - noise[0]]

    found = view_of(cancelled, 2, Direction([1, 0]))
    try:
        mu = found.mu
    except ConvergenceError:
        return
    assert mu.lower == math.inf


@pytest.mark.usefixtures("large")
def test_what_is_known_of_oneself_follows_from_what_is_heard():
    """A node that knows its own noise sees no more of others than who hears what it hears."""
    weights = ring(8)

    def own(x, rng):
        heard = []
        for _ in range(6):
            noise = rng.normal(scale=2.0, size=8)
            sent = x + noise
            heard += [sent[[0, 1, 7]], noise[0], x[0]]
            x = weights @ sent
        return heard

    change = Direction(np.eye(8)[3])
    plain = view_of(gossip(weights, 6, [0, 1, 7]), 8, change).mu
    found = view_of(own, 8, change).mu
    assert found.lower == pytest.approx(plain.upper, rel=1e-9)
    assert found.upper == pytest.approx(plain.upper, rel=1e-9)


def test_noise_of_half_the_scale_gives_twice_the_mu():
    change = Direction(np.eye(8)[3])
    ends = [view_of(gossip(ring(8), 5, [0, 1], scale), 8, change) for scale in (1.0, 2.0)]
    loud, quiet = map(enclose, ends)
    assert loud.lower == pytest.approx(2 * quiet.upper, rel=1e-9)


def test_numbers_out_of_the_range_of_doubles_have_no_answer():
    found = view_of(lambda x, rng: x * 1e-250 + rng.normal(size=1), 1, L2Ball([0]))
    with pytest.raises(Withheld, match="too small"):
        clamp_view(found.program, found.ids, found.program.leaves("data"))


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("growth", [30.0, 1e4])
def test_what_grows_out_of_all_bounds_has_no_answer(growth):
    """Differences cancel what the bounds of rounding add up, or everything leaves the doubles."""

    def grows(x, rng):
        heard = []
        for _ in range(60):
            sent = x + rng.normal(size=3)
            heard.append(sent[:1])
            x = growth * (sent - np.roll(sent, 1)) + sent.mean()
        return heard

    found = view_of(grows, 3, Direction([0, 1, 0]))
    with pytest.raises(ConvergenceError):
        _ = found.mu
    with pytest.raises(ConvergenceError):
        _ = found.infinite


def test_a_change_below_the_range_of_doubles_is_not_taken_for_none():
    found = view_of(lambda x, rng: x + rng.normal(size=1), 1, Direction([Fraction(1, 10**400)]))
    with pytest.raises(Withheld, match="too small"):
        enclose(found)


def test_products_of_factors_stay_in_the_range_of_doubles():
    def dwindles(x, rng):
        small = x * 1e-160 * 1e-160
        return small * 1e150 * 1e150 + rng.normal(size=1)

    with pytest.raises(Withheld, match="too small"):
        enclose(view_of(dwindles, 1, L2Ball([0])))


@pytest.mark.parametrize("size", [1e-199, 2e-162, 1e-161, 1e-100, 1e160, 1e199])
def test_noise_of_any_size_counts_in_full(size):
    """Squares of these leave the range of doubles, or lose digits."""

    def sized(x, rng):
        noise = rng.normal(size=2)
        return size * x + 0.6 * size * noise[:1] + 0.8 * size * noise[1:]

    found = enclose(view_of(sized, 1, Direction([1])))
    assert found.lower <= 1 <= found.upper
    assert found.width <= 1e-9


@pytest.mark.parametrize("size", [1e-150, 2e-162, 3e-190])
def test_a_mu_whose_square_vanishes_is_below_the_upper_end(size):
    found = enclose(view_of(lambda x, rng: size * x + rng.normal(size=1), 1, Direction([1])))
    assert found.lower <= size <= found.upper < 1e-140


def too_loud(x, rng):
    return 1e150 * x + 1e-150 * rng.normal(size=1)


def too_long(x, rng):
    return x * 1e-150 * 1e160 * 1e160 + rng.normal(size=1)


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("function", [too_loud, too_long])
def test_what_overflows_has_no_answer(function, size):
    change = Direction([1]) if size == 1 else L2Ball([0, 1, 2])
    with pytest.raises(Withheld):
        enclose(view_of(function, size, change))


def test_matrices_answer_where_structure_does_not_converge(monkeypatch):
    def diverge(*given):
        raise ConvergenceError("mu: no answer")

    found = [view_of(gossip(ring(6), 4, [0, 1]), 6, Direction(np.eye(6)[3])) for _ in range(3)]
    monkeypatch.setattr(view, "enclose_mu", diverge)
    expected = found[0].mu
    monkeypatch.setattr(view, "_MOST_WORK", 0)
    assert found[1].mu == expected
    monkeypatch.setattr(view, "_MOST_ENTRIES", 0)
    with pytest.raises(ConvergenceError, match="too many for matrices, and mu: no answer"):
        _ = found[2].mu


# --- at scale ------------------------------------------------------------------------------------


def test_a_view_chooses_its_way_by_its_size(monkeypatch):
    monkeypatch.setattr(view, "_MOST_WORK", 200_000)
    change = Direction(np.eye(20)[5])
    large = view_of(gossip(ring(20), 8, range(10, 20)), 20, change)
    assert large._by_structure is not None
    assert large.proof == "exact"
    assert not large.infinite
    assert large.mu.width <= 1e-9 * large.mu.upper
    small = View(large.program, large.ids[-30:], change)
    assert small._by_structure is None
    assert 0 < small.mu.upper < large.mu.lower


def test_sparse_weights_are_taken_as_they_are():
    sparse = pytest.importorskip("scipy.sparse")
    dense = ring(7)
    change = Direction(np.eye(7)[3])
    expected = view_of(gossip(dense, 4, [0, 1]), 7, change).mu
    for kind in (sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix):
        found = view_of(gossip(kind(dense), 4, [0, 1]), 7, change)
        assert found.mu == expected


@pytest.mark.slow
def test_a_thousand_nodes_and_rounds():
    found = dpaudit.views(
        gossip(ring(1000), 1000, [999, 0, 1]), private=np.zeros(1000), about={"ten away": 10}
    )
    mu = found.mu("output")
    assert mu.width <= 1e-9 * mu.upper
    assert (
        mu.lower
        > dpaudit.views(
            gossip(ring(100), 100, [99, 0, 1]), private=np.zeros(100), about={"ten away": 10}
        )
        .mu("output")
        .upper
    )

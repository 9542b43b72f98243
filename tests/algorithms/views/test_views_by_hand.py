"""Views of a few nodes by hand, and the law of a loss between two Gaussians by itself."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from flint import arb_mat, fmpq
from mpmath import mp
from scipy.special import ndtr
from scipy.stats import norm

from dpaudit.algorithms.problems.graphs import path, ring, star
from dpaudit.algorithms.views.features import (
    ChangedFeatures,
    _bracket,
    _Diagonal,
    _diagonal,
    _left_over,
    _Quadratic,
)
from dpaudit.algorithms.views.gossip import Gossip, heard_on, metropolis
from dpaudit.algorithms.views.learning import who_learns
from dpaudit.algorithms.views.numbers import Balls, Rationals, Residues, independent, ranks
from dpaudit.algorithms.views.records import curvatures, linear_terms, require_shared_map
from dpaudit.algorithms.views.releases import (
    ConsensusView,
    GossipView,
    MultiStepView,
    SharingView,
    view,
    words,
)
from dpaudit.algorithms.views.system import (
    Basis,
    Observer,
    exact_table,
    inverse,
    packed,
    unpacked,
)
from dpaudit.algorithms.views.view import View, _rounded_down
from dpaudit.algorithms.views.watching import Watching
from dpaudit.datasets import Dataset
from dpaudit.errors import ConvergenceError, InvalidArgument
from dpaudit.guarantees.kinds import GaussianDP
from dpaudit.neighbours import REPLACE_LABEL, REPLACE_RECORD
from dpaudit.reals import precision

# --- who hears whom -------------------------------------------------------------------------------


def network(graph=None, iterations=1, scale=2.0, **options):
    graph = ring(3) if graph is None else graph
    return Gossip(graph, iterations=iterations, noise_scale=scale, **options).network()


def test_a_coalition_hears_its_neighbours_and_not_itself():
    line = network(path(4))
    assert line.hears == ({1}, {0, 2}, {1, 3}, {2})
    assert line.coalition(1) == Observer(frozenset({0, 2}), frozenset({1}))
    assert line.coalition(1, 2) == Observer(frozenset({0, 3}), frozenset({1, 2}))
    assert line.eavesdropper() == Observer(frozenset({0, 1, 2, 3}))
    assert line.eavesdropper([(0, 1), (3, 2)]) == Observer(frozenset({0, 3}))
    for wrong in ([(0, 2)], [(0, 4)], [(0, -1)]):
        with pytest.raises(InvalidArgument, match="an edge, sender first"):
            line.eavesdropper(wrong)
    for wrong in (-1, 4):
        with pytest.raises(InvalidArgument, match="participants"):
            line.coalition(wrong)
    with pytest.raises(InvalidArgument, match="observer: got nobody"):
        View(line, Observer(), [1, 0, 0, 0])


def test_what_is_seen_are_the_messages_of_others_in_every_round():
    twice = network(path(3), iterations=2)
    seen = View(twice, twice.coalition(1), [1, 0, 0])
    assert seen.rows.tolist() == [0, 2, 3, 5]
    assert seen.columns.tolist() == [0, 2, 3, 5]  # its own noise is known
    assert View(twice, twice.eavesdropper(), [1, 0, 0]).rows.tolist() == list(range(6))
    assert View(twice, Observer(frozenset({0, 1}), frozenset({1})), [1, 0, 0]).rows.tolist() == [
        0,
        3,
    ]


@pytest.mark.parametrize(
    ("observer", "about", "infinite"),
    [((1,), [1, 0, 0], False), ((0,), [1, 0, 0], True), ((0,), [0, 1, 0], False)],
)
def test_own_data_are_known(observer, about, infinite):
    net = network()
    seen = View(net, net.coalition(*observer), about)
    assert seen.knows_the_change is infinite
    assert seen.infinite is infinite
    assert seen.proof == "exact"


def test_a_message_is_a_gaussian_of_its_own_noise():
    """One round: 3/2 of the noise's scale, in the only direction that changes."""
    net = network(star(4), scale=[2.0, 3.0, 2.0, 2.0])
    centre = View(net, net.coalition(0), [0, 1, 0, 0])
    assert centre.mu.lower <= 1 / 3 <= centre.mu.upper
    both = View(net, net.coalition(0), [0, 1, Fraction(1, 2), 0])
    exact = math.sqrt(1 / 9 + 1 / 16)
    assert both.mu.lower == pytest.approx(exact)
    leaf = View(net, net.coalition(1), [0, 0, 1, 0])
    assert leaf.mu.upper == 0.0
    assert not leaf.infinite


def test_two_messages_of_a_node_that_keeps_its_value():
    """x + n, then W_ii x + ... : the second says W_ii x once more, less noise that is heard."""
    net = network(path(2), iterations=2, scale=1.0)
    seen = View(net, net.coalition(1), [1, 0])
    # node 1 knows what it sent: it hears x + n and (x + known) / 2 + n'
    assert seen.mu.lower <= math.sqrt(1 + 1 / 4) <= seen.mu.upper


@pytest.mark.parametrize("mu", [0.3, 1.0, 2.5])
def test_the_ends_of_delta_and_epsilon_are_on_their_own_sides(mu):
    net = network(ring(3), scale=1.0)
    seen = View(net, net.coalition(1), [Fraction(mu), 0, 0])
    with mp.workdps(40):
        m = mp.mpf(mu)
        for epsilon in (0.1, 0.9, 3.0):
            e = mp.mpf(epsilon)
            exact = mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m)
            found = seen.delta(epsilon)
            assert found.lower <= exact <= found.upper <= found.lower * (1 + 1e-11)
    for delta in (1e-6, 0.01):
        found = seen.epsilon(delta)
        assert found.lower <= GaussianDP(mu).epsilon(delta) <= found.upper
        assert found.lower <= GaussianDP(mu).epsilon_below(delta)
    told = View(net, net.coalition(0), [1, 0, 0])
    assert (told.delta(1.0).lower, told.epsilon(0.1).lower) == (1.0, math.inf)


def test_the_direction_is_that_of_the_likelihood_ratio():
    net = network(ring(3), iterations=2, scale=1.3)
    seen = View(net, net.coalition(1), [1, 0, 0])
    noise, moved = seen.moments()
    y = seen.direction()
    assert np.allclose(noise @ noise.T @ y, moved)
    assert math.isclose(y @ moved, seen.mu.upper**2, rel_tol=1e-9)


def test_stopped_early_less_is_seen():
    net = network(ring(3), iterations=4)
    assert len(net.first(2).rounds) == 2
    assert net.first(2).hears == net.hears
    mus = [View(net.first(t), net.coalition(1), [1, 0, 0]).mu.upper for t in (1, 2, 4)]
    assert mus == sorted(mus)
    assert mus[0] < mus[1]


def test_who_learns_is_a_table_of_upper_ends():
    net = network(star(3))
    changes = {"centre": [1, 0, 0], "leaf": [0, 1, 0]}
    table = who_learns(net, changes)
    assert table.values == [[math.inf, 0.5, 0.5, 0.5], [0.5, math.inf, 0.0, 0.5]]
    assert table.columns[-1] == "all messages"
    at = who_learns(net, changes, 1e-3).values
    assert at[0][0] == math.inf
    assert at[1][0] == GaussianDP(0.5).epsilon(1e-3)
    assert at[1][2] == 0.0


def test_what_is_watched_is_a_release_of_the_upper_end():
    gossip = Gossip(star(3), iterations=1, noise_scale=2.0)
    net = gossip.network()
    one = Watching(View(net, net.coalition(0), [0, 1, 0]), gossip.messages, (1, 3, 1)).release
    assert (one.sensitivity, one.noise_scale, one.count) == (0.5, 1.0, 1)
    none = Watching(View(net, net.coalition(1), [0, 0, 1]), gossip.messages, (1, 3, 1)).release
    assert none.count == 0
    with pytest.raises(InvalidArgument, match="infinite mu"):
        _ = Watching(View(net, net.coalition(0), [1, 0, 0]), gossip.messages, (1, 3, 1)).release
    with pytest.raises(InvalidArgument, match="3 normals"):
        Watching(View(net, net.coalition(0), [1, 0, 0]), gossip.messages, (2, 3, 1))


def test_the_upper_end_is_released_and_own_noise_is_taken_out():
    gossip = Gossip(path(3), iterations=2, noise_scale=3.0)
    net = gossip.network()
    seen = View(net, net.coalition(1), [1, 0, 0])
    assert seen.mu.lower < seen.mu.upper
    watching = Watching(seen, gossip.messages, (2, 3, 1))
    assert watching.release.sensitivity == seen.mu.upper
    values = np.array([[1.0], [2.0], [-1.0]])
    normals = np.random.default_rng(3).standard_normal((4, 2, 3, 1))
    normals[:, :, 1] = 0
    exact = gossip.messages(values, normals).reshape(4, -1)[:, seen.rows]
    assert np.allclose(watching.sample(values, 4, np.random.default_rng(3)), exact)
    third = view(GossipView(iterations=1, noise_scale=3.0)).sensitivity
    assert Fraction(third) >= Fraction(1, 3)


def test_squared_losses_share_their_map_under_a_label_alone():
    label, record = (SimpleNamespace(relation=one) for one in (REPLACE_LABEL, REPLACE_RECORD))
    require_shared_map(label, squared=True)
    require_shared_map(record, squared=False)
    with pytest.raises(InvalidArgument, match="replace-record"):
        require_shared_map(record, squared=True)


def test_weights_of_a_star_are_by_the_larger_degree():
    quarter = Fraction(1, 4)
    weights = metropolis(star(4))
    assert weights[0].tolist() == [quarter] * 4
    assert weights[1].tolist() == [quarter, 3 * quarter, 0, 0]
    assert heard_on(path(3)) == ({1}, {0, 2}, {1})
    with pytest.raises(InvalidArgument, match="0 off the edges"):
        Gossip(path(3), iterations=1, weights=[[0, 0, 1], [0, 1, 0], [1, 0, 0]])
    with pytest.raises(InvalidArgument, match="noise_scale"):
        Gossip(path(3), iterations=1, noise_scale=-1.0)


# --- numbers --------------------------------------------------------------------------------------


def table(*rows):
    return exact_table("rows", np.array(rows, dtype=object), (len(rows), len(rows[0])))


@pytest.mark.parametrize("kind", [Rationals(), Residues(10**9 + 7)])
def test_ranks_with_and_without_the_last_column(kind):
    dependent, free = table([1, 2, 3], [2, 4, 6]), table([1, 2, 3], [2, 4, 7])
    convert = (lambda form: form) if kind == Rationals() else _residues
    assert ranks(kind, convert(dependent)) == (1, 1)
    assert ranks(kind, convert(free)) == (1, 2)
    assert ranks(kind, convert(table([0]))) == (0, 0)
    assert ranks(kind, convert(table([3]))) == (0, 1)
    assert ranks(kind, np.zeros((0, 3), dtype=object)) == (0, 0)


def _residues(form):
    return np.vectorize(lambda entry: int(entry.p), otypes=[object])(form)


def test_the_first_rows_that_span_are_kept():
    rows = _residues(table([0, 0], [1, 2], [2, 4], [0, 1]))
    assert independent(Residues(10**9 + 7), rows).tolist() == [1, 3]
    assert independent(Residues(10**9 + 7), np.zeros((0, 2), dtype=object)).tolist() == []


def test_forms_of_a_round():
    basis = Basis(states=2, noises=1, data=1)
    form = 2 * basis.state() + 3 * basis.noise() - basis.change()
    one = basis.round([form], (7,))
    assert unpacked(one.state).tolist() == [[2, 0], [0, 2]]
    assert unpacked(one.noise).tolist() == [[3], [3]]
    assert unpacked(one.data).tolist() == [[-1], [-1]]
    assert one.noise_owners == (7,)
    regular = table([2, 1], [1, 1])
    assert inverse(regular).tolist() == [[1, -1], [-1, 2]]
    assert packed(regular).det() == 1
    with precision(20):
        assert float(Balls(20).column(table([1])[0])[0, 0]) == 1.0


@pytest.mark.parametrize("n", [2, 3, 5, 7])
def test_doubles_of_balls_are_not_above_them(n):
    with precision(40):
        root = arb_mat([[n]])[0, 0].sqrt()
        assert _rounded_down(root) <= root
        assert -_rounded_down(-root) >= root


def test_what_records_contribute():
    data = Dataset([[1.0, 0.5], [1.0, 0.0], [0.0, 0.5]], [1, -1, -1], node_sizes=(2, 1))
    assert linear_terms(data, fmpq(3)).tolist() == [0, fmpq(3, 4), 0, fmpq(-3, 2)]
    assert curvatures(data, fmpq(1)).tolist() == [
        [[1, fmpq(1, 4)], [fmpq(1, 4), fmpq(1, 8)]],
        [[0, 0], [0, fmpq(1, 4)]],
    ]


# --- releases by name -----------------------------------------------------------------------------


def test_changes_are_the_largest_that_a_record_makes():
    assert GossipView(nodes=3, sensitivity=0.5).change(1) == [0.0, 0.5, 0.0]
    assert ConsensusView(nodes=3, loss_weight=1.5, records=20).change(2) == [
        0,
        0,
        Fraction(3, 20),
    ]
    assert MultiStepView(nodes=3).change(0) == [2.0, 0.0, 0.0]
    assert SharingView().change(1) == [0.0, 2.0, 0.0]
    assert SharingView().participants == 3


@pytest.mark.parametrize("given", [{"about": 5}, {"observer": (5,)}, {"observer": (-1,)}])
def test_nobody_else_is_there(given):
    assert view(GossipView(about=4, observer=(3,), iterations=1)).count == 1
    with pytest.raises(InvalidArgument, match=r"0 to 4|from 0 to 4"):
        view(GossipView(iterations=1, **given))


def test_noise_of_a_release_is_in_its_sensitivity():
    assert view(GossipView(iterations=1, noise_scale=4.0, sensitivity=2.0)).sensitivity == 0.5
    assert view(GossipView(iterations=1, observer=2, noise_scale=4.0)).count == 0
    assert "all who read" in words(GossipView(iterations=1, observer=()))
    third = words(GossipView(iterations=1, noise_scale=3.0))
    assert "mu = 0.33333334" in third  # never less than it is


# --- two Gaussians of two covariances ---------------------------------------------------------


LAWS = [(0.7, 2.0), (0.7, 0.4), (-1.2, 0.9), (0.0, 3.0), (0.0, 0.5), (0.9, 1.0), (0.0, 1.0)]


def loss_of(shift, spread, z):
    return norm.logpdf(z) - norm.logpdf(z, shift, math.sqrt(spread))


@pytest.mark.parametrize(("shift", "spread"), LAWS)
def test_the_loss_is_a_quadratic_and_its_ends_are_those_within_the_farthest(shift, spread):
    part = _Quadratic.of(shift, spread)
    z = np.linspace(-9, 9, 20_001)
    loss = loss_of(shift, spread, z)
    assert np.allclose(part.square * z**2 + part.slope * z + part.constant, loss, atol=1e-12)
    assert math.isclose(part.low, loss.min(), abs_tol=1e-6)
    assert math.isclose(part.high, loss.max(), abs_tol=1e-6)
    assert part.low <= loss.min() + 1e-12
    assert part.high >= loss.max() - 1e-12


@pytest.mark.parametrize(("shift", "spread"), LAWS)
def test_the_law_of_the_loss_is_that_of_its_outputs(shift, spread):
    part = _Quadratic.of(shift, spread)
    z = np.linspace(-9, 9, 200_001)
    weights = norm.pdf(z) * (z[1] - z[0])
    loss = loss_of(shift, spread, z)
    for at in np.linspace(part.low - 0.1, part.high + 0.1, 9):
        exact = float(weights[loss <= at].sum())
        assert abs(float(part._distribution(np.array([at]))[0]) - exact) < 1e-4
    _, masses = part.floored(0.05)
    assert masses.min() >= 0
    assert math.isclose(masses.sum(), 1 - 2 * ndtr(-9.0), rel_tol=1e-14)


def exact_delta(shift, spread, epsilon):
    z = np.linspace(-12, 12, 400_001)
    gap = norm.pdf(z) - math.exp(epsilon) * norm.pdf(z, shift, math.sqrt(spread))
    return float(np.maximum(gap, 0).sum() * (z[1] - z[0]))


@pytest.mark.parametrize("epsilon", [0.0, 0.4])
@pytest.mark.parametrize(("shift", "spread"), LAWS[:5])
def test_a_bracket_of_one_coordinate_holds_its_integral(shift, spread, epsilon):
    pair = _Diagonal(np.array([shift]), np.array([spread]), 0.0, 0.0)
    found = _bracket(pair, epsilon, 2**12)
    exact = exact_delta(shift, spread, epsilon)
    assert found.lower - 1e-7 <= exact <= found.upper + 1e-7
    assert found.width < 0.02


def test_what_the_pair_is_off_by_is_added_on_both_sides():
    shift, spread = np.array([0.7]), np.array([2.0])
    exact = _bracket(_Diagonal(shift, spread, 0.0, 0.0), 0.5, 2**12)
    of_p = _bracket(_Diagonal(shift, spread, 0.01, 0.0), 0.5, 2**12)
    of_q = _bracket(_Diagonal(shift, spread, 0.0, 0.01), 0.5, 2**12)
    for found, off in ((of_p, 0.01), (of_q, 0.01 * math.exp(0.5))):
        assert found.upper - exact.upper == pytest.approx(off)
        assert exact.lower - found.lower == pytest.approx(off)


def test_coordinates_add_up():
    """Two coordinates of equal spread are one, of the length of the shift."""
    two = _bracket(_Diagonal(np.array([0.6, 0.8]), np.ones(2), 0.0, 0.0), 0.3, 2**14)
    assert two.lower <= GaussianDP(1.0).delta(0.3) <= two.upper
    assert two.width < 0.01


def test_covariances_are_diagonalised_together():
    one = arb_mat([[2, 0, 0], [1, 1, 0]])
    other = arb_mat([[1, 0, 1], [0, 3, 0]])
    shift = arb_mat([[1], [2]])
    with precision(60):
        found = _diagonal(one, other, shift)
        back = _diagonal(other, one, arb_mat([[-1], [-2]]))
    s, t = np.array([[4.0, 2], [2, 2]]), np.array([[2.0, 0], [0, 9]])
    spreads = np.linalg.eigvals(np.linalg.solve(s, t)).real
    assert sorted(found.spread) == pytest.approx(sorted(spreads))
    assert sorted(back.spread) == pytest.approx(sorted(1 / spreads))
    d = np.array([1.0, 2])
    assert found.shift @ found.shift == pytest.approx(d @ np.linalg.solve(s, d))
    assert back.shift @ back.shift == pytest.approx(d @ np.linalg.solve(t, d))
    assert 0 < found.variation_p < 1e-12
    assert 0 < found.variation_q < 1e-12
    with precision(60):
        off = _left_over(arb_mat([[1.1, 0], [0, 1]]))
        assert off == pytest.approx(0.21)
        with pytest.raises(ConvergenceError, match="ill-conditioned"):
            _left_over(arb_mat([[1.3, 0], [0, 1]]))


def test_features_of_one_who_looks_are_told_apart():
    net = network(path(3), iterations=2)
    for changed, apart in ((1, True), (0, False)):
        same = ChangedFeatures(net, net, [0, 0, 0], [1, 0, 0], net.coalition(1), changed)
        assert same.told_apart is apart
    assert ChangedFeatures(net, net, [0, 0, 0], [1, 0, 0], net.coalition(1), 1).delta(
        9.0
    ).lower == (1.0)
    with pytest.raises(InvalidArgument, match="there: got 1 rounds"):
        ChangedFeatures(net, net.first(1), [0, 0, 0], [1, 0, 0], net.coalition(1), 0)


def test_the_worse_direction_of_two_covariances_counts():
    narrow, wide = network(path(2), scale=1.0), network(path(2), scale=2.0)
    data = ([0, 0], [Fraction(1, 2), 0])
    forth = ChangedFeatures(narrow, wide, *data, narrow.coalition(1), 0).delta(0.4, 2**12)
    back = ChangedFeatures(wide, narrow, *data, narrow.coalition(1), 0).delta(0.4, 2**12)
    ways = exact_delta(0.5, 4.0, 0.4), exact_delta(0.25, 0.25, 0.4)
    for found in (forth, back):
        assert found.lower - 1e-6 <= max(ways) <= found.upper + 1e-6
        assert found.lower > min(ways) + 1e-3


@pytest.mark.parametrize("square", [1.0, -1.0])
def test_a_loss_at_its_vertex_has_one_root(square):
    """``square z^2``: both roots of the loss 0 are 0, and a loss beyond it has none."""
    law = _Quadratic(square=square, slope=0.0, constant=0.0, low=-64.0, high=64.0)
    low, high = law._between(np.array([0.0, square, -square]))
    assert low.tolist() == [0.0, -1.0, 0.0]
    assert high.tolist() == [0.0, 1.0, 0.0]

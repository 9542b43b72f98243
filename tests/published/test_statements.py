"""What was published, against sums done by hand, and what is exact, against another way."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks.published import exact, statements
from benchmarks.published.graphs import GRAPHS, distances, mixing_rounds, weights_of
from benchmarks.published.run import heard_by
from dpaudit.algorithms.problems.graphs import complete, from_edges, path, ring

SMALL = [ring(7), complete(5), path(5), from_edges(5, [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4)])]

# The formulas


def test_the_sum_over_messages_is_what_it_is_by_hand():
    # Rows of node 1 of a ring of 16: (1, 1, 1)/3 and (1, 2, 3, 2, 1)/9, about node 2 next to it.
    found = statements.noise_once(weights_of(ring(16)), [1, 15], rounds=2)
    assert_allclose(found[2], 1 / 3 + 4 / 19)
    assert_allclose(found[3], 1 / 19)  # two away from node 1, heard once
    assert_allclose(found[4], 0)


def test_the_sum_stops_at_what_the_noisy_vector_tells():
    weights = weights_of(ring(16))
    assert statements.noise_once(weights, [1, 15], rounds=13)[1] == 1
    assert statements.noise_once(weights, [1, 15], rounds=13, clip=False)[1] > 1.5


def test_the_sum_over_rounds_is_what_it_is_by_hand():
    # m(0): of node 1 itself, 1, twice, as two rounds are left; m(1): (1/3) / (1/3), of 0 and of 1.
    found = statements.noise_every_round(weights_of(ring(16)), [1, 15, 0], 2, clip=False)
    assert_allclose(found[1], 2 + 1 + 1)
    assert_allclose(found[2], 1)
    assert_allclose(found[3], 0)
    assert statements.noise_every_round(weights_of(ring(16)), [1, 15, 0], 2)[1] == 2


def test_a_conversion_is_undone():
    rho = statements.concentrated_rho(1.5, 1e-6)
    assert_allclose(statements.concentrated_epsilon(rho, 1e-6), 1.5)
    assert_allclose(statements.concentrated_epsilon(0.5, math.exp(-8)), 4.5)


# What is exact


def test_two_messages_on_a_ring_tell_a_vector_that_was_never_sent_to_the_observer():
    assert exact.squares_once(ring(16), 0, rounds=2)[1:5] == [1, 1, 0, 0]


def test_the_span_of_messages_is_exact():
    # (y0 + y1 + y2) / 3 and (y0 + y15 + y14) / 3: of y0, 2 (1/3) (3/4); of y1, (1/9) 3 (9/8).
    found = exact.squares_once_later(ring(16), 0, rounds=1)
    assert found[:4] == [Fraction(1, 2), Fraction(3, 8), Fraction(3, 8), 0]


@pytest.mark.parametrize("graph", SMALL, ids=range(len(SMALL)))
@pytest.mark.parametrize("rounds", [1, 2, 4])
def test_squares_with_noise_once_are_those_of_a_least_square(graph, rounds):
    weights, heard = weights_of(graph), heard_by(graph)
    sent = np.concatenate([np.linalg.matrix_power(weights, t)[heard] for t in range(rounds)])
    for node, square in enumerate(exact.squares_once(graph, 0, rounds)[1:], start=1):
        moved = sent[:, node]
        n = np.linalg.lstsq(np.delete(sent, 0, axis=1), moved, rcond=1e-9)[0]
        assert_allclose(float(square), n @ n, atol=1e-9)


def test_an_observer_of_noise_once_works_out_a_noisy_vector_to_its_last_digits():
    """By arithmetic on messages of a run: of node 3, which never sends to node 0."""
    weights, rng = weights_of(ring(16)), np.random.default_rng(3)
    noisy = rng.normal(size=16)
    _, second, third = (np.linalg.matrix_power(weights, t) @ noisy for t in range(3))
    y0, y1, y15 = noisy[0], noisy[1], noisy[15]  # its own, and the first messages
    y2, y14 = 3 * second[1] - y0 - y1, 3 * second[15] - y0 - y15
    y3 = 9 * third[1] - y15 - 2 * y0 - 3 * y1 - 2 * y2
    assert_allclose([y2, y14, y3], noisy[[2, 14, 3]], atol=1e-12)
    assert statements.noise_once(weights, [1, 15], rounds=3)[3] < 0.2


@pytest.mark.parametrize("graph", SMALL, ids=range(len(SMALL)))
def test_a_view_of_every_round_is_the_largest_square_under_the_projection(graph):
    weights = weights_of(graph)
    grams = exact.grams_every_round(weights, graph, 0, rounds=3)
    for node in (1, graph.nodes - 2):
        view = exact.views_every_round(weights, graph, 0, node, 3)
        assert_allclose(view.mu.upper**2, largest(grams[node]))
        view = exact.views_every_round(weights, graph, 0, node, 3, [1, -1, 1])
        assert_allclose(view.mu.upper**2, grams[node] @ [1, -1, 1] @ [1, -1, 1])


def largest(gram):
    return max(gram @ signs @ signs for signs in product((1, -1), repeat=len(gram)))


def test_a_view_of_every_round_is_what_the_recursion_sends():
    """Signals and noise of the two neighbours' messages, from the recursion run on impulses."""
    graph, rounds, changes = ring(5), 3, (1, -1, 1)
    weights = weights_of(graph)

    def sent(added):
        messages, last = [], np.zeros(5)
        for now in added:
            last = weights @ last + now
            messages.append(last)
        return np.concatenate([message[[1, 4]] for message in messages])

    moved = sent(np.outer(changes, np.eye(5)[2]))
    impulses = np.eye(rounds * 5).reshape(-1, rounds, 5)
    noise = np.array([sent(one) for one in impulses if not one[:, 0].any()]).T
    mu = np.linalg.norm(np.linalg.lstsq(noise, moved, rcond=None)[0])
    view = exact.views_every_round(weights, graph, 0, 2, rounds, changes)
    assert_allclose(view.mu.upper, mu)


def test_a_misread_message_tells_less_and_hardly_less_where_errors_are_small():
    graph = ring(7)
    weights, here = weights_of(graph), exact.squares_once(graph, 0, rounds=3)
    read = [exact.square_misread(weights, graph, 0, 3, 3, error) for error in (1e-9, 0.1, 1e3)]
    assert_allclose(read[0], float(here[3]))
    assert read[0] > read[1] > read[2]
    # One message y1, with an error: 1 / (1 + error^2).
    assert_allclose(exact.square_misread(weights, graph, 0, 1, 1, 0.5), 1 / 1.25)


# The graphs


@pytest.mark.parametrize("name", GRAPHS)
def test_weights_are_symmetric_and_stochastic(name):
    weights = weights_of(GRAPHS[name]())
    assert_allclose(weights, weights.T)
    assert_allclose(weights.sum(axis=1), 1)


def test_rounds_and_distances_are_those_of_the_graph():
    graph = ring(16)
    assert distances(graph) == [*range(9), *range(7, 0, -1)]
    gap = 2 / 3 * (1 - math.cos(math.pi / 8))
    assert mixing_rounds(weights_of(graph)) == math.ceil(math.log(16) / math.sqrt(gap))
    assert heard_by(graph) == [1, 15]


# The verdicts


@pytest.mark.parametrize("graph", SMALL, ids=range(len(SMALL)))
@pytest.mark.parametrize("rounds", [2, 4])
def test_what_is_summed_or_factored_over_rounds_is_never_below_what_is_exact(graph, rounds):
    summed = statements.noise_every_round(weights_of(graph), [*heard_by(graph), 0], rounds)
    for node, gram in enumerate(exact.grams_every_round(weights_of(graph), graph, 0, rounds)):
        if node:
            assert largest(gram) <= min(summed[node], statements.factored(gram)) + 1e-9

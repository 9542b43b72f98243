"""Linear recursions as whole programs: graphs, objects, trees, and arrays changed in place.

Every one is a function of four private numbers, and its mu follows from impulses (`oracle`).
"""

from collections import defaultdict

import networkx as nx
import numpy as np

from tests.affine.idioms import MATRIX


def graphs_of_networkx(x, rng):
    graph, sent = nx.star_graph(3), []
    for i in graph:
        graph.nodes[i]["state"] = x[i]
    for _ in range(4):
        sent.append({i: graph.nodes[i]["state"] + rng.normal() for i in graph})
        for i in graph:
            heard = [sent[-1][j] for j in graph.neighbors(i)]
            keeps = 1 - 0.2 * len(heard)
            graph.nodes[i]["state"] = keeps * graph.nodes[i]["state"] + 0.2 * sum(heard)
    return sent


def a_laplacian(x, rng):
    laplacian = nx.laplacian_matrix(nx.path_graph(4)).toarray()
    states, noisy = np.zeros((6, 4)), np.zeros((5, 4))
    states[0] = x
    for t in range(5):
        noisy[t] = states[t] + rng.normal(scale=0.5, size=4)
        states[t + 1] = states[t] - 0.2 * laplacian @ noisy[t]
    return noisy


class Peer:
    """A node that keeps its generator and what it hears."""

    def __init__(self, number, value, rng):
        self.number, self.value, self.rng, self.inbox = number, value, rng, []

    def send(self, peer):
        message = self.value + self.rng.normal()
        peer.inbox.append(message)
        return message

    def update(self):
        self.value = np.mean([self.value, *self.inbox])
        self.inbox.clear()


def peers_that_are_objects(x, rng):
    peers = [Peer(i, one, rng) for i, one in enumerate(x)]
    sent = []
    for _ in range(3):
        sent += [peer.send(peers[(peer.number + 1) % 4]) for peer in peers]
        for peer in peers:
            peer.update()
    return sent


class PrefixSums:
    """Noisy nodes of a binary tree, each drawn when it is first asked for."""

    def __init__(self, rng):
        self.rng, self.sums, self.noisy = rng, defaultdict(float), {}

    def add(self, t, value):
        for level in range(3):
            self.sums[level, t >> level] += value

    def up_to(self, count):
        total = 0.0
        for level in range(3):
            if count >> level & 1:
                node = level, (count >> level) - 1
                if node not in self.noisy:
                    self.noisy[node] = self.sums[node] + self.rng.normal()
                total += self.noisy[node]
        return total


def a_tree_that_is_an_object(x, rng):
    sums, seen = PrefixSums(rng), []
    for t, value in enumerate(x):
        sums.add(t, value)
        seen.append(sums.up_to(t + 1))
    return seen


def descent_in_place(x, rng):
    features = np.array([[1.0, 0.5], [0.3, -1.0], [0.2, 1.0], [-1.0, 0.7]])
    model, models = np.zeros(2), []
    for _ in range(6):
        gradient = features.T @ (features @ model - x) / len(x)
        gradient += rng.normal(scale=0.3, size=gradient.shape)
        model -= 0.5 * gradient
        models.append(model.copy())
    return np.stack(models)


def the_same_array_again_and_again(x, rng):
    model, models = np.zeros(4), []
    for _ in range(3):
        model -= MATRIX @ model - x + rng.standard_normal(4)
        models.append(model)  # not a copy: all three are the last
    return models


def rows_through_views(x, rng):
    table = np.zeros((2, 2))
    first = table[0]
    first += x[:2]
    table[1, :] = x[2:]
    table.T[0] += rng.standard_normal(2)
    table[:, 1] -= rng.standard_normal(2)
    table[[0, 1]] = table[[1, 0]]
    return table


def an_exponential_average(x, rng):
    estimate, spread, seen = 0.0, 1.0, []
    for value in x:
        gain = spread / (spread + 1)
        estimate = estimate + gain * (value + rng.normal() - estimate)
        spread = (1 - gain) * spread
        seen.append(estimate)
    return seen


PROGRAMS = {
    name: one
    for name, one in list(globals().items())
    if getattr(one, "__module__", None) == __name__ and callable(one) and not isinstance(one, type)
}

"""Closed forms of what the recursions of ``examples/recursions/`` tell, by hand."""

from math import comb, inf, sqrt

import numpy as np


def geometric(ratio, count):
    """Return ``1 + ratio + ... + ratio**(count - 1)``."""
    return (1 - ratio**count) / (1 - ratio)


def extra_moves(rounds=16, own=1 / 3, step=0.4, curvature=0.5):
    """Return by how much every message of EXTRA moves, given those before."""
    moves = [0.0, step]
    while len(moves) < rounds:
        before, last = moves[-2:]
        slope = step * curvature * (last - before)
        moves.append((1 + own) * last - (1 + own) / 2 * before - slope)
    return np.array(moves)


def edge_moves(rounds=12):
    """Return by how much a message on an edge moves, given those before."""
    dual, moves = 0.0, []
    for _ in range(rounds):
        model = (1 - 2 * dual) / 3
        moves.append(model + dual)
        dual += model
    return np.array(moves)


def shared(columns, change, rounds=15, penalty=0.5, noise=2.0):
    """Return what a party learns of the labels where the other one has these columns."""
    curved = np.eye(columns.shape[1]) + penalty * columns.T @ columns
    later = change - penalty * columns @ np.linalg.solve(curved, columns.T @ change)
    return sqrt(change @ change + (rounds - 1) * (later @ later)) / noise


def heavy_ball(curvature, rounds=20, momentum=0.9, step=0.1):
    """Return how the last model answers each gradient: powers of a 2 by 2 matrix."""
    turn = np.array([[1 - step * curvature, -step * momentum], [curvature, momentum]])
    kick = np.array([-step, 1.0])
    return np.array([(np.linalg.matrix_power(turn, t) @ kick)[0] for t in range(rounds)])


def last_answer(curvature, scale=2.0):
    """Return the mu of the last model along one axis."""
    answer = heavy_ball(curvature)
    return abs(answer.sum()) / scale / np.linalg.norm(answer)


def mean_answer(curvature, scale=2.0):
    """Return the mu of the mean of all models along one axis."""
    answer = np.cumsum(heavy_ball(curvature))
    return abs(answer.sum()) / scale / np.linalg.norm(answer)


def masked(users, noise=0.5, mask=3.0):
    """Return what sums behind masks of so many users tell of one."""
    along, across = noise**2, noise**2 + users * mask**2
    return sqrt(1 / (users * along) + (1 - 1 / users) / across)


def square_root(count):
    """Return the norm of the first so many coefficients of ``(1 - x)**-.5``."""
    return sqrt(sum((comb(2 * k, k) / 4**k) ** 2 for k in range(count)))


UPDATE = 0.2 * (1 + 0.8 + 0.64)  # three steps of client 0 of curvature 1
LABELS = np.array([2.0, 0.0, 0.0, 0.0])
FIRST = np.array([[1.0, 0.0], [0.5, 1.0], [0.0, -1.0], [-0.5, 0.5]])
SECOND = np.array([[0.5], [-1.0], [1.0], [0.5]])

FORMS = {
    ("gossip", "leaf 1 by 1", "centre"): sqrt(geometric(0.64, 20)),
    ("gossip", "leaf 1 by 1", "all messages"): sqrt(geometric(0.64, 20)),
    ("gossip_time_varying", "node 0 by 1", "all messages"): 2 * sqrt(geometric(1 / 4, 6)),
    ("push_sum", "node 0 by 1", "all messages"): 2 * sqrt(geometric(1 / 16, 10)),
    ("dsgd", "label 0 of node 0 by 1", "all models"): sqrt(10) * sqrt(1.25) / 1.5,
    ("gradient_tracking", "node 0 by 1", "all messages"): 2 * sqrt(12),
    ("gradient_tracking", "node 0 by 1", "node 1"): 2 * sqrt(12),
    ("extra", "node 0 by 1", "all messages"): float(np.linalg.norm(extra_moves())) / 0.2,
    ("by_centre", "node 0 by 1", "all messages"): 5.0,
    ("by_centre", "node 0 by 1", "node 1"): sqrt(7.5),
    ("by_nodes", "node 0 by 1", "all messages"): sqrt(20) / 5 / 0.2,
    ("by_edges", "node 0 by 1", "eavesdropper"): sqrt(2)
    * float(np.linalg.norm(edge_moves()))
    / 0.5,
    ("admm_sharing", "label 0 by 2", "party 0"): shared(SECOND, LABELS),
    ("admm_sharing", "label 0 by 2", "party 1"): shared(FIRST, LABELS),
    ("admm_sharing", "label 0 by 2", "all messages"): inf,
    ("linear", "node 0 by 1", "inner models"): sqrt(30) / 2,
    ("quadratic", "node 0 by 1", "inner models"): sqrt(30) / 2,
    ("noisy_messages", "node 0 by 1", "all messages"): sqrt(24),
    ("noisy_messages", "nodes 0 and 1 apart", "all messages"): sqrt(48),
    ("noisy_start", "node 0 by 1", "all messages"): inf,
    ("noisy_start", "node 0 by 1", "node 3"): inf,
    ("dp_ftrl", "round 1 by 1", "all models"): 2.0,
    ("dp_ftrl", "round 4 by 1", "all models"): sqrt(2),
    ("square_root", "one round by 1", "all models"): square_root(64),
    ("band_mf", "one round by 1", "all models"): square_root(8),
    ("band_mf", "four rounds by 1", "all models"): 2 * square_root(8),
    ("noisy_momentum", "first entry by 1", "all models"): sqrt(20) / 2,
    ("noisy_momentum", "first two entries by 1", "all models"): sqrt(20) * sqrt(2) / 2,
    ("noisy_momentum", "first entry by 1", "last model"): last_answer(1.0),
    ("noisy_momentum", "first entry by 1", "mean model"): mean_answer(1.0),
    ("noisy_momentum", "first two entries by 1", "last model"): np.hypot(
        last_answer(1.0), last_answer(0.5)
    ),
    ("noisy_momentum", "first two entries by 1", "mean model"): np.hypot(
        mean_answer(1.0), mean_answer(0.5)
    ),
    ("noisy_clients", "client 0 by 1", "server"): sqrt(6) * UPDATE / 0.5,
    ("noisy_clients", "client 0 by 1", "client 1"): sqrt(6 / 3) * UPDATE / 0.5,
    ("noisy_clients", "client 0 by 1", "models"): sqrt(6 / 4) * UPDATE / 0.5,
    ("noisy_server", "client 0 by 1", "server"): inf,
    ("noisy_server", "client 0 by 1", "client 1"): sqrt(6) * UPDATE / 0.5,
    ("noisy_server", "client 0 by 1", "models"): sqrt(6) * UPDATE / 0.5,
    ("secure_sums", "user 0 by 1", "server"): masked(5),
    ("secure_sums", "user 0 by 1", "server with user 4"): masked(4),
    ("secure_sums", "user 0 by 1", "sum"): 1 / sqrt(5 * 0.25),
    ("fresh_noise", "number 16 by 1", "all windows"): sqrt(8) / 2,
    ("fresh_noise", "number 16 by 1", "last window"): 1 / 2,
    ("noisy_blocks", "number 16 by 1", "last window"): 1 / sqrt(2 * 4),
}

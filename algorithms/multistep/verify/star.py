r"""Runs on a star whose centre holds all the loss, for the verifiers of utility claims.

A star of n nodes; the loss at its centre is ``f(w) = max(right (w_1 - u), -left (w_1 - u),
up (w_2 - v), 0)``, at the leaves 0; D = c_2 = c_1 = c_0 = 1, d = 2, no regulariser. The noise-free
run is computed step by step, all leaves being alike. Noise passes through a linear map, as long as
it changes no gradient: every noise term is followed to the end, and the squares of its effects add
up to variances v. No iterate or dual moves by more than ``slack`` but for a probability p, the sum
of ``exp(-slack^2 / 2v)``, exact for two features of variance v each. Then the gradients are those
of the noise-free run.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import TypeAlias

from dpaudit.algorithms.multistep.verify.node import read_unit_share
from dpaudit.verification import Document
from dpaudit.verification.reals import (
    Matrix,
    Real,
    exp,
    largest,
    length,
    log,
    norm,
    smallest,
    sqrt,
    total,
)

OUTSIDE = Fraction(1, 1000)
# Every noise term is followed through all later steps, so the work grows with their square.
_LONGEST = 400
_State: TypeAlias = dict[str, Matrix]  # rows: a column for each coordinate, or each noise term
Point: TypeAlias = list[Real]


class CertificateStar:
    """The public parameters, checked; ``inner_steps`` names the one that says l."""

    rho: Real
    slack: Real

    def __init__(self, document: Document, inner_steps: str = "inner_steps") -> None:
        self.nodes, self.iterations, self.inner = (
            document.count(name) for name in ("nodes", "iterations", inner_steps)
        )
        self.steps, self.edges = self.iterations * self.inner, self.nodes - 1
        if self.steps > _LONGEST:
            expected = f"at most {_LONGEST} steps"
            raise document.refused("parameters.iterations", self.steps, expected)
        self.rho, self.slack, epsilon = document.positive("penalty", "slack", "epsilon")
        delta = read_unit_share(document, "delta")
        steepest = document.choice("steepest", "sum", "node")
        # The sum has slope 1; read of each node, c_2 is n times that of the one that has a loss.
        own = Real(1) / self.nodes if steepest == "sum" else Real(1)
        records = document.count("records")
        # N of eq. (23), with d = 2 features and c_0 = c_1 = 1.
        self.noise = sqrt(2 * self.steps * 8 * log(Fraction(5, 4) / delta)) / (epsilon * records)
        self.share = norm((own, self.noise))

    def schedule(self) -> list[tuple[Real, bool, bool]]:
        """Return eta of every update, and whether it begins or ends an iteration."""
        return [
            (sqrt(2 * k * r) * self.share, r == 1, r == self.inner)
            for k in range(1, self.iterations + 1)
            for r in range(1, self.inner + 1)
        ]


class CentreLoss:
    """The loss of the centre."""

    def __init__(self, document: Document) -> None:
        self.target = [Real(x) for x in document.array("target", (2,))]
        self.slopes = [Real(x) for x in document.array("slopes", (3,))]
        if min(self.slopes) < 0:
            raise document.refused("instance.slopes", float(min(self.slopes)), "at least 0")

    def pieces(self, model: Point) -> list[Real]:
        """Return the pieces of which the loss is the largest."""
        along, across = (w - c for w, c in zip(model, self.target, strict=True))
        right, left, up = self.slopes
        return [right * along, -left * along, up * across, Real(0)]

    def gradient(self, model: Point) -> tuple[Point, Real]:
        """Return the gradient, and by how much its piece leads."""
        values = self.pieces(model)
        # Ties need no rule: the assumption on the lead refuses an instance that has one.
        active = max(range(len(values)), key=values.__getitem__)
        others = [value for i, value in enumerate(values) if i != active]
        right, left, up = self.slopes
        none = Real(0)
        gradients = [[right, none], [-left, none], [none, up], [none, none]]
        return gradients[active], values[active] - largest(others)


def _advance_star_columns(
    star: CertificateStar,
    state: _State,
    eta: Real,
    first: bool,
    last: bool,
    push: tuple[Matrix, Matrix, Matrix],
) -> _State:
    """Return all columns after an update; ``push`` is added to x, y and the others' y.

    ``y`` and ``g`` are of one leaf, ``z`` and ``h`` of any other: noise of one leaf moves it apart.
    """
    rho, edges = star.rho, star.edges
    # The centre sees the sum over leaves: one, and the others, which are alike.
    g_all, b_all = (
        state[one] + (edges - 1) * state[rest] if edges else 0 * state[one]
        for one, rest in (("g", "h"), ("by", "bz"))
    )
    pulled = 2 * g_all + rho * (edges * state["bx"] + b_all)
    x = 1 / (2 * rho * edges + eta) * (eta * state["x"] + pulled) + push[0]

    def leaf(model: str, dual: str, sent: str) -> Matrix:
        pulled = rho * (state["bx"] + state[sent]) - 2 * state[dual]
        return 1 / (2 * rho + eta) * (eta * state[model] + pulled)

    new = dict(state, x=x, y=leaf("y", "g", "by") + push[1], z=leaf("z", "h", "bz") + push[2])
    for summed, one in (("sx", "x"), ("sy", "y"), ("sz", "z")):
        new[summed] = new[one] if first else new[one] + state[summed]
    if last:
        for sent, summed in (("bx", "sx"), ("by", "sy"), ("bz", "sz")):
            new[sent] = Fraction(1, star.inner) * new[summed]
        new["g"] = state["g"] - rho / 2 * (new["bx"] - new["by"])
        new["h"] = state["h"] - rho / 2 * (new["bx"] - new["bz"])
    return new


def _make_sparse_row(columns: int, entries: dict[int, Real]) -> Matrix:
    """Return a row of zeros but for these entries."""
    return Matrix([[entries.get(column, 0) for column in range(columns)]])


def _make_zero_state(columns: int) -> _State:
    names = ("x", "y", "z", "g", "h", "bx", "by", "bz", "sx", "sy", "sz")
    return dict.fromkeys(names, _make_sparse_row(columns, {}))


def noise_free(
    star: CertificateStar, loss: CentreLoss
) -> tuple[list[Point], list[Point], list[Real], Real]:
    """Return the models of the centre and of a leaf, the norms of the duals, and the least lead."""
    state, none = _make_zero_state(2), _make_sparse_row(2, {})
    start = [Real(0)] * 2
    centre, leaf, duals, gaps = [start], [start], [Real(0)], []
    for eta, first, last in star.schedule():
        gradient, gap = loss.gradient(centre[-1])
        gaps.append(gap)
        unit = 2 * star.rho * star.edges + eta
        moved = Matrix([[-slope / unit for slope in gradient]])
        state = _advance_star_columns(star, state, eta, first, last, (moved, none, none))
        # The centre's models; a single node's stand for its leaves, too.
        centre.append(state["x"].entries())
        leaf.append(state["y" if star.edges else "x"].entries())
        if star.edges:
            duals.append(norm(state["g"].entries()))
    return centre, leaf, duals, smallest(gaps)


def noise_of(star: CertificateStar) -> tuple[Real, Real, Real]:
    """Return the probability that some deviation exceeds the slack, and spreads of both w^.

    Noise of the centre moves all leaves alike. Noise of a leaf moves the leaf itself, and all
    others alike: what any leaf suffers is its own, and edges - 1 times another's.
    """
    edges = star.edges
    variances = [dict.fromkeys(("x", "y", "g"), Real(0)) for _ in range(star.steps)]
    of_centre, of_leaf = Real(0), Real(0)
    for place in (0, 1) if edges else (0,):
        # Noise terms of all leaves have equal effects, so one leaf's are followed and counted.
        sources, others = (edges, edges - 1) if place else (1, 0)
        mean = _add_noise_variances(star, place, variances)
        of_centre += sources * _compute_row_square(mean["x"])
        of_leaf += _compute_row_square(mean["y"]) + others * _compute_row_square(mean["z"])
    counts = {"x": 1, "y": edges, "g": edges}
    # A union over iterates, duals and leaves; what has no variance cannot move.
    outside = total(
        counts[name] * exp(-(star.slack**2) / (2 * variance))
        for step in variances
        for name, variance in step.items()
        if variance > 0
    )
    return outside, length(2 * of_centre), length(2 * of_leaf)


def _add_noise_variances(
    star: CertificateStar, place: int, variances: list[dict[str, Real]]
) -> _State:
    """Add the squares of all noise terms' effects to the variances; return those on the w^.

    The terms are those of the centre, or of one leaf: one a step, and one a column.
    """
    state, edges, std = _make_zero_state(star.steps), star.edges, star.noise / sqrt(2)
    sums = {name: state[name] for name in ("x", "y", "z")}
    for step, (eta, first, last) in enumerate(star.schedule()):
        # The noise of a step is divided by what the step divides by.
        size = std / (2 * star.rho * (1 if place else edges) + eta)
        push = [_make_sparse_row(star.steps, {})] * 3
        push[place] = _make_sparse_row(star.steps, {step: size})
        state = _advance_star_columns(star, state, eta, first, last, (push[0], push[1], push[2]))
        # Noise of the centre moves all leaves alike, so the other leaves follow the one.
        if place == 0:
            state.update(z=state["y"], h=state["g"], bz=state["by"], sz=state["sy"])
        found, others = variances[step], edges - 1 if place else 0
        # Every leaf's noise reaches the centre in the same way.
        found["x"] += (edges if place else 1) * _compute_row_square(state["x"])
        found["y"] += _compute_row_square(state["y"]) + others * _compute_row_square(state["z"])
        found["g"] += _compute_row_square(state["g"]) + others * _compute_row_square(state["h"])
        # Eq. (22) leaves the last models out; the first ones are 0 and have no noise.
        if step < star.steps - 1:
            for name in sums:
                sums[name] += Fraction(1, star.steps) * state[name]
    return sums


def _compute_row_square(row: Matrix) -> Real:
    return (row * row.T)[0, 0]


def average(path: list[Point]) -> Point:
    """Return the mean of points."""
    return [total(column) / len(path) for column in zip(*path, strict=True)]


def compute_point_distance_square(one: Point, other: Point) -> Real:
    """Return the square of a distance."""
    return total((p - q) ** 2 for p, q in zip(one, other, strict=True))


def compute_point_diameter(points: list[Point]) -> Real:
    """Return the largest distance."""
    return length(
        largest(compute_point_distance_square(one, other) for one, other in combinations(points, 2))
    )

"""What Huang & Gong claim of the instance of a certificate: one node, its proof, and runs on stars.

As `tests.claims.oracles_of_claims`: fractions, mpmath, and arrays of them; every node of a star is
run by itself, and every noise term is followed to all of them.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import combinations

import networkx as nx
import numpy as np
from mpmath import mp

from tests.claims.oracles_of_claims import numbers
from tests.claims.oracles_of_sharing import length, quadrature_of_normals

MOST_NODES = 12

# The proof of Theorem 7, in fractions


def rational(values):
    return np.array([Fraction(one) for one in np.ravel(values)], dtype=object).reshape(
        np.shape(values)
    )


class Node:
    """One iteration of a node whose loss is ``m |w|^2 / 2 - <b, w>``, as (13a), (13b) and (15)."""

    def __init__(self, stated, instance):
        names = ("eta", "pull", "start", "own", "next", "target", "others", "dual", "later")
        self.eta, self.b, start, own, self.next, self.w, others, self.dual, later = (
            rational(instance[name]) for name in names
        )
        self.noise = rational(instance["noise"])
        self.rho, self.m = Fraction(instance["penalty"]), Fraction(instance["curvature"])
        self.v, self.l = len(others), len(self.eta)
        self.u = self.eta + 2 * self.rho * self.v
        self.before = [(own + one) / 2 for one in others]
        self.path = [start]
        for r in range(self.l):
            w = self.path[-1]
            kept = 2 * sum(self.dual) + 2 * self.rho * sum(self.before) + self.eta[r] * w
            self.path.append((kept - self.slope(w)) / self.u[r] + self.noise[r])
        self.sent = sum(self.path[1:]) / Fraction(self.l)
        self.after = [(self.sent + one) / 2 for one in later]
        self.new = [
            one - self.rho / 2 * (self.sent - there)
            for one, there in zip(self.dual, later, strict=True)
        ]

    def slope(self, w):
        return self.m * w - self.b

    def xi(self, r, corrected):
        return -self.u[r] * self.noise[r] if corrected else self.noise[r] / self.u[r]

    def mean(self, of):
        return sum(of(r, self.path[r], self.path[r + 1]) for r in range(self.l)) / Fraction(self.l)


def far(one, other):
    gap = one - other
    return gap @ gap


def equation29(node, corrected):
    old, new = node.path[:2]
    g, x, w = node.slope(old), node.xi(0, False), node.w
    rest = old if corrected else new - node.noise[0]
    return [g @ (old - w)], [(g + x) @ (new - w), x @ (w - rest), (g + x) @ (old - new)]


def equation30(node, corrected):
    old, new = node.path[:2]
    held = sum(node.dual) - node.rho * sum(old - one for one in node.before)
    left = (node.slope(old) + node.xi(0, corrected)) @ (new - node.w)
    moved = node.u[0] * ((old - new) @ (new - node.w))
    return [left], [moved, 2 * (held @ (new - node.w))]


def equation32(node, corrected):
    w, twice = node.w, 2 * node.rho

    def held(r, old, new):
        inner = sum(node.dual) - node.rho * sum(old - one for one in node.before)
        return 2 * (inner @ (new - w))

    return [node.mean(held)], [
        twice * node.v * node.mean(lambda r, old, new: (new - node.sent) @ (w - new)),
        2 * (sum(node.new) @ (node.sent - w)),
        twice * node.v * node.mean(lambda r, old, new: (old - new) @ (w - new)),
        twice
        * sum(
            (a - b) @ (w - node.sent) for a, b in zip(node.after, node.before, strict=True)
        ),
    ]  # fmt: skip


def equation33(node, corrected):
    found = sum((new - node.sent) @ (node.w - new) for new in node.path[1:])
    return [found if corrected else Fraction(int(found >= 0))], [Fraction(0)]


def equation34(node, corrected):
    before, after = node.before[0], node.after[0]
    moved = far(node.dual[0], node.new[0])
    return [(after - before) @ (node.w - node.sent)], [
        far(before, node.w) / 2, -far(after, node.w) / 2, moved / (2 * node.rho**2),
    ]  # fmt: skip


def equation36(node, corrected):
    w, last = node.w, node.sent if corrected else node.next

    def rest(r, old, new):
        return node.xi(r, corrected) @ (w - (old if corrected else new - node.noise[r]))

    def pushed(r, old, new):
        whole = node.slope(old) + node.xi(r, corrected)
        return whole @ whole / (2 * node.eta[r])

    gained = node.mean(lambda r, old, new: node.eta[r] / 2 * far(new, w))
    return [node.mean(lambda r, old, new: node.slope(old) @ (old - w))], [
        node.mean(lambda r, old, new: node.eta[r] / 2 * far(old, w)),
        -gained if corrected else gained,
        node.mean(pushed),
        node.mean(rest),
        node.rho * sum(far(one, w) for one in node.before),
        -node.rho * sum(far(one, w) for one in node.after),
        sum(far(a, b) for a, b in zip(node.dual, node.new, strict=True)) / node.rho,
        2 * (sum(node.new) @ (last - w)),
    ]


def of_proof(sides, is_equation, stated, instance):
    """Return by how much an equation is broken, over 1 and the sizes of all its terms."""
    left, right = sides(Node(stated, instance), stated["version"] == "corrected")
    factor = Fraction(stated["factor"])
    over = sum(left) - factor * sum(right)
    size = 1 + sum(map(abs, left)) + factor * sum(map(abs, right))
    ratio = 1 + (abs(over) if is_equation else over) / size
    found = {"left side": float(sum(left)), "right side": float(factor * sum(right))}
    return True, mp.mpf(ratio.numerator) / ratio.denominator, found


PROOF = {
    29: partial(of_proof, equation29, True),
    30: partial(of_proof, equation30, True),
    32: partial(of_proof, equation32, True),
    33: partial(of_proof, equation33, False),
    34: partial(of_proof, equation34, False),
    36: partial(of_proof, equation36, False),
}


# One record of one node


def changed(stated, instance):
    """Return both records, none longer than 1, the node's degree, and whether all is met."""
    net = nx.Graph([(int(a), int(b)) for a, b in instance["edges"]])
    net.add_nodes_from(range(stated["nodes"]))
    pair = [mp.matrix(instance[name]) for name in ("record", "replacement")]
    holds = nx.is_connected(net) and max(map(length, pair)) <= 1 + mp.mpf("1e-12")
    return [one / max(length(one), 1) for one in pair], net.degree[stated["node"]], holds


def slope_of(loss, margin):
    """Return the derivative of a loss of the margin; at a kink the one on its right."""
    return {
        "logistic": lambda m: -1 / (1 + mp.exp(m)),
        "hinge": lambda m: -mp.mpf(m < 1),
        "smoothed-hinge": lambda m: -min(max(1 - m, 0), 1),
        "linear": lambda m: mp.mpf(-1),
        "absolute": lambda m: mp.sign(m - 1),
    }[loss](margin)


def lemma5(stated, instance):
    rho, eta, factor = numbers(stated, "penalty", "eta", "factor")
    pair, degree, holds = changed(stated, instance)
    model = mp.matrix(instance["model"])
    here, there = (one * slope_of(stated["loss"], (one.T * model)[0]) for one in pair)
    unit = (2 * rho * degree + eta) * stated["node_size"]
    moved, bound = length(here - there) / unit, factor * 2 / unit
    return holds, moved / bound, {"movement": moved, "bound": bound}


def theorem6(stated, instance):
    e, d, c0, rho, factor = numbers(stated, "epsilon", "delta", "c0", "penalty", "factor")
    pair, degree, holds = changed(stated, instance)
    count, size = stated["iterations"] * stated["inner_steps"], stated["node_size"]
    sigma, squares = c0 * mp.sqrt(2 * count * mp.log(mp.mpf("1.25") / d)) / e, mp.mpf(0)
    steps = [instance[name] for name in ("eta", "shift", "scale")]
    holds = holds and len(steps[0]) == count
    for eta, shift, scale in zip(*steps, strict=True):
        unit = (2 * rho * degree + eta) * size
        moved, noise = length(pair[0] - pair[1]) / unit, 2 * sigma / unit
        holds = holds and abs(shift - moved) + abs(scale - noise) <= 1e-8 * (moved + noise)
        squares += (moved / noise) ** 2
    at, mu = mp.mpf(instance["quantities"]["epsilon"]), mp.sqrt(squares)
    lost = quadrature_of_normals(mu, at) if mu else mp.mpf(0)
    return holds and lost > d, at / (factor * e), {"sigma": sigma, "mu": mu, "delta": lost}


# Runs on a star, node by node


class Star:
    """Algorithm 1 of the paper on a star; models, broadcasts and duals of every node."""

    def __init__(self, stated, instance, inner="inner_steps"):
        self.n, self.t, self.l = (stated[one] for one in ("nodes", "iterations", inner))
        self.rho, self.slack, e, d = numbers(stated, "penalty", "slack", "epsilon", "delta")
        self.u, self.v = (mp.mpf(one) for one in instance["target"])
        self.right, self.left, self.up = (mp.mpf(one) for one in instance["slopes"])
        steepest = mp.mpf(1) if stated["steepest"] == "node" else mp.mpf(1) / self.n
        records = mp.mpf(stated["records"])
        square = 8 * self.t * self.l * mp.log(mp.mpf("1.25") / d) / (e * records) ** 2
        self.deviation, self.g = mp.sqrt(square), mp.sqrt(steepest**2 + 2 * square)
        self.net = nx.star_graph(self.n - 1)

    def pieces(self, w):
        along, across = w[0] - self.u, w[1] - self.v
        return [
            (self.right * along, (self.right, 0)), (-self.left * along, (-self.left, 0)),
            (self.up * across, (0, self.up)), (mp.mpf(0), (0, 0)),
        ]  # fmt: skip

    def risk(self, w):
        return max(value for value, _ in self.pieces(w))

    def run(self, width, slope, push):
        """Return the models of all nodes before each step and after the last, and all duals."""
        w = np.full((self.n, width), mp.mpf(0))
        sent, duals = w.copy(), {edge: w[0].copy() for edge in self.net.to_directed().edges}
        path, held = [w.copy()], []
        for k in range(1, self.t + 1):
            inner = []
            for r in range(1, self.l + 1):
                eta, new = mp.sqrt(2 * k * r) * self.g, w.copy()
                for i in self.net:
                    near = list(self.net[i])
                    weight = 2 * self.rho * len(near) + eta
                    pulled = sum(
                        (2 * duals[i, j] + self.rho * (sent[i] + sent[j]) for j in near),
                        start=np.full(width, mp.mpf(0)),
                    )
                    new[i] = (pulled + eta * w[i] - slope(i, w[i])) / weight
                    new[i] += push(i, len(path) - 1) / weight
                w = new
                inner.append(w)
                path.append(w)
                if r == self.l:
                    sent = sum(inner) / self.l
                    for i, j in duals:
                        duals[i, j] = duals[i, j] - self.rho / 2 * (sent[i] - sent[j])
                held.append(dict(duals))
        return path, held  # fmt: skip

    def noise_free(self):
        leads = []

        def slope(i, w):
            if i:
                return np.array([mp.mpf(0)] * 2)
            (best, found), (second, _), *_ = sorted(self.pieces(w), key=lambda one: -one[0])
            leads.append(best - second)
            return np.array([mp.mpf(one) for one in found])

        path, held = self.run(2, slope, lambda i, step: np.array([mp.mpf(0)] * 2))
        return path, held, min(leads)

    def noise(self):
        """Return the chance to leave the slack, and root mean squares of both averages' noise."""
        steps = self.t * self.l

        def push(i, step):
            found = np.full(self.n * steps, mp.mpf(0))
            found[i * steps + step] = self.deviation
            return found

        path, held = self.run(self.n * steps, lambda i, w: 0 * w, push)
        chance = mp.mpf(0)
        for w, duals in zip(path[1:], held, strict=True):
            for row in (*w, *(duals[0, j] for j in self.net[0])):
                if variance := row @ row:
                    chance += mp.exp(-(self.slack**2) / (2 * variance))
        averages = sum(path[:-1]) / steps
        return chance, *(mp.sqrt(2 * (averages[i] @ averages[i])) for i in (0, self.n - 1))


def apart(points):
    return max(length(a - b) for a, b in combinations(points, 2))


def inside(star, path, lead, chance):
    """Return whether no gradient changes and no model leaves the set of diameter 1."""
    points = [w[i] for w in path for i in range(star.n)] + [np.array([star.u, star.v])]
    return (
        max(star.right, star.left, star.up) <= 1
        and min(star.right, star.left, star.up) >= 0
        and apart(points) + 2 * star.slack <= 1
        and 2 * star.slack <= lead
        and chance <= mp.mpf("0.001")
    )


def sides(stated, instance):
    """Return the star, whether all is met, and how large the left side of (24) certainly is."""
    star, beta = Star(stated, instance), mp.mpf(stated["beta"])
    path, held, lead = star.noise_free()
    chance, centre, leaf = star.noise()
    edges, mean = 2 * (star.n - 1), sum(path[:-1]) / (star.t * star.l)
    duals = [length(one) for duals in held for one in duals.values()]
    holds = inside(star, path, lead, chance) and max([*duals, 0]) + star.slack <= beta
    risk, violation = star.risk(mean[0]), edges * beta * length(mean[0] - mean[-1])
    value = (1 - chance) * (risk + violation) - centre - edges * beta * (centre + leaf)
    return star, beta, holds, max(value, mp.mpf(0)), {"risk": risk, "violation": violation}


def theorem7(stated, instance):
    if stated["nodes"] > MOST_NODES:
        return None
    star, beta, holds, value, found = sides(stated, instance)
    shared = 2 * (star.n - 1) * (star.rho + beta**2 / star.rho) / star.t
    bound = star.n * mp.sqrt(2) * star.g / mp.sqrt(star.t * star.l) + shared
    bound *= mp.mpf(stated["factor"])
    return holds, value / bound, found | {"value": value, "bound": bound}


def section42(stated, instance):
    if stated["nodes"] > MOST_NODES:
        return None
    star, beta, holds, value, _ = sides(stated, instance)
    over_t = 1 + 2 * (star.n - 1) * (star.rho + beta**2 / star.rho)
    bound = mp.mpf(stated["constant"]) * over_t / star.t
    return holds, value / bound, {"value": value, "bound": bound}


def inner_steps(stated, instance):
    if stated["nodes"] > MOST_NODES:
        return None
    holds, risks = stated["fewer_steps"] < stated["inner_steps"], []
    for inner in ("inner_steps", "fewer_steps"):
        star = Star(stated, instance, inner)
        path, _, lead = star.noise_free()
        chance, centre, _ = star.noise()
        holds = holds and inside(star, path, lead, chance)
        risks.append((star.risk(sum(path[:-1])[0] / (star.t * star.l)), chance, centre))
    (many, chance, spread), (few, other_chance, other_spread) = risks
    least = max((1 - chance) * many - spread, mp.mpf(0))
    most = few + other_spread + other_chance
    return holds, least / (mp.mpf(stated["factor"]) * most), {"risk with fewer": most}

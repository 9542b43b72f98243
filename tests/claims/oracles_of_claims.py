"""What papers claim of the instance of a certificate, worked out with mpmath and fractions alone.

Each function takes the parameters and the instance of a file, and returns whether what the claim
assumes holds and the ratio that the file may state. Nothing of `dpaudit` is used.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product

from mpmath import mp

TINY = mp.mpf(10) ** -30


def numbers(stated, *names):
    return [mp.mpf(stated[name]) for name in names]


# hu2020: densities and tails of Gaussian noise


def density(stated, instance):
    e, d, s, factor = numbers(stated, "epsilon", "delta", "sensitivity", "factor")
    deviation, at = s / e * mp.sqrt(2 * mp.log(1.25 / d)), mp.mpf(instance["offset"])
    k = stated["entries"]

    def of(x):
        return mp.npdf(x / deviation) * mp.npdf(0) ** (k - 1) / deviation**k

    return e <= 1, of(at) / (mp.exp(e) * of(at + s) + d) / factor


def equation12(stated, instance):
    e, d, s, factor = numbers(stated, "epsilon", "delta", "sensitivity", "factor")
    c = mp.sqrt(2 * mp.log(1.25 / d))
    least = c - e / (2 * c) if stated["part"] == "tail" else d * e / (2 * c * s)
    least = max(least, mp.mpf(0))
    k = mp.mpf(stated["entries"]) / 2
    longer = mp.gammainc(k, least**2 / 2, mp.inf, regularized=True)
    return e <= 1, longer / d / factor


# zhang2018, footnote 4; tables, equation 38


def footnote4(stated, instance):
    a, c, r = (mp.mpf(instance[name]) for name in ("stretch", "loss_weight", "ridge"))
    x = mp.matrix(instance["features"])
    jacobian = mp.eye(x.cols) * (1 + r / a) + c / (a * x.rows) * (x.T * x)
    return True, 1 + abs(mp.det(jacobian) ** (stated["power"] - 1) - 1)


def equation38(stated, instance):
    rho, mapping = Fraction(instance["penalty"]), [int(one) for one in instance["mapping"]]
    dual, gap = (_fractions(instance[name]) for name in ("dual", "gap"))
    found, size = [], Fraction(1)
    for model in ("there", "here"):
        p = _fractions(instance[model])
        whole = [
            part
            for y, g, n in zip(dual, gap, mapping, strict=True)
            for part in (
                sum(a * b for a, b in zip(y, p[n], strict=True)),
                rho / 2 * sum((a + b) ** 2 for a, b in zip(g, p[n], strict=True)),
            )
        ]
        parts = []
        for n, prediction in enumerate(p):
            of = [row for row, tuple_of in enumerate(mapping) if tuple_of == n]
            count = {"published": len(of), "none": 1, "squared": len(of) ** 2}[stated["counts"]]
            pull = [
                sum((dual[row][j] + rho * gap[row][j] for row in of), Fraction(0))
                for j in range(len(prediction))
            ]
            parts.append(sum(a * b for a, b in zip(pull, prediction, strict=True)))
            parts.append(rho / 2 * count * sum(b * b for b in prediction))
        found.append(sum(whole) - sum(parts))
        size += sum(map(abs, [*whole, *parts]))
    ratio = 1 + abs(found[0] - found[1]) / size
    return True, mp.mpf(ratio.numerator) / ratio.denominator


def _fractions(rows):
    return [[Fraction(one) for one in row] for row in rows]


# zhang2018: networks


def network(stated, instance):
    """Return the Laplacian, the signless one, penalties, curvatures, and whether all is met."""
    a = mp.matrix(instance["adjacency"])
    d = mp.diag([mp.fsum(a[i, :]) for i in range(a.rows)])
    eta, m = ([mp.mpf(one) for one in instance[name]] for name in ("penalty", "curvature"))
    theta, mu = mp.mpf(stated["dual_step"]), mp.mpf(instance["mu"])
    holds = min(eta) >= theta and min(m) > 0 and mu > 1
    if stated["penalties"] == "shared":
        holds = holds and max(eta) == min(eta)
    holds = holds and sorted(mp.eigsy(d - a, eigvals_only=True))[1] > TINY
    return d - a, d + a, eta, m, theta, mu, holds


def singular(matrix):
    return sorted(mp.svd_r(matrix, compute_uv=False), reverse=True)


def rate(stated, eta, parts):
    lap, signless, _, m, theta, mu, _ = parts
    excess = singular(mp.diag([one - theta for one in eta]) * lap)
    high, reach = singular(mp.diag(eta) * signless)[0], theta * singular(lap)[-2]
    top = 2 * min(m) + (2 * excess[-2] if stated["rate"] == "printed" else 0)
    below = (mu**2 * max(m) ** 2 + mu * excess[0] ** 2) / (reach * (mu - 1)) + high
    return min(reach / (mu**2 * high), top / below)


def section3(stated, instance):
    parts = network(stated, instance)
    later = [mp.mpf(one) for one in instance["later"]]
    holds = parts[-1] and all(a >= b for a, b in zip(later, parts[2], strict=True))
    if stated["penalties"] == "shared":
        holds = holds and max(later) == min(later)
    before, after = (rate(stated, one, parts) for one in (parts[2], later))
    return holds, (1 + after) / (mp.mpf(stated["factor"]) * (1 + before))


def equation23(stated, instance):
    parts = network(stated, instance)
    lap, signless, eta, m, theta, mu, holds = parts
    f, n = mp.matrix(instance["start"]), range(len(eta))
    excess = mp.diag([one - theta for one in eta]) * lap
    weights = [mu * singular(excess)[0] ** 2 + (mu * one) ** 2 for one in m]
    common = mp.fsum(weights[i] * f[i] ** 2 for i in n) / (theta * singular(lap)[-2] * (mu - 1))
    mixed, held = (f.T * mp.diag(eta) * signless * f)[0], (f.T * excess * f)[0]
    own, factor = mp.fsum(m[i] * f[i] ** 2 for i in n), mp.mpf(stated["factor"])
    left = rate(stated, eta, parts) * (common + mixed)
    right = factor * (2 * held + 2 * own)
    if stated["penalties"] == "shared":
        return holds, left / right
    return holds, 1 + (left - right) / (common + abs(mixed) + 2 * abs(held) + 2 * own)


def theorem32(stated, instance):
    parts = network(stated, instance)
    lap, signless, eta, m, theta, _, holds = parts
    n = len(eta)
    b, f = (mp.matrix(instance[name]) for name in ("slope", "start"))
    best = mp.fsum(b) / mp.fsum(m)
    optimum = b - best * mp.matrix(m)
    spread = signless * f
    degree = [(lap[i, i]) for i in range(n)]
    later = mp.matrix(
        [(b[i] + eta[i] * spread[i]) / (m[i] + 2 * eta[i] * degree[i]) for i in range(n)]
    )
    inverse = mp.inverse(lap + mp.ones(n) / n) - mp.ones(n) / n
    weighted = mp.diag(eta) * signless

    def distance(dual, models):
        far, off = models - best * mp.ones(n, 1), dual - optimum
        return (off.T * inverse * off)[0] / theta + (far.T * weighted * far)[0]

    before, after = distance(mp.zeros(n, 1), f), distance(theta * (lap * later), later)
    grown, factor = (1 + rate(stated, eta, parts)) * after, mp.mpf(stated["factor"])
    if stated["penalties"] == "shared":
        return holds, grown / (factor * before)
    size = (optimum.T * inverse * optimum)[0] / theta
    size += mp.fsum(2 * eta[i] * degree[i] * (f[i] - best) ** 2 for i in range(n))
    return holds, 1 + (grown - factor * before) / size


# hu2019: ADMM sharing with the squared loss


class Sharing:
    """The problem of a file and its iterations: states are models, prediction and dual."""

    def __init__(self, stated, instance):
        self.c, self.rho, self.ridge = numbers(
            stated, "loss_weight", "penalty", "regulariser_weight"
        )
        self.d = [mp.matrix(one) for one in instance["designs"]]
        self.b = mp.matrix(instance["labels"])
        self.grams = [sorted(mp.eigsy(one.T * one, eigvals_only=True)) for one in self.d]
        self.start = (
            [mp.matrix(one) for one in instance["models"]],
            mp.matrix(instance["prediction"]),
            mp.matrix(instance["dual"]),
        )

    def holds(self):
        """Return whether Assumption 1 does, with the smoothness of (z - b)^2 / 2."""
        modulus = self.rho + self.c
        moduli = [self.ridge + self.rho * one[0] for one in self.grams]
        return (
            all(one[0] > mp.mpf("1e-9") * one[-1] for one in self.grams)
            and all(2 * g[-1] <= s for g, s in zip(self.grams, moduli, strict=True))
            and all(abs(one) == 1 for one in self.b)
            and self.c <= self.rho
            and 2 * self.c**2 < self.rho * modulus
        )

    def after(self, state):
        x, z, y = state
        told = [d * one for d, one in zip(self.d, x, strict=True)]
        both = [sum_of(told) - one for one in told]
        models = [
            mp.lu_solve(self.rho * d.T * d + self.ridge * mp.eye(d.cols),
                        d.T * (self.rho * (z - other) - y))
            for d, other in zip(self.d, both, strict=True)
        ]  # fmt: skip
        reached = sum_of([d * one for d, one in zip(self.d, models, strict=True)])
        prediction = (y + self.rho * reached + self.c * self.b) / (self.c + self.rho)
        return models, prediction, y + self.rho * (reached - prediction)

    def step(self, count):
        before = after = self.start
        for _ in range(count):
            before, after = after, self.after(after)
        return before, after

    def lagrangian(self, state):
        x, z, y = state
        gap = sum_of([d * one for d, one in zip(self.d, x, strict=True)]) - z
        kept = self.c / 2 * square(z - self.b) + self.ridge / 2 * mp.fsum(map(square, x))
        return kept + (y.T * gap)[0] + self.rho / 2 * square(gap)

    def map(self):
        """Return the matrix of a step of models and prediction, column by column."""
        sizes = [one.cols for one in self.d]

        def moved(flat):
            cuts = [sum(sizes[:n]) for n in range(len(sizes) + 1)]
            x = [mp.matrix(flat[a:b]) for a, b in pairwise(cuts)]
            z = mp.matrix(flat[cuts[-1] :])
            models, prediction, _ = self.after((x, z, self.c * (z - self.b)))
            return [*(one for model in models for one in model), *prediction]

        size = sum(sizes) + len(self.b)
        rest = moved([mp.mpf(0)] * size)
        columns = [moved([mp.mpf(int(i == j)) for i in range(size)]) for j in range(size)]
        return mp.matrix(size, size) + mp.matrix(
            [[columns[j][i] - rest[i] for j in range(size)] for i in range(size)]
        )


def sum_of(vectors):
    found = vectors[0].copy()
    for one in vectors[1:]:
        found += one
    return found


def square(vector):
    return mp.fsum(one**2 for one in vector)


def lemma2(stated, instance):
    problem = Sharing(stated, instance)
    before, after = problem.step(stated["iteration"])
    bound = mp.mpf(stated["factor"]) * problem.c**2 * square(after[1] - before[1])
    return problem.holds(), square(after[2] - before[2]) / bound


def lemma3(stated, instance):
    u = mp.matrix(instance["after"]) - mp.matrix(instance["before"])
    lengths = mp.fsum(one**2 for one in u)
    whole = mp.fsum(mp.fsum(u[:, j]) ** 2 for j in range(u.cols))
    multiple = 1 if stated["version"] == "published" else stated["parties"] - 1
    return True, (whole - lengths) / (mp.mpf(stated["factor"]) * multiple * lengths)


def lemma4(stated, instance):
    problem, count = Sharing(stated, instance), len(instance["designs"])
    before, after = problem.step(stated["iteration"])
    times = {
        "published": mp.mpf(1), "with-penalty": problem.rho / 2,
        "corrected": (count - 1) * problem.rho / 2,
    }[stated["version"]]  # fmt: skip
    moved = [square(a - b) for a, b in zip(after[0], before[0], strict=True)]
    centre = square(after[1] - before[1])
    allowed = problem.c**2 / problem.rho * centre
    allowed += times * mp.fsum(g[-1] * one for g, one in zip(problem.grams, moved, strict=True))
    allowed *= mp.mpf(stated["factor"])
    convex = (problem.rho + problem.c) / 2 * centre
    for gram, one in zip(problem.grams, moved, strict=True):
        convex += (problem.ridge + problem.rho * gram[0]) / 2 * one
    rise = problem.lagrangian(after) - problem.lagrangian(before)
    holds = problem.holds() and stated["iteration"] >= 2
    return holds, 1 + (rise - allowed + convex) / allowed


def growth(stated, instance, number):
    """Return ``number`` of the run if its steps have the eigenvalue that the file states."""
    problem, named = Sharing(stated, instance), mp.mpf(stated["eigenvalue"])
    values = mp.eig(problem.map(), left=False, right=False)
    near = [one for one in values if abs(one - named) <= mp.mpf("1e-9") * abs(named)]
    holds = problem.holds() and stated["iteration"] >= 2 and bool(near) and abs(named) > 1
    states = list(problem.step(stated["iteration"]))
    for _ in range(stated["iteration"], stated["last"]):
        states.append(problem.after(states[-1]))
    return holds, number(problem, states) / mp.mpf(stated["factor"])


def lemma5(stated, instance):
    return growth(stated, instance, lambda p, s: p.lagrangian(s[-1]) / p.lagrangian(s[0]))


def convergence(stated, instance):
    if "half_width" in stated:
        return alternation(stated, instance)

    def moved(before, after):
        return mp.sqrt(square(after[1] - before[1]))

    return growth(stated, instance, lambda _, s: moved(*s[-2:]) / moved(*s[:2]))


def alternation(stated, instance):
    """Return the last step of z over the first where two further iterations lead back to x.

    That a model is beyond the end of its interval is tried at both ends of what z may be.
    """
    d = [mp.matrix([row[0] for row in one]) for one in instance["designs"]]
    b, a = mp.matrix(instance["labels"]), mp.mpf(stated["half_width"])
    c, rho, ridge = numbers(stated, "loss_weight", "penalty", "regulariser_weight")

    def free(x, z):
        """Return the unbounded minimiser of (6) of every party, where y is the slope at z."""
        reached = sum_of([v * one for v, one in zip(d, x, strict=True)])
        pulls = [c * (z - b) + rho * (reached - v * one - z) for v, one in zip(d, x, strict=True)]
        return [
            -(v.T * pull)[0] / (ridge + rho * square(v)) for v, pull in zip(d, pulls, strict=True)
        ]

    x, z, y, seen = [mp.mpf(0)] * len(d), 0 * b, 0 * b, []
    for _ in range(stated["last"]):
        reached = sum_of([v * one for v, one in zip(d, x, strict=True)])
        pulls = [y + rho * (reached - v * one - z) for v, one in zip(d, x, strict=True)]
        new = [-(v.T * one)[0] / (ridge + rho * square(v)) for v, one in zip(d, pulls, strict=True)]
        x = [min(max(one, -a), a) for one in new]
        reached = sum_of([v * one for v, one in zip(d, x, strict=True)])
        z = (y + rho * reached + c * b) / (c + rho)
        y = y + rho * (reached - z)
        seen.append(z)
    reach = [max(abs(one), abs(other)) for one, other in zip(z, reached, strict=True)]
    away = all(
        abs(one) == a
        and max(
            sign * one / a * free([sign * other for other in x], mp.matrix(corner))[m]
            for sign in (1, -1)
            for corner in product(*([-one, one] for one in reach))
        )
        <= -a
        for m, one in enumerate(x)
    )
    moduli = [ridge + rho * square(v) for v in d]
    holds = (
        away
        and all(2 * square(v) <= g for v, g in zip(d, moduli, strict=True))
        and all(square(v) > 0 for v in d)
        and all(abs(one) == 1 for one in b)
        and c <= rho
        and 2 * c**2 < rho * (rho + c)
    )
    steps = [mp.sqrt(square(q - p)) for p, q in (seen[:2], seen[-2:])]
    return holds, steps[1] / steps[0] / mp.mpf(stated["factor"])


def equation42(stated, instance):
    def residual(p, state):
        """Return the squares of the three slopes of the augmented Lagrangian."""
        x, z, y = state
        gap = sum_of([d * one for d, one in zip(p.d, x, strict=True)]) - z
        slopes = [p.ridge * one + d.T * (y + p.rho * gap) for d, one in zip(p.d, x, strict=True)]
        centre = p.c * (z - p.b) - y - p.rho * gap
        return mp.fsum(map(square, slopes)) + square(centre) + square(gap)

    def number(p, states):
        count, tops = len(p.d) + 1, [one[-1] for one in p.grams]
        k = count * (1 + 1 / p.rho**2)
        first = max([(p.ridge + p.rho * s) ** 2 + k * p.rho**2 * s for s in tops])
        first = max(first, k * (p.c + p.rho) ** 2)
        moduli = mp.fsum(p.ridge + p.rho * one[0] for one in p.grams)
        second = min(moduli / 2, (p.rho + p.c) / 2 - p.c**2 / p.rho)
        least = min(residual(p, state) for state in states)
        return len(states) * least * second / (first * p.lagrangian(states[0]))

    return growth(stated, instance, number)

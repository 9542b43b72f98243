"""What zhang2018 and the tables' Theorem 2 claim of the instance of a certificate.

As `tests.claims.oracles_of_claims`: mpmath alone, from the papers' formulas.
"""

from __future__ import annotations

from mpmath import mp

from tests.claims.oracles_of_claims import TINY, network, numbers
from tests.claims.oracles_of_sharing import length, outside_of_columns, quadrature_of_normals


def rising_root(function, low, high):
    """Return where a function that rises from below 0 to above it is 0, by halving."""
    for _ in range(240):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < 0 else (low, middle)
    return low


def logistic(x):
    return 1 / (1 + mp.exp(-x))


# zhang2018, Theorem 3.1: penalties that grow


class Growing:
    """M-ADMM on ``l(u_i f) + ridge f^2 / 2`` with penalties ``first_i growth_i^t``."""

    def __init__(self, stated, instance):
        self.theta, self.ridge = numbers(stated, "dual_step", "ridge")
        self.a, self.loss = mp.matrix(instance["adjacency"]), stated["loss"]
        self.u, self.first, self.growth = (
            [mp.mpf(one) for one in instance[name]] for name in ("records", "first", "growth")
        )
        self.n = len(self.u)
        self.v = [mp.fsum(self.a[i, :]) for i in range(self.n)]
        self.f, self.twice, self.steps = [mp.mpf(0)] * self.n, [mp.mpf(0)] * self.n, 0

    def slope(self, i, f):
        u = self.u[i]
        return self.ridge * f - (u if self.loss == "linear" else u * logistic(-u * f))

    def penalty(self, i, t):
        return self.first[i] * self.growth[i] ** t

    def near(self, i):
        return [j for j in range(self.n) if self.a[i, j]]

    def update(self, i):
        """Return the f where the slope of (8) is 0."""
        eta, u = self.penalty(i, self.steps), self.u[i]
        fixed = eta * mp.fsum(self.f[i] + self.f[j] for j in self.near(i)) - self.twice[i]
        stiff = self.ridge + 2 * eta * self.v[i]
        if self.loss == "linear":
            return (fixed + u) / stiff
        f = (fixed + u / 2) / stiff
        for _ in range(200):  # Newton: the slope is between two lines
            p = logistic(-u * f)
            moved = (stiff * f - u * p - fixed) / (stiff + u**2 * p * (1 - p))
            f -= moved
            if abs(moved) <= mp.mpf(10) ** -45:
                return f
        raise ArithmeticError("no root")

    def step(self):
        self.f = [self.update(i) for i in range(self.n)]
        self.twice = [
            self.twice[i] + self.theta * mp.fsum(self.f[i] - self.f[j] for j in self.near(i))
            for i in range(self.n)
        ]
        self.steps += 1

    def mean(self):
        return mp.fsum(v * f for v, f in zip(self.v, self.f, strict=True)) / mp.fsum(self.v)

    def best(self):
        reach = mp.fsum(map(abs, self.u)) / self.ridge + 1
        return rising_root(
            lambda f: mp.fsum(self.slope(i, f) for i in range(self.n)), -reach, reach
        )

    def tail(self):
        q, reach = min(self.growth), max(map(abs, self.f)) + 1
        a = max(map(abs, self.u)) + self.ridge * reach + max(map(abs, self.twice))
        b = 2 * self.theta * max(self.v) * reach
        least = min(self.penalty(i, self.steps - 1) * self.v[i] for i in range(self.n))
        return (a / (q - 1) + b * q / (q - 1) ** 2) / (2 * least)


def growing(stated, instance):
    run, factor, tolerance = Growing(stated, instance), *numbers(stated, "factor", "tolerance")
    for _ in range(stated["iterations"]):
        run.step()
    mean, tail, best = run.mean(), run.tail(), run.best()
    left = max(abs(mean - best) - tail, mp.mpf(0)) / abs(best) if tail <= 1 else mp.mpf(0)
    holds = min(run.first) >= run.theta and min(run.growth) > 1 and is_connected(run.a)
    for _ in range(40):  # and what is left indeed is no less, as far as it is looked at
        run.step()
        holds = holds and abs(run.mean() - mean) <= tail + mp.mpf("1e-45")
    found = {"mean": mean, "best": best, "distance": left}
    return holds, left / (factor * tolerance), found


def is_connected(adjacency):
    n = adjacency.rows
    lap = mp.diag([mp.fsum(adjacency[i, :]) for i in range(n)]) - adjacency
    return sorted(mp.eigsy(lap, eigvals_only=True))[1] > TINY


# zhang2018, Theorem 3.1 on quadratics


def bounded(stated, instance):
    """Return the largest modulus of an eigenvalue of a step, found column by column."""
    lap, signless, eta, m, theta, _, holds = network(stated, instance | {"mu": 2.0})
    n = len(eta)

    def step(state):
        f, dual = mp.matrix(state[:n]), mp.matrix(state[n:])
        dual -= mp.fsum(dual) / n * mp.ones(n, 1)  # duals sum to 0
        spread = signless * f
        new = mp.matrix(
            [(eta[i] * spread[i] - dual[i]) / (m[i] + 2 * eta[i] * lap[i, i]) for i in range(n)]
        )
        return [*new, *(dual + theta * (lap * new))]

    columns = [step([mp.mpf(int(i == j)) for i in range(2 * n)]) for j in range(2 * n)]
    values = mp.eig(mp.matrix(columns).T, left=False, right=False)
    return holds, max(map(abs, values)) / mp.mpf(stated["factor"])


def inequality(stated, instance):
    """Return 1 and the left side of (19), over the size of the start, above what is allowed."""
    lap, signless, eta, m, theta, _, holds = network(stated, instance | {"mu": 2.0})
    n, (b, f) = len(eta), (mp.matrix(instance[name]) for name in ("slope", "start"))
    best = mp.fsum(b) / mp.fsum(m)
    optimum, spread = b - best * mp.matrix(m), signless * f
    later = mp.matrix(
        [(b[i] + eta[i] * spread[i]) / (m[i] + 2 * eta[i] * lap[i, i]) for i in range(n)]
    )
    duals = theta * (lap * later)
    inverse = mp.inverse(lap + mp.ones(n) / n) - mp.ones(n) / n
    near, far = (one - best * mp.ones(n, 1) for one in (later, f))
    left = (duals.T * inverse * (duals - optimum))[0] / theta
    left += (near.T * mp.diag(eta) * signless * (later - f))[0]
    size = (optimum.T * inverse * optimum)[0] / theta
    size += mp.fsum(2 * eta[i] * lap[i, i] * far[i] ** 2 for i in range(n))
    value = left / size
    return holds, 1 + value - (mp.mpf(stated["factor"]) - 1), {"value": value, "size": size}


def theorem31(stated, instance):
    parts = {"growing": growing, "bounded": bounded, "inequality": inequality}
    return parts[stated["part"]](stated, instance)


# zhang2018, Theorem 4.1: the privacy loss of one output


def theorem41(stated, instance):
    """Return the loss of the broadcasts by (58) and (61), over what is claimed of it."""
    theta, weight, ridge, factor = numbers(
        stated, "dual_step", "loss_weight", "regulariser_weight", "factor"
    )
    v, count = stated["nodes"] - 1, stated["records"]
    sides = [[mp.matrix(u) for u in (*instance["others"], instance[n])] for n in ("old", "new")]
    told = [[mp.matrix(f) for f in broadcast] for broadcast in instance["outputs"]]
    twice, loss, bound = mp.zeros(stated["dimension"], 1), mp.mpf(0), mp.mpf(0)
    for t in range(1, stated["iterations"] + 1):
        eta, alpha = (
            mp.mpf(stated[one]) * mp.mpf(stated[by]) ** (t - 1)
            for one, by in (("penalty", "growth"), ("noise_rate", "noise_growth"))
        )
        stiff, f, log_density = 2 * eta * v, told[t][0], []
        for side in sides:
            seen = [(u.T * f)[0] for u in side]
            noise, hessian = -twice - (ridge / stated["nodes"] + stiff) * f, mp.eye(f.rows)
            hessian *= ridge / stated["nodes"] + stiff
            for other in told[t - 1][1:]:
                noise += eta * (told[t - 1][0] + other)
            for u, margin in zip(side, seen, strict=True):
                noise += weight / count * logistic(-margin) * u
                hessian += weight / count * logistic(margin) * logistic(-margin) * (u * u.T)
            log_density.append(mp.log(mp.det(hessian)) - alpha * length(noise) / stiff)
        loss += log_density[0] - log_density[1]
        bound += factor * weight / (eta * v * count) * (mp.mpf("1.4") / 4 + alpha)
        for other in told[t][1:]:
            twice += theta * (f - other)
    return holds41(stated, sides), loss / bound, {"loss": loss, "bound": bound}


def holds41(stated, sides):
    theta, weight, ridge, eta, growth = numbers(
        stated, "dual_step", "loss_weight", "regulariser_weight", "penalty", "growth"
    )
    v, count = stated["nodes"] - 1, stated["records"]
    least = min(eta, eta * growth ** (stated["iterations"] - 1))
    stiff = count / weight * (ridge / stated["nodes"] + 2 * theta * v)
    longest = max(length(u) for side in sides for u in side)
    return longest <= 1 and weight <= count and least >= theta and stiff >= mp.mpf("0.5")


# Tables, Theorem 2


def noise_is_published(stated):
    e, d, ratio, c1, c2, sigma = numbers(
        stated, "epsilon", "delta", "sampling_ratio", "first_constant", "second_constant",
        "noise_multiplier",
    )  # fmt: skip
    steps = stated["iterations"] * stated["local_steps"]
    enough = sigma >= c2 * ratio * mp.sqrt(steps * mp.log(1 / d)) / e
    return enough and e <= c1 * ratio**2 * steps and 0 < ratio <= 1


def tables2(stated, instance):
    return (server if "model" in instance else clients)(stated, instance)


def server(stated, instance):
    here, there = (mp.matrix(instance[name]) for name in ("table", "neighbour"))
    rows = range(here.rows)
    longest = max(length(one[i, :]) for one in (here, there) for i in rows)
    holds = noise_is_published(stated) and longest <= mp.mpf(stated["tuple_norm"])
    holds = holds and sum(length(here[i, :] - there[i, :]) > 0 for i in rows) <= 1
    distance, _ = outside_of_columns(here * mp.matrix(instance["model"]), there)
    holds = holds and stated["iterations"] >= 2 and distance > mp.mpf("1e-6")
    return holds, 1 / mp.mpf(stated["delta"]), {"distance": distance}


def clients(stated, instance):
    """Return how likely models are for which all gradients are clipped, times what that tells."""
    rho, clip, sigma, rate, e, d, limit, factor = numbers(
        stated, "penalty", "clip_norm", "noise_multiplier", "learning_rate", "epsilon", "delta",
        "tuple_norm", "factor",
    )  # fmt: skip
    n, facts = stated["rows"], [mp.mpf(one) for one in instance["facts"]]
    (old,), (new,), (most,), (least,) = (
        [mp.mpf(one) for one in instance[name]]
        for name in ("tuple", "other", "model_bound", "model_least")
    )
    deviation = rate / n * clip * sigma
    certain = mp.erf(most / deviation / mp.sqrt(2)) * mp.erfc(least / deviation / mp.sqrt(2))
    reach = abs(old) * least - abs(facts[0]) * most
    labels = instance["labels"]
    holds = noise_is_published(stated) and old == -new and min(facts) == max(facts)
    holds = holds and max(abs(old), *map(abs, facts)) <= limit and sum(labels) == 0
    holds = holds and stated["local_steps"] == 1 == stated["sampling_ratio"] and reach >= 0
    slopes = [slope_after(rho, sign * reach, t) * sign for sign in (1, -1) for t in (0, 1)]
    holds = holds and len(facts) == n and stated["iterations"] >= 2
    holds = holds and abs(facts[0]) * min(slopes) >= clip
    mu = 2 * n / sigma
    attained = certain * quadrature_of_normals(mu, factor * e)
    return holds, attained / d, {"probability": certain, "mu": mu, "attained delta": attained}


def slope_after(rho, h, target):
    """Return ``2 lambda - lambda_0`` of a fact of this label after h is seen."""

    def dual(before, seen):
        right = before + rho * seen
        z = rising_root(
            lambda z: logistic(z) - target + rho * z - right,
            (right - 2) / rho, (right + 2) / rho,
        )  # fmt: skip
        return logistic(z) - target

    first = dual(mp.mpf(0), mp.mpf(0))
    return 2 * dual(first, h) - first

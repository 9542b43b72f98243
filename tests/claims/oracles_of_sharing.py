"""What hu2019 and hu2020 claim of the instance of a certificate about updates, messages and norms.

As `tests.claims.oracles_of_claims`: mpmath alone, from the paper's formulas.
"""

from __future__ import annotations

from itertools import chain, pairwise

from mpmath import mp

from tests.claims.oracles_of_claims import TINY, numbers, square, sum_of

LAST_DIGIT = mp.mpf("1e-12")  # what rows of doubles may be longer or shorter than 1


def length(vector):
    return mp.sqrt(mp.fsum(mp.mpf(one) ** 2 for one in vector))


# Neighbours: designs of rows of length 1, one column of which differs


def designs(instance):
    """Return both designs with rows of length 1, and whether they are neighbours."""
    stored = [mp.matrix(instance[name]) for name in ("design", "neighbour")]
    sizes = [[length(one[i, :]) for i in range(one.rows)] for one in stored]
    holds = all(abs(size - 1) <= LAST_DIGIT for size in chain(*sizes))
    if not holds:
        return *stored, False
    here, there = (
        mp.matrix([[one[i, j] / size[i] for j in range(one.cols)] for i in range(one.rows)])
        for one, size in zip(stored, sizes, strict=True)
    )
    gap = here - there
    columns = sum(max(abs(one) for one in gap[:, j]) > mp.mpf("1e-40") for j in range(gap.cols))
    return here, there, columns <= 1 and length(gap) <= 1 + TINY


# Lemma 1: how far D x moves


def update(stated, instance):
    """Return the movement of D x, the bound as it is published, and whether all is met."""
    rho, ridge, bound = numbers(stated, "penalty", "regulariser_weight", "bound")
    here, there, holds = designs(instance)
    y, z = mp.matrix(instance["dual"]), mp.matrix(instance["prediction"])
    told = [
        model * mp.matrix([mp.sign(one) for one in column])
        for column, model in zip(instance["others"], instance["models"], strict=True)
    ]
    pull = y + rho * (sum_of([*told, -z]))
    models = [least_squares(one, pull, rho, ridge) for one in (here, there)]
    holds = holds and all(abs(abs(one) - 1) <= LAST_DIGIT for one in chain(*instance["others"]))
    lengths = [length(one) for one in (*models, y, z)] + [abs(one) for one in instance["models"]]
    holds = holds and max(lengths) <= bound * (1 + TINY)
    parties, d = stated["parties"], stated["features"]
    published = 3 / (d * rho) * (ridge * stated["curvature"] + (1 + parties * rho) * bound)
    return length(here * models[0] - there * models[1]), published, (here, there), holds


def least_squares(design, pull, rho, ridge):
    """Return the x that makes ``ridge |x|^2 / 2 + rho |D x + pull / rho|^2 / 2`` least."""
    root, rows = mp.sqrt(rho), design.rows
    tall = mp.zeros(rows + design.cols, design.cols)
    right = mp.zeros(rows + design.cols, 1)
    for i in range(rows):
        tall[i, :] = root * design[i, :]
        right[i] = -pull[i] / root
    for j in range(design.cols):
        tall[rows + j, j] = mp.sqrt(ridge)
    return mp.qr_solve(tall, right)[0]


def lemma1(stated, instance):
    moved, published, _, holds = update(stated, instance)
    factor = mp.mpf(stated["factor"])
    return holds, moved / (factor * published), {"movement": moved, "bound": factor * published}


def lemma1_of_2019(stated, instance):
    rho, ridge = numbers(stated, "penalty", "regulariser_weight")
    moved, published, pair, holds = update(stated, instance)
    for one in pair:
        squares = [x**2 for x in mp.svd_r(one, compute_uv=False)]
        squares += [mp.mpf(0)] * (one.cols - len(squares))
        holds = holds and 2 * max(squares) <= (ridge + rho * min(squares)) * (1 + TINY)
    return holds, moved / (mp.mpf(stated["factor"]) * published)


# Theorem 1 and the corollaries: messages


def theorem1(stated, instance):
    """Return whether N(D x, s^2) and N(D' x', s^2) are further apart than delta at epsilon."""
    e, d, factor, bound, rho = numbers(stated, "epsilon", "delta", "factor", "bound", "penalty")
    moved, published, _, holds = update(stated, instance)
    n = mp.mpf(stated["samples"])
    spans = (1 / rho + 1 + (stated["parties"] - 1) * mp.sqrt(n)) * bound, 2 * mp.sqrt(n) * bound
    moves = {"published": published, "corrected": min(spans)}[stated["sensitivity"]]
    scale = mp.sqrt(2 * mp.log(mp.mpf("1.25") / d)) * moves / e
    at = mp.mpf(instance["epsilon"])
    lost = quadrature_of_normals(moved / scale, at) if moved else mp.mpf(0)
    return holds and e <= 1 and d <= 1 and lost > d, at / (factor * e)


def quadrature_of_normals(mu, epsilon):
    """Return ``E (1 - exp(epsilon - loss))`` of what is above epsilon, loss ~ N(mu^2/2, mu^2)."""
    start = (epsilon - mu**2 / 2) / mu

    def inside(x):
        return mp.npdf(x) * -mp.expm1(-mu * (x - start))

    ends = [start, *(one for one in (-6, 0, 6) if one > start), max(start, mp.mpf(0)) + 30]
    return mp.quad(inside, ends)


def outside_of_columns(vector, columns):
    """Return the share of a vector's length outside the span, and whether columns depend."""
    u, values, _ = mp.svd_r(columns)
    kept = [k for k in range(len(values)) if values[k] > TINY * max(values)]
    rest = vector - sum_of([u[:, k] * (u[:, k].T * vector)[0] for k in kept])
    return length(rest) / length(vector), len(kept) < columns.cols


def message(stated, instance, delta):
    here, there, holds = designs(instance)
    sent = here * mp.matrix(instance["model"])
    inside, first = outside_of_columns(sent, here)
    outside, second = outside_of_columns(sent, there)
    gaps = zip(chain(*instance["design"]), chain(*instance["neighbour"]), strict=True)
    holds = holds and mp.fsum(abs(mp.mpf(a) - mp.mpf(b)) for a, b in gaps) <= 1
    holds = holds and not first and not second and inside < TINY < mp.mpf("1e-6") < outside
    return holds, 1 / delta, {"distance from the neighbour's columns": outside}


def first_message(stated, instance):
    return message(stated, instance, mp.mpf(stated["delta"]))


def first_of_many_messages(stated, instance):
    d, slack = numbers(stated, "delta", "slack")
    return message(stated, instance, stated["iterations"] * d + slack)


# Assumption 1: norms after the first noisy iteration


def assumption1(stated, instance):
    rho, bound, factor = numbers(stated, "penalty", "bound", "factor")
    design, labels = mp.matrix(instance["design"]), instance["labels"]
    n, parties = design.rows, stated["parties"]
    ends = [mp.ceil(mp.mpf(design.cols * m) / parties) for m in range(parties + 1)]
    blocks = [range(int(a), int(b)) for a, b in pairwise(ends)]
    rows = [length(design[i, j] for j in block) for block in blocks for i in range(n)]
    holds = all(abs(one - 1) <= LAST_DIGIT for one in rows) and {*labels} <= {-1.0, 1.0}
    sent, norms = first_messages(stated, instance, design, blocks)
    weight = mp.mpf(1) / (n if stated["scaling"] == "mean" else 1)
    slopes = [steady_slope(s, b, weight, rho) for s, b in zip(sent, labels, strict=True)]
    told = [s - slope / rho for s, slope in zip(sent, slopes, strict=True)]
    longest = max(*norms, length(told), length(slopes))
    chance = chance_to_exceed(stated, blocks, factor * bound, weight, n)
    found = {"norm": longest, "probability of exceeding": chance}
    return holds, longest / (factor * bound), found


def first_messages(stated, instance, design, blocks):
    if stated["noise"] == "message":
        return [mp.fsum(column) for column in zip(*instance["messages"], strict=True)], [mp.mpf(0)]
    model = mp.matrix(instance["perturbed"])
    return list(design * model), [length(model[j] for j in block) for block in blocks]


def steady_slope(sent, label, weight, rho):
    """Return ``y = w l'(z)`` at ``z = S - y / rho``, by halving: it is between 0 and w."""
    low, high = mp.mpf(0), weight
    for _ in range(220):  # y = -label p, and p = w / (1 + exp(label z)) falls with z
        p = (low + high) / 2
        z = sent + label * p / rho
        low, high = (p, high) if weight / (1 + mp.exp(label * z)) > p else (low, p)
    return -label * low


def chance_to_exceed(stated, blocks, limit, weight, n):
    rho, ridge, bound, e, d = numbers(
        stated, "penalty", "regulariser_weight", "bound", "epsilon", "delta"
    )
    inner = ridge + (1 + len(blocks) * rho) * bound
    scales = [
        mp.sqrt(2 * mp.log(mp.mpf("1.25") / d)) * 3 / (len(one) * rho) * inner / e for one in blocks
    ]

    def longer(degrees, at):
        return mp.gammainc(mp.mpf(degrees) / 2, at**2 / 2, mp.inf, regularized=True)

    if stated["noise"] == "message":
        reach = limit + 2 * weight * mp.sqrt(n) / rho
        return longer(n, reach / mp.sqrt(square(scales)))
    wide = mp.sqrt(n) if stated["noise"] == "whitened" else 1
    return max(
        longer(len(one), wide * limit / scale) for one, scale in zip(blocks, scales, strict=True)
    )

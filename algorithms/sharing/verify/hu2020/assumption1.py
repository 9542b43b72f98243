r"""Re-checks a first noisy iteration of ADMM sharing that leaves hu2020's Assumption 1.1.

At the start ``x = y = z = 0``, so (6) has the solution ``x = 0`` and the first perturbed model is
its noise. From what the parties sent, ``S = sum_m D_m x~_m``, the centre's update is recomputed:
``z`` solves ``w l'(z) + rho (z - S) = 0`` for the logistic loss, entry by entry, and
``y = rho (S - z)``. The claim is that all norms are at most b_1, times a factor.

Also recomputed is a bound, below, on the probability that a norm exceeds it in any iteration (see
the audit's module for the proof): with ``P(k, a)`` the probability that a chi-squared variable of k
degrees of freedom is above a,

    noise on the models   P(d_m, (b / sigma_m)^2), of the party for which it is largest
    whitened              P(d_m, N (b / sigma_m)^2)
    on the messages       P(N, ((b + 2 w sqrt(N) / rho) / S)^2),    S^2 = sum_m sigma_m^2
"""

from __future__ import annotations

from typing import Any

from mpmath import cholesky, exp, fdot, gammainc, log, matrix, mp, mpf, sqrt

from dpaudit.algorithms.sharing.verify.hu2020.update import scaled
from dpaudit.verification import Document, Outcome

_LAST_DIGIT = mpf("1e-12")
_NOISES = ("parameter", "whitened", "message")
_DEPENDENT = mpf("1e-30")  # a pivot of D_m'D_m; its diagonal is about N / d_m
_STEPS = 200  # of Newton's method, with bisection where it leaves its bracket


def recompute(document: Document) -> Outcome:
    """Return the norms of the first iteration, recomputed from what was sent.

    Raises
    ------
    DataError
        A parameter is outside its domain, or an array does not have the shape they say.

    Examples
    --------
    >>> from dpaudit.verification import Document
    >>> outcome = recompute(
    ...     Document(
    ...         path="c.json",
    ...         claim="hu2020-assumption1",
    ...         kind="property",
    ...         parameters={
    ...             "features": 2, "samples": 1, "parties": 1, "noise": "parameter",
    ...             "scaling": "sum", "penalty": 1.0, "regulariser_weight": 1.0, "bound": 1.0,
    ...             "factor": 1.0, "epsilon": 1.0, "delta": 0.01,
    ...         },
    ...         quantities={},
    ...         assumptions={},
    ...         instance={"design": [[0.0, 1.0]], "labels": [1.0], "perturbed": [3.0, 4.0]},
    ...     )
    ... )
    >>> float(outcome.quantities["norm"]), float(outcome.quantities["ratio"])
    (5.0, 5.0)
    """
    document.require_kind("property")
    noise = document.choice("noise", *_NOISES)
    d, n, parties = (document.count(name) for name in ("features", "samples", "parties"))
    if parties > d:
        raise document.refused("parameters.parties", parties, f"at most {d}")
    blocks = _blocks(d, parties)
    design = document.array("design", (n, d))
    labels = _signs(document, n)
    norms, total = _sent(document, design, blocks, noise)
    rho, bound = document.positive("penalty", "bound")
    weight = mpf(1) / n if document.choice("scaling", "mean", "sum") == "mean" else mpf(1)
    prediction = [_prediction(s, b, weight, rho) for s, b in zip(total, labels, strict=True)]
    dual = [rho * (s - z) for s, z in zip(total, prediction, strict=True)]
    limit = document.positive("factor") * bound
    norm = max(*norms, _norm(prediction), _norm(dual))
    ratio = norm / limit
    chance = _probability(_scales(document, blocks), blocks, noise, limit, rho, weight, n)
    return Outcome(
        assumptions={"unit rows": (_off_unit(design, blocks), _LAST_DIGIT)},
        quantities={
            "bound": limit,
            "norm": norm,
            "probability of exceeding": chance,
            "ratio": ratio,
        },
        summary=f"a norm of {float(norm):.6g} after one iteration, {float(ratio):.6g} times the "
        f"bound{scaled(document)}; every iteration exceeds it with a probability of at least "
        f"{mp.nstr(chance, 6)}",
        reservations=_outside_theorem(document),
    )


def _outside_theorem(document: Document) -> tuple[str, ...]:
    epsilon = document.number("parameters", "epsilon")
    return (f"epsilon {epsilon:g}, where Theorem 1 ends at 1",) if epsilon > 1 else ()


def _blocks(features: int, parties: int) -> list[range]:
    """Return the columns of each party: as even as can be, the first ones longer."""
    least, longer = divmod(features, parties)
    blocks, start = [], 0
    for party in range(parties):
        stop = start + least + (party < longer)
        blocks.append(range(start, stop))
        start = stop
    return blocks


def _sent(
    document: Document, design: Any, blocks: list[range], noise: str
) -> tuple[list[Any], list[Any]]:
    """Return the norms of the parties' perturbed models, and the sum of their messages."""
    n = len(design)
    if noise == "message":
        messages = document.array("messages", (len(blocks), n))
        return [mpf(0)], [sum((mpf(row[i]) for row in messages), mpf(0)) for i in range(n)]
    if noise == "whitened":
        _refuse_dependent(document, design, blocks)
    model = [mpf(value) for value in document.array("perturbed", (len(design[0]),))]
    total = [sum((mpf(a) * x for a, x in zip(row, model, strict=True)), mpf(0)) for row in design]
    return [_norm([model[j] for j in block]) for block in blocks], total


def _refuse_dependent(document: Document, design: Any, blocks: list[range]) -> None:
    """Refuse designs for which there is no noise of covariance ``(D_m'D_m)^-1``."""
    for block in blocks:
        columns = [[mpf(row[j]) for row in design] for j in block]
        try:
            factor = cholesky(matrix([[fdot(a, b) for b in columns] for a in columns]))
            least = min(factor[j, j] for j in range(len(block))) ** 2
        except ValueError:  # not positive definite
            least = mpf(0)
        if least <= _DEPENDENT:
            expected = "another: columns of a party depend on one another"
            raise document.refused("parameters.noise", "whitened", expected)


def _prediction(total: Any, label: Any, weight: Any, rho: Any) -> Any:
    """Return the root of ``rho (z - S) - w b / (1 + exp(b z))``, which rises with z."""
    low, high = total - weight / rho, total + weight / rho
    z = total
    for _ in range(_STEPS):
        share = 1 / (1 + exp(label * z))
        value = rho * (z - total) - weight * label * share
        low, high = (low, z) if value > 0 else (z, high)
        step = value / (rho + weight * share * (1 - share))
        if abs(step) <= mpf("1e-45") * (1 + abs(z)):
            break
        z = z - step if low < z - step < high else (low + high) / 2
    return z


def _scales(document: Document, blocks: list[range]) -> list[Any]:
    """Return Theorem 1's sigma of every party, with the sensitivity of Lemma 1 and c_1 = 1."""
    rho, lam, b1 = document.positive("penalty", "regulariser_weight", "bound")
    epsilon, delta = document.positive("epsilon", "delta")
    if delta >= 1:
        raise document.refused("parameters.delta", float(delta), "below 1")
    inner = lam + (1 + len(blocks) * rho) * b1
    root = sqrt(2 * log(mpf("1.25") / delta))
    return [root * 3 / (len(block) * rho) * inner / epsilon for block in blocks]


def _probability(
    scales: list[Any],
    blocks: list[range],
    noise: str,
    bound: Any,
    rho: Any,
    weight: Any,
    samples: int,
) -> Any:
    if noise == "message":
        reach = bound + 2 * weight * sqrt(mpf(samples)) / rho
        return _above(samples, reach**2 / sum(scale**2 for scale in scales))
    widest = 1 if noise == "parameter" else samples
    return max(
        _above(len(block), widest * (bound / scale) ** 2)
        for block, scale in zip(blocks, scales, strict=True)
    )


def _above(degrees: int, square: Any) -> Any:
    """Return the probability that a chi-squared variable exceeds ``square``."""
    return gammainc(mpf(degrees) / 2, a=square / 2, regularized=True)


def _signs(document: Document, count: int) -> list[Any]:
    labels = document.array("labels", (count,))
    for value in labels:
        if value not in (-1, 1):
            raise document.refused("instance.labels", value, "-1 or 1")
    return [mpf(value) for value in labels]


def _off_unit(design: Any, blocks: list[range]) -> Any:
    return max(abs(_norm([mpf(row[j]) for j in block]) - 1) for row in design for block in blocks)


def _norm(values: Any) -> Any:
    return sqrt(sum((value * value for value in values), mpf(0)))

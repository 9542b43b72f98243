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

from collections.abc import Sequence

from dpaudit.algorithms.sharing.verify.hu2020.update import format_claim_factor
from dpaudit.verification import Document, Outcome
from dpaudit.verification.reals import (
    Matrix,
    Real,
    chi2_above,
    dot,
    largest,
    log,
    norm,
    root,
    sigmoid,
    smallest,
    sqrt,
    total,
)

_LAST_DIGIT = 1e-12
_NOISES = ("parameter", "whitened", "message")
_DEPENDENT = 1e-30  # an eigenvalue of D_m'D_m; its diagonal is about N / d_m


def recompute(document: Document) -> Outcome:
    """Return the norms of the first iteration, recomputed from the messages.

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
    blocks = _split_party_columns(d, parties)
    design = document.array("design", (n, d))
    labels = _read_signed_labels(document, n)
    norms, sent = _compute_sent_messages(document, design, blocks, noise)
    rho, bound = document.positive("penalty", "bound")
    weight = Real(1) / (n if document.choice("scaling", "mean", "sum") == "mean" else 1)
    prediction = [
        _find_logistic_prediction(s, b, weight, rho) for s, b in zip(sent, labels, strict=True)
    ]
    dual = [rho * (s - z) for s, z in zip(sent, prediction, strict=True)]
    limit = document.positive("factor") * bound
    longest = largest((*norms, norm(prediction), norm(dual)))
    ratio = longest / limit
    chance = _compute_exceeding_probability(
        _compute_party_noise_scales(document, blocks), blocks, noise, limit, rho, weight, n
    )
    return Outcome(
        assumptions={"unit rows": (_off_unit(design, blocks), _LAST_DIGIT)},
        residuals=frozenset({"unit rows"}),
        quantities={
            "bound": limit,
            "norm": longest,
            "probability of exceeding": chance,
            "ratio": ratio,
        },
        summary=f"a norm of {float(longest):.6g} after one iteration, {float(ratio):.6g} times the "
        f"bound{format_claim_factor(document)}; every iteration exceeds it with a probability of "
        "at least "
        f"{chance.shown(6)}",
        reservations=_outside_theorem(document),
    )


def _outside_theorem(document: Document) -> tuple[str, ...]:
    epsilon = document.number("parameters", "epsilon")
    return (f"epsilon {epsilon:g}, where Theorem 1 ends at 1",) if epsilon > 1 else ()


def _split_party_columns(features: int, parties: int) -> list[range]:
    """Return the columns of each party: as even as can be, the first ones longer."""
    least, longer = divmod(features, parties)
    blocks, start = [], 0
    for party in range(parties):
        stop = start + least + (party < longer)
        blocks.append(range(start, stop))
        start = stop
    return blocks


def _compute_sent_messages(
    document: Document, design: list[list[float]], blocks: list[range], noise: str
) -> tuple[list[Real], list[Real]]:
    """Return the norms of the parties' perturbed models, and the sum of their messages."""
    n = len(design)
    if noise == "message":
        messages = document.array("messages", (len(blocks), n))
        return [Real(0)], [total(row[i] for row in messages) for i in range(n)]
    if noise == "whitened":
        _refuse_dependent(document, design, blocks)
    model = document.array("perturbed", (len(design[0]),))
    return [norm([model[j] for j in block]) for block in blocks], [
        dot(row, model) for row in design
    ]


def _refuse_dependent(document: Document, design: list[list[float]], blocks: list[range]) -> None:
    """Refuse designs for which there is no noise of covariance ``(D_m'D_m)^-1``."""
    for block in blocks:
        part = Matrix([[row[j] for j in block] for row in design])
        if smallest((part.T * part).eigenvalues()) <= _DEPENDENT:
            expected = "another: columns of a party depend on one another"
            raise document.refused("parameters.noise", "whitened", expected)


def _find_logistic_prediction(sent: Real, label: int, weight: Real, rho: Real) -> Real:
    """Return the root of ``rho (z - S) - w b / (1 + exp(b z))``, which rises by rho or more."""
    return root(lambda z: rho * (z - sent) - weight * label * sigmoid(-label * z), rho, sent)


def _compute_party_noise_scales(document: Document, blocks: list[range]) -> list[Real]:
    """Return Theorem 1's sigma of every party, with the sensitivity of Lemma 1 and c_1 = 1."""
    rho, lam, b1 = document.positive("penalty", "regulariser_weight", "bound")
    epsilon, delta = document.positive("epsilon", "delta")
    if delta >= 1:
        raise document.refused("parameters.delta", float(delta), "below 1")
    inner = lam + (1 + len(blocks) * rho) * b1
    gaussian = sqrt(2 * log(1.25 / delta))
    return [gaussian * 3 / (len(block) * rho) * inner / epsilon for block in blocks]


def _compute_exceeding_probability(
    scales: list[Real],
    blocks: list[range],
    noise: str,
    bound: Real,
    rho: Real,
    weight: Real,
    samples: int,
) -> Real:
    if noise == "message":
        reach = bound + 2 * weight * sqrt(samples) / rho
        return chi2_above(samples, reach**2 / total(scale**2 for scale in scales))
    widest = 1 if noise == "parameter" else samples
    return largest(
        chi2_above(len(block), widest * (bound / scale) ** 2)
        for block, scale in zip(blocks, scales, strict=True)
    )


def _read_signed_labels(document: Document, count: int) -> list[int]:
    labels = document.array("labels", (count,))
    for value in labels:
        if value not in (-1, 1):
            raise document.refused("instance.labels", value, "-1 or 1")
    return [int(value) for value in labels]


def _off_unit(design: Sequence[Sequence[float]], blocks: list[range]) -> Real:
    return largest(abs(norm([row[j] for j in block]) - 1) for row in design for block in blocks)

"""Re-checks one output whose privacy loss exceeds zhang2018's Theorem 4.1, from the certificate.

Node 1 of a complete graph holds B signed records, one of which differs. The certificate has all
broadcasts ``f(0), ..., f(T)``. With ``c(t) = eta(t) sum_j (f_1 + f_j)(t-1) - 2 lambda(t-1)`` the
noise behind ``f = f_1(t)`` is ``2 eta V e = c - (C/B) sum l'(u'f) u - (rho/N + 2 eta V) f``
(eq. 58), on both datasets, and the loss is the sum over t of ``alpha (|e^| - |e|) + ln det H -
ln det H^`` (eq. 61) with ``H = (C/B) sum l''(u'f) u u' + (rho/N + 2 eta V) I``. All in 50 digits.
"""

from __future__ import annotations

from typing import Any

from mpmath import det, exp, eye, log, matrix, mpf, norm

from dpaudit.verification import Document, Outcome

_POSITIVE = (
    "penalty",
    "growth",
    "dual_step",
    "noise_rate",
    "noise_growth",
    "loss_weight",
    "regulariser_weight",
    "factor",
)
_MOST = {"nodes": 100, "records": 1000, "dimension": 60, "iterations": 100}
_C1 = mpf(1) / 4  # of the logistic loss


def recompute(document: Document) -> Outcome:
    """Return every assumption and quantity of the claim, recomputed from the instance.

    Raises
    ------
    DataError
        A parameter is outside its domain, or an array does not have the shape they say.

    Examples
    --------
    >>> from dpaudit.verification import Document
    >>> names = ("penalty", "growth", "dual_step", "noise_rate", "noise_growth", "loss_weight")
    >>> document = Document(
    ...     path="c.json", claim="zhang2018-theorem41", kind="pure-dp", quantities={},
    ...     assumptions={},
    ...     parameters=dict.fromkeys(names, 1.0)
    ...     | {"nodes": 2, "records": 1, "dimension": 1, "iterations": 1, "loss": "logistic"}
    ...     | {"regulariser_weight": 1.0, "factor": 1.0},
    ...     instance={
    ...         "others": [], "old": [1.0], "new": [-1.0], "outputs": [[[0.0], [0.25]]] * 2,
    ...     },
    ... )
    >>> round(float(recompute(document).quantities["bound"]), 4)
    1.35
    """
    document.require_kind("pure-dp")
    document.choice("loss", "logistic")
    sizes = {name: _count(document, name) for name in _MOST}
    nodes, count, d, last = sizes.values()
    if nodes < 2:
        raise document.refused("parameters.nodes", nodes, "at least 2")
    p = dict(zip(_POSITIVE, document.positive(*_POSITIVE), strict=True))
    others = [matrix(u) for u in document.array("others", (count - 1, d))]
    old, new = (matrix(document.array(name, (d,))) for name in ("old", "new"))
    outputs = document.array("outputs", (last + 1, nodes, d))
    ridge, weight = p["regulariser_weight"] / nodes, p["loss_weight"] / count
    sides = ([*others, old], [*others, new])
    loss, bound, dual = mpf(0), mpf(0), matrix(d, 1)
    for t in range(1, last + 1):
        eta = p["penalty"] * p["growth"] ** (t - 1)
        rate = p["noise_rate"] * p["noise_growth"] ** (t - 1)
        before, now = ([matrix(f) for f in outputs[s]] for s in (t - 1, t))
        pull = eta * _sum([before[0] + other for other in before[1:]], d) - 2 * dual
        stretch = 2 * eta * (nodes - 1)
        behind = [_noise(now[0], pull, side, weight, ridge + stretch) for side in sides]
        volumes = [_volume(now[0], side, weight, ridge + stretch, d) for side in sides]
        loss += rate / stretch * (norm(behind[1]) - norm(behind[0])) + log(volumes[0] / volumes[1])
        share = p["loss_weight"] / (eta * (nodes - 1) * count)
        bound += p["factor"] * share * (mpf(14) / 10 * _C1 + rate)
        dual += p["dual_step"] / 2 * _sum([now[0] - other for other in now[1:]], d)
    ratio = loss / bound
    return Outcome(
        assumptions=_assumptions(p, sizes, [*others, old, new], outputs),
        quantities={"loss": loss, "bound": bound, "ratio": ratio},
        summary=(
            f"one output has an exact privacy loss of {float(loss):.6g}, where at most "
            f"{float(bound):.6g} is claimed"
        ),
    )


def _assumptions(
    p: dict[str, Any], sizes: dict[str, int], records: list[Any], outputs: Any
) -> dict[str, tuple[Any, Any]]:
    nodes, count = sizes["nodes"], sizes["records"]
    margins = [_dot(u, matrix(broadcast[0])) for broadcast in outputs[1:] for u in records]
    slopes, curvatures = [abs(_slope(m)) for m in margins], [_curvature(m) for m in margins]
    ends = [p["penalty"] * p["growth"] ** t for t in (0, sizes["iterations"] - 1)]
    stretch = 2 * p["dual_step"] * (nodes - 1)
    limit = count / p["loss_weight"] * (p["regulariser_weight"] / nodes + stretch)
    return {
        "unit records": (max(norm(u) for u in records), mpf(1)),
        "slopes within 1": (max(slopes), mpf(1)),
        "curvature above 0": (mpf(0), min(curvatures)),
        "curvature at most c_1": (max(curvatures), _C1),
        "weight at most records": (p["loss_weight"], mpf(count)),
        "penalties at least theta": (p["dual_step"], min(ends)),
        "small curvature": (2 * _C1, limit),
    }


def _noise(model: Any, pull: Any, records: list[Any], weight: Any, curvature: Any) -> Any:
    pushed = _sum([_slope(_dot(u, model)) * u for u in records], len(model))
    return pull - weight * pushed - curvature * model


def _volume(model: Any, records: list[Any], weight: Any, curvature: Any, d: int) -> Any:
    hessian = curvature * eye(d)
    for u in records:
        hessian += weight * _curvature(_dot(u, model)) * (u * u.T)
    return det(hessian)


def _slope(margin: Any) -> Any:
    return -1 / (1 + exp(margin))


def _curvature(margin: Any) -> Any:
    return 1 / ((1 + exp(margin)) * (1 + exp(-margin)))


def _dot(one: Any, other: Any) -> Any:
    return sum((a * b for a, b in zip(one, other, strict=True)), mpf(0))


def _sum(vectors: list[Any], d: int) -> Any:
    return sum(vectors, matrix(d, 1))


def _count(document: Document, name: str) -> int:
    value = document.count(name)
    if value > _MOST[name]:
        raise document.refused(f"parameters.{name}", value, f"at most {_MOST[name]}")
    return value

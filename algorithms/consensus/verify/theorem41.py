"""Re-checks one output whose privacy loss exceeds zhang2018's Theorem 4.1, from the certificate.

Node 1 of a complete graph holds B signed records, one of which differs. The certificate has all
broadcasts ``f(0), ..., f(T)``. With ``c(t) = eta(t) sum_j (f_1 + f_j)(t-1) - 2 lambda(t-1)`` the
noise behind ``f = f_1(t)`` is ``2 eta V e = c - (C/B) sum l'(u'f) u - (rho/N + 2 eta V) f``
(eq. 58), on both datasets, and the loss is the sum over t of ``alpha (|e^| - |e|) + ln det H -
ln det H^`` (eq. 61) with ``H = (C/B) sum l''(u'f) u u' + (rho/N + 2 eta V) I``.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpaudit.verification import Document, Outcome
from dpaudit.verification.reals import (
    Matrix,
    Number,
    Real,
    identity,
    largest,
    log,
    norm,
    sigmoid,
    smallest,
    vector,
)

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
_C1 = Fraction(1, 4)  # of the logistic loss
_STEEP = 50  # where a slope is 1 but for 20 digits


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
    sizes = {name: _read_limited_count(document, name) for name in _MOST}
    nodes, count, d, last = sizes.values()
    if nodes < 2:
        raise document.refused("parameters.nodes", nodes, "at least 2")
    p = dict(zip(_POSITIVE, document.positive(*_POSITIVE), strict=True))
    # Only the last record of node 1 differs between the two sides.
    others = document.array("others", (count - 1, d))
    sides = [Matrix([*others, document.array(name, (d,))]) for name in ("old", "new")]
    outputs = [
        [vector(f) for f in broadcast]
        for broadcast in document.array("outputs", (last + 1, nodes, d))
    ]
    ridge, weight = p["regulariser_weight"] / nodes, p["loss_weight"] / count
    loss, bound, dual = Real(0), Real(0), _make_zero_vector(d)
    for t in range(1, last + 1):
        # Penalties are worked out from the public numbers; the certificate cannot bring its own.
        eta = p["penalty"] * p["growth"] ** (t - 1)
        rate = p["noise_rate"] * p["noise_growth"] ** (t - 1)
        before, now = outputs[t - 1], outputs[t]
        pull = eta * _sum_model_vectors([before[0] + other for other in before[1:]], d) - 2 * dual
        stretch = 2 * eta * (nodes - 1)
        behind = [
            _compute_noise_length(now[0], pull, side, weight, ridge + stretch) for side in sides
        ]
        volumes = [
            _compute_jacobian_volume(now[0], side, weight, ridge + stretch) for side in sides
        ]
        # Only the ratio of the determinants enters, so their common factor (2 eta V)^-d may be left
        # out.
        loss += rate / stretch * (behind[1] - behind[0]) + log(volumes[0] / volumes[1])
        share = p["loss_weight"] / (eta * (nodes - 1) * count)
        bound += p["factor"] * share * (Fraction(14, 10) * _C1 + rate)
        # lambda(t) enters from the next pull on.
        dual += p["dual_step"] / 2 * _sum_model_vectors([now[0] - other for other in now[1:]], d)
    ratio = loss / bound
    return Outcome(
        assumptions=_compute_output_assumptions(document, p, sizes, sides, outputs),
        quantities={"loss": loss, "bound": bound, "ratio": ratio},
        summary=(
            f"one output has an exact privacy loss of {float(loss):.6g}, where at most "
            f"{float(bound):.6g} is claimed"
        ),
    )


def _compute_output_assumptions(
    document: Document,
    p: dict[str, Real],
    sizes: dict[str, int],
    sides: list[Matrix],
    outputs: list[list[Matrix]],
) -> dict[str, tuple[Number, Number]]:
    margins = [
        margin
        for broadcast in outputs[1:]
        for side in sides
        for margin in _compute_record_margins(side, broadcast[0])
    ]
    curvatures = [_compute_logistic_curvature(m) for m in margins]
    # A geometric sequence is least at one of its two ends.
    ends = [p["penalty"] * p["growth"] ** t for t in (0, sizes["iterations"] - 1)]
    return {
        "unit records": (largest(norm(u) for side in sides for u in _list_matrix_rows(side)), 1),
        "slopes within 1": (largest(map(_compute_slope_modulus, margins)), 1),
        "curvature above 0": (0, smallest(curvatures)),
        "curvature at most c_1": (largest(curvatures), _C1),
        "weight at most records": (p["loss_weight"], sizes["records"]),
        "penalties at least theta": (p["dual_step"], smallest(ends)),
        "small curvature": (2 * _C1, _least_curvature(document, sizes)),
    }


def _least_curvature(document: Document, sizes: dict[str, int]) -> Fraction:
    """Return ``B/C (rho/N + 2 theta V)`` without error, as 2 c_1 may be the same."""
    weight, rho, theta = (
        Fraction(document.number("parameters", name))
        for name in ("loss_weight", "regulariser_weight", "dual_step")
    )
    nodes = sizes["nodes"]
    return sizes["records"] / weight * (rho / nodes + 2 * theta * (nodes - 1))


def _compute_noise_length(
    model: Matrix, pull: Matrix, records: Matrix, weight: Real, curvature: Real
) -> Real:
    """Return the length of the noise, times ``2 eta V``."""
    slopes = vector([-sigmoid(-margin) for margin in _compute_record_margins(records, model)])
    pushed = records.T * slopes
    return norm((pull - weight * pushed - curvature * model).entries())


def _compute_jacobian_volume(model: Matrix, records: Matrix, weight: Real, curvature: Real) -> Real:
    bends = [
        weight * _compute_logistic_curvature(margin)
        for margin in _compute_record_margins(records, model)
    ]
    scaled = Matrix(
        [[bend * x for x in u] for bend, u in zip(bends, _list_matrix_rows(records), strict=True)]
    )
    return (curvature * identity(records.cols) + records.T * scaled).det()


def _compute_logistic_curvature(margin: Real) -> Real:
    return sigmoid(margin) * sigmoid(-margin)


def _compute_slope_modulus(margin: Real) -> Real:
    """Return the modulus of a slope; where that is 1 but for 20 digits, 1, which is above it."""
    return Real(1) if margin < -_STEEP else sigmoid(-margin)


def _compute_record_margins(records: Matrix, model: Matrix) -> list[Real]:
    return (records * model).entries()


def _list_matrix_rows(records: Matrix) -> list[list[Real]]:
    return [records.row(i) for i in range(records.rows)]


def _make_zero_vector(d: int) -> Matrix:
    return vector([0] * d)


def _sum_model_vectors(vectors: Sequence[Matrix], d: int) -> Matrix:
    return sum(vectors, _make_zero_vector(d))


def _read_limited_count(document: Document, name: str) -> int:
    value = document.count(name)
    if value > _MOST[name]:
        raise document.refused(f"parameters.{name}", value, f"at most {_MOST[name]}")
    return value

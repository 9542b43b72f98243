r"""Re-checks what refutes hu2020's Theorem 1, from the certificate alone.

Kind ``approximate-dp`` (noise on the message): the message is ``N(D x, sigma^2 I)`` with ``sigma =
sqrt(2 ln(1.25/delta)) C / epsilon``. With ``mu = ||D x - D' x'|| / sigma``, its exact profile is
``delta(e) = Phi(mu/2 - e/mu) - exp(e) Phi(-mu/2 - e/mu)``. At the certificate's epsilon, above
the claimed one, it has to be above the claimed delta.

Kind ``support`` (noise on the model): D and D' have independent columns, the message ``D x~`` is
some distance away from col(D'). Then col(D) is not col(D'), and the event "the message is in
col(D)" has probability 1 on the one side and 0 on the other: delta is 1 at every epsilon.
"""

from __future__ import annotations

from dpaudit.algorithms.sharing.verify.hu2020.update import RESIDUALS, moved, neighbours, scaled
from dpaudit.errors import Shown
from dpaudit.verification import Document, Outcome
from dpaudit.verification.reals import Matrix, Real, dot, exp, log, ncdf, norm, sqrt, vector

_VARIANTS = {"approximate-dp": ("message",), "support": ("parameter", "whitened")}
_POSITIVE = ("epsilon", "delta", "factor")
_DEPENDENT = 1e-6  # what is left of a column, relatively, if it counts as dependent
_LOST = 1e-30  # product of what is left: dependence that builds up over many columns
_ON_SPACE = 1e-30
_OFF_SPACE = 1e-6


def recompute(document: Document) -> Outcome:
    """Return every assumption and quantity, recomputed from the instance.

    Raises
    ------
    DataError
        The kind and the variant do not go together, a parameter is outside its domain, or an array
        does not have the shape they say.

    Examples
    --------
    >>> from dpaudit.verification import Document
    >>> from dpaudit.verification.reals import precision
    >>> document = Document(
    ...     path="c.json",
    ...     claim="hu2020-theorem1",
    ...     kind="support",
    ...     parameters={
    ...         "features": 1, "samples": 2, "variant": "parameter", "epsilon": 1.0,
    ...         "delta": 0.01, "factor": 1.0,
    ...     },
    ...     quantities={},
    ...     assumptions={},
    ...     instance={
    ...         "design": [[1.0], [1.0]], "neighbour": [[1.0], [-1.0]], "model": [2.0],
    ...     },
    ... )
    >>> with precision(60):
    ...     outcome = recompute(document)
    >>> [name for name, (value, limit) in outcome.assumptions.items() if value > limit]
    ['close neighbours']
    >>> float(outcome.quantities["distance from the neighbour's columns"])
    1.0
    """
    if document.kind not in _VARIANTS:
        raise document.refused("kind", document.kind, " or ".join(map(repr, _VARIANTS)))
    document.choice("variant", *_VARIANTS[document.kind])
    for name, value in zip(_POSITIVE, document.positive(*_POSITIVE), strict=True):
        if name != "factor" and value > 1:
            raise document.refused(f"parameters.{name}", float(value), "at most 1")
    return _law(document) if document.kind == "approximate-dp" else _support(document)


def _law(document: Document) -> Outcome:
    epsilon, delta, factor = document.positive(*_POSITIVE)
    kind = document.choice("sensitivity", "published", "corrected")
    update = moved(document)
    sensitivity = update.published if kind == "published" else update.corrected
    scale = sqrt(2 * log(1.25 / delta)) * sensitivity / epsilon
    claimed, witness = factor * epsilon, Real(document.array("epsilon", ()))
    exact = _gaussian_delta(update.movement / scale, witness)
    ratio = witness / claimed
    return Outcome(
        assumptions=update.assumptions | {"claimed delta is exceeded": (delta, exact)},
        residuals=RESIDUALS,
        quantities={
            "claimed epsilon": claimed,
            "noise scale": scale,
            "movement": update.movement,
            "exact delta over claimed delta": exact / delta,
            "ratio": ratio,
        },
        summary=f"at epsilon {float(witness):.6g}, {float(ratio):.6g} times the claimed one"
        f"{scaled(document)}, delta is still {float(exact):.6g}",
        reservations=() if kind == "published" else ("noise for a corrected sensitivity",),
    )


def _gaussian_delta(mu: Real, epsilon: Real) -> Real:
    if mu.ball.is_zero():
        return Real(0)
    return ncdf(mu / 2 - epsilon / mu) - exp(epsilon) * ncdf(-mu / 2 - epsilon / mu)


def _support(document: Document) -> Outcome:
    design, other, assumptions = neighbours(document)
    sent = (design * vector(document.array("model", (design.cols,)))).entries()
    if not any(document.array("model", (design.cols,))):
        raise document.refused("instance.model", Shown("a message of 0"), "another")
    (basis, dependent), (other_basis, other_dependent) = _basis(design), _basis(other)
    inside, outside = _distance(sent, basis), _distance(sent, other_basis)
    assumptions |= {
        "independent columns": (dependent, 0),
        "independent columns of the neighbour": (other_dependent, 0),
        "output on the dataset's columns": (inside, _ON_SPACE),
        "output off the neighbour's columns": (_OFF_SPACE, outside),
    }
    return Outcome(
        assumptions=assumptions,
        residuals=RESIDUALS | {"output on the dataset's columns"},
        quantities={
            "distance from the neighbour's columns": outside,
            "delta at every epsilon": 1,
            "ratio": 1 / document.positive("delta"),
        },
        summary="a message that is possible on one dataset has probability 0 on its neighbour "
        f"({float(outside):.4g} of its length away from the column space): no finite epsilon",
    )


def _basis(design: Matrix) -> tuple[list[list[Real]], int]:
    """Return an orthonormal basis of the columns, and how many depend on those before them."""
    basis: list[list[Real]] = []
    dependent, left = 0, Real(1)
    for j in range(design.cols):
        column = design.column(j)
        rest = _rest(column, basis)
        length, whole = norm(rest), norm(column)
        if length <= _DEPENDENT * whole or (left := left * length / whole) <= _LOST:
            dependent += 1
        else:
            basis.append([value / length for value in rest])
    return basis, dependent


def _rest(column: list[Real], basis: list[list[Real]]) -> list[Real]:
    rest = column
    for direction in basis:
        share = dot(direction, rest)
        rest = [value - share * along for value, along in zip(rest, direction, strict=True)]
    return rest


def _distance(sent: list[Real], basis: list[list[Real]]) -> Real:
    return norm(_rest(sent, basis)) / norm(sent)

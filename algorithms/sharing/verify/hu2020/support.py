r"""Re-checks that one message tells a dataset from its neighbour, whatever the noise on the model.

D and D' have independent columns, the message ``D x~`` is some distance away from col(D'). Then
col(D) is not col(D'), and the event "the message is in col(D)" has probability 1 on the one side
and 0 on the other: delta is 1 at every epsilon. Of a run it is the first message: from ``x = y = z
= 0`` the update leaves x at 0, and ``D x~`` is noise alone, of a density above 0 on col(D).
"""

from __future__ import annotations

from dpaudit.algorithms.sharing.verify.hu2020.update import (
    RESIDUALS,
    entrywise_distance,
    read_neighbour_designs,
)
from dpaudit.errors import VerbatimText
from dpaudit.verification import Document, Outcome
from dpaudit.verification.reals import Matrix, Real, dot, norm, vector

_DEPENDENT = 1e-6  # what is left of a column, relatively, if it counts as dependent
_LOST = 1e-30  # product of what is left: dependence that builds up over many columns
_ON_SPACE = 1e-30
_OFF_SPACE = 1e-6


def verify_message_support(document: Document, delta: Real) -> Outcome:
    """Return the outcome of a message that one dataset cannot send; ``delta`` is the claimed one.

    Raises
    ------
    DataError
        The message is 0, or an array does not have the shape that the parameters say.
    """
    design, other, assumptions = read_neighbour_designs(document)
    sent = (design * vector(document.array("model", (design.cols,)))).entries()
    if not any(document.array("model", (design.cols,))):
        raise document.refused("instance.model", VerbatimText("a message of 0"), "another")
    (basis, dependent), (other_basis, other_dependent) = (
        _build_orthonormal_basis(design),
        _build_orthonormal_basis(other),
    )
    inside, outside = (
        _measure_distance_from_basis(sent, basis),
        _measure_distance_from_basis(sent, other_basis),
    )
    assumptions |= {
        "close neighbours entry by entry": (entrywise_distance(document), 1),
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
            "ratio": 1 / delta,
        },
        summary="a message that is possible on one dataset has probability 0 on its neighbour "
        f"({float(outside):.4g} of its length away from the column space): no finite epsilon",
    )


def _build_orthonormal_basis(design: Matrix) -> tuple[list[list[Real]], int]:
    """Return an orthonormal basis of the columns, and how many depend on those before them."""
    basis: list[list[Real]] = []
    dependent, left = 0, Real(1)
    for j in range(design.cols):
        column = design.column(j)
        rest = _compute_projection_rest(column, basis)
        length, whole = norm(rest), norm(column)
        # Each length may be fair on its own while the product says that the columns are dependent
        # to within precision.
        if length <= _DEPENDENT * whole or (left := left * length / whole) <= _LOST:
            dependent += 1
        else:
            basis.append([value / length for value in rest])
    return basis, dependent


def _compute_projection_rest(column: list[Real], basis: list[list[Real]]) -> list[Real]:
    rest = column
    for direction in basis:
        # Each share is taken of what is left (modified Gram-Schmidt), which keeps rounding from
        # building up.
        share = dot(direction, rest)
        rest = [value - share * along for value, along in zip(rest, direction, strict=True)]
    return rest


def _measure_distance_from_basis(sent: list[Real], basis: list[list[Real]]) -> Real:
    return norm(_compute_projection_rest(sent, basis)) / norm(sent)

"""Views as a certificate: program, coordinates that each observer sees, changes and brackets.

`dpaudit.verification.views` checks it again, and nothing of this package is used for that. Doubles
are written with as many digits as tell them apart, fractions as text ("1/3").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.affine.changes import Box, Change, Direction, L1Ball, L2Ball
from dpaudit.affine.form import AffineForm, forms_in
from dpaudit.affine.kinds import SparseMatrix
from dpaudit.affine.program import AffineProgram, BlockTerm, CoordinateBlock, Ids
from dpaudit.formats import add_schema, to_json
from dpaudit.refutation.certificate import FORMAT, VERSION

if TYPE_CHECKING:
    from dpaudit.affine.api import Views

KIND = "views"
# What a certificate may hold at most.
MOST_ROWS = 300  # rows of an observer
MOST_NUMBERS = 200_000  # numbers of the file
MOST_CHANGES = 60  # numbers that change at once
MOST_BOX = 10  # numbers that change at once, each within bounds of its own
_MOST_WORK = 3_000_000  # numbers of all coordinates, each by as many columns as there are


def certify_views(found: Views, *, reference: str | None = None) -> dict[str, Any] | None:
    """Return a certificate of all views that can be checked; None if there is none.

    Those that can are not too large, and of data that depend on nothing.

    Parameters
    ----------
    found
        The views.
    reference
        Where the function is, ``module:name``.
    """
    if found.recursion.calls:  # the checker knows no theorem about adaptive inputs
        return None
    program = found.recursion.program
    views = [
        _build_certificate_view(name, about, one.mu)
        for (about, name), one in found.table.items()
        if _is_small(one.ids, one.change)
    ]
    # Whoever checks the file computes all rows exactly; what takes too long is not checked by
    # anybody.
    if not views or program.size * len(program.leaves("noise")) > _MOST_WORK:
        return None
    written = _ProgramWriter(program)
    if written.numbers > MOST_NUMBERS:
        return None
    instance = {
        "mechanism": {"reference": reference},
        "private": shape_of(found.recursion.private),
        "matrices": written.matrices,
        "blocks": written.blocks,
        "output": _get_output_ids(found),
        "observers": [
            {"name": name, "sees": found.named.get(name), "at": _to_integer_list(ids)}
            for name, ids in found.observers.items()
        ],
        "changes": [{"name": name, **_convert_change(one)} for name, one in found.changes.items()],
        "views": views,
    }
    return _build_views_certificate(instance, found, reference)


def _build_views_certificate(
    instance: dict[str, Any], found: Views, reference: str | None
) -> dict[str, Any]:
    content = {
        "format": FORMAT,
        "version": VERSION,
        "claim": KIND,
        "kind": KIND,
        "source": reference or found.name,
        "relation": "",
        "parameters": {},
        "quantities": {},
        "assumptions": [],
        "search": {},
        "instance": instance,
    }
    return add_schema("certificate", content)


def _is_small(ids: Ids, change: Change) -> bool:
    known = isinstance(change, Direction | L1Ball | L2Ball | Box)
    most = MOST_BOX if isinstance(change, Box) else MOST_CHANGES
    return known and len(ids) <= MOST_ROWS and change.size <= most


def _build_certificate_view(observer: str, about: str, mu: Any) -> dict[str, Any]:
    ends = to_json([mu.lower, mu.upper], non_finite="Infinity")
    return {"observer": observer, "about": about, "lower": ends[0], "upper": ends[1]}


def _get_output_ids(found: Views) -> list[int]:
    ids = [one.ids.ravel() for one in forms_in(found.recursion.output)]
    return _to_integer_list(np.concatenate(ids)) if ids else []


def _to_integer_list(ids: NDArray[Any]) -> list[int]:
    return [int(one) for one in ids.ravel()]


# --- what changes ---------------------------------------------------------------------------------


def _convert_change(change: Change) -> dict[str, Any]:
    """Return a change as the file has it: its kind, the places that change, and its size."""
    at = _to_integer_list(change.locate_changes())
    if isinstance(change, Direction):
        return {
            "kind": "direction",
            "at": at,
            "by": [_to_exact_number(change.vector[one]) for one in at],
        }
    if isinstance(change, Box):
        radii = [_to_exact_number(one) for one in change.radii if one]
        return {"kind": "box", "at": at, "by": radii}
    radius = getattr(change, "radius", Fraction(0))
    kind = "l1" if isinstance(change, L1Ball) else "l2"
    return {"kind": kind, "at": at, "by": [_to_exact_number(radius)]}


def _to_exact_number(value: Any) -> float | str:
    """Return a number that is read back without error: a double, or else a fraction as text.

    Examples
    --------
    >>> _to_exact_number(0.1), _to_exact_number(Fraction(1, 3)), _to_exact_number(Fraction(1, 2))
    (0.1, '1/3', 0.5)
    """
    exact = Fraction(value) if isinstance(value, float | int | Fraction) else Fraction(str(value))
    # A fraction that is a double is written as one, since every reader of JSON has doubles.
    near = float(exact)
    return near if Fraction(near) == exact else str(exact)


# --- the program ----------------------------------------------------------------------------------


class _ProgramWriter:
    """A program as the file has it; equal matrices are written once."""

    def __init__(self, program: AffineProgram) -> None:
        self.matrices = list[dict[str, Any]]()
        self._places = dict[tuple[Any, ...], int]()
        self.numbers = 0
        self.blocks = [self._block(one) for one in program.blocks]

    def _block(self, block: CoordinateBlock) -> dict[str, Any]:
        if block.kind != "sum":
            return {block.kind: block.size}
        return {"sum": [self._term(one) for one in block.terms]}

    def _term(self, term: BlockTerm) -> dict[str, Any]:
        self.numbers += len(term.ids)
        written: dict[str, Any] = {"of": _to_integer_list(term.ids)}
        if term.matrix is not None:
            return written | {"matrix": self._matrix(term.matrix)}
        if term.numbers is not None:
            self.numbers += len(term.numbers)
            word = "over" if term.divides else "times"
            written[word] = [_to_exact_number(one) for one in term.numbers.tolist()]
        return written

    def _matrix(self, matrix: SparseMatrix) -> int:
        # By content: a loop makes the same matrix anew in every step.
        entries = (matrix.at_row.tobytes(), matrix.at_column.tobytes(), *matrix.numbers.tolist())
        key = (matrix.rows, matrix.columns, *entries)
        place = self._places.setdefault(key, len(self.matrices))
        if place == len(self.matrices):
            self.numbers += len(matrix.numbers)
            self.matrices.append(
                {
                    "rows": matrix.rows,
                    "columns": matrix.columns,
                    "at_row": _to_integer_list(matrix.at_row),
                    "at_column": _to_integer_list(matrix.at_column),
                    "numbers": [_to_exact_number(one) for one in matrix.numbers.tolist()],
                }
            )
        return place


# --- shapes ---------------------------------------------------------------------------------------


def shape_of(value: Any) -> dict[str, Any] | None:
    """Return the shape of private data as plain JSON; None where they are of another class.

    Examples
    --------
    >>> shape_of({"a": np.zeros((2, 3)), "b": [1.0]})
    {'dict': [['a', {'array': [2, 3]}], ['b', {'list': [{'array': []}]}]]}
    """
    if isinstance(value, AffineForm | np.ndarray | np.generic | int | float):
        return {
            "array": list(np.shape(value) if not isinstance(value, AffineForm) else value.shape)
        }
    # A subclass may do something else with its parts, and the checker makes plain ones.
    if type(value) is dict and all(isinstance(key, str | int) for key in value):
        return _of_parts("dict", [[key, shape_of(one)] for key, one in value.items()])
    if type(value) in (list, tuple):
        return _of_parts(type(value).__name__, [[None, shape_of(one)] for one in value])
    return None


def _of_parts(kind: str, parts: list[list[Any]]) -> dict[str, Any] | None:
    if any(shape is None for _, shape in parts):
        return None
    return {kind: parts if kind == "dict" else [shape for _, shape in parts]}


def zeros_of(shape: Mapping[str, Any]) -> Any:
    """Return private data of a shape, all zeros.

    Examples
    --------
    >>> zeros_of({"dict": [["a", {"array": [2]}], ["b", {"list": [{"array": []}]}]]})
    {'a': array([0., 0.]), 'b': [0.0]}
    """
    ((kind, content),) = shape.items()
    if kind == "array":
        return np.zeros(content) if content else 0.0
    if kind == "dict":
        return {key: zeros_of(one) for key, one in content}
    parts = [zeros_of(one) for one in content]
    return tuple(parts) if kind == "tuple" else parts


def get_observer_parts(
    given: Mapping[Any, Any] | None, names: Iterable[str]
) -> dict[str, list[str]]:
    """Return whom each observer is made of, of those that are no functions of the output."""
    if given is None:
        return {name: [name] for name in names}
    listed = {str(name): seen for name, seen in given.items() if not callable(seen)}
    return {
        name: [str(one) for one in (seen if isinstance(seen, list | tuple) else [seen])]
        for name, seen in listed.items()
    }

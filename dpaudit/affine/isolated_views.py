"""``dpaudit.views`` of somebody's code in a process of its own: plain JSON comes back."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from typing import Any

import numpy as np

from dpaudit._references import load_reference
from dpaudit.affine.api import places_of_parts, views
from dpaudit.affine.certificate import certify_views, zeros_of
from dpaudit.affine.form import NotAffine, forms_in
from dpaudit.affine.kinds import DOUBLES, SIZES
from dpaudit.affine.observers import find_observers
from dpaudit.affine.program import NOWHERE, AffineProgram, Ids
from dpaudit.affine.reading import read_recursion
from dpaudit.affine.report import ViewsReport
from dpaudit.execution.pool import Crew
from dpaudit.mechanisms.foreign.guard import add_mechanism_name
from dpaudit.mechanisms.foreign.isolation import Isolation


def report_elsewhere(
    reference: str, shape: Mapping[str, Any], isolation: Isolation, **given: Any
) -> ViewsReport:
    """Return every observer's knowledge from a function that runs elsewhere.

    Parameters
    ----------
    reference
        The function, ``module:name``.
    shape
        Of the private data, as `dpaudit.affine.certificate.shape_of` has it.
    isolation
        Whether it runs in a process of its own, and what that may take.
    given
        As `dpaudit.views` takes it.

    Raises
    ------
    NotAffine
        The function is not linear.
    MechanismError, InvalidArgument
        It cannot be run, or an argument is refused.
    """
    found = _call_elsewhere(_make_views_report, isolation, reference, shape, given)
    return ViewsReport.from_document(found["report"], found["certificate"])


def reread_views(
    function: Callable[..., Any] | str, shape: Mapping[str, Any], isolation: Isolation
) -> dict[str, Any]:
    """Return the present views of a function, for a comparison with a certificate.

    Returns
    -------
    dict
        ``data`` and ``noise``: how many private numbers and normals there are; ``output``: of
        each number that is returned, its coefficients by place, normals first, each with the size
        of its summands; ``observers``: by the names that they have by default, the same of what
        each sees; ``parts``: by their names, which private numbers each part of them holds. Places
        of coefficients are text.

    Raises
    ------
    NotAffine, MechanismError, InvalidArgument
        As of `report_elsewhere`.
    """
    if isinstance(function, str):
        return _call_elsewhere(_reread_reference, isolation, function, shape)
    return _unless_refused(json.loads(_answer_as_json(lambda: _read_again(function, shape))))


def _call_elsewhere(
    function: Callable[..., str], isolation: Isolation, *given: Any
) -> dict[str, Any]:
    """Return the answer of a function elsewhere, or refuse as it refused there."""
    if isolation.in_process:
        found = json.loads(function(*given))
    else:
        with add_mechanism_name(given[0]), Crew(isolation.limits) as crew:
            found = json.loads(crew.call(function, *given))
    return _unless_refused(found)


def _unless_refused(found: dict[str, Any]) -> dict[str, Any]:
    if "refused" in found:
        raise NotAffine(*found["refused"])
    return found


def _answer_as_json(made: Callable[[], dict[str, Any]]) -> str:
    """Return the answer, or the line that is not linear; standard output is for results."""
    try:
        # The answer travels over standard output, to which the function's own prints must not
        # add.
        with redirect_stdout(sys.stderr):
            return json.dumps(made())
    # Only the place and the reason cross the process: the error's class and its frames stay
    # there.
    except NotAffine as error:
        return json.dumps({"refused": [error.place, error.reason]})


def _make_views_report(reference: str, shape: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    def make_function() -> dict[str, Any]:
        function = load_reference("function", reference)
        found = views(function, private=zeros_of(shape), **given)
        certificate = certify_views(found, reference=reference)
        return {"report": found.document(), "certificate": certificate}

    return _answer_as_json(make_function)


def _reread_reference(reference: str, shape: Mapping[str, Any]) -> str:
    return _answer_as_json(lambda: _read_again(load_reference("function", reference), shape))


def _read_again(function: Callable[..., Any], shape: Mapping[str, Any]) -> dict[str, Any]:
    found = read_recursion(function, zeros_of(shape))
    forms = forms_in(found.output)
    ids = np.concatenate([np.zeros(0, dtype=np.int64), *(one.ids.ravel() for one in forms)])
    program, seen = found.program, find_observers(found.output)
    return {
        "data": len(program.leaves("data")),
        "noise": len(program.leaves("noise")),
        "output": _compute_coordinate_rows(program, ids),
        "observers": {name: _compute_coordinate_rows(program, one) for name, one in seen.items()},
        "parts": {name: one.tolist() for name, one in places_of_parts(found).items()},
    }


def _compute_coordinate_rows(
    program: AffineProgram, ids: Ids
) -> list[dict[int, tuple[float, float]]]:
    """Return the rows of coordinates, by place: normals first, then private numbers.

    A coefficient comes with the size of the summands that it is the sum of. What holds nothing,
    with a place of -1, is left out.
    """
    held = ids[ids != NOWHERE]
    tables = (program.coefficients(kind, held) for kind in (DOUBLES, SIZES))
    return [
        {int(at): (float(row[at]), float(sizes[at])) for at in np.flatnonzero(sizes)}
        for row, sizes in zip(*tables, strict=True)
    ]

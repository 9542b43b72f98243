"""Whether a certificate of views is about the code of its reader: that is read again, and compared.

What the file says of names and shapes decides where to look, and nothing else. The code runs in a
process of its own; what it holds of every normal and every private number has to be what the
program of the file holds, and what an observer sees what its name stands for in the code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dpaudit.errors import shorten_repr
from dpaudit.verification.linear import NOTHING, convert_to_nearest_double
from dpaudit.verification.views import Checking

if TYPE_CHECKING:
    from dpaudit.verification.redrawn_counts import Reader

# A share of each coefficient, for constants of other machines, and of its summands, whose
# rounding is what is left where they cancel.
_SAME = 1e-9
_ROUNDING = 2.0**-40
_MOST = 100_000  # private numbers of a file
_DEPTH = 20  # how deep their shape is
_PARTS = ("dict", "list", "tuple")
_UNKNOWN = "only the file says what code this is: --mechanism module:function compares it"


def compare_code(checking: Checking, reader: Reader) -> tuple[list[str], list[str]]:
    """Return the differences of the reader's code, and the statements of the file alone.

    Raises
    ------
    DataError
        The file has no shape of private data.
    MechanismError, InvalidArgument
        The code cannot be run.
    """
    if reader.mechanism is None:
        return [], [_UNKNOWN]
    from dpaudit.affine.form import NotAffine
    from dpaudit.affine.isolated_views import reread_views
    from dpaudit.execution.processes import Limits
    from dpaudit.mechanisms.foreign.isolation import Isolation

    shape = _require_small_shape(checking, checking.document.instance.get("private"))
    try:
        found = reread_views(
            reader.mechanism, shape, Isolation(limits=Limits(timeout=reader.seconds))
        )
    except NotAffine as error:
        return [f"the code is not affine: {error}"], []
    return list(_find_program_differences(checking, found)), list(
        _list_view_reservations(checking, found)
    )


def _find_program_differences(checking: Checking, found: Mapping[str, Any]) -> Iterator[str]:
    program = checking.program
    for name, stated in (("data", program.privates), ("noise", program.normals)):
        # Rows are compared by place, which means nothing once the numbers of normals or of
        # private numbers differ.
        if len(stated) != found[name]:
            yield f"{name}: the file has {len(stated)} of them, the code {found[name]}"
            return
    if not _is_same_rows(checking, checking.output, found["output"]):
        yield "output: what the code returns is not what the program of the file forms"
    for name, sees in checking.stands_for.items():
        known = [one for one in sees if one in found["observers"]]
        rows = [row for one in known for row in found["observers"][one]]
        if known != sees or not _is_same_rows(checking, checking.observers[name], rows):
            yield f"{name}: does not see what {', '.join(sees)} see in the code"
    for name, change in checking.changes.items():
        if name in found["parts"] and not set(change.at) <= set(found["parts"][name]):
            yield f"{name}: is not the part of the private data that has this name in the code"


def _list_view_reservations(checking: Checking, found: Mapping[str, Any]) -> Iterator[str]:
    """Yield each observer's view and each owner's data, where only the file states them."""
    for name, at in checking.observers.items():
        if name not in checking.stands_for:
            yield f"only the file says that {shorten_repr(name)} sees these {len(at)} numbers"
    for name, change in checking.changes.items():
        if set(change.at) != set(found["parts"].get(name, ())):
            yield (
                f"only the file says that {shorten_repr(name)} is {len(change.at)} private numbers"
            )


def _is_same_rows(
    checking: Checking, at: Sequence[int], rows: Sequence[Mapping[str, Sequence[float]]]
) -> bool:
    """Return whether coordinates of the file hold the rows of the code, up to rounding."""
    program = checking.program
    places = {one: n for n, one in enumerate([*program.normals, *program.privates])}
    seen = [one for one in at if one != NOTHING]
    # A coordinate that holds neither data nor noise tells an observer nothing, and the file has
    # it as a place of -1.
    own = [program.rows[one] for one in seen]
    stated = [
        {places[leaf]: convert_to_nearest_double(each) for leaf, each in row.items()} for row in own
    ]
    if len(stated) != len(rows):
        return False
    return all(_is_same_row(one, other) for one, other in zip(stated, rows, strict=True))


def _is_same_row(stated: Mapping[int, float], found: Mapping[str, Sequence[float]]) -> bool:
    """Return whether rows agree term by term: large noise hides no other coefficient.

    What may differ is measured by the reader's code alone. A file could add and subtract a large
    number to have room beside it.
    """
    by_place = {int(place): both for place, both in found.items()}
    return all(
        _is_same_number(stated.get(place, 0.0), *by_place.get(place, (0.0, 0.0)))
        for place in stated.keys() | by_place.keys()
    )


def _is_same_number(stated: float, found: float, summands: float) -> bool:
    return abs(stated - found) <= _SAME * abs(found) + _ROUNDING * summands


def _require_small_shape(checking: Checking, shape: Any, depth: int = 0) -> dict[str, Any]:
    """Return a shape of private data that is none too large, or refuse it."""
    refused = checking.document.refused("instance.private", shape, "a shape of private data")
    if not isinstance(shape, dict) or len(shape) != 1 or depth > _DEPTH:
        raise refused
    ((kind, content),) = shape.items()
    if kind == "array":
        if not isinstance(content, list) or not all(type(one) is int for one in content):
            raise refused
        size = 1
        for one in content:
            size *= one
            # The product is checked after every factor, since a later 0 would hide how large
            # the array was before.
            if not 0 <= size <= _MOST:
                raise refused
        return shape
    if kind not in _PARTS or not isinstance(content, list) or len(content) > _MOST:
        raise refused
    for one in content:
        pair = kind != "dict" or (isinstance(one, list) and len(one) == 2)
        if not pair or (kind == "dict" and type(one[0]) not in (str, int)):
            raise refused
        _require_small_shape(checking, one[1] if kind == "dict" else one, depth + 1)
    return shape

"""Re-checks a difference between the whole and the reduced update of ADMM on joined tables.

Entries are rational and every operation is exact.
"""

from __future__ import annotations

from fractions import Fraction

from dpaudit.verification import Document, Outcome

_MOST = {"rows": 50, "tuples": 50, "classes": 20}
_Rows = list[list[Fraction]]


def recompute(document: Document) -> Outcome:
    """Return by how much the differences between two models differ, exactly.

    Raises
    ------
    DataError
        A parameter is outside its domain, or an array does not have the shape they say.

    Examples
    --------
    >>> from dpaudit.verification import Document
    >>> document = Document(
    ...     path="c.json",
    ...     claim="tables-equation38",
    ...     kind="property",
    ...     parameters={"rows": 2, "tuples": 1, "classes": 1, "counts": "none"},
    ...     quantities={},
    ...     assumptions={},
    ...     instance={
    ...         "penalty": 2.0, "mapping": [0, 0], "dual": [[1.0], [1.0]], "gap": [[1.0], [1.0]],
    ...         "here": [[1.0]], "there": [[3.0]],
    ...     },
    ... )
    >>> float(recompute(document).quantities["difference"])
    8.0
    """
    document.require_kind("property")
    sizes = {name: document.count(name) for name in _MOST}
    for name, value in sizes.items():
        if value > _MOST[name]:
            raise document.refused(f"parameters.{name}", value, f"at most {_MOST[name]}")
    rows, tuples, classes = sizes.values()
    counts = document.choice("counts", "published", "none", "squared")
    rho = Fraction(document.array("penalty", ()))
    if rho <= 0:
        raise document.refused("instance.penalty", float(rho), "a number above 0")
    mapping = [
        _read_tuple_number(document, place, tuples) for place in document.array("mapping", (rows,))
    ]
    dual, gap = (_read_fraction_table(document, name, (rows, classes)) for name in ("dual", "gap"))
    changes, size = [], Fraction(1)
    for name, sign in (("there", 1), ("here", -1)):
        predicted = _read_fraction_table(document, name, (tuples, classes))
        whole = _compute_join_row_terms(rho, mapping, dual, gap, predicted)
        reduced = _compute_reduced_terms(rho, mapping, dual, gap, predicted, counts)
        changes.append(sign * (sum(whole, Fraction(0)) - sum(reduced, Fraction(0))))
        size += sum(map(abs, (*whole, *reduced)), Fraction(0))
    difference = abs(sum(changes, Fraction(0)))
    return Outcome(
        assumptions={},
        quantities={"difference": difference, "size": size, "ratio": 1 + difference / size},
        summary=f"between two models the updates differ by {float(difference):.6g}",
        reservations=() if counts == "published" else ("counts that are not those of (37)",),
    )


def _read_tuple_number(document: Document, place: float, tuples: int) -> int:
    if place != int(place) or not 0 <= place < tuples:
        raise document.refused("instance.mapping", place, f"numbers of tuples, 0 to {tuples - 1}")
    return int(place)


def _read_fraction_table(document: Document, name: str, shape: tuple[int, int]) -> _Rows:
    return [[Fraction(entry) for entry in row] for row in document.array(name, shape)]


def _compute_fraction_dot(one: list[Fraction], other: list[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(one, other, strict=True)), Fraction(0))


def _add_scaled_fractions(
    one: list[Fraction], other: list[Fraction], times: Fraction
) -> list[Fraction]:
    return [a + times * b for a, b in zip(one, other, strict=True)]


def _compute_join_row_terms(
    rho: Fraction, mapping: list[int], dual: _Rows, gap: _Rows, predicted: _Rows
) -> list[Fraction]:
    """Return the terms of (34), row by row of the join."""
    terms = []
    for row, place in enumerate(mapping):
        apart = _add_scaled_fractions(gap[row], predicted[place], Fraction(1))
        terms += [
            _compute_fraction_dot(dual[row], predicted[place]),
            rho / 2 * _compute_fraction_dot(apart, apart),
        ]
    return terms


def _compute_reduced_terms(
    rho: Fraction, mapping: list[int], dual: _Rows, gap: _Rows, predicted: _Rows, counts: str
) -> list[Fraction]:
    """Return the terms of (38), tuple by tuple, with (36) and (37)."""
    terms = []
    for place, prediction in enumerate(predicted):
        pull, number = [Fraction(0)] * len(prediction), 0
        for row, of in enumerate(mapping):
            if of == place:
                pull = _add_scaled_fractions(
                    _add_scaled_fractions(pull, dual[row], Fraction(1)), gap[row], rho
                )
                number += 1
        number = {"published": number, "none": 1, "squared": number**2}[counts]
        terms += [
            _compute_fraction_dot(pull, prediction),
            rho * number / 2 * _compute_fraction_dot(prediction, prediction),
        ]
    return terms

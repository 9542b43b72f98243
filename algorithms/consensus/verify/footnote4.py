"""Re-checks that a formula for the density of a broadcast does not integrate to 1, exactly."""

from __future__ import annotations

from fractions import Fraction

from dpaudit.verification import Document, Outcome

# Larger instances than the claim's own parameters allow would only take time.
_MOST = {"records": 50, "dimension": 10}


def recompute(document: Document) -> Outcome:
    """Return the determinant of the Jacobian, and the total probability of the formula.

    Raises
    ------
    DataError
        A parameter is outside its domain, or an array does not have the shape they say.

    Examples
    --------
    >>> from dpaudit.verification import Document
    >>> document = Document(
    ...     path="c.json",
    ...     claim="zhang2018-footnote4",
    ...     kind="property",
    ...     parameters={"records": 1, "dimension": 1, "power": -1},
    ...     quantities={},
    ...     assumptions={},
    ...     instance={"features": [[1.0]], "stretch": 2.0, "loss_weight": 1.0, "ridge": 1.0},
    ... )
    >>> float(recompute(document).quantities["total"])
    0.25
    """
    document.require_kind("property")
    sizes = {name: document.count(name) for name in _MOST}
    for name, value in sizes.items():
        if value > _MOST[name]:
            raise document.refused(f"parameters.{name}", value, f"at most {_MOST[name]}")
    power = document.parameters.get("power")
    if power not in (-1, 0, 1):
        raise document.refused("parameters.power", power, "-1, 0 or 1")
    # Doubles are fractions, so the determinant and the total are exact.
    stretch, weight, ridge = (
        Fraction(document.array(name, ())) for name in ("stretch", "loss_weight", "ridge")
    )
    if stretch <= 0 or weight < 0 or ridge < 0:
        given = {name: document.instance[name] for name in ("stretch", "loss_weight", "ridge")}
        raise document.refused("instance", given, "a stretch above 0, weights of at least 0")
    found = _compute_exact_determinant(
        _compute_inverse_jacobian_exactly(document, sizes, stretch, weight, ridge)
    )
    total = found ** (int(power) - 1)
    return Outcome(
        assumptions={},
        quantities={"determinant": found, "total": total, "ratio": 1 + abs(total - 1)},
        summary=f"the formula integrates to {float(total):.6g}, with |det J| = {float(found):.6g}",
        reservations=() if power == 1 else ("another power than that of eq. (60)",),
    )


def _compute_inverse_jacobian_exactly(
    document: Document, sizes: dict[str, int], stretch: Fraction, weight: Fraction, ridge: Fraction
) -> list[list[Fraction]]:
    """Return minus the Jacobian of g^-1, for the squared loss."""
    rows = document.array("features", (sizes["records"], sizes["dimension"]))
    records = [[Fraction(entry) for entry in row] for row in rows]
    share = weight / sizes["records"] / stretch
    return [
        [
            (1 + ridge / stretch if i == j else 0) + share * sum(row[i] * row[j] for row in records)
            for j in range(sizes["dimension"])
        ]
        for i in range(sizes["dimension"])
    ]


def _compute_exact_determinant(matrix: list[list[Fraction]]) -> Fraction:
    """Return the determinant of a positive definite matrix, by elimination."""
    rows, product = [list(row) for row in matrix], Fraction(1)
    # No pivot is 0, as the leading minors of a positive definite matrix are above 0.
    for k, pivot in enumerate(rows):
        product *= pivot[k]
        for row in rows[k + 1 :]:
            factor = row[k] / pivot[k]
            for j in range(k, len(row)):
                row[j] -= factor * pivot[j]
    return product

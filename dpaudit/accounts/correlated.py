"""Outputs with correlated noise, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from dpaudit.accounts.rationals import Numbers, Read, Rows, bracket_of_root, rational_rows
from dpaudit.errors import InvalidArgument
from dpaudit.extension.parameters import Parameters
from dpaudit.extension.release import ReleaseCard

if TYPE_CHECKING:
    from flint import fmpq_mat

    from dpaudit.accounting.events import Event
    from dpaudit.accounting.pairs.composition import Bracket


class CorrelatedParameters(Parameters):
    """Parameters of outputs that one query enters with known weights, with correlated noise."""

    weights: Numbers = Field((1.0,), description="c: with which each output has the query")
    covariance: Rows = Field((), description="S, of the noise of noise scale 1; none: the identity")
    sensitivity: float = Field(
        1.0, ge=0, description="sensitivity of the query, which is one number"
    )
    noise_scale: float = Field(1.0, gt=0, description="factor of the noise of covariance S")
    count: int = Field(1, ge=0, description="number of such releases")


def distance(given: CorrelatedParameters) -> Bracket:
    """Return mu of sensitivity 1 and noise scale 1, ``(c' S^-1 c)^(1/2)``.

    Raises
    ------
    InvalidArgument
        The covariance is none, or of another size.

    Examples
    --------
    >>> distance(CorrelatedParameters(weights=(3, 4))).upper
    5.0
    """
    from dpaudit.accounting.matrices.correlation import compute_squared_mahalanobis

    size = len(given.weights)
    unit = tuple(tuple(float(i == j) for j in range(size)) for i in range(size))
    rows = given.covariance or unit

    def compute_square(read: Read) -> tuple[Any, Any]:
        covariance = rational_rows("covariance", rows, read)
        column: fmpq_mat = rational_rows("weights", [given.weights], read).transpose()
        fits = covariance.nrows() == covariance.ncols() == size
        found = compute_squared_mahalanobis(column, covariance) if fits else None
        if found is None:
            expected = f"a symmetric, positive definite matrix of {size} rows"
            raise InvalidArgument("covariance", rows, expected)
        return found, found

    return bracket_of_root(compute_square)


def _build_correlated_event(given: CorrelatedParameters) -> Event:
    from dpaudit.accounting.events import GaussianRelease
    from dpaudit.guarantees import rounding

    return GaussianRelease(
        # Gaussian outputs of one query lose together what one does whose sensitivity is this
        # distance.
        sensitivity=rounding.product_up(distance(given).upper, given.sensitivity),
        noise_scale=given.noise_scale,
        count=given.count,
    )


CORRELATED = ReleaseCard(
    name="correlated-outputs",
    title="outputs that share a query of one number, with noise of a known covariance",
    source="Dong, Roth & Su 2022; dpaudit.accounting.matrices.correlation",
    relation="any",
    parameters=CorrelatedParameters,
    event=_build_correlated_event,
    count="count",
    noise="noise_scale",
)

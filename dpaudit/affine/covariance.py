"""Gaussian noise of a given covariance: normals times a factor of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.affine.form import AffineForm
from dpaudit.affine.precise import factor_covariance

_PARAMETERS = ("mean", "cov", "size")
_CLOSE = 1e-9  # asymmetry, relative to the largest entry
_LEAST = 1e-10  # smallest eigenvalue, relative to the largest


@dataclass(frozen=True, eq=False)
class CorrelatedDraws:
    """The draws of ``multivariate_normal``: ``mean + normals @ factor.T``.

    Parameters
    ----------
    mean
        An array of d numbers, or a form.
    factor
        A lower triangular F with ``F F' = covariance``, shape ``(d, d)``: fractions or doubles.
    shape
        Of the normals, whose last axis has d.
    """

    mean: Any
    factor: NDArray[Any]
    shape: tuple[int, ...]

    def of(self, normals: Any) -> Any:
        """Return the draws that normals lead to."""
        # Forms keep exact coefficients; plain numbers are drawn as numpy would.
        factor = self.factor if isinstance(normals, AffineForm) else self.factor.astype(float)
        return normals @ factor.T + self.mean


def read_parameters(given: dict[str, Any]) -> CorrelatedDraws:
    """Return the arguments of a call, by their names or positions.

    Raises
    ------
    ValueError
        The covariance is decided by data or noise, or it is none of full rank.

    Examples
    --------
    >>> read_parameters({"0": [0.0, 0.0], "1": [[4.0, 0.0], [0.0, 1.0]], "size": 3}).shape
    (3, 2)
    """
    named = {_PARAMETERS[int(key)] if key in "012" else key: one for key, one in given.items()}
    mean, covariance, size = (named.get(name) for name in _PARAMETERS)
    if isinstance(covariance, AffineForm):
        if not covariance.is_public:
            raise ValueError("the covariance of noise depends on data or noise")
        covariance = covariance.value
    factor = _factor_noise_covariance(np.array(covariance, dtype=float))
    rows = () if size is None else tuple(map(int, np.atleast_1d(size)))
    where = mean if isinstance(mean, AffineForm) else np.array(mean, dtype=float)
    if where.shape != (len(factor),):
        raise ValueError("the mean and the covariance of noise have different lengths")
    return CorrelatedDraws(where, factor, (*rows, len(factor)))


def _factor_noise_covariance(covariance: NDArray[np.float64]) -> NDArray[Any]:
    if covariance.ndim != 2 or len(covariance) != len(covariance.T):
        raise ValueError("the covariance of noise is not a square matrix")
    if np.abs(covariance - covariance.T).max() > _CLOSE * np.abs(covariance).max():
        raise ValueError("the covariance of noise is not symmetric")
    values = np.linalg.eigvalsh(covariance)
    # numpy draws along eigenvectors where there is no full rank; a factor of a nearly singular
    # matrix would be noise that the function may not have.
    if not values[0] > _LEAST * values[-1]:
        raise ValueError(
            "the covariance of noise does not have full rank: draw its normals one by one"
        )
    return factor_covariance(covariance)

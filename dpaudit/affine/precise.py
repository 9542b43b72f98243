"""Inverses and Cholesky factors as rationals: to the last bit, or to many more digits than doubles.

What LAPACK returns for an ill-conditioned matrix is right to a few digits only, and a program takes
its numbers exactly. So an inverse is worked out in rationals where that is little work, and else in
balls whose midpoints are rationals within 1e-40 of it. Large matrices are left to LAPACK.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
from flint import arb_mat, fmpq, fmpq_mat
from numpy.typing import NDArray

from dpaudit.affine.kinds import unpack_flint_matrix
from dpaudit.reals import precision

_MOST_EXACT = 8  # rows in rationals
_MOST_PRECISE = 60  # rows in decimals of many digits
_DIGITS = 80


def invert_precisely(matrix: NDArray[np.float64]) -> NDArray[Any]:
    """Return the inverse of a matrix of doubles: fractions, or doubles of a large one.

    Raises
    ------
    numpy.linalg.LinAlgError
        The matrix has none.

    Examples
    --------
    >>> invert_precisely(np.array([[3.0]]))
    array([[Fraction(1, 3)]], dtype=object)
    """
    if len(matrix) > _MOST_PRECISE or not np.isfinite(matrix).all():
        return np.linalg.inv(matrix)
    try:
        if len(matrix) <= _MOST_EXACT:
            entries = [fmpq(*one.as_integer_ratio()) for one in matrix.ravel().tolist()]
            size = len(matrix)
            return _to_fraction_array(
                unpack_flint_matrix(fmpq_mat(size, size, entries).inv()), _of_rational
            )
        with precision(_DIGITS):
            return _to_fraction_array(unpack_flint_matrix(arb_mat(matrix.tolist()).inv()), _of_ball)
    except ZeroDivisionError:
        raise np.linalg.LinAlgError("Singular matrix") from None


def factor_covariance(covariance: NDArray[np.float64]) -> NDArray[Any]:
    """Return the Cholesky factor of a covariance of full rank: fractions, or doubles.

    Examples
    --------
    >>> float(factor_covariance(np.array([[4.0]]))[0, 0])
    2.0
    """
    if len(covariance) > _MOST_PRECISE:
        return np.linalg.cholesky(covariance)
    with mpmath.workdps(_DIGITS):
        factor = mpmath.cholesky(mpmath.matrix(covariance.tolist())).tolist()
        entries = [Fraction(*mpmath.libmp.to_rational(one._mpf_)) for row in factor for one in row]
    found = np.empty(len(entries), dtype=object)
    found[:] = entries
    return found.reshape(covariance.shape)


def _to_fraction_array(entries: NDArray[Any], of: Any) -> NDArray[Any]:
    found = np.empty(entries.size, dtype=object)
    found[:] = [of(one) for one in entries.ravel().tolist()]
    return found.reshape(entries.shape)


def _of_rational(one: Any) -> Fraction:
    return Fraction(int(one.p), int(one.q))


def _of_ball(one: Any) -> Fraction:
    mantissa, exponent = one.mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)

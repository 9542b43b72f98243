"""Outputs with correlated noise: how far apart two Gaussians of one covariance are."""

from __future__ import annotations

from flint import fmpq, fmpq_mat


def compute_squared_mahalanobis(weights: fmpq_mat, covariance: fmpq_mat) -> fmpq | None:
    """Return ``c' S^-1 c``, or None where S is not symmetric and positive definite.

    ``N(a, S)`` and ``N(a + q c, S)`` are told apart as ``N(0, 1)`` and ``N(mu, 1)`` are, with ``mu
    = |q| (c' S^-1 c)^(1/2)``: by the likelihood ratio, which is a function of ``c' S^-1`` times
    what was seen.

    Parameters
    ----------
    weights
        c, one column.
    covariance
        S.

    Examples
    --------
    >>> compute_squared_mahalanobis(fmpq_mat([[1], [1]]), fmpq_mat([[2, 1], [1, 2]]))
    2/3
    >>> compute_squared_mahalanobis(fmpq_mat([[1], [1]]), fmpq_mat([[1, 2], [2, 1]])) is None
    True
    """
    if covariance != covariance.transpose() or not _is_positive(covariance):
        return None
    found: fmpq = (weights.transpose() * covariance.solve(weights))[0, 0]
    return found


def _is_positive(matrix: fmpq_mat) -> bool:
    """Return whether a symmetric matrix is positive definite: all pivots are above 0."""
    left = fmpq_mat(matrix)
    size = left.nrows()
    for k in range(size):
        if not left[k, k] > 0:
            return False
        for i in range(k + 1, size):
            # Gauss elimination in rationals: no pivot's sign is decided by rounding. A positive
            # definite matrix has no pivot of 0, so that rows are never exchanged.
            ratio = left[i, k] / left[k, k]
            for j in range(k, size):
                left[i, j] = left[i, j] - ratio * left[k, j]
    return True

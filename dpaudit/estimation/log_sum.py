"""The logarithm of a sum, from logarithms.

SciPy's function of that name takes 0.2 ms before it adds anything, and audits call it ten thousand
times on a hundred numbers each.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def log_sum(values: ArrayLike, axis: int = -1) -> NDArray[np.float64]:
    """Return ``log(sum(exp(values)))`` along an axis; minus infinity stands for 0.

    Examples
    --------
    >>> round(float(log_sum([-1000.0, -1000.0, -np.inf])), 6)
    -999.306853
    >>> log_sum([[-np.inf], [-np.inf]])
    array([-inf, -inf])
    """
    logs = np.asarray(values, dtype=np.float64)
    top = logs.max(axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(logs - top).sum(axis=axis)) + top.squeeze(axis))[()]

"""Scores rounded far above the last bits of floats.

Scores that are equal in real arithmetic would otherwise be told apart by their last bits, and a
bound would be about the floats of a score and not about the mechanism.
"""

from __future__ import annotations

import numpy as np

from dpaudit._typing import Array

_RELATIVE = 1e-9
_COMMON = 0.9


def grain(scores: Array) -> float:
    """Return the step that scores are rounded to: a billionth of their common size.

    That is the 90% quantile of what they are in absolute value: a rare huge score must not make
    all others equal. Where it is 0, the largest one counts.

    Examples
    --------
    >>> round(grain(np.array([1.0, -3.0, 2.0, -1.0, 2.0, 1.0, 3.0, 1.0, 2.0, 3.0])) * 1e9, 6)
    3.0
    >>> grain(np.append(np.ones(999), 1e300)) * 1e9
    1.0
    """
    finite = np.abs(scores[np.isfinite(scores)])
    if not len(finite):
        return _RELATIVE * 1e-290
    common = float(np.quantile(finite, _COMMON, method="higher"))
    return _RELATIVE * max(1e-290, common or float(finite.max()))


def rounded(scores: Array, step: float) -> Array:
    """Return the nearest multiples of a step; scores too large to have any stay as they are.

    Examples
    --------
    >>> one, other, huge = rounded(np.array([0.1 + 0.2, 0.3, 1e308]), 1e-9)
    >>> bool(one == other), float(huge)
    (True, 1e+308)
    """
    with np.errstate(over="ignore"):
        multiples = np.round(scores / step)
    return np.where(np.abs(multiples) < 2.0**53, multiples * step, scores)

"""The preprocessing every loader shares: column maximum 1, then row norm at most 1, labels ±1.

Both bounds cannot hold in the final matrix: a row that keeps an entry of 1 next to another
nonzero entry has norm above 1. The papers (Zhang et al., 2018, section 5; Huang & Gong, section
5.2) name the steps in this order, first columns, then rows "(individuals)", so each row is divided
by its own norm where that exceeds 1. One factor for all rows would also bound the norms, but it
would let the single longest record shrink every other one.

The column maxima are read from the records themselves. The papers do the same and charge no
privacy for it: a claim is about the algorithm that runs on records already scaled.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import dpaudit._check as check
from dpaudit.errors import DataError, shorten_repr
from dpaudit.redaction import Record


def scale_columns(features: object) -> NDArray[np.float64]:
    """Divide each column by its largest absolute value.

    Parameters
    ----------
    features
        Shape ``(N, d)``.

    Returns
    -------
    NDArray[np.float64]
        Shape ``(N, d)``; the largest absolute value of every column is 1, but a column of zeros
        stays as it is.

    Raises
    ------
    InvalidArgument
        The features are not a matrix of finite numbers.

    Examples
    --------
    >>> scale_columns([[1.0, -4.0, 0.0], [2.0, 1.0, 0.0]])
    array([[ 0.5 , -1.  ,  0.  ],
           [ 1.  ,  0.25,  0.  ]])
    """
    matrix = check.finite_array("features", features, ndim=2)
    largest = np.abs(matrix).max(axis=0, initial=0.0)
    scaled: NDArray[np.float64] = matrix / np.where(largest > 0, largest, 1.0)
    return scaled


def clip_rows(features: object) -> NDArray[np.float64]:
    """Divide each row by its Euclidean norm where that exceeds 1; shorter rows stay as they are.

    Parameters
    ----------
    features
        Shape ``(N, d)``.

    Returns
    -------
    NDArray[np.float64]
        Shape ``(N, d)``; every row has Euclidean norm at most 1 (up to rounding, 1e-12).

    Raises
    ------
    InvalidArgument
        The features are not a matrix of finite numbers.

    Examples
    --------
    >>> clip_rows([[3.0, 4.0], [0.3, 0.4]])
    array([[0.6, 0.8],
           [0.3, 0.4]])
    """
    matrix = check.finite_array("features", features, ndim=2)
    # Dividing by the largest entry first keeps the squares inside the norm from overflowing.
    largest = np.abs(matrix).max(axis=1, initial=1.0, keepdims=True)
    matrix /= largest
    clipped: NDArray[np.float64] = matrix / np.maximum(
        1.0, np.linalg.norm(matrix, axis=1, keepdims=True)
    )
    return clipped


def preprocess(features: object) -> NDArray[np.float64]:
    """Return ``clip_rows(scale_columns(features))``, shape ``(N, d)``.

    Raises
    ------
    InvalidArgument
        The features are not a matrix of finite numbers.

    Examples
    --------
    >>> preprocess([[6.0, 0.0], [10.0, 7.0], [0.0, 3.5]]).round(3)
    array([[0.6  , 0.   ],
           [0.707, 0.707],
           [0.   , 0.5  ]])
    """
    return clip_rows(scale_columns(features))


def convert_to_signed_labels(
    labels: NDArray[np.generic], positive: object, source: str
) -> NDArray[np.float64]:
    """Return labels in {-1, +1}, shape ``(N,)``.

    Parameters
    ----------
    labels
        Shape ``(N,)``: numbers or strings.
    positive
        The value that becomes +1; the only other one becomes -1. With None the labels have to be
        -1 and +1 already: which of two other values is the positive one is not for us to guess.
    source
        Where the labels come from, for the message.

    Raises
    ------
    DataError
        There are other values than that.

    Examples
    --------
    >>> import numpy as np
    >>> convert_to_signed_labels(np.array(["yes", "no"]), "yes", "answers.csv")
    array([ 1., -1.])
    """
    found = np.unique(labels)
    shown = found[:5].tolist()
    usual = set(shown) <= {-1, 0, 1, 2}  # says how classes are numbered, not who is in which
    values = ", ".join(shorten_repr(v if usual else Record(v), width=30) for v in shown)
    values += ", ..." if len(found) > 5 else ""
    if positive is None:
        if labels.dtype.kind not in "fiu" or not np.isin(found, (-1, 1)).all():
            raise DataError(
                f"{source}: found labels {values}, expected -1 and +1; "
                "name the one that means +1 with positive=..."
            )
        return labels.astype(np.float64)
    is_positive = labels == positive
    if len(found) > 2 or not is_positive.any():
        raise DataError(
            f"{source}: found labels {values}, expected {shorten_repr(positive, width=20)} "
            "and at most one other value"
        )
    return np.where(is_positive, 1.0, -1.0)

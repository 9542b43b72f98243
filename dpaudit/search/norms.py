"""Norms of how far an answer moved."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import dpaudit._check as check
from dpaudit._typing import Array

Norm = Callable[[Array], float]


def norm_of(given: object) -> tuple[str, Norm]:
    """Return a norm by its name, ``l1``, ``l2`` or ``linf``, or a function as it is.

    Examples
    --------
    >>> norm_of("l2")[1](np.array([3.0, 4.0]))
    5.0
    """
    norms: dict[str, Norm] = {
        "l1": lambda difference: float(np.abs(difference).sum()),
        "l2": _compute_euclidean_norm,
        "linf": lambda difference: float(np.abs(difference).max(initial=0.0)),
    }
    if callable(given):
        return "norm of the test's own", given
    name = check.require_choice("norm", given, tuple(norms))
    return name, norms[name]


def _compute_euclidean_norm(difference: Array) -> float:
    largest = float(np.abs(difference).max(initial=0.0))  # its square may not be a number
    return largest * float(np.linalg.norm(difference.ravel() / largest)) if largest else 0.0

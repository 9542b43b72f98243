"""Keys by which operations and public numbers are found again that a program holds already."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

FEW = 32
"""Entries of a constant, or of a parameter, that are held as they are."""


@lru_cache(maxsize=64)
def name_of(dtype: np.dtype[Any]) -> str:
    """Return the name of a type."""
    return dtype.name


def compute_content_digest(content: bytes) -> bytes:
    """Return a digest of a large array's content."""
    # A digest that nobody can find two contents for: a collision would take one array for
    # another.
    return hashlib.blake2b(content, digest_size=32).digest()


def key_of(parameters: Mapping[str, Any]) -> Any:
    """Return parameters as a key, or nothing where they are many."""
    if not parameters:
        return ()
    found = list[Any]()
    for name, value in parameters.items():
        if isinstance(value, np.ndarray) or (isinstance(value, list) and len(value) > FEW):
            return None
        found.append((name, repr(value)))
    text = tuple(found)
    # Long parameters cost more to compare than a second node costs.
    return text if sum(len(one) for _, one in text) < 16 * FEW else None

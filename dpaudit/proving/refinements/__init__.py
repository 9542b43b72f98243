"""Bounds on distances by all that a value is made of, where rules of operands are loose."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dpaudit.proving.universe import Distance

if TYPE_CHECKING:
    from dpaudit.proving.analysis import Analysis

REFINEMENTS: tuple[Callable[[Analysis, int], Distance], ...] = ()
"""Each says how far a value moves, unbounded where it does not know."""

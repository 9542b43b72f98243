"""Products of vectors and matrices, and norms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

RULES: dict[Any, Callable[..., Any]] = {}

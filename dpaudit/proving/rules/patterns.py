"""Whole patterns of operations that are bounded better than one by one."""

from __future__ import annotations

from collections.abc import Callable

from dpaudit.proving.facts import Facts
from dpaudit.proving.program import Node
from dpaudit.proving.rules.contract import Knowledge

Pattern = Callable[[Knowledge, Node], Facts | None]

PATTERNS: dict[str, Pattern] = {}
"""Rules that look further than at operands, by the last operation; None where they do not fit."""

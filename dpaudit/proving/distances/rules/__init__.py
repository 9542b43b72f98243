"""Rules that bound values by the facts of their operands, by operation: one file an idea."""

from __future__ import annotations

from dpaudit.proving.distances.rules import (
    choices,
    counts,
    functions,
    linear,
    matrices,
    order,
    products,
    starting_values,
    structure,
    sums,
)
from dpaudit.proving.distances.rules.contract import Rule

RULES: dict[str, Rule] = {
    name: rule
    for module in (
        starting_values,
        linear,
        products,
        functions,
        choices,
        structure,
        sums,
        matrices,
        order,
        counts,
    )
    for name, rule in module.RULES.items()
}
"""The rule of each operation."""

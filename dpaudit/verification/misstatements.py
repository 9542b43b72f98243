"""Statements of a certificate that its recomputation contradicts."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from dpaudit.reals import (
    Number,
    Real,
    largest,
)
from dpaudit.verification.document import Document, Outcome
from dpaudit.verification.reals import format_distinct_numbers

if TYPE_CHECKING:
    pass

# Files hold numbers that doubles computed, with an error far below this share. A share, not a
# distance: small ratios and large epsilons have to agree to the same number of digits.
AGREEMENT = 1e-8  # between a number of the file and the recomputed one, as a share of that
_NORMAL = sys.float_info.min  # doubles below it have fewer digits than they could agree on


def list_broken_assumptions(outcome: Outcome) -> list[str]:
    """Return the assumptions whose recomputed value is above its limit."""
    return [
        f"{name}: {' is above '.join(format_distinct_numbers(value, limit))}"
        for name, (value, limit) in outcome.assumptions.items()
        if not Real(value) <= limit
    ]


def find_misstatements(document: Document, outcome: Outcome) -> list[str]:
    """Return the statements of the file that the recomputation contradicts."""
    failures = [
        f"{name}: the file does not state this assumption"
        for name in outcome.assumptions
        if name not in document.assumptions
    ]
    unknown = document.assumptions.keys() - outcome.assumptions.keys()
    failures += [f"{name}: is no assumption of the claim" for name in sorted(unknown)]
    for name, pair in document.assumptions.items():
        if name in outcome.assumptions:
            failures += _find_false_assumption(name, pair, outcome)
    made_up = document.quantities.keys() - outcome.quantities.keys()
    failures += [f"{name}: is no quantity that is recomputed" for name in sorted(made_up)]
    for name, true in outcome.quantities.items():
        failures += find_disagreement(name, document.number("quantities", name), true)
    return failures


def _find_false_assumption(name: str, pair: tuple[float, float], outcome: Outcome) -> list[str]:
    (value, limit), (true, true_limit) = pair, outcome.assumptions[name]
    failures = find_disagreement(f"{name} (limit)", limit, true_limit)
    # Two roundings of 0 have no digit in common, so a residual is compared with its limit
    # instead.
    negligible = name in outcome.residuals and largest((abs(value), abs(Real(true)))) <= true_limit
    return failures if negligible else find_disagreement(f"{name} (value)", value, true) + failures


def find_disagreement(name: str, given: float, true: Number) -> list[str]:
    """Return a failure where a stated number is not the recomputed one."""
    # The share is of the recomputed number: of the stated one, a file could widen its own
    # tolerance.
    if abs(Real(true) - given) <= AGREEMENT * largest((_NORMAL, abs(Real(true)))):
        return []
    stated, recomputed = format_distinct_numbers(given, true)
    return [f"{name}: the file states {stated}, recomputed {recomputed}"]

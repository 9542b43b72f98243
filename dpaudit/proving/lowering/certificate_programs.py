"""The instance of a certificate: programs that the checker reads, with hints for its searches."""

from __future__ import annotations

from typing import Any

from dpaudit.proving import checker
from dpaudit.proving.lowering.hints import hints_of


def with_hints(instance: dict[str, Any]) -> dict[str, Any]:
    """Return an instance with the hints of every path, for every record that may change.

    Raises
    ------
    checker.NotVerified
        The checker does not follow a path.
    """
    known = {**instance, "universe": checker.universe_of(instance["universe"])}
    paths = [
        {
            **path,
            "hints": [
                hints_of(known, path, changed) for changed in checker.get_possible_changes(known)
            ],
        }
        for path in instance["paths"]
    ]
    return {**instance, "paths": paths}

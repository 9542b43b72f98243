"""A refutation as a small JSON file that a stranger can re-check.

``dpaudit verify`` reads the file with code of its own (`dpaudit.verify`); nothing here is used for
that. Numbers are written with 17 significant digits or fewer, so that every double is read back
as it was.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit.errors import DataError
from dpaudit.sensitivity.bound import Condition

FORMAT, VERSION = "dpaudit-certificate", 1


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """Everything that is needed to see that a claimed bound is exceeded.

    Parameters
    ----------
    claim, source, relation
        Of the claim.
    parameters
        Public parameters, plain numbers.
    instance
        Arrays: the neighbouring datasets and the state.
    quantities
        The bound, the movement that exceeds it, and their ratio.
    conditions
        Every assumption, with its number on this instance.
    search
        How it was found: seed and budget.

    Examples
    --------
    >>> one = Certificate(
    ...     claim="c",
    ...     source="s",
    ...     relation="replace-record",
    ...     parameters={"features": 1},
    ...     instance={"dual": np.array([0.1])},
    ...     quantities={"bound": 1.0, "movement": 2.0, "ratio": 2.0},
    ...     conditions=(Condition(name="bounded dual", value=0.1, limit=1.0),),
    ...     search={"seed": 0, "budget": 10},
    ... )
    >>> json.loads(one.text())["assumptions"]
    [{'name': 'bounded dual', 'value': 0.1, 'limit': 1.0}]
    """

    claim: str
    source: str
    relation: str
    parameters: Mapping[str, float]
    instance: Mapping[str, Any]
    quantities: Mapping[str, float]
    conditions: Sequence[Condition]
    search: Mapping[str, int]

    def text(self) -> str:
        """Return the file's content; raises `ValueError` on a number that is not finite."""
        document = {
            "format": FORMAT,
            "version": VERSION,
            "claim": self.claim,
            "kind": "sensitivity",
            "source": self.source,
            "relation": self.relation,
            "parameters": dict(self.parameters),
            "quantities": dict(self.quantities),
            "assumptions": [
                {"name": c.name, "value": c.value, "limit": c.limit} for c in self.conditions
            ],
            "search": dict(self.search),
            "instance": {k: np.asarray(v).tolist() for k, v in self.instance.items()},
        }
        return json.dumps(document, allow_nan=False) + "\n"

    def write(self, path: str | Path) -> Path:
        """Write the file and return its path, or raise `DataError`."""
        target = Path(path)
        try:
            target.write_text(self.text(), encoding="utf-8")
        except OSError as error:
            raise DataError(f"{target}: cannot be written ({error.strerror})") from error
        return target

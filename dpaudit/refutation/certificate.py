"""A refutation as a small JSON file that a stranger can re-check.

``dpaudit verify`` reads the file with code of its own (`dpaudit.verification`); nothing here is
used for that. Numbers are written with 17 significant digits or fewer, so that every double is read
back as it was.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit.files import write_file
from dpaudit.formats import add_schema
from dpaudit.refutation.inequality import Condition, Kind

FORMAT = "dpaudit-certificate"
VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """Everything that is needed to see that a claim is false.

    Parameters
    ----------
    claim, source, relation
        Of the claim.
    parameters
        Public parameters, plain numbers and names.
    instance
        Arrays: the neighbouring datasets, the state, an output; nested mappings are kept.
    quantities
        Numbers: the claimed bound and what exceeds it. ``ratio`` is above 1.
    conditions
        Every assumption, with its number on this instance.
    search
        How it was found: seed and budget.
    kind
        What sort of evidence it is.

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
    >>> one.document()["assumptions"], one.document()["instance"]
    ([{'name': 'bounded dual', 'value': 0.1, 'limit': 1.0}], {'dual': [0.1]})
    """

    claim: str
    source: str
    relation: str
    parameters: Mapping[str, Any]
    instance: Mapping[str, Any]
    quantities: Mapping[str, float]
    conditions: Sequence[Condition] = ()
    search: Mapping[str, int] = field(default_factory=dict)
    kind: Kind = "sensitivity"

    def document(self) -> dict[str, Any]:
        """Return the certificate as plain JSON values."""
        content = {
            "format": FORMAT,
            "version": VERSION,
            "claim": self.claim,
            "kind": self.kind,
            "source": self.source,
            "relation": self.relation,
            "parameters": _to_plain_certificate(self.parameters),
            "quantities": _to_plain_certificate(self.quantities),
            "assumptions": [
                {"name": c.name, "value": c.value, "limit": c.limit} for c in self.conditions
            ],
            "search": dict(self.search),
            "instance": _to_plain_certificate(self.instance),
        }
        return add_schema("certificate", content)

    def write(self, path: str | Path) -> Path:
        """Write the file and return its path, or raise `DataError`."""
        return write_certificates(path, (self,))


def write_certificates(path: str | Path, certificates: Sequence[Certificate]) -> Path:
    """Write one certificate as an object, or several as a list; return the file's path.

    Raises
    ------
    DataError
        The file cannot be written.
    ValueError
        A number is not finite.
    """
    target = Path(path)
    write_file(target, certificates_text(certificates).encode("utf-8"))
    return target


def certificates_text(certificates: Sequence[Certificate]) -> str:
    """Return the file's content; raises `ValueError` on a number that is not finite."""
    documents = [certificate.document() for certificate in certificates]
    content = documents[0] if len(documents) == 1 else documents
    # A verifier in another language reads no NaN and no infinity.
    return json.dumps(content, allow_nan=False) + "\n"


def _to_plain_certificate(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _to_plain_certificate(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):  # of several kinds, as the cells of a record are
        return [_to_plain_certificate(one) for one in value]
    return value

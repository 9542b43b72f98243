"""Which code a mechanism is: what names it, and a hash of the file that holds it."""

from __future__ import annotations

import hashlib
import inspect
from pathlib import Path
from typing import Any, NamedTuple

from dpaudit.laws.changed import owner_of


class Code(NamedTuple):
    """What names the code, ``module:object``, and the SHA-256 of its source file."""

    reference: str
    sha256: str


def code_of(mechanism: Any) -> Code | None:
    """Return which code a mechanism is; None where no source file holds it.

    Examples
    --------
    >>> code_of(code_of).reference
    'dpaudit.laws.code:code_of'
    >>> print(code_of(len))
    None
    """
    owner = owner_of(mechanism)
    try:
        source = Path(inspect.getfile(owner))
        digest = hashlib.sha256(source.read_bytes()).hexdigest()
    except (TypeError, OSError):  # built in, or typed at a prompt
        return None
    return Code(f"{owner.__module__}:{owner.__qualname__}", digest)

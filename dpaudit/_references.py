"""Objects by name: ``"module:object"``, imported on use."""

from __future__ import annotations

import importlib
from typing import Any

from dpaudit.errors import InvalidArgument, shorten


def load_reference(what: str, reference: str) -> Any:
    """Return the object that ``"module:object"`` names.

    Raises
    ------
    InvalidArgument
        The reference is malformed, or nothing of that name can be imported.
    """
    module_name, _, attribute = reference.partition(":")
    if not module_name or not attribute:
        raise InvalidArgument(what, reference, "a reference of the form module:object")
    try:
        found: Any = importlib.import_module(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (Exception, SystemExit) as error:  # importing runs other people's code
        expected = f"something that can be imported ({type(error).__name__}: {shorten(str(error))})"
        raise InvalidArgument(what, reference, expected) from error
    return found

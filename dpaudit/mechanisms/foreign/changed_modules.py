"""Changes of a module since its import: a worker imports the module as its file states it.

A mechanism of a module that can be imported is imported anew where it is drawn. A constant or a
function that was replaced since, as tests do, is not replaced there: other code would be judged.
Only what the mechanism's own code names in its own module is compared, where values are plain.
"""

from __future__ import annotations

import importlib
import sys
from types import FunctionType, ModuleType
from typing import Any

from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.execution.fingerprints import codes_of, compute_look_fingerprint, names_of
from dpaudit.execution.pool import Crew
from dpaudit.execution.scripts import source_of


def owner_of(mechanism: Any) -> FunctionType | type:
    """Return the function or class that a mechanism is made of."""
    found = mechanism
    while (inner := getattr(found, "function", getattr(found, "func", None))) is not None:
        found = inner
    found = getattr(found, "__self__", found)
    return found if isinstance(found, (FunctionType, type)) else type(found)


def require_as_imported(home: str, here: dict[str, str], crew: Crew) -> None:
    """Refuse a mechanism whose module was changed since its import, as no worker has the change.

    Parameters
    ----------
    home, here
        The name of the module, and how the names that count look in it (`compute_fingerprints`).
    crew
        Of workers that have imported it anew.
    """
    module = sys.modules.get(home)
    if not here or module is None or source_of(module) is not None:
        return
    fresh = [crew.call(of_named, home, list(here))]
    if changes(here, fresh):
        with Crew(crew.limits) as another:
            fresh.append(another.call(of_named, home, list(here)))
    if found := changes(here, fresh):
        given = VerbatimText(
            f"one whose module {home} has another {', '.join(found)} than its file says"
        )
        expected = "a module as it is imported; what is to differ goes in as an argument, or in a "
        raise InvalidArgument("mechanism", given, expected + "function made where it is changed")


def compute_fingerprints(owner: FunctionType | type) -> dict[str, str]:
    """Return the fingerprints of all that a function or class names in its module, by name.

    Empty for one that no other process would import.

    Examples
    --------
    >>> import dpaudit.mechanisms.foreign.changed_modules as here
    >>> own = here.compute_fingerprints
    >>> own.__name__ in compute_fingerprints(own), compute_fingerprints(lambda: own)
    (True, {})
    """
    module = sys.modules.get(owner.__module__)
    found: dict[str, str] = {}
    if module is not None and getattr(module, owner.__qualname__, None) is owner:
        _follow(owner.__qualname__, module, found)
    return found


def of_named(module: str, names: list[str]) -> dict[str, str]:
    """Return how these names of a module look in this process."""
    home = importlib.import_module(module)
    return {name: compute_look_fingerprint(getattr(home, name, None)) for name in names}


def changes(here: dict[str, str], fresh: list[dict[str, str]]) -> list[str]:
    """Return names that look the same in all fresh imports, and other than here.

    What a fresh import has not set yet, and what differs from import to import, is left out.
    """
    first = fresh[0]
    return [
        name
        for name, seen in here.items()
        if seen and first.get(name) and first[name] != seen and _is_settled(first[name])
        if all(other.get(name) == first[name] for other in fresh)
    ]


def _is_settled(seen: str) -> bool:
    return seen not in (compute_look_fingerprint(None), compute_look_fingerprint(False))


def _follow(name: str, module: ModuleType, found: dict[str, str]) -> None:
    """Note how a name looks, and all that its code names."""
    if name in found or not hasattr(module, name):
        return
    value = getattr(module, name)
    found[name] = compute_look_fingerprint(value)
    for code in codes_of(value):
        if getattr(value, "__module__", None) == module.__name__:
            for other in names_of(code):
                _follow(other, module, found)

"""Runs that released nothing, of which nothing can be said."""

from __future__ import annotations

import builtins

from dpaudit.freezing.observing import Side
from dpaudit.freezing.outputs import flattened

KIND = "nothing released"
_NONE = flattened(None).structure


def nothing_released(sides: tuple[Side, Side]) -> str | None:
    """Return why there is no output to look at, in words; None where there is one.

    Examples
    --------
    >>> nothing_released((Side(), Side())) is None
    True
    """
    plain = [output for side in sides for output in side.plain]
    raised = {output.raised for output in plain if output.raised is not None}
    if plain and all(output.raised is not None for output in plain):
        return f"every run on either dataset raises {_in_words(raised)}; dpaudit audit says more"
    if {output.structure for output in plain} == {_NONE}:
        return "every run on either dataset returns None: let it return what it releases"
    return None


def _in_words(raised: set[str]) -> str:
    """Return which of Python's own exceptions it was; a name that somebody made may hold data."""
    (name, *more) = sorted(raised)
    found = getattr(builtins, name, None)
    named = not more and isinstance(found, type) and issubclass(found, BaseException)
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}" if named else "an exception"

"""Runs that released nothing, of which nothing can be said."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from dpaudit.freezing import recorder
from dpaudit.freezing.observing import Function, SideRuns
from dpaudit.freezing.outputs import flatten_output
from dpaudit.standins import find_raised_error, what_code_raised

KIND = "nothing released"
_NONE = flatten_output(None).structure


def nothing_released(
    function: Function, dataset: Any, sides: tuple[SideRuns, SideRuns]
) -> str | None:
    """Return why there is no output to look at, in words; None where there is one.

    Parameters
    ----------
    function, dataset
        Of the replay: what every call raises is raised once more, for its words.
    sides
        The calls on either dataset.

    Examples
    --------
    >>> nothing_released(lambda data, rng: None, [1.0], (SideRuns(), SideRuns())) is None
    True
    """
    plain = [output for side in sides for output in side.plain]
    raised = {output.raised for output in plain if output.raised is not None}
    if plain and all(output.raised is not None for output in plain):
        said = _format_call_end(function, dataset) if _is_pythons(raised) else None
        return f"every call on both datasets {said or 'raises an exception'}"
    if {output.structure for output in plain} == {_NONE}:
        return (
            "every call on both datasets returns None: let the function return the value that it "
            "releases"
        )
    return None


def _is_pythons(raised: set[str]) -> bool:
    """Return whether it was one of Python's own exceptions; another name may hold data."""
    (name, *more) = sorted(raised)
    found = getattr(builtins, name, None)
    return not more and isinstance(found, type) and issubclass(found, BaseException)


def _format_call_end(function: Function, dataset: Any) -> str | None:
    """Return how a call ends, with words that hold no record; None if it returns now."""

    def again(data: Any) -> object:
        return function(recorder.fresh_copy(data), np.random.default_rng(0))

    error = find_raised_error(again, dataset)
    if error is None:
        return None
    raises = "" if isinstance(error, SystemExit) else "raises "
    return f"{raises}{what_code_raised(error, dataset, again)}"

"""The arguments of ``@pytest.mark.dp``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dpaudit.errors import InvalidArgument, one_of
from dpaudit.extension.setting_table import Door, names_of

if TYPE_CHECKING:
    import pytest

# What goes to `dpaudit.audit` under its name.
KNOWN = (*names_of(door=Door.MARKER), "claim")
AUDITS = "audits"
PROVED = "proved"
OF_TEST = (AUDITS, PROVED)
_OF_A_CLAIM = ("epsilon", "delta", "claim")


def wrong_marker(marks: Sequence[pytest.Mark]) -> str | None:
    """Return the fault of markers, None if there is none.

    Examples
    --------
    >>> import pytest
    >>> wrong_marker([pytest.mark.dp(epsilon=1).mark])
    >>> print(wrong_marker([pytest.mark.dp(epsilom=1).mark]))
    dp(epsilom=...): expected one of: epsilon, delta, trials, estimator, distinguisher, \
doubles, until_refuted, time, relation, bounds, domain, search_calls, form, read, observe, ignore, \
fresh, claim, audits, proved; did you mean 'epsilon'?
    """
    known = (*KNOWN, *OF_TEST)
    for mark in marks:
        if mark.args:
            return "dp(...): got a value without a name, expected one such as dp(epsilon=1)"
        for name, value in mark.kwargs.items():
            if name not in known:
                return f"dp({name}=...): expected {one_of(known, name)}"
            if name == AUDITS and (type(value) is not int or value < 1):
                return str(InvalidArgument("dp(audits=...)", value, "an integer, at least 1"))
            if name == PROVED and type(value) is not bool:
                return str(InvalidArgument("dp(proved=...)", value, "True or False"))
    return None


def merge_marker_arguments(given: Mapping[str, Any], nearer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of nearer markers with those around them; a claim stays whole.

    Examples
    --------
    >>> merge_marker_arguments({"epsilon": 1.0, "delta": 1e-5, "trials": 500}, {"epsilon": 2.0})
    {'trials': 500, 'epsilon': 2.0}
    """
    whole = "epsilon" in nearer or "claim" in nearer
    kept = {n: v for n, v in given.items() if not (whole and n in _OF_A_CLAIM)}
    return {**kept, **nearer}

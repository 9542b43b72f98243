"""Parcels for fresh processes: files that these run afresh are first run once, to be looked at."""

from __future__ import annotations

from time import monotonic
from typing import Any

from dpaudit.errors import DpauditError, shorten_repr
from dpaudit.execution.keeper import the_keeper
from dpaudit.execution.parcels import Parcel, parcel_of
from dpaudit.execution.pool import Crew
from dpaudit.execution.processes import Limits
from dpaudit.execution.scripts import ScriptSource, Survey, looks_of, register_survey, survey_of
from dpaudit.execution.tasks import libraries_here

_LONGEST = 60.0  # seconds that a file may run until it calls dpaudit
_RUNS = 2  # of a file of which something changed: what it draws differs from run to run


def parcel_for_processes(given: Any, **how: Any) -> Parcel:
    """Return the parcel of `parcel_of`, after a survey of fresh runs of the user's files.

    Raises
    ------
    CannotTravel
        It holds what only this process has.
    """
    parcel = parcel_of(given, **how)
    # A survey changes what can go by reference, which may bring further files into view.
    while unseen := parcel.unknown | {one for one in parcel.changed if _may_vary(one)}:
        for source in unseen:
            register_survey(source, _run_survey(source, survey_of(source)))
        parcel = parcel_of(given, **how)
    return parcel


def _may_vary(source: ScriptSource) -> bool:
    known = survey_of(source)
    return known is not None and not known.words and len(known.runs) < _RUNS


def _run_survey(source: ScriptSource, known: Survey | None) -> Survey:
    """Return the survey of a file after one more run."""
    before, began = () if known is None else known.runs, monotonic()
    try:
        with Crew(Limits(timeout=_LONGEST)) as crew:
            found, libraries = crew.call(_survey_source, tuple(source))
    except DpauditError as error:  # its code failed, its process ended, or it took too long
        late = monotonic() - began >= _LONGEST
        why = f"it takes over {_LONGEST:g} seconds to start" if late else shorten_repr(str(error))
        return Survey(before, why)
    the_keeper().preload(libraries)
    return Survey((*before, found))


def _survey_source(source: tuple[Any, ...]) -> tuple[dict[str, str], list[str]]:
    return looks_of(source), libraries_here()

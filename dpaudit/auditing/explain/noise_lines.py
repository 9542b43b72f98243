"""The lines at which the code of a refuted claim draws its noise, for its owner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple
from typing import Any

import dpaudit.faults.codes as codes
from dpaudit.errors import MechanismError
from dpaudit.escaping import one_line
from dpaudit.execution.failures import CodeFailed, DrawTimeout, WorkerEnded
from dpaudit.extension.case import PrivacyCase
from dpaudit.freezing.lines import noise_lines
from dpaudit.mechanisms.foreign.calling import Calls
from dpaudit.mechanisms.foreign.code_mechanism import CodeMechanism
from dpaudit.mechanisms.foreign.guard import add_mechanism_name
from dpaudit.mechanisms.foreign.outside import Outside
from dpaudit.mechanisms.foreign.proxy import IsolatedMechanism
from dpaudit.mechanisms.mechanism import name_of
from dpaudit.neighbours import Side
from dpaudit.report.lines import CodeLine
from dpaudit.report.schema import Result

_LONGEST = 200  # characters of a line that are shown


def add_noise_lines(result: Result, case: PrivacyCase) -> Result:
    """Return a refutation with the lines of the code that draw noise, where they are known.

    A scale that the data decide is a kind of fault, which the result has unless the event that
    leaked decides another.
    """
    lines = [_in_document(*one) for one in _find_noise_lines(case)]
    fault = next((one.fault for one in lines if one.fault is not None), None)
    return result.model_copy(update={"lines": lines, "fault": result.fault or fault})


_Plain = tuple[str, int, str, str, bool]  # a `NoiseLine` as it crosses the border of a process


def _find_noise_lines(case: PrivacyCase) -> Sequence[_Plain]:
    datasets = [case.pair.on(side) for side in Side]
    mechanism: Any = case.mechanism
    with add_mechanism_name(name_of(mechanism)):
        match mechanism:
            case CodeMechanism():
                return _lines_of(lambda: mechanism, (), datasets)
            case IsolatedMechanism() if mechanism.called_as is not None:
                return _find_noise_lines_in_worker(mechanism, datasets)
    return []


def _find_noise_lines_in_worker(
    mechanism: IsolatedMechanism, datasets: Sequence[Any]
) -> Sequence[_Plain]:
    """Return the lines, seen by a worker of the mechanism; none where that fails."""
    try:
        found: Sequence[_Plain] = mechanism.crew.call(_lines_of, *mechanism.made, datasets)
    # The lines are an explanation beside a verdict that stands; a failure here must not undo
    # it.
    except (MechanismError, WorkerEnded, CodeFailed, DrawTimeout):
        return []
    return found


def _lines_of(
    make: Callable[..., Any], arguments: tuple[Any, ...], datasets: Sequence[Any]
) -> Sequence[_Plain]:
    calls: Calls | None = getattr(make(*arguments), "calls", None)
    if calls is None or isinstance(calls.function, Outside):
        return []
    return [astuple(one) for one in noise_lines(calls.one, *datasets)]


def _in_document(file: str, line: int, function: str, text: str, moved: bool) -> CodeLine:
    """Return a line as a report has it; the words of a worker are taken for text."""
    words = [one_line(str(one)[:_LONGEST]) for one in (file, function, text)]
    # `is True`, because what crosses the border of a process may be any object.
    fault = codes.SCALE_FROM_DATA if moved is True else None
    return CodeLine(file=words[0], line=int(line), function=words[1], text=words[2], fault=fault)

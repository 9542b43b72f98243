"""The process of a mechanism: its own, kept from ending or stalling a run, or this one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dpaudit._references import build_referenced_object, load_reference, stop_here
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.execution.failures import CannotTravel
from dpaudit.execution.pool import Crew
from dpaudit.execution.processes import Limits
from dpaudit.mechanisms.foreign.code_mechanism import (
    AS_IT_IS,
    ObservationSettings,
    as_mechanism,
    mechanism_called,
)
from dpaudit.mechanisms.foreign.fresh_inputs import PROCESS, require_seen
from dpaudit.mechanisms.foreign.guard import convert_import_failures
from dpaudit.mechanisms.foreign.in_worker import from_pickle, pickle_referenced_object
from dpaudit.mechanisms.foreign.instances import as_remembered, register_instance
from dpaudit.mechanisms.foreign.outside import Outside
from dpaudit.mechanisms.foreign.proxy import make_proxy
from dpaudit.mechanisms.foreign.sending import send_mechanism
from dpaudit.mechanisms.mechanism import Mechanism, name_of

_ANY = Limits()
_IN_PROCESS = "Not isolated: the mechanism ran in the process of the audit, as {}."
_CARRIED = "Values that dpaudit sent along with the mechanism, the same in all of its processes:"
_NAMED = 8  # values that are named
_ASKED = "it was asked for"


@dataclass(frozen=True, kw_only=True)
class Isolation:
    """The process in which other people's code runs, and the limits of a call.

    Parameters
    ----------
    in_process
        True to run the code in this process: for debuggers, and for objects that cannot be sent to
        another process.
    limits
        The limits of a call; they need another process, which can be ended.

    Examples
    --------
    >>> Isolation(in_process=True, limits=Limits(timeout=5.0))
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: in_process: got True, expected False: only another process can \
be stopped
    """

    in_process: bool = False
    limits: Limits = _ANY

    def __post_init__(self) -> None:
        if self.in_process and self.limits != _ANY:
            expected = "False: only another process can be stopped"
            raise InvalidArgument("in_process", True, expected)


class Placement(NamedTuple):
    """A mechanism where it runs, and the maker of it elsewhere, if it is in this process.

    ``remarks`` say where it runs, if not in fresh processes, what went there along with it, and
    what a mechanism that is no code of Python says of itself.
    """

    mechanism: Mechanism[Any]
    elsewhere: Callable[[], Mechanism[Any]] | None = None
    remarks: tuple[str, ...] = ()


def isolate_mechanism(
    given: Any, isolation: Isolation, reading: ObservationSettings = AS_IT_IS
) -> Placement:
    """Return a mechanism, or a function that is one, where it is to run.

    What cannot be sent to another process stays in this one, and a remark says why.

    Raises
    ------
    InvalidArgument
        It is no mechanism.
    MechanismError
        Its process ended while it was unpickled.
    """
    stop_here()
    _require_processes(isolation, reading)
    if isinstance(given, Outside):
        settled = given.settled(None if isolation.in_process else isolation.limits)
        require_seen(reading.fresh, settled)
        placed = _place_mechanism(settled, isolation, reading)
        return placed._replace(remarks=(*settled.remarks, *placed.remarks))
    return _place_mechanism(given, isolation, reading)


def _place_mechanism(given: Any, isolation: Isolation, reading: ObservationSettings) -> Placement:
    mechanism = as_mechanism(given, reading)
    if isolation.in_process:
        register_instance(mechanism, anew=True)
        again = lambda: isolate_mechanism(as_remembered(given), Isolation(), reading).mechanism  # noqa: E731
        return Placement(mechanism, again, _format_reason(_ASKED))
    if not hasattr(sys.modules["os"], "fork"):
        _require_other_processes(reading, "this system has no fork")
        register_instance(mechanism, anew=True)
        return Placement(mechanism, remarks=_format_reason("this system has no fork"))
    crew = Crew(isolation.limits)
    try:
        proxy = send_mechanism(mechanism, crew)
        return Placement(proxy, remarks=_format_carried(proxy.carried, proxy.not_afresh))
    except CannotTravel as error:
        crew.close()
        if isolation.limits != _ANY:
            expected = f"one that can be sent to another process, to be stopped there ({error})"
            raise InvalidArgument(
                "mechanism", VerbatimText(name_of(mechanism)), expected
            ) from error
        _require_other_processes(reading, f"the mechanism cannot be sent to another: {error}")
        remarks = _format_reason(f"it cannot be sent to another process ({error})")
        return Placement(mechanism, remarks=remarks)


def _format_reason(reason: str) -> tuple[str, ...]:
    """Return why a mechanism runs in the process of the audit."""
    return (_IN_PROCESS.format(reason),)


def _format_carried(names: Sequence[str], not_afresh: Sequence[str]) -> tuple[str, ...]:
    """Return the values that travelled with a mechanism, and why some code was not run afresh."""
    reasons = tuple(f"Not run afresh in each process: {one}." for one in not_afresh)
    if not names:
        return reasons
    named, more = ", ".join(names[:_NAMED]), len(names) - _NAMED
    named += f" and {more} more" if more > 0 else ""
    return (*reasons, f"{_CARRIED} {named}.")


def isolate_reference(
    reference: str, isolation: Isolation, reading: ObservationSettings = AS_IT_IS
) -> Placement:
    """Return the mechanism that ``"module:object"`` names, or that it makes, where it is to run.

    Raises
    ------
    InvalidArgument
        It cannot be imported, or is no mechanism.
    """
    stop_here()
    _require_processes(isolation, reading)
    if isolation.in_process:
        mechanism = mechanism_called(reference, reading)
        register_instance(mechanism, anew=True)
        again = lambda: isolate_reference(reference, Isolation(), reading).mechanism  # noqa: E731
        return Placement(mechanism, again, _format_reason(_ASKED))
    with convert_import_failures("mechanism", reference):
        made = (mechanism_called, (reference, reading))
        return Placement(make_proxy(Crew(isolation.limits), made))


def _require_processes(isolation: Isolation, reading: ObservationSettings) -> None:
    if isolation.in_process and reading.fresh == PROCESS:
        raise InvalidArgument("fresh", PROCESS, "something that one process can make (in_process)")


def _require_other_processes(reading: ObservationSettings, reason: str) -> None:
    """Refuse a fresh process for every output where all outputs come from this one."""
    if reading.fresh == PROCESS:
        expected = f"something that one process can make ({reason})"
        raise InvalidArgument("fresh", PROCESS, expected)


def make_isolated(what: str, reference: str, isolation: Isolation) -> Any:
    """Return the object that ``"module:object"`` names, or the one it returns, made elsewhere.

    What it holds of other people's types is imported here too.

    Raises
    ------
    InvalidArgument
        It cannot be imported, called, or brought here.
    """
    if isolation.in_process:
        return build_referenced_object(what, reference, load_reference(what, reference))
    with convert_import_failures(what, reference), Crew(isolation.limits) as crew:
        return from_pickle(crew.call(pickle_referenced_object, what, reference))

"""The value of one process's finding in other processes: a proof stands if all of them confirm it.

A replay runs in one process. What that process drew when it imported the code, what a file beside
the code holds, and values that travelled with the code are the same in all of its runs, as a
function of the data is. So a proof or a violation is looked for once more, in a process of its own
and with other noise; a value that is always the same is looked at in several more, and what the
code reaches is watched, as an audit does it. What is only nearly always the same is looked at in as
many: noise that a process keeps comes back in it, and in no other, however many calls draw anew.
Where processes do not agree, or where noise may be kept outside the call, the finding is withheld.

Where an import or a first call drew what later calls do not, a law may be about jitter beside noise
that the process keeps. So each of many processes, whose import and first calls draw other noise,
makes the same calls with the same frozen noise (`dpaudit.freezing.states`): what a finding reads
has to be the same in all of them.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

import dpaudit.faults.codes as codes
from dpaudit.errors import shorten_repr
from dpaudit.execution.pool import Crew
from dpaudit.execution.processes import Limits
from dpaudit.execution.units import Unit, plan_units, stream
from dpaudit.freezing.observing import Function, really
from dpaudit.freezing.outputs import Output
from dpaudit.freezing.states import are_unmoved
from dpaudit.mechanisms.foreign.instances import REPEATED
from dpaudit.mechanisms.outputs.recurrence import TOO_MANY, measure_recurrence
from dpaudit.replaying.counting import OutputEvent
from dpaudit.watching.watch import Touch

_PROCESSES = 8
_WORKERS = 2
_CALLS = 2
_MOST_SECONDS = 60.0  # for processes whose imports and first calls draw other noise
# What a process spends on a count.
_ANSWERS = 32  # calls on either dataset at most
_SECONDS = 1.0  # seconds for them
_DIGEST = 16  # bytes
ResultT = TypeVar("ResultT")
_CLOSE = 0.05  # relative to an epsilon: both are read off runs
_STANDS = ("proof", "violation")
_KEPT = (
    "a value is the same in every call of one process, and different in the next process: calls "
    "reuse a value that an earlier call, or the import, drew or kept. Draw noise in every call"
)
_KEPT_OFTEN = (
    "outputs repeat in the calls of one process, and differ in the next process: calls reuse a "
    "value that an earlier call, or the import, drew or kept. Draw noise in every call"
)
_OFTEN = (
    "outputs repeat, and may be noise that the code drew earlier and keeps outside the call "
    "({}): draw noise anew in each call"
)
_ONE_PROCESS = (
    "the code cannot be sent to another process, and this process may keep noise that it drew "
    "earlier: name the code as module:object"
)
_REACHES = (
    "the import, or an earlier call, drew noise that may reach the output and stays the same "
    "until the process ends: draw noise in every call; or audit the law over this noise, made "
    "anew for each output (dpaudit audit, with fresh=)"
)
_STATE = (
    "the code writes and reads {}, which may carry noise from call to call: let the code "
    "write no file that it reads again"
)
_OUTSIDE = (
    "every output was the same, and may be noise that the code drew earlier and keeps outside "
    "the call ({}): draw noise anew in each call"
)


@dataclass(frozen=True)
class ProcessRepetition:
    """The numbers that a count reads, in further processes.

    Parameters
    ----------
    come_back
        Whether anything is the same in two calls of one process.
    kept
        Whether that happens more often in one process than across processes.
    """

    come_back: bool
    kept: bool


@dataclass(frozen=True)
class OtherProcesses:
    """The evidence of other processes; each is asked only if a finding depends on it.

    Parameters
    ----------
    again
        Returns what a second replay finds, in another process and with other noise.
    constants
        Returns of what `constant_of` gives which are so in further processes.
    answers
        Returns what counts read in further processes.
    unmoved
        Returns which parts of outputs no import and no earlier call moves.
    beyond_data
        Returns what answers that come back may come from besides the data.
    """

    again: Callable[[], Sequence[dict[str, Any]]]
    constants: Callable[[list[list[Any]]], list[bool]]
    answers: Callable[[list[list[Any]]], list[ProcessRepetition]]
    unmoved: Callable[[list[list[Any]]], list[bool]]
    beyond_data: Callable[[], Sequence[Touch]]


def judge_in_processes(
    findings: Sequence[dict[str, Any]], kept: Sequence[str], elsewhere: OtherProcesses
) -> list[dict[str, Any]]:
    """Return findings, those withheld that other processes do not bear out.

    Parameters
    ----------
    findings
        Of a replay.
    kept
        Files that its code wrote and read again.
    elsewhere
        What other processes show.
    """
    standing = [one for one in findings if one["tier"] in _STANDS]
    # Files carry a state from process to process, so that no comparison of processes says anything.
    if kept:
        for one in standing:
            _set_withheld(one, _STATE.format(_format_first_names(kept)), codes.FILE_KEPT)
        standing = []
    standing = _that_nothing_kept_reaches(standing, elsewhere)
    constant = [one for one in standing if one["constant"] is not None]
    varying = [one for one in standing if one["constant"] is None]
    agree = elsewhere.constants([one["constant"] for one in constant]) if constant else []
    second = elsewhere.again() if varying else []
    agree += [any(_is_same(one, other) for other in second) for one in varying]
    for one, agrees in zip([*constant, *varying], agree, strict=True):
        if not agrees:
            _set_withheld(one, _KEPT, None if one["constant"] is None else codes.STATE_KEPT)
    come_back = [*constant, *_that_come_back(varying, elsewhere)]
    left = [one for one in come_back if one["tier"] in _STANDS]
    if left and (causes := elsewhere.beyond_data()):
        told = [f"{kind} {shorten_repr(name)}" for kind, name in causes[:3]]
        for one in left:
            always = one["constant"] is not None
            words = (_OUTSIDE if always else _OFTEN).format("; ".join(told))
            _set_withheld(one, words, codes.STATE_KEPT)
    return in_order(findings)


def in_order(findings: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return findings, those that decide the verdict first."""
    order = {"proof": 0, "violation": 1, "withheld": 2, "hint": 3}
    return sorted(findings, key=lambda one: order[one["tier"]])


def _that_nothing_kept_reaches(
    standing: Sequence[dict[str, Any]], elsewhere: OtherProcesses
) -> list[dict[str, Any]]:
    """Return findings, without those withheld because kept state of a process may decide them."""
    read = [one for one in standing if one["held"] and _read_by(one)]
    parts = [part for one in read for part in _read_by(one)]
    same = iter(elsewhere.unmoved(parts) if parts else ())
    unmoved = [all([next(same) for _ in _read_by(one)]) for one in read]
    # Values that travel with the code are the same in every process, whatever its import drew.
    if any(unmoved) and any(kind == _ALONG for kind, _ in elsewhere.beyond_data()):
        unmoved = [False for _ in unmoved]
    stand = [one for one, stays in zip(read, unmoved, strict=True) if stays]
    for one in standing:
        if one["held"] and not any(one is other for other in stand):
            _set_withheld(one, _REACHES, codes.STATE_KEPT)
    return [one for one in standing if one["tier"] in _STANDS]


def _read_by(one: dict[str, Any]) -> list[list[Any]]:
    """Return which parts of an output a finding reads, where these are the same in every call.

    Those that a law has, or that are constant: a count of what is nearly always the same may be of
    a state that hardly ever shows.
    """
    if one["constant"] is not None:
        what, _, place, _ = one["constant"]
        return [[what, place]]
    event = (one["evidence"] or {}).get("event") or {}
    return [["number", part["place"]] for part in event.get("conditions", ())]


_ALONG = "value carried along"


def _that_come_back(
    varying: Sequence[dict[str, Any]], elsewhere: OtherProcesses
) -> list[dict[str, Any]]:
    """Return counts of answers that come back, those withheld that a process keeps."""
    counts = [one for one in varying if one["reads"] is not None and one["tier"] in _STANDS]
    if not counts:
        return []
    read = elsewhere.answers([list(one["reads"]) for one in counts])
    for one, seen in zip(counts, read, strict=True):
        if seen.kept:
            _set_withheld(one, _KEPT_OFTEN, codes.STATE_KEPT)
    # Answers that are new in every call cannot be noise that was kept.
    return [one for one, seen in zip(counts, read, strict=True) if seen.come_back]


def _format_first_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(shorten_repr(name) for name in names[:3]) + more


def of_one_process(findings: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return findings of code that no other process can have: none of them stands."""
    for one in findings:
        if one["tier"] in _STANDS:
            _set_withheld(one, _ONE_PROCESS)
    return list(findings)


def of_repeated_noise(findings: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return findings of first calls of copies that repeat some noise: none of them stands."""
    for one in findings:
        if one["tier"] in _STANDS:
            _set_withheld(one, REPEATED)
    return list(findings)


def _set_withheld(one: dict[str, Any], words: str, fault: str | None = None) -> None:
    one |= {"kind": "hidden state", "tier": "withheld", "words": words, "fault": fault}
    one |= {"epsilon": None, "evidence": None}


def _is_same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether two replays found as much, by laws or by counts."""
    by_laws = ["event" in (found["evidence"] or ()) for found in (one, other)]
    if one["tier"] != other["tier"] or by_laws[0] != by_laws[1]:
        return False
    if not by_laws[0]:  # counted, or declared
        return bool(one["kind"] == other["kind"])
    both = one["epsilon"] or 0.0, other["epsilon"] or 0.0
    return both[0] == both[1] or math.isclose(*both, rel_tol=_CLOSE)


# Constants


def constant_of(seen: OutputEvent | None) -> list[Any] | None:
    """Return the name of a constant, and a key that tells its value apart from others."""
    return (
        None
        if seen is None
        else [seen.what, seen.favours, seen.place, _compute_value_digest(seen.value)]
    )


def _compute_value_digest(value: Any) -> str:
    return hashlib.blake2b(repr(value).encode(), digest_size=_DIGEST).hexdigest()


def check_constants(
    constants: Sequence[Sequence[Any]], function: Function, data: tuple[Any, Any], seed: int
) -> list[bool]:
    """Return which constants a few runs have on the one dataset, and not on the other."""
    sides = [
        [really(function, one, seed + _CALLS * which + n) for n in range(_CALLS)]
        for which, one in enumerate(data)
    ]
    return [_is_constant_held(one, *sides) for one in constants]


def _is_constant_held(
    constant: Sequence[Any], on_p: Sequence[Output], on_q: Sequence[Output]
) -> bool:
    what, favours, place, digest = constant
    own, other = (on_p, on_q) if favours == "dataset" else (on_q, on_p)

    def is_it(output: Output) -> bool:
        return _compute_value_digest(
            OutputEvent(what, favours, None, place).value_in(output)
        ) == str(digest)

    return all(map(is_it, own)) and not any(map(is_it, other))


def in_processes(task: Callable[[Unit], list[bool]], limits: Limits, seed: int) -> list[bool]:
    """Return the facts that hold in all of several fresh processes."""
    return [all(one) for one in zip(*_run_in_fresh_processes(task, limits, seed), strict=True)]


def find_unmoved_parts(
    task: Callable[[Unit], list[list[Any]]], limits: Limits, seed: int, epsilon: float
) -> list[bool]:
    """Return which parts of outputs no import and no earlier call moves, in fresh processes."""
    end, rounds = time.monotonic() + _MOST_SECONDS, itertools.count()

    def values_in(processes: int) -> list[list[list[Any]]]:
        return _run_in_fresh_processes(task, limits, seed + 1 + next(rounds), processes)

    return are_unmoved(values_in, epsilon, lambda: time.monotonic() > end)


def _run_in_fresh_processes(
    task: Callable[[Unit], ResultT], limits: Limits, seed: int, processes: int = _PROCESSES
) -> list[ResultT]:
    """Return the results of several fresh processes."""
    units = plan_units(processes, 1, stream(seed, "processes"))
    with Crew(limits) as crew:
        hands = [[unit] for unit in units]
        return [one for part in crew.deal(task, hands, _WORKERS) for one in part]


# Answers that come back


def compute_answer_digests(
    function: Function, data: tuple[Any, Any], reads: Sequence[Sequence[Any]], seed: int
) -> list[list[list[str]]]:
    """Return digests of the part that each count reads in some calls on either dataset."""
    sides, end = list[list[Output]](), time.monotonic()
    for which, one in enumerate(data):
        outputs, end = list[Output](), end + _SECONDS
        while len(outputs) < _CALLS or (len(outputs) < _ANSWERS and time.monotonic() < end):
            outputs.append(really(function, one, seed + _ANSWERS * which + len(outputs)))
        sides.append(outputs)
    return [
        [
            [_compute_value_digest(OutputEvent(what, "", None, place).value_in(o)) for o in side]
            for side in sides
        ]
        for what, place in reads
    ]


def answers_of(
    task: Callable[[Unit], list[list[list[str]]]], limits: Limits, seed: int
) -> list[ProcessRepetition]:
    """Return the counts of several fresh processes: whether a value comes back, and is kept."""
    found = _run_in_fresh_processes(task, limits, seed)
    return [_compare_process_answers(one) for one in zip(*found, strict=True)]


def _compare_process_answers(processes: Sequence[Sequence[Sequence[str]]]) -> ProcessRepetition:
    """Return it of one count, whose answers each process gives on both datasets."""
    come_back = kept = False
    for side in zip(*processes, strict=True):
        groups = np.repeat(np.arange(len(side)), [len(one) for one in side])
        kept = (
            kept
            or measure_recurrence(np.array([d for one in side for d in one]), groups) > TOO_MANY
        )
        come_back = come_back or any(len(set(one)) < len(one) for one in side)
    return ProcessRepetition(come_back, kept)

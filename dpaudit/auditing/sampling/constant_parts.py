"""Parts of an output that are the same in every answer: of the data, or noise that is kept outside.

An answer that never varies may be exact, and leaks what it says; or its noise was drawn once, by
a key in a file, a salt of the environment, a server, and is drawn no more. Outputs alone do not
tell. So the parts that the certified event reads are looked at: each has to vary within a side from
call to call. One that does not is taken for a function of the data only where the code reaches
nothing that nobody sees, and returns the same in another interpreter and at another time; else
nothing is said of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

import dpaudit.auditing.explain.output_parts as output_parts
import dpaudit.faults.codes as codes
from dpaudit._typing import Array
from dpaudit.auditing.outcome.evidence import MeasurementEvidence
from dpaudit.auditing.outcome.result import convert_to_claim_number
from dpaudit.auditing.sampling.sampler import Certifying, Drawer, ProcessGrid
from dpaudit.errors import shorten_repr
from dpaudit.estimation.score_events import ScoreEvent
from dpaudit.estimation.self_check import CheckOutcome
from dpaudit.execution import Executor, stream
from dpaudit.execution.ledger import get_current_ledger
from dpaudit.extension.case import PrivacyCase
from dpaudit.mechanisms.foreign.guard import add_mechanism_name
from dpaudit.mechanisms.foreign.proxy import IsolatedMechanism
from dpaudit.mechanisms.foreign.reached_state import beyond_data
from dpaudit.mechanisms.mechanism import name_of
from dpaudit.mechanisms.outputs.layout import Layout, LayoutColumn
from dpaudit.mechanisms.outputs.steadiness import is_one, last_bits
from dpaudit.neighbours import Pair, Side
from dpaudit.watching.watch import Touch

_GRID = ProcessGrid(8, 16)  # processes and calls whose answers show what varies
_SPARING = ProcessGrid(2, 5)  # processes and calls of slow code
_FEW = 3  # answers that differ from the one before: fewer are a glitch
# Answers of a process: fair coins in so many of two processes would be taken for a mark of these
# once in eight million times.
_MARKED = 12
REST = {"the rest", "the values of the rest"}
_NAME = "parts that are the same in every answer come from the data"
_CURE = (
    "draw noise anew in each call, or say with fresh= what has to be made anew for each output: "
    "a function that does it (a nonce, a salt, a reset), the name of the value, or 'process' if "
    "one draw serves a whole deployment; leave out parts that are not noise, such as time "
    "stamps, counters and process numbers, with ignore="
)


Place = tuple[int, int]  # a side, and a column of its answers


class CallOutputs(NamedTuple):
    """The answers of some calls on either dataset, and the process of each."""

    rows: tuple[Array, Array]
    processes: tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True)
class Sameness:
    """The check of parts that never vary, and the remark to make where it passed.

    Parameters
    ----------
    checks
        None where all that the event reads varies.
    remark
        Of what is a function of the data.
    """

    checks: tuple[CheckOutcome, ...] = ()
    remark: str = ""


def grid_of(drawer: Drawer) -> ProcessGrid:
    """Return of how many processes, and calls of each, the answers are looked at."""
    return _SPARING if drawer.sparing else _GRID


def check_sameness(
    drawer: Drawer, counted: ScoreEvent, known: Certifying | None, *, by_score: bool
) -> Sameness:
    """Return whether the parts that an event reads vary, or come from the data alone.

    Parameters
    ----------
    drawer
        Of a mechanism that has processes of its own.
    counted
        The event.
    known
        Answers of the grid that were drawn alone, with the outputs as scores; None if others
        are to be drawn.
    by_score
        Whether its score itself is what certifies, and not only on which side of a threshold it is.
    """
    grid = grid_of(drawer)
    # The answers of the grid are used again where others have drawn them already.
    found = _make_answers(drawer, known or drawer.draw_separately(None, *grid, "what varies"))
    kept, same = _find_unvarying_columns(found, counted, by_score=by_score)
    columns = columns_of(drawer.mechanism, found.rows[0].shape[1])
    if kept:
        return Sameness((_make_kept_state_check(columns, kept),))
    if not same:
        return Sameness()
    causes = _find_outside_causes(drawer.mechanism, drawer.pair, drawer.seed, found, same)
    paths, count = _get_column_paths(columns, [column for _, column in same]), len(found.rows[0])
    check = _make_sameness_check(
        paths, causes, f"{count} calls a side in {grid.processes} processes"
    )
    whole = [column for side, column in same if (1 - side, column) in same]
    said = whole and not causes
    remark = (
        _function_of_data(_get_column_paths(columns, whole), count, grid.processes) if said else ""
    )
    return Sameness((check,), remark)


def remove_constant_parts(
    case: PrivacyCase, seed: int, count: int, executor: Executor | None = None
) -> tuple[PrivacyCase, CheckOutcome | None]:
    """Return a case whose outputs are read without the parts that nothing can be said of.

    That are counters and clocks, which tell two datasets apart by which was drawn first, and
    numbers and names of processes, which these answers have in common. And what is the same in
    every answer, where the code reaches what nobody sees: what is left may refute the claim; where
    it does not, the check says why nothing is said. What is slow is drawn by an executor.
    """
    setup = _DrawSetup(seed, count, executor)
    case = _without_marks(_without_drifts(case, setup), setup)
    mechanism = case.mechanism
    # Only a worker can be looked at from outside; and without a layout no part has a name.
    if not isinstance(mechanism, IsolatedMechanism) or mechanism.layout is None:
        return case, None
    steady = [n for n, one in enumerate(mechanism.layout.columns) if one.steady]
    if not steady or not _others_stay(mechanism.layout, steady):
        return case, None
    found = _one_answer(mechanism, case.pair, seed)
    places = [(side, column) for side in range(len(Side)) for column in steady]
    causes = _find_outside_causes(mechanism, case.pair, seed, found, places)
    if not causes:
        return case, None
    check = _make_sameness_check(
        _get_column_paths(mechanism.layout.columns, steady), causes, "the first calls"
    )
    return _remove_columns(case, steady, "the same in every answer", setup), check


class _DrawSetup(NamedTuple):
    """With which seed outputs are looked at, how many of each dataset, and who draws slow ones."""

    seed: int
    each: int
    executor: Executor | None


def _without_drifts(case: PrivacyCase, setup: _DrawSetup) -> PrivacyCase:
    layout: Layout | None = getattr(case.mechanism, "layout", None)
    drifts = [n for n, one in enumerate(layout.columns) if one.drifts] if layout else []
    if layout is None or not drifts or not _others_stay(layout, drifts):
        return case
    return _remove_columns(case, drifts, "as time stamps and counters do, it only grew", setup)


def _without_marks(case: PrivacyCase, setup: _DrawSetup) -> PrivacyCase:
    """Return a case without the parts that tell processes apart, and no datasets."""
    mechanism = case.mechanism
    if (
        not isinstance(mechanism, IsolatedMechanism)
        or mechanism.layout is None
        or mechanism.one_a_process
    ):
        return case
    each = _MARKED // len(Side)
    # A slow mechanism gets no look that takes so many outputs.
    if setup.each < each:  # it is slow
        return case
    datasets = [case.pair.on(side) for side in Side]
    rngs = [default_rng(stream(setup.seed, "marks", str(n))) for n in range(len(datasets))]
    marks = get_current_ledger().fact(
        "marks of processes",
        lambda: mechanism.find_process_marks(datasets, each, rngs),
        (mechanism, datasets, setup.seed, each),
    )
    known = {one.path for one in mechanism.layout.columns}
    rest = {*known, *getattr(mechanism.layout, "usual", ())} - {*marks, *REST}
    if not marks or not rest & known:
        return case
    return _leaving_out(case, marks, "it is one in each process, whatever the data", setup)


def _remove_columns(
    case: PrivacyCase, columns: Sequence[int], why: str, setup: _DrawSetup
) -> PrivacyCase:
    mechanism: Any = case.mechanism
    every = [mechanism.layout.columns[n].path for n in columns]
    return _leaving_out(case, every, why, setup)


def _leaving_out(
    case: PrivacyCase, every: Sequence[str], why: str, setup: _DrawSetup
) -> PrivacyCase:
    """Return a case without parts, by their paths; those of some outputs alone stay unnamed."""
    mechanism: Any = case.mechanism
    columns = mechanism.layout.columns
    number = {one.path: n for n, one in enumerate(columns)}
    paths = [
        name
        for one in every
        for name in ([one] if one not in number else _get_column_paths(columns, [number[one]]))
    ]
    other = output_parts.remove_output_parts(case, every, *setup)
    shown = ", ".join(list(dict.fromkeys(paths))[:5])
    note = f"Left out: {shown} ({why}); ignore= leaves out parts that are not noise."
    return replace(other, notes=(*other.notes, note))


def of_the_rest(
    evidence: MeasurementEvidence, case: PrivacyCase, unjudged: CheckOutcome | None
) -> MeasurementEvidence:
    """Return evidence that says nothing where parts were left out and the others refute nothing."""
    at = case if evidence.at_delta is None else replace(case, at_delta=evidence.at_delta)
    if unjudged is None or evidence.lower > convert_to_claim_number(at, case.claimed):
        return evidence
    return replace(evidence, contract=(*evidence.contract, unjudged))


def columns_of(mechanism: Any, count: int) -> Sequence[LayoutColumn]:
    """Return the columns of a mechanism's outputs."""
    layout = getattr(mechanism, "layout", None)
    if layout is not None:
        return tuple(layout.columns)
    return [LayoutColumn(f"output[{n}]" if count > 1 else "output", False) for n in range(count)]


def _others_stay(layout: Layout, columns: Sequence[int]) -> bool:
    """Return whether something that varies is left when parts are left out."""
    gone = {layout.columns[n].path for n in columns}
    return any(one.path not in gone | REST for one in layout.columns)


def _make_answers(drawer: Drawer, drawn: Certifying) -> CallOutputs:
    """Return answers of calls that were drawn one by one, in several processes."""
    rows = [one.reshape(len(one), -1) for one in drawn.scores]
    owners = [one.processes for one in drawn.outputs]
    # Every call then has a process of its own, so that what a process keeps cannot be told.
    if drawer.one_a_process:
        owners = [np.zeros_like(one) for one in owners]
    return CallOutputs((rows[0], rows[1]), (owners[0], owners[1]))


def _one_answer(mechanism: IsolatedMechanism, pair: Pair[Any], seed: int) -> CallOutputs:
    rows = [
        mechanism.sample(pair.on(side), 1, default_rng(stream(seed, "an answer", side.value)))
        for side in Side
    ]
    flat = [one.reshape(1, -1) for one in rows]
    none = np.zeros(1, dtype=np.int64)
    return CallOutputs((flat[0], flat[1]), (none, none))


def _find_unvarying_columns(
    found: CallOutputs, counted: ScoreEvent, *, by_score: bool
) -> tuple[list[int], list[Place]]:
    """Return the columns that the event reads and a process keeps, and where one never varies."""
    kept, same = list[int](), list[Place]()
    for column in range(found.rows[0].shape[1]):
        sides = [side[:, column] for side in found.rows]
        if is_one(np.concatenate(sides)):
            continue
        steady = [
            n
            for n, side in enumerate(sides)
            if not _is_varying_within_process(side, found.processes[n])
        ]
        if not steady or not _is_read(found, counted, column, by_score=by_score):
            continue
        if not all(_nearly_one(sides[n]) for n in steady):
            kept.append(column)
        same += [(n, column) for n in steady]
    return kept, same


def _is_varying_within_process(values: Array, processes: NDArray[np.int64]) -> bool:
    """Return whether answers of one process differ, other than its first."""
    same = processes[1:] == processes[:-1]
    # The first answer of a process may differ as the others do not, such as by a cache that it
    # fills.
    same[1:] &= same[:-1]  # neither is the first of its process
    differs = np.abs(np.diff(values)) > last_bits(values)
    return int((differs & same).sum()) >= _FEW


def _nearly_one(values: Array) -> bool:
    """Return whether all values but a few are one."""
    middle = float(np.median(values))
    far = np.abs(values - middle) > last_bits(values)
    return int(far.sum()) < _FEW


def _is_read(found: CallOutputs, counted: ScoreEvent, column: int, *, by_score: bool) -> bool:
    """Return whether an event changes where a column has the values of the other side."""
    for side, other in (found.rows, found.rows[::-1]):
        changed = side.copy()
        # The part gets the values of the other side: what is counted must not change if it is not
        # read.
        changed[:, column] = np.resize(other[:, column], len(side))
        before, after = (counted.rounded(counted.score(one)) for one in (side, changed))
        if not by_score:
            before, after = counted.event.happened(before), counted.event.happened(after)
        if not np.array_equal(before, after):
            return True
    return False


def _find_outside_causes(
    mechanism: Any, pair: Pair[Any], seed: int, found: CallOutputs, places: Sequence[Place]
) -> list[Touch]:
    """Return the sources of answers besides the data, as the ledger may know already."""
    if not isinstance(mechanism, IsolatedMechanism):
        return []
    # The median, as one glitch must not count as the usual value.
    usual = [(*one, float(np.median(found.rows[one[0]][:, one[1]]))) for one in places]
    given = mechanism, pair, [list(one) for one in places]
    causes = get_current_ledger().fact(
        "what is touched", lambda: _find_touches_in_worker(mechanism, pair, seed, usual), given
    )
    return [(kind, name) for kind, name in causes]


def _find_touches_in_worker(
    mechanism: IsolatedMechanism,
    pair: Pair[Any],
    seed: int,
    usual: Sequence[tuple[int, int, float]],
) -> list[Touch]:
    """Return the state that import and calls touch; or that another time has other answers."""
    datasets = [pair.on(side) for side in Side]
    with add_mechanism_name(name_of(mechanism)):
        return beyond_data(mechanism, datasets, seed, usual)


def _make_sameness_check(paths: Sequence[str], causes: Sequence[Touch], seen: str) -> CheckOutcome:
    what = _format_named_parts(paths)
    where = "; ".join(
        _format_touches(kind, [n for k, n in causes if k == kind]) for kind, _ in causes[:1]
    )
    others = sorted({kind for kind, _ in causes[1:]} - {kind for kind, _ in causes[:1]})
    more = f", and {', '.join(others)}" if others else ""
    return CheckOutcome(
        name=_NAME,
        statement=f"every output was the same{what}, and may be noise that the code drew earlier "
        f"and keeps outside the call ({where}{more}): {_CURE}"
        if causes
        else f"every output was the same{what}, and nothing outside the call was touched",
        passed=not causes,
        statistic=float(len(causes)),
        threshold=0.0,
        evidence=f"{seen}; touched: {_format_first_causes(causes)}",
        fault=codes.STATE_KEPT if causes else None,
    )


def _format_touches(kind: str, names: Sequence[str]) -> str:
    shown = ", ".join(shorten_repr(name) for name in names[:3])
    return f"{kind} {shown}"


def _format_first_causes(causes: Sequence[Touch]) -> str:
    return ", ".join(f"{kind} {shorten_repr(name)}" for kind, name in causes[:5]) or "nothing"


def _format_named_parts(paths: Sequence[str]) -> str:
    return "" if list(paths) == ["output"] else f" in {', '.join(paths)}"


def _get_column_paths(columns: Sequence[LayoutColumn], chosen: Sequence[int]) -> list[str]:
    """Return the names of columns, of those that only some outputs have a word in their place."""
    found = [columns[n].path if columns[n].everywhere else "a part" for n in chosen]
    return list(dict.fromkeys(found))[:5]


def _make_kept_state_check(columns: Sequence[LayoutColumn], chosen: Sequence[int]) -> CheckOutcome:
    return CheckOutcome(
        name="what is certified varies within a process",
        statement="every output of one process was the "
        f"same{_format_named_parts(_get_column_paths(columns, chosen))}, and outputs "
        "of other processes were different: the code may draw its noise when it is "
        f"imported or made: {_CURE}",
        passed=False,
        statistic=float(len(chosen)),
        threshold=0.0,
        evidence=f"parts that a process keeps: {len(chosen)}",
        fault=codes.STATE_KEPT,
    )


def _function_of_data(paths: Sequence[str], count: int, processes: int) -> str:
    return (
        f"On each dataset every output was the same{_format_named_parts(paths)}, in {count} "
        f"calls of {processes} processes, in a new interpreter and at another time, and the code "
        "touched nothing outside the call: as called here, it is a deterministic function of "
        "its data. If it holds a secret that the claim treats as unknown, name the value that "
        "has to be made anew for each output (fresh=)."
    )

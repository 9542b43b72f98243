"""The part of a replay that runs where the code runs, in a process of its own.

The code is imported with its primitives already intercepted: what it draws while it is imported, or
in its first call alone, is a state that it keeps.
"""

from __future__ import annotations

import inspect
import json
import sys
import time
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from dpaudit._references import build_referenced_object, load_reference
from dpaudit.errors import InvalidArgument, MechanismError
from dpaudit.freezing import patching, recorder
from dpaudit.freezing.observing import Function, observe_runs
from dpaudit.freezing.states import after_others
from dpaudit.guarantees.rounding import product_up
from dpaudit.mechanisms.foreign.calling import Calls, When, form_of
from dpaudit.mechanisms.foreign.code_identity import make_code, place_of
from dpaudit.mechanisms.foreign.instances import Pristine, carries_noise
from dpaudit.mechanisms.outputs.observations import require_few
from dpaudit.replaying.findings import COUNTED, OWN_SAMPLERS, ReplayComparison, collect_findings
from dpaudit.replaying.movement import CallMovement
from dpaudit.replaying.no_release import KIND
from dpaudit.replaying.processes import check_constants, compute_answer_digests, constant_of
from dpaudit.replaying.request import ReplayRequest

_SECONDS = 8.0  # for all pairs
_BEST = 4


@dataclass(frozen=True)
class Task:
    """The code and the data of a replay.

    Parameters
    ----------
    code
        The function, pickled where it is for another process, or ``"module:object"``.
    form, read
        How it is called, and what is looked at.
    pairs
        Datasets and neighbours, and how each was made.
    epsilon, delta, seed
        The claim, a unit of distance where there is one, and what decides all noise.
    when
        Whether every call is the first one of another copy.
    tests
        How many replays share the error probability; by default one of each pair, and another one
        where calls change what they use.
    apart
        How far the datasets of each pair are apart; nothing where they are neighbours.
    """

    code: Any
    form: str | None
    read: str | list[str] | None
    pairs: tuple[tuple[Any, Any, str], ...]
    epsilon: float
    delta: float
    seed: int
    when: When | None = None
    tests: int | None = None
    apart: tuple[float, ...] = ()

    def claimed(self, which: int = 0) -> float:
        """Return the epsilon that is claimed of a pair: for its distance, rounded up."""
        return product_up(self.epsilon, self.apart[which]) if self.apart else self.epsilon

    def of_pair(self, which: int) -> Task:
        """Return the same of one pair alone."""
        apart = self.apart[which : which + 1]
        return replace(self, pairs=self.pairs[which : which + 1], apart=apart)


class LoadedCode(NamedTuple):
    """Code, a function of data and a generator, its form, and its draws and copies at import.

    And what it was before any call, and what was refused as too large.
    """

    given: Any
    function: Function
    form: str
    drawn: int
    copied: bool
    before: Pristine
    refused: Sequence[MechanismError] = ()


def load_task(task: Task, seed: int = 0) -> LoadedCode:
    """Return the code as it is called; its draws at import follow from ``seed``.

    Raises
    ------
    InvalidArgument
        It cannot be imported, or is nothing that can be called with data.
    """
    code, form = task.code, task.form
    given, drawn, copied = code, 0, False
    if isinstance(code, str | bytes):
        with patching.patch_primitives():
            given, drawn, copied = recorder.load_recorded(lambda: _load_replayed_code(code), seed)
    try:
        how = form_of(given, form)
    except InvalidArgument:
        given = build_referenced_object(
            "mechanism", code if isinstance(code, str) else "function", given
        )
        how = form_of(given, form)
    calls = Calls(given, how, task.read)
    before = Pristine(calls, again=task.when == "first")
    if task.when == "first":
        calls = before.first()

    refused = list[MechanismError]()

    def function(data: Any, rng: Any) -> Any:
        found = None if refused else calls.one(data, rng)
        try:
            require_few(found)
        except MechanismError as error:
            refused.append(error)
            return None  # an exception would be an output, as that of the code
        return found

    return LoadedCode(given, function, str(how), drawn, copied, before, refused)


def _load_replayed_code(code: bytes | str) -> Any:
    if isinstance(code, str):
        return load_reference("mechanism", code)
    import cloudpickle

    return cloudpickle.loads(code)


def run_replay(task: Task) -> str:
    """Return the findings of replays of a function, as JSON."""
    with redirect_stdout(sys.stderr):
        return json.dumps(_replay_pairs(task))


def _replay_pairs(task: Task) -> dict[str, Any]:
    given, function, form, drawn, copied, before, refused = load_task(task)
    if task.when is None:
        before.keep()
    # What the import drew or copied stays the same in every call of this process.
    state = drawn > 0 or copied
    place = place_of(given)
    code = None if place is None else make_code(*place)
    source = _read_code_source(given)
    end = time.monotonic() + _SECONDS
    best: tuple[Any, int, ReplayComparison, Any] | None = None
    looked, changes = 0, False
    for which, (dataset, neighbour, _) in enumerate(task.pairs):
        runs = observe_runs(function, dataset, neighbour, first=task.seed + 1)
        if refused:
            raise refused[0]
        sides, state = runs.sides, state or runs.keeps_state
        # The first pair alone decides: all pairs share the error probability among one number of
        # tests, which must not grow after some of them were made.
        changes = changes or (looked == 0 and task.when is None and before.is_changed)
        tests = task.tests or (2 if changes else 1) * len(task.pairs)
        samplers = tuple(name for name in OWN_SAMPLERS if name in sys.modules)
        given = (task.claimed(which), task.delta, state, samplers, task.seed, source)
        apart = task.apart[which] if task.apart else None
        asked = ReplayRequest(*given, pairs=tests, copies=copied or runs.copies, apart=apart)
        found = collect_findings(function, (dataset, neighbour), sides, asked)
        looked += 1
        rank = _compute_replay_rank(found, apart or 1.0)
        if best is None or rank > best[0]:
            best = rank, which, found, sides
        # A proof on one pair refutes the claim: other pairs can show no more.
        if rank[0] == _BEST or time.monotonic() > end:
            break
    assert best is not None
    return {
        **_convert_compared(best[2]),
        "pair": best[1],
        "pairs": looked,
        "changes": changes,
        "repeated": _is_repeated(task, best[2], before),
        "form": form,
        "code": None if code is None else list(code),
        "runs": len(best[3][0].runs) + len(best[3][0].far),
    }


def _is_repeated(task: Task, found: ReplayComparison, before: Pristine) -> bool:
    """Return whether first calls show something, and are of copies that repeat some noise."""
    if task.when != "first" or all(one.tier == "hint" for one in found.findings):
        return False
    return carries_noise(before.first(), task.pairs[0][0], task.seed)


def _compute_replay_rank(found: ReplayComparison, apart: float) -> tuple[int, float, float]:
    """Return how much two replays show: the tier, the proved bound, and the spending, a unit."""
    worth = {"proof": _BEST, "violation": 3, "withheld": 2, "hint": 1}
    tiers = [worth[one.tier] for one in found.findings]
    if any(one.kind == KIND for one in found.findings):
        tiers = [-1]  # another pair may show something
    proved = max((one.epsilon or 0.0 for one in found.findings), default=0.0)
    apparent = max((_get_apparent_spending(one) for one in found.moved), default=0.0)
    return max(tiers, default=0), proved / apart, (found.spending.epsilon or apparent) / apart


def _get_apparent_spending(one: CallMovement) -> float:
    """Return a movement in scales, whatever it means: to choose the calls to look at."""
    return one.spent or (one.moved / one.scale if one.moved and one.scale else 0.0)


def _read_code_source(given: Any) -> str:
    try:
        return Path(inspect.getfile(inspect.unwrap(given))).read_text(encoding="utf-8")
    except (TypeError, OSError, UnicodeDecodeError):
        return ""


def _convert_compared(found: ReplayComparison) -> dict[str, Any]:
    return {
        "findings": [_convert_replay_finding(one, found) for one in found.findings],
        "moved": [_convert_moved(one) for one in found.moved],
        "spending": asdict(found.spending),
        "unread": found.unread,
    }


def _convert_moved(one: CallMovement) -> dict[str, Any]:
    return {**asdict(one), "shape": list(one.shape), "scale_moved": one.scale_moved}


def _convert_replay_finding(one: Any, found: ReplayComparison) -> dict[str, Any]:
    return {
        "kind": one.kind,
        "tier": one.tier,
        "words": one.words,
        "fault": one.fault,
        "epsilon": one.epsilon,
        "place": one.place,
        "evidence": _convert_evidence(one, found),
        "constant": None if one.kind == COUNTED else constant_of(one.seen),
        "reads": one.reads,
        "held": one.held,
    }


def check_constants_here(task: Task, constants: list[list[Any]], seed: int) -> list[bool]:
    """Return which constants hold in this process as well, on the first pair of a task."""
    with redirect_stdout(sys.stderr):
        function = load_task(task, seed).function
        dataset, neighbour, _ = task.pairs[0]
        return check_constants(constants, function, (dataset, neighbour), seed)


def answers_elsewhere(task: Task, reads: list[list[Any]], seed: int) -> list[list[list[str]]]:
    """Return the counts in some calls of this process, on both datasets."""
    with redirect_stdout(sys.stderr):
        function = load_task(task, seed).function
        dataset, neighbour, _ = task.pairs[0]
        return compute_answer_digests(function, (dataset, neighbour), reads, seed)


def values_after_others(task: Task, reads: list[list[Any]], seed: int) -> list[list[Any]]:
    """Return outputs with common noise in some places, after calls of this process."""
    with redirect_stdout(sys.stderr):
        function = load_task(task, seed).function
        dataset, neighbour, _ = task.pairs[0]
        return after_others(function, (dataset, neighbour), seed, task.seed, reads)


def _convert_evidence(one: Any, found: ReplayComparison) -> dict[str, Any] | None:
    """Return the evidence that a verifier checks again: places and draws, no value of an output."""
    if one.seen is not None:
        return {
            "counted": {"what": one.seen.what, "favours": one.seen.favours, "place": one.seen.place}
        }
    if one.event is not None:
        return {"event": _convert_event(one.event, found)}
    if one.tier == "violation" and one.call is not None:
        key = next(moved.key for moved in found.moved if moved.index == one.call)
        return {"declared": {"draw": key}}
    return None


def _convert_event(event: Any, found: ReplayComparison) -> dict[str, Any]:
    own = found.laws[0 if event.favours == "dataset" else 1]
    first = own.numbers[event.conditions[0].place]
    centre = sum(one.weight * own.numbers[one.place].centre for one in event.conditions)
    scale = (
        sum((one.weight * own.numbers[one.place].factor) ** 2 for one in event.conditions) ** 0.5
    )
    conditions = []
    for one in event.conditions:
        law = own.numbers[one.place]
        steps = (one.threshold - law.centre) / abs(law.factor) if law.factor else 0.0
        if event.kind == "sum":
            steps = (one.threshold - centre) / scale
        draws = [_convert_draw(laws.numbers[one.place]) for laws in found.laws]
        posts = [laws.numbers[one.place].post for laws in found.laws]
        conditions.append(
            {"place": one.place, "above": one.above, "steps": steps, "draws": draws, "posts": posts}
        )
    assert first is not None
    return {"kind": event.kind, "favours": event.favours, "conditions": conditions}


def _convert_draw(law: Any) -> list[Any] | None:
    return None if law.draw is None else [law.draw.key, law.draw.entry, law.draw.made]

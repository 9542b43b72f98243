"""Runs of a reader's code in processes of their own: one's result, and whether others agree."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any

from dpaudit.errors import shorten_repr
from dpaudit.verification.redrawn_counts import Reader

if TYPE_CHECKING:
    from dpaudit.execution.units import Unit
    from dpaudit.neighbours import Pair

# For processes whose imports and first calls draw other noise.
_MOST_SECONDS = 60.0
_WORKERS = 2
_SAME = 1e-7  # relative to a number and its noise: what two processes show is read off runs


def task_of(reader: Reader, pair: Pair[Any], asked: Mapping[str, Any]) -> bytes:
    """Return which runs of a reader's code are asked for."""
    from dpaudit.execution.tasks import to_pickle
    from dpaudit.mechanisms.foreign.code_identity import for_another_process

    task = {
        "code": for_another_process(reader.mechanism),
        "form": reader.form,
        "read": reader.read,
        "data": (pair.dataset, pair.neighbour),
        "seed": reader.seed,
        "seconds": reader.seconds / 2,
    }
    return to_pickle({**task, **asked})


def find_rerun_disagreements(
    reader: Reader, pair: Pair[Any], asked: Mapping[str, Any], seen: Mapping[str, Any]
) -> list[str]:
    """Return a failure where a new interpreter, whose clocks are ahead, shows something else.

    What one process drew when it imported the code, its hashes and the hour are the same in all of
    its runs, as a function of the data is.
    """
    from dpaudit.errors import MechanismError
    from dpaudit.execution.failures import CodeFailed, WorkerEnded

    # Another seed gives other frozen noise, a new interpreter gives other hashes, and the
    # clocks say another hour; a law has to be the same under all three.
    other = {**asked, "ahead": 1, "seed": reader.seed + 1, "count": min(8, asked.get("count", 0))}
    try:
        again = json.loads(run_task_elsewhere(task_of(reader, pair, other), reader, sys.executable))
    except (MechanismError, WorkerEnded, CodeFailed) as error:
        return [
            f"mechanism: in another process, at another time, it fails ({type(error).__name__})"
        ]
    if _same_laws(seen.get("laws", []), again.get("laws", [])) and _same_numbers(seen, again):
        return []
    return ["mechanism: it returns something else in another process, or at another time"]


def _same_numbers(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Return whether two calls declare and count the same numbers, or neither has any."""
    declared = [one.get("declaration") or (None, None) for one in (first, second)]
    values = [one.get("value") for one in (first, second)]
    return all(_is_number_close(*both) for both in (*zip(*declared, strict=True), tuple(values)))


def _same_laws(first: Sequence[Any], second: Sequence[Any]) -> bool:
    """Return whether two processes have the same numbers, as lines of their noise."""
    laws = [one for side in first for one in side], [one for side in second for one in side]
    return all(
        one["problem"] is not None  # said already
        or (
            other["problem"] is None
            and (one["kind"], one["post"]) == (other["kind"], other["post"])
            and all(_is_number_close(one[n], other[n], one["factor"]) for n in _NUMBERS)
        )
        for one, other in zip(*laws, strict=True)
    )


_NUMBERS = ("centre", "factor", "low", "high")


def _is_number_close(one: float | None, other: float | None, scale: float = 0.0) -> bool:
    if one is None or other is None:
        return one is other
    return abs(one - other) <= _SAME * (abs(one) + abs(scale))


def is_unmoved(
    reader: Reader, pair: Pair[Any], reads: Sequence[Sequence[Any]], epsilon: float
) -> bool:
    """Return whether parts of outputs are the same whatever an import or a first call drew.

    In several processes, whose imports and first calls draw other noise, and with the same frozen
    noise thereafter; and no value that came along with the code may be noise.
    """
    from dpaudit.execution.pool import Crew
    from dpaudit.execution.processes import Limits
    from dpaudit.execution.units import plan_units, stream
    from dpaudit.freezing.states import are_unmoved

    asked = _RerunValues(task_of(reader, pair, {"unmoved": [list(one) for one in reads]}))
    rounds, end = itertools.count(), monotonic() + min(reader.seconds / 2, _MOST_SECONDS)

    def values_in(processes: int) -> list[Any]:
        # Each round has a stream of its own: processes of two rounds that shared draws would
        # agree without any function of the data.
        seed = stream(reader.seed, "what a process keeps", str(next(rounds)))
        hands = [[unit] for unit in plan_units(processes, 1, seed)]
        with Crew(Limits(timeout=reader.seconds)) as crew:
            return [one for part in crew.deal(asked, hands, _WORKERS) for one in part]

    if not reads or not all(are_unmoved(values_in, epsilon, lambda: monotonic() > end)):
        return False
    return all(kind != "value carried along" for kind, _ in _find_touched_state(reader, pair))


class _RerunValues:
    """The parts of outputs in a process with its own noise, as a task."""

    def __init__(self, blob: bytes) -> None:
        self.blob = blob

    def __call__(self, unit: Unit) -> list[list[Any]]:
        """Return it of the process that calls this."""
        import cloudpickle

        from dpaudit.verification.rerun_replay import run_replay_task

        own = int(unit.generator().integers(1, 2**28))
        return list(
            json.loads(run_replay_task({**cloudpickle.loads(self.blob), "own": own}))["values"]
        )


def run_task_elsewhere(blob: bytes, reader: Reader, python: str | None = None) -> str:
    """Return the runs of a task in a process of its own; in one of another interpreter."""
    from dpaudit.execution.keeper import the_keeper
    from dpaudit.execution.pool import Crew
    from dpaudit.execution.processes import Limits
    from dpaudit.mechanisms.foreign.guard import add_mechanism_name

    the_keeper().preload(
        ["dpaudit.verification.rerun_replay", "dpaudit.mechanisms.foreign.calling"]
    )
    with (
        add_mechanism_name(shorten_repr(str(reader.mechanism))),
        Crew(Limits(timeout=reader.seconds), python) as crew,
    ):
        seen: dict[str, Any] = json.loads(crew.call(_run_pickled_task, blob))
        return json.dumps(seen | {"kept_files": crew.kept_files})


def beyond_data(reader: Reader, pair: Pair[Any]) -> list[str]:
    """Return a failure where answers that come back may be noise that is kept outside the call."""
    if not (found := _find_touched_state(reader, pair)):
        return []
    told = "; ".join(f"{kind} {shorten_repr(name)}" for kind, name in found[:3])
    return [f"counts: outputs repeat, and may be noise kept outside the call ({told})"]


def _find_touched_state(reader: Reader, pair: Pair[Any]) -> list[tuple[str, str]]:
    from dpaudit.mechanisms.foreign.code_mechanism import ObservationSettings
    from dpaudit.mechanisms.foreign.reached_state import beyond_data_of

    reading = ObservationSettings(reader.form, reader.read, ("exceptions",))
    return beyond_data_of(reader.mechanism, reading, (pair.dataset, pair.neighbour), reader.seed)


def _run_pickled_task(blob: bytes) -> str:
    import cloudpickle

    from dpaudit.verification.rerun_replay import run_replay_task

    return run_replay_task(cloudpickle.loads(blob))

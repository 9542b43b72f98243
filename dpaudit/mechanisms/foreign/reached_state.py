"""State beside its arguments that a mechanism reaches, as a new interpreter sees it."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import default_rng

from dpaudit._typing import Array
from dpaudit.errors import MechanismError
from dpaudit.execution.failures import CodeFailed, WorkerEnded
from dpaudit.execution.pool import Crew
from dpaudit.execution.units import stream
from dpaudit.mechanisms.foreign.code_mechanism import (
    ObservationSettings,
    make_with_layout,
    without_parts,
)
from dpaudit.mechanisms.foreign.in_worker import from_pickle
from dpaudit.mechanisms.foreign.instances import at_calls
from dpaudit.mechanisms.foreign.isolation import Isolation, isolate_mechanism, isolate_reference
from dpaudit.mechanisms.foreign.proxy import IsolatedMechanism
from dpaudit.mechanisms.foreign.touched_state import find_package_and_libraries, watch_calls
from dpaudit.mechanisms.outputs.recurrence import TOO_MANY, measure_recurrence
from dpaudit.mechanisms.outputs.steadiness import LAST_BITS
from dpaudit.watching.watch import Touch

_WATCHED = 3  # calls on either dataset whose touches are watched, the first with its imports
_OBSERVED = 16  # observations of each dataset that a layout is made of
_ANSWERS = 64  # of each dataset, where answers come back only now and then
_SECONDS = 2.0  # for them


def find_touches(
    mechanism: IsolatedMechanism, datasets: Sequence[Any], calls: int, entropy: int, ahead: int
) -> tuple[list[Touch], list[Array] | None, str]:
    """Return the state that import and some calls touch, their answers, and their failure.

    As `dpaudit.mechanisms.foreign.touched_state.watch_calls` says; an interpreter that ends has
    failed.

    Parameters
    ----------
    mechanism
        Whose code is looked at.
    datasets, calls, entropy
        On which it is called, how often on each, and with which generators.
    ahead
        Steps that the clocks are set forward; 0 leaves them alone.
    """
    try:
        known = mechanism.crew.call(find_package_and_libraries, mechanism)
        asked = list(datasets), calls, entropy, ahead, _is_carried_by_value(mechanism), known
        # A worker is a fork, which has imported everything; only a new interpreter imports it
        # again.
        with Crew(mechanism.crew.limits, python=sys.executable) as crew:
            with crew.by(mechanism.crew.until):
                touches, rows, failed = crew.call(watch_calls, *mechanism.made, *asked)
    except (MechanismError, WorkerEnded, CodeFailed) as error:
        return [], None, type(error).__name__
    seen = [(kind, name) for kind, name in touches]
    worked_out: list[Touch] = [("value carried along", name) for name in mechanism.worked_out]
    return list(dict.fromkeys([*seen, *worked_out])), rows, failed


def beyond_data(
    mechanism: IsolatedMechanism,
    datasets: Sequence[Any],
    seed: int,
    usual: Sequence[tuple[int, int, float]],
    answers: Sequence[Array] = (),
) -> list[Touch]:
    """Return the sources besides data of answers that never vary; nothing if there are none.

    Parameters
    ----------
    mechanism, datasets
        Whose code is looked at, and on what.
    seed
        Of the generators.
    usual
        Dataset, column and value of what never varies: at another time, in a new interpreter, it
        has to be the same.
    answers
        Of each dataset, from one process, each of shape ``(calls, columns)``: what comes back
        among them has to come back there as well.
    """
    entropy = int(stream(seed, "what is touched").generate_state(1)[0])
    calls = max([_WATCHED, *map(len, answers)])
    touches, rows, failed = find_touches(mechanism, datasets, calls, entropy, 1)
    if rows is None:  # it may be the clocks that it does not take
        touches, rows, failed = find_touches(mechanism, datasets, calls, entropy, 0)
        touches = [*touches, ("clock", "at another time it fails")]
    if rows is None:
        return [*touches, ("process", f"in a new interpreter it fails ({failed})")]
    flat = [np.asarray(side).reshape(len(side), -1) for side in rows]
    for side, column, value in usual:
        now = flat[side][:, column]
        if np.any(np.abs(now - value) > LAST_BITS * np.maximum(np.abs(now), abs(value))):
            return [_ELSEWHERE]
    kept = any(_comes_back(*both) for both in zip(answers, flat, strict=bool(answers)))
    return [_ELSEWHERE] if kept else touches


_ELSEWHERE = ("clock", "in a new interpreter, at another time, it returns something else")


def _comes_back(here: Array, there: Array) -> bool:
    """Return whether a column has values that come back in one process, and not in the other."""
    groups = np.repeat([0, 1], [len(here), len(there)])
    columns = np.concatenate([here, there]).T
    return any(measure_recurrence(column, groups) > TOO_MANY for column in columns)


def beyond_data_of(
    given: Any, reading: ObservationSettings, datasets: Sequence[Any], seed: int
) -> list[Touch]:
    """Return the result of `beyond_data` for code that has no process yet, if nothing varies.

    Parameters
    ----------
    given, reading
        The code, or ``"module:object"``, and how it is called.
    datasets, seed
        As of `beyond_data`.

    Raises
    ------
    InvalidArgument
        It is no mechanism.
    """
    place = isolate_reference if isinstance(given, str) else isolate_mechanism
    mechanism = place(given, Isolation(), reading).mechanism
    if not isinstance(mechanism, IsolatedMechanism):
        return [("process", "it cannot be sent to another one")]
    try:
        mechanism, usual = _prepare_layout(mechanism, datasets, seed)
        answers = [
            _draw_watched_answers(mechanism, one, seed + n) for n, one in enumerate(datasets)
        ]
        return beyond_data(mechanism, datasets, seed, usual, answers)
    except MechanismError:
        return [("process", "it fails in another one")]
    finally:
        mechanism.crew.close()


def _draw_watched_answers(mechanism: IsolatedMechanism, dataset: Any, seed: int) -> Array:
    """Return so many answers as there is time for, each as a row."""
    rng, rows, end = (
        default_rng(stream(seed, "answers")),
        list[Array](),
        time.monotonic() + _SECONDS,
    )
    while len(rows) < _WATCHED or (len(rows) < _ANSWERS and time.monotonic() < end):
        rows.append(mechanism.sample(dataset, 1, rng).reshape(1, -1))
    return np.concatenate(rows)


def _prepare_layout(
    mechanism: IsolatedMechanism, datasets: Sequence[Any], seed: int
) -> tuple[IsolatedMechanism, list[tuple[int, int, float]]]:
    """Return a mechanism with a layout, and the parts of its answers that never vary."""
    if mechanism.called_as is None:
        return mechanism, []
    rngs = [default_rng(stream(seed, "layout", str(n))) for n in range(len(datasets))]
    layout = mechanism.laid_out(datasets, _OBSERVED, rngs)
    mechanism, usual = mechanism.having(layout), list[tuple[int, int, float]]()
    for side, dataset in enumerate(datasets):
        row = mechanism.sample(dataset, 1, default_rng(stream(seed, "an answer", str(side))))
        steady = [n for n, one in enumerate(layout.columns) if one.steady]
        usual += [(side, n, float(row.reshape(-1)[n])) for n in steady]
    return mechanism, usual


def _is_carried_by_value(mechanism: IsolatedMechanism) -> bool:
    """Return whether the called code came by value, and was not made where it is."""
    make, given = mechanism.made
    while make in (make_with_layout, without_parts, at_calls):
        make, given = given[:2]
    return make is from_pickle and bool(mechanism.carried)

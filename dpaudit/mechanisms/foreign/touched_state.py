"""State beside its arguments that a mechanism touches, as seen by a process for this purpose alone.

Its import and some calls are watched: by Python's audit hooks, by the calls of compiled functions,
by the environment that it reads, and by how often the process asked the system to read. Clocks are
set forward (`dpaudit.watching.clocks`), and the interpreter is a new one, with hashes, addresses
and a number of its own. What then is the same, and touches nothing, is a function of its data;
values that travelled with the code are looked at as well
(`dpaudit.mechanisms.foreign.carried_values`).
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.random import SeedSequence, default_rng

import dpaudit.watching.outside as outside
from dpaudit._typing import Array
from dpaudit.mechanisms.foreign.calling import function_of
from dpaudit.mechanisms.foreign.carried_values import find_carried_noise
from dpaudit.mechanisms.foreign.outside import Outside
from dpaudit.mechanisms.mechanism import draw_checked_sample, name_of
from dpaudit.watching.clocks import Clocks
from dpaudit.watching.imports import keeps_nothing_read
from dpaudit.watching.watch import Touch, Watch, reads_so_far


def watch_calls(
    make: Callable[..., Any],
    arguments: tuple[Any, ...],
    datasets: Sequence[Any],
    calls: int,
    entropy: int,
    ahead: int,
    travelled: bool,
    beside: tuple[str, Sequence[str]],
) -> tuple[list[Touch], list[Array] | None, str]:
    """Return the state that the import and some calls touch, their answers, and their failure.

    It is called in a process that ends thereafter.

    Parameters
    ----------
    make, arguments
        A function that makes the mechanism, and its arguments.
    datasets
        On which it is called.
    calls
        Of each.
    entropy
        Of the generators.
    ahead
        Steps that the clocks are set forward; 0 leaves them alone.
    travelled
        Whether the mechanism came with values of another process, and was not made in this one.
    beside
        The package of the mechanism, whose import counts wherever it is installed; and modules that
        are imported beforehand, as they are: what they read is nothing to anybody.
    """
    own, libraries = beside
    for name in libraries:
        with contextlib.suppress(Exception):  # then the mechanism says what is wrong
            importlib.import_module(name)
    watch, rows, failed, before = Watch((own,)), None, "", set(sys.modules)
    if ahead:
        Clocks(ahead).install()
    watch.install()
    try:
        watch.on = True
        mechanism = make(*arguments)
        watch.on = False
        if keeps_nothing_read(function_of(mechanism), (own,), before):
            watch.touches.clear()  # what was read while it was imported is nothing to it
        for path in find_carried_noise(mechanism) if travelled else ():
            watch.note("value carried along", path)
        if isinstance(function := function_of(mechanism), Outside):
            watch.touches[function.reaches] = None
        rows = [
            _run_watched_calls(watch, mechanism, one, calls, entropy + n)
            for n, one in enumerate(datasets)
        ]
    except BaseException as error:  # other people's code
        watch.on, failed = False, type(error).__name__
    finally:
        watch.on = False
        sys.setprofile(None)
    return list(watch.touches), rows, failed


def find_package_and_libraries(mechanism: Any) -> tuple[str, list[str]]:
    """Return the package of a mechanism, and the modules of others that its process has."""
    own = _package_of(mechanism)
    found = [
        name
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] not in (own, "__main__", "dpaudit")
        if outside.place_of(getattr(module, "__file__", None) or "") in ("standard", "library")
    ]
    return own, sorted(found)


def _package_of(mechanism: Any) -> str:
    found = getattr(mechanism, "function", mechanism)
    return str(getattr(found, "__module__", type(found).__module__) or "").partition(".")[0]


def _run_watched_calls(
    watch: Watch, mechanism: Any, dataset: Any, calls: int, entropy: int
) -> Array:
    found = []
    for number in range(calls):
        rng = default_rng(SeedSequence(entropy, spawn_key=(number,)))
        watch.begin_call()
        opened, before = watch.opened, reads_so_far()
        watch.on = True
        found.append(draw_checked_sample(mechanism, dataset, 1, rng))
        watch.on = False
        # What was imported in a first call was read by Python itself.
        if number and before is not None and watch.opened == opened:
            after = reads_so_far()
            if after is not None and after - before > _OWN_READS:
                watch.note("compiled code", f"{name_of(mechanism)} reads a file")
    return np.concatenate(found)


_OWN_READS = 1  # of which one is that of the counter itself

"""Calls of which exceptions and warnings are observed, as calls that return them.

Two runs that take turns in one process would each write into the other's list of warnings: what
the module `warnings` holds goes with the run.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

from numpy.random import Generator

from dpaudit.mechanisms.foreign.calling import CallForm, Calls
from dpaudit.mechanisms.foreign.code_mechanism import CodeMechanism

_HELD = ("filters", "showwarning", "_showwarnmsg_impl")


class WarningState:
    """The content of the module `warnings` in one of two runs that take turns."""

    def __init__(self) -> None:
        self.keep()

    def keep(self) -> None:
        """Record the present content."""
        self._held = {name: vars(warnings)[name] for name in _HELD}

    def restore(self) -> None:
        """Let it hold the noted state."""
        vars(warnings).update(self._held)
        # CPython caches which warnings were shown by a version of the filters. Without this call it
        # would use what it cached for the other run's.
        if (mutated := vars(warnings).get("_filters_mutated")) is not None:
            mutated()


@dataclass(frozen=True)
class WatchedCalls:
    """Calls that return their output, their warnings and the errors they raise.

    Parameters
    ----------
    mechanism
        What is observed.
    """

    mechanism: CodeMechanism

    @property
    def function(self) -> Any:
        """The code itself."""
        return self.mechanism.calls.function

    @property
    def form(self) -> CallForm:
        """The form of a call."""
        return self.mechanism.calls.form

    def one(self, dataset: Any, rng: Generator) -> dict[str, Any]:
        """Return the observation of one call; of an exception, its kind and its words."""
        seen = self.mechanism.observe(dataset, rng)
        if isinstance(error := seen["output"], Exception):
            seen["output"] = {"raises": type(error).__name__, "says": str(error)}
        return seen

    def observations(self, dataset: Any, trials: int, rng: Generator) -> list[dict[str, Any]]:
        """Return the observations of so many calls."""
        with self.mechanism.calls.generators(rng):
            return [self.one(dataset, rng) for _ in range(trials)]


def calls_of(mechanism: CodeMechanism) -> Calls | WatchedCalls:
    """Return the calls of a mechanism with all that is observed of them."""
    return WatchedCalls(mechanism) if mechanism.watched else mechanism.calls

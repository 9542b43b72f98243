"""Results of units and decisions that a run need not compute again, if somebody keeps them.

A run whose numbers are functions of its seed can be interrupted anywhere: with the results of its
units, and with the few decisions that hang on a clock, it goes on as if nothing had been. This is
what runs ask; `dpaudit.store` answers from a file. Where nothing is kept, everything is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

from dpaudit.execution.units import Unit

FactT = TypeVar("FactT")


class KeptStage(Protocol):
    """The results of a stage's units, by their places in the plan."""

    @property
    def there(self) -> frozenset[int]:
        """Places of units whose results were kept before."""
        ...

    def load(self, place: int) -> Any:
        """Return a result that was kept before."""
        ...

    def keep(self, places: Sequence[int], results: Sequence[Any]) -> None:
        """Keep results, from which moment on nobody has to compute them again."""
        ...


class RunLedger:
    """The record of a run that keeps nothing.

    Attributes
    ----------
    seconds
        What the run had taken before it was interrupted.
    elsewhere
        What was different about the machine that began it, if anything was.

    Examples
    --------
    >>> get_current_ledger().fact("pace", lambda: 0.5)
    0.5
    """

    seconds: float = 0.0
    elsewhere: tuple[str, ...] = ()

    def fact(
        self, name: str, compute: Callable[[], FactT], about: Any = None, *, measures: bool = False
    ) -> FactT:
        """Return the decision under a name about something; make it the first time.

        It is made of numbers, arrays of them, text, lists, tuples and dictionaries. What it
        ``measures`` of the machine, as its pace, differs from run to run.
        """
        return compute()

    def knows(self, name: str) -> bool:
        """Return whether anything was decided under a name, by this run or before it."""
        return False

    def stage(
        self, task: Any, units: Sequence[Unit], name: str, *, measures: bool = False
    ) -> KeptStage | None:
        """Return the kept part of a stage, None if nothing can be kept.

        What it ``measures`` of the machine differs from run to run: of two stores the first counts.
        """
        return None

    def end(self) -> None:
        """Take note that the run ended with a result."""


_current: ContextVar[RunLedger] = ContextVar("ledger", default=RunLedger())  # noqa: B039


def get_current_ledger() -> RunLedger:
    """Return the ledger of the run that is under way here."""
    return _current.get()


@contextmanager
def set_current_ledger(ledger: RunLedger) -> Iterator[None]:
    """Let a ledger be the current one inside the block."""
    before = _current.set(ledger)
    try:
        yield
    finally:
        _current.reset(before)

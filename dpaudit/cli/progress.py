"""Progress on standard error: only a terminal sees it, and no result depends on it.

This is the one place that asks whether somebody is watching.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dpaudit.text import one_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from dpaudit.execution import Progress


class StageBar:
    """One bar for the stage an audit is in, started anew for every stage."""

    def __init__(self, bars: Bars, name: str) -> None:
        self._bars, self._name = bars, name
        self._task: TaskID = bars.add_task(one_line(name), total=None)

    def start(self, stage: str, trials: int) -> None:
        """Begin a stage of so many trials."""
        self._bars.remove_task(self._task)
        self._task = self._bars.add_task(one_line(f"{self._name}: {stage}"), total=trials)

    def advance(self, trials: int) -> None:
        """Add so many trials that are done."""
        self._bars.advance(self._task, trials)


@contextmanager
def progress_bar(name: str, *, shown: bool) -> Iterator[Progress]:
    """Show a bar on a terminal while the block runs, and clear it afterwards."""
    if _watched(shown):
        with bar(name, _screen()) as progress:
            yield progress
        return
    from dpaudit.execution import Silent

    yield Silent()


@contextmanager
def waiting(words: str) -> Iterator[None]:
    """Show a spinner on a terminal while the block runs."""
    if not _watched(True):
        yield
        return
    with _screen().status(words):
        yield


@contextmanager
def bar(name: str, console: Console) -> Iterator[StageBar]:
    """Show a bar with the time that is left while the block runs, and clear it afterwards."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bars:
        yield StageBar(bars, name)


def _watched(shown: bool) -> bool:
    return shown and sys.stderr is not None and sys.stderr.isatty()


def _screen() -> Console:
    from rich.console import Console

    return Console(stderr=True, markup=False, emoji=False)

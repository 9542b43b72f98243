"""A progress bar for long audits, on standard error, with an estimate of what remains."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


class StageBar:
    """Shows the stage an audit is in; one bar, started anew for every stage."""

    def __init__(self, progress: Progress, name: str) -> None:
        self._progress, self._name = progress, name
        self._task: TaskID = progress.add_task(name, total=None)

    def start(self, stage: str, trials: int) -> None:
        """Begin a stage of so many trials."""
        self._progress.remove_task(self._task)
        self._task = self._progress.add_task(f"{self._name}: {stage}", total=trials)

    def advance(self, trials: int) -> None:
        """Say that so many more trials are done."""
        self._progress.advance(self._task, trials)


@contextmanager
def bar(name: str) -> Iterator[StageBar]:
    """Show a bar while the block runs, and clear it afterwards."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield StageBar(progress, name)

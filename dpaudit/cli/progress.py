"""Progress on standard error: only a terminal sees it, and no result depends on it.

This is the one place that asks whether somebody is watching.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any

from dpaudit.escaping import one_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bars
    from rich.progress import Task, TaskID

    from dpaudit.execution import Progress


class StageBar:
    """One bar for the stage an audit is in, started anew for every stage."""

    def __init__(self, bars: Bars, name: str) -> None:
        self._bars, self._name = bars, name
        self._task: TaskID = bars.add_task(one_line(name), total=None)

    def start(self, stage: str, trials: int) -> None:
        """Begin a stage of so many trials."""
        self._bars.remove_task(self._task)
        self._task = self._bars.add_task(
            one_line(f"{self._name}: {stage}"), total=trials, step=0, since=monotonic()
        )

    def tell(self, words: str) -> None:
        """Show a line above the bar, which stays."""
        self._bars.console.print(one_line(words), style="dim")

    def advance(self, trials: int) -> None:
        """Add so many trials that are done."""
        self._bars.update(self._task, advance=trials, step=trials, since=monotonic())

    @staticmethod
    def expected(task: Task) -> float:
        """Return about how many more trials than are known are done, less than the last result's.

        Examples
        --------
        >>> from rich.progress import Progress
        >>> with Progress(disable=True) as bars:
        ...     stage = StageBar(bars, "doctest")
        ...     stage.start("drawing", 100)
        ...     before = StageBar.expected(bars.tasks[0])
        ...     stage.advance(40)
        ...     before, 0 <= StageBar.expected(bars.tasks[0]) < 40
        (0.0, True)
        """
        step, since = task.fields.get("step", 0), task.fields.get("since", 0.0)
        passed, elapsed = monotonic() - since, task.elapsed or 0.0
        if not step or elapsed <= passed:
            return 0.0
        pace = task.completed / (elapsed - passed)
        # The bar stops short of one more result, as the last one may have been quick and the
        # next one slow.
        return float(min(pace * passed, 0.95 * step, (task.total or 0) - task.completed))


@contextmanager
def progress_bar(name: str, *, shown: bool) -> Iterator[Progress]:
    """Show a bar on a terminal while the block runs, and clear it afterwards."""
    if _is_terminal_shown(shown):
        with show_stage_bar(name, _make_error_console()) as progress:
            yield progress
        return
    from dpaudit.execution import Silent

    yield Silent()


@contextmanager
def show_spinner(words: str) -> Iterator[None]:
    """Show a spinner on a terminal while the block runs."""
    if not _is_terminal_shown(True):
        yield
        return
    with _make_error_console().status(words):
        yield


@contextmanager
def show_stage_bar(name: str, console: Console) -> Iterator[StageBar]:
    """Show a bar with the time that is left while the block runs, and clear it afterwards."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    class Moving(BarColumn):
        """Moves on between two results by the pace of those before, and never past the next."""

        def render(self, task: Task) -> Any:
            seen = replace(task)
            seen.completed = task.completed + StageBar.expected(task)
            return super().render(seen)

    columns = (
        TextColumn("{task.description}", markup=False),
        Moving(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bars:
        yield StageBar(bars, name)


def _is_terminal_shown(shown: bool) -> bool:
    # Python sets `sys.stderr` to None where a program has no console, as under pythonw.
    return shown and sys.stderr is not None and sys.stderr.isatty()


def _make_error_console() -> Console:
    from rich.console import Console

    return Console(stderr=True, markup=False, emoji=False)

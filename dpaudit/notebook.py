"""The display of a notebook: pieces of HTML without script, and a bar for long computations.

A piece takes its colours from the page, has a caption and headed columns for who hears it read, and
refers to nothing outside of it. IPython is never imported here: who runs inside a notebook has it.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Sequence
from html import escape
from time import monotonic
from typing import Any

from dpaudit.escaping import one_line

# Most stages take less: a bar that appears and goes at once would only flicker.
AFTER = 1.0  # seconds until a bar is shown
EVERY = 0.25  # seconds between two changes of it
_CELL = 'style="text-align:left;vertical-align:top;padding:0.1em 1em 0.1em 0"'
_WIDE = 'style="max-width:36em"'


def render_line(text: str) -> str:
    r"""Return text as HTML says it: on one line, nothing in it markup.

    Examples
    --------
    >>> render_line("a < b\n\x1b[31m")
    'a &lt; b �[31m'
    """
    return escape(one_line(text))


def render_piece(title: str, sentences: Iterable[str], *parts: str) -> str:
    """Return a piece of a notebook: a title, sentences, and parts that are HTML already.

    Examples
    --------
    >>> render_piece("sum: refuted", ["1.9 exceeds 1."])
    '<div style="max-width:36em"><p><strong>sum: refuted</strong></p><p>1.9 exceeds 1.</p></div>'
    """
    said = "".join(f"<p>{render_line(one)}</p>" for one in sentences)
    return f"<div {_WIDE}><p><strong>{render_line(title)}</strong></p>{said}{''.join(parts)}</div>"


def render_notebook_table(
    caption: str, columns: Sequence[str], rows: Iterable[Sequence[str]]
) -> str:
    """Return a table with a caption, a head, and the first cell of each row as its name.

    Examples
    --------
    >>> 'scope="row"' in render_notebook_table("Epsilon", ["who", "says"], [["basic", "1.0"]])
    True
    >>> "></th>" in render_notebook_table(
    ...     "Epsilon", ["", "says"], [["basic", "1.0"]]
    ... )  # nothing heads nothing
    False
    """
    head = "".join(
        f'<th scope="col" {_CELL}>{render_line(one)}</th>' if one else "<td></td>"
        for one in columns
    )
    body = "".join(
        f'<tr><th scope="row" {_CELL}>{render_line(name)}</th>'
        + "".join(f"<td {_CELL}>{render_line(one)}</td>" for one in cells)
        + "</tr>"
        for name, *cells in rows
    )
    return (
        f'<table><caption style="text-align:left">{render_line(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def own_prefix(text: str) -> str:
    """Return a prefix for ids that only a piece of the same text has: a page shows many.

    Examples
    --------
    >>> own_prefix("one") == own_prefix("one"), own_prefix("one") == own_prefix("two")
    (True, False)
    """
    return f"dpaudit-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


# Progress


def is_notebook() -> bool:
    """Return whether this process is the kernel of a notebook.

    Examples
    --------
    >>> is_notebook()
    False
    """
    library = sys.modules.get("IPython")
    shell = None if library is None else library.get_ipython()
    return getattr(shell, "kernel", None) is not None


class NotebookBar:
    """A bar of the stage that is under way, below the cell; gone when the stage is done.

    Parameters
    ----------
    display
        `IPython.display.display`.
    """

    def __init__(self, display: Any) -> None:
        self._display = display
        self._handle: Any = None
        self._stage, self._trials, self._done = "", 0, 0
        self._began = self._changed = monotonic()

    def start(self, stage: str, trials: int) -> None:
        """Begin a stage of so many trials."""
        self._clear()
        self._stage, self._trials, self._done = stage, trials, 0
        self._began = self._changed = monotonic()

    def advance(self, trials: int) -> None:
        """Add so many trials that are done."""
        self._done += trials
        if self._done >= self._trials:
            self._clear()
        elif (now := monotonic()) - self._began > AFTER and now - self._changed > EVERY:
            self._changed = now
            self._show(now - self._began)

    def _show(self, seconds: float) -> None:
        left = seconds * (self._trials - self._done) / max(self._done, 1)
        said = f"{self._stage}: {self._done:,} of {self._trials:,}, about {left:.0f} s left"
        bar = f'<progress max="{self._trials}" value="{self._done}"></progress>'
        self._put(f"<label>{render_line(said)} {bar}</label>")

    def _put(self, html: str) -> None:
        shown = {"text/html": html, "text/plain": ""}
        if self._handle is None:
            self._handle = self._display(shown, raw=True, display_id=True)
        else:
            self._handle.update(shown, raw=True)

    def _clear(self) -> None:
        if self._handle is not None:
            self._put("")


def notebook_bar() -> NotebookBar | None:
    """Return a bar if this process is the kernel of a notebook."""
    if not is_notebook():
        return None
    return NotebookBar(sys.modules["IPython"].display.display)

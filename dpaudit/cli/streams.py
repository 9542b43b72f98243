"""Standard output, which results go to, and standard error, which nothing depends on.

A result that cannot be written is an error. The stream is the one that the run began with: other
people's code may put another in its place.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from dpaudit.escaping import json_escaped, make_printable

_results: ContextVar[Any] = ContextVar("results", default=None)


@contextlib.contextmanager
def results_on_standard_output() -> Iterator[None]:
    """Write results to the present standard output, whatever becomes of `sys.stdout`.

    What its encoding lacks is escaped. Its buffer is empty at the end, or it is an error.

    Raises
    ------
    DataError
        Standard output is closed, or cannot be written.
    """
    from dpaudit.errors import DataError

    if sys.stdout is None:
        raise DataError(
            "standard output: is closed, so no result could be shown; leave it open, or send it "
            "to a file or /dev/null"
        )
    if hasattr(sys.stdout, "reconfigure"):
        # A terminal whose encoding lacks a letter such as epsilon would otherwise end the
        # command with an error after its work was done.
        sys.stdout.reconfigure(errors="backslashreplace")
    begun = _results.set(sys.stdout)
    try:
        yield
        with convert_write_errors():
            # A full disk shows only when the buffer is written. It must show before the status
            # of a verdict is chosen.
            get_results_stream().flush()
    except BaseException:
        # The first error is the one to tell; that the rest cannot be written either adds
        # nothing.
        with contextlib.suppress(DataError), convert_write_errors():
            get_results_stream().flush()
        raise
    finally:
        _results.reset(begun)


def get_results_stream() -> Any:
    """Return the stream that results go to."""
    return _results.get() or sys.stdout


@contextlib.contextmanager
def convert_write_errors() -> Iterator[None]:
    """Turn a failure to write results in the block into an error of one line.

    Raises
    ------
    DataError
        They could not be written. What is left of them is dropped: it would fail once more when
        Python ends.
    """
    from dpaudit.errors import DataError

    try:
        yield
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        _drop_stream_buffer(get_results_stream())
        raise DataError(
            f"standard output: cannot be written ({why}), so not everything was shown; run it "
            "again with room for all of it, and --out DIRECTORY where there are reports to keep"
        ) from error


def write_result_text(text: str) -> None:
    r"""Write text as a result, as a terminal can show it (`dpaudit.escaping.make_printable`).

    Examples
    --------
    >>> write_result_text("all of it\a")
    all of it�
    """
    with convert_write_errors():
        get_results_stream().write(f"{make_printable(text)}\n")


def write_now(text: str) -> None:
    """Write text as a result that somebody waits for.

    Examples
    --------
    >>> write_now("so far")
    so far
    """
    write_result_text(text)
    with convert_write_errors():
        get_results_stream().flush()


def write_json(text: str) -> None:
    r"""Write JSON as a result, with escapes for characters that a terminal cannot show.

    Examples
    --------
    >>> write_json('{"claimed": "ε"}')
    {"claimed": "ε"}
    """
    encoding, text = getattr(get_results_stream(), "encoding", None) or "utf-8", json_escaped(text)
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = in_ascii(text)
    write_result_text(text)


def in_ascii(text: str) -> str:
    r"""Return the same JSON in ASCII.

    Examples
    --------
    >>> print(in_ascii('{"claimed": "ε"}'))
    {"claimed": "\u03b5"}
    """
    # `json.dumps` writes a pair of surrogates for what lies beyond the basic plane, as JSON
    # asks.
    return re.sub(r"[^\x00-\x7f]", lambda found: json.dumps(found[0])[1:-1], text)


def write_to_stderr(line: str) -> None:
    """Write a line to standard error; where that is closed or full, nobody is told."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(f"{make_printable(line)}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        _drop_stream_buffer(sys.stderr)


def _drop_stream_buffer(stream: Any) -> None:
    """Let the buffer of a stream that cannot be written run empty into nothing."""
    with contextlib.suppress(OSError, ValueError):
        descriptor = stream.fileno()
        # Python flushes the stream once more when it exits, and would print a second error and
        # change the status. The file descriptor is led to nothing instead.
        nothing = os.open(os.devnull, os.O_WRONLY)
        if nothing != descriptor:
            os.dup2(nothing, descriptor)
            os.close(nothing)

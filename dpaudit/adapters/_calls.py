"""The common part of the adapters: one call a trial, and errors that name a missing package."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from dpaudit._typing import Array
from dpaudit.errors import DpauditError, InvalidArgument
from dpaudit.redaction import Record


def collect_call_outputs(call: Callable[[int], Any], trials: int) -> Array:
    """Return ``call(0), call(1), ...`` as outputs, shape ``(trials, ...)``.

    Raises
    ------
    InvalidArgument
        The outputs are no numbers, or not all of one shape.

    Examples
    --------
    >>> collect_call_outputs(lambda trial: [trial, 1.0], 2)
    array([[0., 1.],
           [1., 1.]])
    """
    outputs = [call(trial) for trial in range(trials)]
    try:
        return np.asarray(outputs, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        expected = (
            "numbers, the same count in every output: map the value that the library returns "
            "to numbers"
        )
        raise InvalidArgument("output", Record(outputs[0]), expected) from None


@contextmanager
def convert_library_import_errors(library: str, extra: str) -> Iterator[None]:
    """Turn a failed import of the library into an error that names the remedy."""
    try:
        yield
    except ImportError as error:
        # Another module that is missing inside of the user's function is an error of theirs, with
        # its own message.
        if (error.name or "").partition(".")[0] != library:
            raise
        raise DpauditError(
            f"{library} is not installed, or not for these versions of its dependencies: "
            f"pip install 'dpaudit[{extra}]'"
        ) from error


def one_value(dataset: Any) -> float:
    """Return the only entry of a dataset.

    Examples
    --------
    >>> one_value(np.array([2.5]))
    2.5
    """
    values = np.asarray(dataset, dtype=np.float64)
    if values.size != 1:
        expected = "one entry, or a query that maps the dataset to what is released"
        raise InvalidArgument("dataset", Record(dataset), expected)
    return float(values.item())

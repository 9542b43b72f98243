"""Datasets as Python that can be pasted; for such as are nobody's records."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LONGEST = 600


def written(dataset: Any) -> str | None:
    """Return a dataset as an expression of Python; None if it is too long, or of its own kind.

    Examples
    --------
    >>> written((np.array([[1.0]]), np.array([2])))
    '(np.array([[1.0]]), np.array([2]))'
    >>> written(np.array([0.0] * 40 + [np.nan]))
    'np.array([0.0] * 40 + [np.nan])'
    """
    text = _expression(dataset)
    return None if text is None or len(text) > _LONGEST else text


def _expression(dataset: Any) -> str | None:
    if isinstance(dataset, np.ndarray):
        return _of_array(dataset)
    if isinstance(dataset, tuple):
        parts = [_expression(one) for one in dataset]
        return None if None in parts else f"({', '.join(map(str, parts))})"
    if isinstance(dataset, list | int | float | str):
        return _text(dataset)
    if hasattr(dataset, "iloc") and hasattr(dataset, "columns"):
        return _of_frame(dataset)
    if hasattr(dataset, "edges") and hasattr(dataset, "nodes"):
        nodes, edges = list(dataset.nodes), list(dataset.edges)
        return f"nx.from_dict_of_lists({_neighbours(nodes, edges)!r})"
    return None


def _of_array(array: NDArray[Any]) -> str:
    """Return an array as Python: with its type and its shape where its values do not say them."""
    values = array.tolist()
    again = np.array(values)
    dtype = array.dtype.str if array.dtype.kind in "US" else array.dtype.name
    said = "" if again.dtype == array.dtype else f", dtype={dtype!r}"
    if array.ndim > 1 and not array.size:
        said = "" if array.dtype == np.float64 else f", dtype={dtype!r}"
        return f"np.empty({array.shape}{said})"
    return f"np.array({_text(values)}{said})"


def _of_frame(frame: Any) -> str | None:
    """Return a table as Python: with the type of each column that its values do not say."""
    if not frame.columns.is_unique:
        return None
    parts = [f"{name!r}: {_of_column(column)}" for name, column in frame.items()]
    rows = frame.index.tolist()
    index = "" if rows == list(range(len(rows))) else f".set_axis({_text(rows)})"
    return f"pd.DataFrame({{{', '.join(parts)}}}){index}"


def _of_column(column: Any) -> str:
    values, dtype = column.tolist(), column.dtype
    if str(dtype) == "category":
        ordered = ", ordered=True" if dtype.ordered else ""
        return f"pd.Categorical({_text(values)}, {_text(dtype.categories.tolist())}{ordered})"
    has_unit = dtype.kind == "M"  # which days that are written do not have
    is_said = bool(values) and not has_unit and type(column)(values).dtype == dtype
    return _text(values) if is_said else f"pd.Series({_text(values)}, dtype={str(dtype)!r})"


def _text(value: Any) -> str:
    """Return a value as Python: what comes several times in a row is written once."""
    if isinstance(value, list):
        return _listed(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_text(one)}" for key, one in value.items()) + "}"
    if type(value).__name__ in ("NAType", "NaTType"):
        return f"pd.{'NA' if type(value).__name__ == 'NAType' else 'NaT'}"
    if isinstance(value, datetime.datetime):
        return f"pd.Timestamp({value.isoformat()!r})"
    if isinstance(value, float) and value != value:
        return "np.nan"
    return {"inf": "np.inf", "-inf": "-np.inf"}.get(repr(value), repr(value))


def _listed(values: Sequence[Any]) -> str:
    texts = [_text(one) for one in values]
    runs = [(text, sum(1 for _ in some)) for text, some in groupby(texts)]
    plain, short = f"[{', '.join(texts)}]", " + ".join(_joined(runs))
    return short if runs and len(short) < len(plain) else plain


def _joined(runs: Sequence[tuple[str, int]]) -> list[str]:
    """Return lists that add up to what comes so many times in a row."""
    found = list[str]()
    is_long: Callable[[tuple[str, int]], bool] = lambda run: run[1] > 2  # noqa: E731
    for repeats, some in groupby(runs, is_long):
        if repeats:
            found += [f"[{text}] * {count}" for text, count in some]
        else:
            found.append(f"[{', '.join(text for text, count in some for _ in range(count))}]")
    return found


def _neighbours(nodes: list[Any], edges: list[Any]) -> dict[Any, list[Any]]:
    return {node: [b for a, b in edges if a == node] for node in nodes}

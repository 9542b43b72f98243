"""Datasets as Python that can be pasted; for such as are nobody's records."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LONGEST = 600


def format_pasted_dataset(dataset: Any) -> str | None:
    """Return a dataset as an expression of Python; None if it is too long, or of its own kind.

    Examples
    --------
    >>> format_pasted_dataset((np.array([[1.0]]), np.array([2])))
    '(np.array([[1.0]]), np.array([2]))'
    >>> format_pasted_dataset(np.array([0.0] * 40 + [np.nan]))
    'np.array([0.0] * 40 + [np.nan])'
    """
    text = _format_dataset_expression(dataset)
    return None if text is None or len(text) > _LONGEST else text


def _format_dataset_expression(dataset: Any) -> str | None:
    if isinstance(dataset, np.ndarray):
        return _of_array(dataset)
    if isinstance(dataset, tuple):
        parts = [_format_dataset_expression(one) for one in dataset]
        return None if None in parts else f"({', '.join(map(str, parts))})"
    if isinstance(dataset, list | int | float | str):
        return _format_python_value(dataset)
    if hasattr(dataset, "iloc") and hasattr(dataset, "columns"):
        return _of_frame(dataset)
    if hasattr(dataset, "edges") and hasattr(dataset, "nodes"):
        nodes, edges = list(dataset.nodes), list(dataset.edges)
        return f"nx.from_dict_of_lists({_build_adjacency_lists(nodes, edges)!r})"
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
    return f"np.array({_format_python_value(values)}{said})"


def _of_frame(frame: Any) -> str | None:
    """Return a table as Python: with the type of each column that its values do not say."""
    if not frame.columns.is_unique:
        return None
    parts = [f"{name!r}: {_of_column(column)}" for name, column in frame.items()]
    rows = frame.index.tolist()
    index = "" if rows == list(range(len(rows))) else f".set_axis({_format_python_value(rows)})"
    return f"pd.DataFrame({{{', '.join(parts)}}}){index}"


def _of_column(column: Any) -> str:
    values, dtype = column.tolist(), column.dtype
    if str(dtype) == "category":
        ordered = ", ordered=True" if dtype.ordered else ""
        return (
            f"pd.Categorical({_format_python_value(values)}, "
            f"{_format_python_value(dtype.categories.tolist())}{ordered})"
        )
    has_unit = dtype.kind == "M"  # which days that are written do not have
    is_said = bool(values) and not has_unit and type(column)(values).dtype == dtype
    return (
        _format_python_value(values)
        if is_said
        else f"pd.Series({_format_python_value(values)}, dtype={str(dtype)!r})"
    )


def _format_python_value(value: Any) -> str:
    """Return a value as Python: a part that comes several times in a row is written once."""
    if isinstance(value, list):
        return _format_repeated_list(value)
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{key!r}: {_format_python_value(one)}" for key, one in value.items())
            + "}"
        )
    if type(value).__name__ in ("NAType", "NaTType"):
        return f"pd.{'NA' if type(value).__name__ == 'NAType' else 'NaT'}"
    if isinstance(value, datetime.datetime):
        return f"pd.Timestamp({value.isoformat()!r})"
    if isinstance(value, float) and value != value:
        return "np.nan"
    return {"inf": "np.inf", "-inf": "-np.inf"}.get(repr(value), repr(value))


def _format_repeated_list(values: Sequence[Any]) -> str:
    texts = [_format_python_value(one) for one in values]
    runs = [(text, sum(1 for _ in some)) for text, some in groupby(texts)]
    plain, short = f"[{', '.join(texts)}]", " + ".join(_format_list_runs(runs))
    return short if runs and len(short) < len(plain) else plain


def _format_list_runs(runs: Sequence[tuple[str, int]]) -> list[str]:
    """Return lists that add up to the parts that come so many times in a row."""
    found = list[str]()
    is_long: Callable[[tuple[str, int]], bool] = lambda run: run[1] > 2  # noqa: E731
    for repeats, some in groupby(runs, is_long):
        if repeats:
            found += [f"[{text}] * {count}" for text, count in some]
        else:
            found.append(f"[{', '.join(text for text, count in some for _ in range(count))}]")
    return found


def _build_adjacency_lists(nodes: list[Any], edges: list[Any]) -> dict[Any, list[Any]]:
    return {node: [b for a, b in edges if a == node] for node in nodes}

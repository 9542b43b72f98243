"""Datasets as Python that can be pasted; for such as are nobody's records."""

from __future__ import annotations

from typing import Any

import numpy as np

_LONGEST = 600


def written(dataset: Any) -> str | None:
    """Return a dataset as an expression of Python; None if it is too long, or of its own kind.

    Examples
    --------
    >>> written((np.array([[1.0]]), np.array([2])))
    '(np.array([[1.0]]), np.array([2]))'
    """
    text = _expression(dataset)
    return None if text is None or len(text) > _LONGEST else text


def _expression(dataset: Any) -> str | None:
    if isinstance(dataset, np.ndarray):
        return f"np.array({dataset.tolist()!r})".replace("nan", "np.nan")
    if isinstance(dataset, tuple):
        parts = [_expression(one) for one in dataset]
        return None if None in parts else f"({', '.join(map(str, parts))})"
    if isinstance(dataset, list | int | float | str):
        return repr(dataset)
    if hasattr(dataset, "to_dict") and hasattr(dataset, "columns"):
        return f"pd.DataFrame({dataset.to_dict('list')!r})"
    if hasattr(dataset, "edges") and hasattr(dataset, "nodes"):
        nodes, edges = list(dataset.nodes), list(dataset.edges)
        return f"nx.from_dict_of_lists({_neighbours(nodes, edges)!r})"
    return None


def _neighbours(nodes: list[Any], edges: list[Any]) -> dict[Any, list[Any]]:
    return {node: [b for a, b in edges if a == node] for node in nodes}

"""Values of a finding as short literals of Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dpaudit.scan.reproduction.values import format_expression

_REPEATED = 4  # equal items in a row from which on they are multiplied


def format_short_literal(value: Any) -> str:
    """Return a value as short Python: repeated values of a list are multiplied.

    Examples
    --------
    >>> format_short_literal([0.0] * 9 + [1.0]), format_short_literal(np.array([[1, 2]] * 5))
    ('[0.0] * 9 + [1.0]', 'np.array([[1, 2]] * 5)')
    """
    if isinstance(value, np.ndarray) and value.size:
        plain = format_expression(value)
        listed = format_expression(value.tolist())
        return plain.replace(listed, format_short_literal(value.tolist()), 1)
    if isinstance(value, list) and len(value) > _REPEATED:
        return _format_repeated_items([format_short_literal(one) for one in value])
    if isinstance(value, list):
        return f"[{', '.join(map(format_short_literal, value))}]"
    if isinstance(value, tuple):
        inner = ", ".join(map(format_short_literal, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(
                f"{format_expression(k)}: {format_short_literal(v)}" for k, v in value.items()
            )
            + "}"
        )
    return format_expression(value).replace("float('nan')", 'float("nan")')


def _format_repeated_items(items: Sequence[str]) -> str:
    parts, plain = list[str](), list[str]()
    for text, times in _split_equal_runs(items):
        if times <= _REPEATED:
            plain += [text] * times
            continue
        if plain:
            parts.append(f"[{', '.join(plain)}]")
        parts.append(f"[{text}] * {times}")
        plain = []
    if plain:
        parts.append(f"[{', '.join(plain)}]")
    return " + ".join(parts)


def _split_equal_runs(items: Sequence[str]) -> Iterator[tuple[str, int]]:
    start = 0
    for place in range(1, len(items) + 1):
        if place == len(items) or items[place] != items[start]:
            yield items[start], place - start
            start = place

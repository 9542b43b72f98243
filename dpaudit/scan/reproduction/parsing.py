"""Python's parser for the threads of a scan, which read sources at the same time."""

from __future__ import annotations

import ast
import threading

# CPython 3.11 counts the depth of all threads together while it makes nodes (issue 106905): two
# that parse at once end with a SystemError.
_ONE_AT_A_TIME = threading.Lock()


def parse_source(source: str) -> ast.Module:
    """Return the tree of a source; threads take turns.

    Raises
    ------
    SyntaxError
        It is no Python.

    Examples
    --------
    >>> ast.unparse(parse_source("x=1"))
    'x = 1'
    """
    with _ONE_AT_A_TIME:
        return ast.parse(source)


def parse_expression(source: str) -> ast.expr:
    """Return the tree of an expression; threads take turns.

    Raises
    ------
    SyntaxError
        It is no expression.

    Examples
    --------
    >>> ast.unparse(parse_expression("1+x"))
    '1 + x'
    """
    with _ONE_AT_A_TIME:
        return ast.parse(source, mode="eval").body

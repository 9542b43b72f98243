"""Python to paste into a test that failed: the same call, as a replay that names the line."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from typing import Any

from dpaudit.neighbours import Pair

_PLAIN = (bool, int, float, str, tuple, list, dict)


def replay_snippet(source: str, line: int, dataset: Any, settings: Mapping[str, Any]) -> str | None:
    """Return a statement that replays the code that a call of a test audits; None where none can.

    What the call was given stands in the statement as the test has it, so that it holds no value
    of a record that the test does not hold.

    Parameters
    ----------
    source, line
        Of the test's file, and the line of the call.
    dataset
        What stands in the place of the dataset: a pair is taken apart.
    settings
        Of the audit, by their names, where the call itself does not state them.

    Examples
    --------
    >>> print(replay_snippet("dp_audit(noisy, [0.0], [1.0], trials=9)", 1, [0.0], {"epsilon": 1}))
    import dpaudit; print(dpaudit.replay(noisy, [0.0], [1.0], epsilon=1))
    """
    call = _call_at(source, line)
    if call is None or not call.args or any(isinstance(one, ast.Starred) for one in call.args):
        return None
    given = {
        key.arg: ast.unparse(key.value)
        for key in call.keywords
        if key.arg in _get_replay_parameters()
    }
    given |= {
        name: repr(value)
        for name, value in settings.items()
        if name in _get_replay_parameters() and name not in given and isinstance(value, _PLAIN)
    }
    if "epsilon" not in given:
        return None
    places = [ast.unparse(one) for one in call.args]
    if isinstance(dataset, Pair):
        places[1:2] = [f"({places[1]}).dataset", f"({places[1]}).neighbour"] if places[1:] else []
        given.setdefault("relation", repr(dataset.relation.name))
    said = [*places, *(f"{name}={value}" for name, value in given.items())]
    return f"import dpaudit; print(dpaudit.replay({', '.join(said)}))"


def _get_replay_parameters() -> frozenset[str]:
    """Return the names of the parameters of a replay."""
    from dpaudit.replaying.api import replay

    return frozenset(inspect.signature(replay).parameters)


def _call_at(source: str, line: int) -> ast.Call | None:
    """Return the outermost call that stands at a line; None if none does."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return None
    calls = (one for one in ast.walk(tree) if isinstance(one, ast.Call))
    # `ast.walk` goes level by level, so that the first call that is found is the outermost.
    return next((one for one in calls if one.lineno <= line <= (one.end_lineno or line)), None)

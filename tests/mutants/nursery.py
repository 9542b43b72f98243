"""A process that has imported other people's packages, and forks itself for every run of pytest.

Those imports take four seconds, longer than most tests that kill a fault. Reads a line of JSON for
each run (``arguments`` of pytest, ``log`` for its output) and prints two: the child's process
number and, once it has ended, its status. Nothing of dpaudit is imported here.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback

import pytest

BEFORE = """
    hypothesis hypothesis.strategies jinja2 joblib jsonschema matplotlib.pyplot mpmath networkx
    numpy pandas pydantic rich.console scipy.optimize scipy.signal scipy.special scipy.stats
    sklearn.linear_model threadpoolctl typer typer.testing
""".split()


def main() -> None:
    """Answer line after line until there are no more."""
    for name in BEFORE:
        importlib.import_module(name)
    print("ready", flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if not child:
            _test(asked["arguments"], asked["log"])
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _test(arguments: list[str], log: str) -> None:
    os.setsid()  # to be killed with all processes that it starts
    status = 3  # what pytest calls an internal error
    try:
        for stream, path, mode in (
            (0, os.devnull, os.O_RDONLY),
            (1, log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        ):
            os.dup2(os.open(path, mode), stream)
        os.dup2(1, 2)
        status = int(pytest.main(arguments))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    main()

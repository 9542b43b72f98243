"""Interpreters of a version of Python: this one, those on the path, pyenv's and uv's."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

# Distributions split Python: some interpreters run and lack what an environment is made with.
_ASKED = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"


def find_interpreter(version: str, given: Iterable[str] = ()) -> str | None:
    """Return a Python that runs and can make environments, None if there is none.

    Parameters
    ----------
    version
        Such as "3.12".
    given
        Commands that are tried first.

    Examples
    --------
    >>> find_interpreter("2.1") is None
    True
    """
    return next(
        (
            one
            for one in _generate_interpreter_paths(version, given)
            if _ask_python_version(one) == version
        ),
        None,
    )


def _generate_interpreter_paths(version: str, given: Iterable[str]) -> Iterator[str]:
    yield from given
    yield sys.executable
    if there := shutil.which(f"python{version}"):
        yield there
    homes = (os.environ.get("PYENV_ROOT"), Path.home() / ".pyenv")
    for home in (Path(one) / "versions" for one in homes if one):
        yield from map(
            str,
            sorted(home.glob(f"{version}.*/bin/python"), key=_parse_patch_version, reverse=True),
        )
    if uv := shutil.which("uv"):
        # Offline, as a look for an interpreter must not install one.
        yield _read_command_output([uv, "python", "find", "--offline", version])


def _parse_patch_version(python: Path) -> tuple[int, ...]:
    """Return the numbers of the version in whose folder a Python is."""
    return tuple(map(int, re.findall(r"\d+", python.parts[-3])))


def _ask_python_version(command: str) -> str:
    """Return the version that a command says it is; version managers leave names that fail."""
    return _read_command_output([command, "-c", _ASKED])


def _read_command_output(command: list[str]) -> str:
    """Return the output of a command, nothing if it does not run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()

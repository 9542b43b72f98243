"""Where the supported Pythons are: named ones, this one, those on the path, pyenv's and uv's."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

_ASKED = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"


def found(minor: int, given: Iterable[str] = ()) -> str | None:
    """Return a Python 3 of this minor that runs and can make environments, or None."""
    candidates = _candidates(minor, given)
    return next((one for one in candidates if _says(one) == f"3.{minor}"), None)


def _candidates(minor: int, given: Iterable[str]) -> Iterator[str]:
    yield from given
    yield sys.executable
    if there := shutil.which(f"python3.{minor}"):
        yield there
    homes = (os.environ.get("PYENV_ROOT"), Path.home() / ".pyenv")
    for home in (Path(one) / "versions" for one in homes if one):
        yield from map(str, sorted(home.glob(f"3.{minor}.*/bin/python"), reverse=True))
    if uv := shutil.which("uv"):
        asked = [uv, "python", "find", "--offline", f"3.{minor}"]
        yield subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()


def _says(command: str) -> str:
    """Return the version that a command says it is; version managers leave names that fail."""
    try:
        asked = [command, "-c", _ASKED]
        done = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()

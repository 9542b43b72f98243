"""Parts of a machine that may change a number: its processor, packages, and this code."""

from __future__ import annotations

import hashlib
import importlib.util
import platform
from collections.abc import Iterable
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

_SIZE = 16
_OURS = "dpaudit"


def machine_here() -> dict[str, str]:
    """Return the parts of this machine that may change the last bits of a number."""
    names = ("dpaudit", "numpy", "scipy", "scikit-learn")
    return {
        "processor": _get_processor_name(),
        "system": platform.system(),
        "python": platform.python_version(),
        **{name: version(name) for name in names},
    }


def _get_processor_name() -> str:
    # On many systems of Linux `platform.processor` returns nothing.
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


@lru_cache(maxsize=1)
def own_code() -> str:
    """Return a digest of the source files of dpaudit, its algorithms and its attacks."""
    roots = {Path(__file__).parents[1]}
    for name in ("algorithms", "attacks"):
        spec = importlib.util.find_spec(f"{_OURS}.{name}")
        places = spec.submodule_search_locations if spec is not None else None
        roots.update(map(Path, places or ()))
    return digest_of_files(sorted({path for root in roots for path in root.rglob("*.py")}))


def digest_of_files(paths: Iterable[Path]) -> str:
    """Return a digest of files' contents, by their names, in order."""
    hashed = hashlib.blake2b(digest_size=_SIZE)
    for path in paths:
        try:
            content = path.read_bytes()
        except OSError:
            content = b"(gone)"
        hashed.update(f"{path.name}:{len(content)}:".encode() + content)
    return hashed.hexdigest()

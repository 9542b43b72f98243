"""Modules beside a file, for as long as they are needed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def importable(folder: Path | None) -> Iterator[None]:
    """Let modules of a folder be imported inside the block, here and in workers; None for none.

    They come last: a file with a library's name does not take its place.
    """
    place = None if folder is None else str(folder.resolve())
    if place is None or place in sys.path:
        yield
        return
    sys.path.append(place)
    try:
        yield
    finally:
        sys.path.remove(place)

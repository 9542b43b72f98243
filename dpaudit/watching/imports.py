"""Whether a module's reads during its import are nothing to its later calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .containing import imports_contain
from .import_results import refers_to_results


def keeps_nothing_read(given: Any, own: Sequence[str], before: Iterable[str]) -> bool:
    """Return whether code refers to nothing that its import read, and finds none elsewhere.

    Parameters
    ----------
    given
        A function, a class or an object that is called.
    own
        Its top-level packages, looked at as the user's own code wherever they are installed.
    before
        Modules that had been imported before it.
    """
    return not refers_to_results(given, own) and imports_contain(own, before)

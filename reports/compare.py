"""Compares two galleries number by number: `python reports/compare.py OLD NEW`.

Both are folders that `dpaudit audit --all --out FOLDER` wrote. Every difference in a report, a
certificate or the index is listed with its reason; one without a reason ends with status 1. Numbers
count as equal up to a relative 1e-9, which other versions of BLAS may cost.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dpaudit.formats import read_json
from dpaudit.report.document import read_index

RELATIVE = 1e-9
FILES = ("index.json", "*/report.json", "*/certificate.json")
# What may differ between two runs of the same audit, as a pattern of the path and why.
REASONS = (
    (r"\.environment\b", "where and when it ran"),
    (r"\.created$|\.seconds$", "where and when it ran"),
    (r"report\.json\.schema_version$", "a later version has more fields"),
    (r"certificate\.json.*\.source$", "a certificate names its source as the claim's card does"),
    (r"certificate\.json.*\.search\.budget$", "a certificate states the budget of its search"),
    (r"\.proved\.source$", "a proof names the module that holds it, which has moved"),
    (
        r"report\.json\.results\[\d+\]\.(unit|repeatable|scores|proved\.declared|unvarying)$",
        "a later version has more fields",
    ),
    (
        r"results\[\d+\]\.(assumptions\[\d+\]\.evidence|pair)$",
        "how far a record lies from another is said on --show-records alone",
    ),
    (r"\.schema(_version)?$", "files say which schema they have, and reports a later version"),
)


def documents(folder: Path) -> dict[str, Any]:
    """Return every JSON document of a gallery by its name inside it."""
    paths = sorted(path for pattern in FILES for path in folder.glob(pattern))
    return {str(path.relative_to(folder)): _content(path) for path in paths}


def _content(path: Path) -> Any:
    """Return what a file holds: of an index its entries, as every version has them."""
    return read_index(path) if path.name == "index.json" else read_json(path, path.stem)


def differences(old: Any, new: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield the path and both values of every leaf that differs."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted(old.keys() | new.keys()):
            yield from differences(old.get(name), new.get(name), f"{path}.{name}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, pair in enumerate(zip(old, new, strict=True)):
            yield from differences(*pair, f"{path}[{place}]")
    elif not equal(old, new):
        yield path, old, new


def equal(old: Any, new: Any) -> bool:
    """Return whether two leaves say the same.

    Examples
    --------
    >>> equal(1.0, 1.0 + 1e-12), equal(1.0, 1.001), equal(True, 1), equal("a", "b")
    (True, False, False, False)
    >>> equal(None, []), equal(None, ["a"])  # a list that older reports do not have
    (True, False)
    """
    if {type(old), type(new)} == {list, type(None)}:
        return not (old or new)
    if isinstance(old, bool) or isinstance(new, bool):
        return old is new
    if isinstance(old, int | float) and isinstance(new, int | float):
        return math.isclose(old, new, rel_tol=RELATIVE, abs_tol=1e-300)
    return bool(old == new)


def reason(path: str) -> str | None:
    """Return why a path may differ, or None."""
    return next((why for pattern, why in REASONS if re.search(pattern, path)), None)


def main(old: str, new: str) -> int:
    """Print every difference and its reason; return 1 if one has none."""
    before, after = documents(Path(old)), documents(Path(new))
    unexplained, explained = 0, dict[str, int]()
    for name in sorted(before.keys() | after.keys()):
        for path, one, other in differences(before.get(name), after.get(name), name):
            why = reason(path)
            if why is None:
                unexplained += 1
                print(f"{path}: {str(one)[:120]!r} -> {str(other)[:120]!r}")
            else:
                explained[why] = explained.get(why, 0) + 1
    print(f"{len(before)} documents, {len(after)} now; {unexplained} differences without a reason")
    for why, count in explained.items():
        print(f"  {count} differences: {why}")
    return int(unexplained > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))

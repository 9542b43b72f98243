"""The seeded faults: what each one changes, and where in the source its text is found.

A fault is a piece of text and what stands there instead. The file is not named: the text occurs
exactly once in the three packages, so that a fault moves with the line that it is about.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("dpaudit", "algorithms", "attacks")
KINDS = (
    "alpha",
    "assumption",
    "delta",
    "determinant",
    "direction",
    "extreme",
    "factor",
    "formula",
    "interval",
    "neighbour",
    "reuse",
    "rounding",
    "seed",
    "sign",
    "symmetry",
    "tail",
    "threshold",
    "tolerance",
)
ROOMS = (
    "accounting",
    "affine",
    "attacks",
    "auditing",
    "claims",
    "domains",
    "estimation",
    "freezing",
    "guarantees",
    "laws",
    "neighbours",
    "proving",
    "replaying",
    "report",
    "scan",
    "search",
    "selftest",
    "store",
    "tracing",
    "verify",
    "views",
)


@dataclass(frozen=True)
class Fault:
    """One fault: ``find`` becomes ``into``; ``kind`` is one of `KINDS`, ``room`` of `ROOMS`."""

    name: str
    what: str
    kind: str
    room: str
    find: str
    into: str

    def place(self, sources: dict[Path, str]) -> Path:
        """Return the file that holds the text, relative to the root; once, or it is an error."""
        found = [path for path, text in sources.items() for _ in range(text.count(self.find))]
        if len(found) != 1:
            where = ", ".join(map(str, found)) or "nowhere"
            raise LookupError(f"{self.name}: {self.find!r} has to occur once, found in: {where}")
        return found[0]

    def applied(self, text: str) -> str:
        """Return a source with the fault in it."""
        return text.replace(self.find, self.into)


@cache
def faults() -> tuple[Fault, ...]:
    """Return all faults, room by room."""
    found = []
    for room in ROOMS:
        found += faults_in(Path(__file__).with_name(f"{room}.toml"), room)
    return tuple(found)


def faults_in(path: Path, room: str) -> list[Fault]:
    """Return the faults of a file; only ``find`` and ``into`` have to be given of each."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["fault"]
    return [
        Fault(room=room, **{"name": f"{path.stem}-{number}", "what": "", "kind": room} | entry)
        for number, entry in enumerate(entries, start=1)
    ]


@cache
def sources() -> dict[Path, str]:
    """Return the text of every module of the three packages, by path relative to the root."""
    paths = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return {path.relative_to(ROOT): path.read_text(encoding="utf-8") for path in paths}

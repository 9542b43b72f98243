"""What killed faults in earlier runs, so that one that was ended goes on where it stopped.

A line of JSON for each kill. It counts as long as the source with the fault in it and the file of
the test are what they were; survivors are run again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

from .faults import ROOT, Fault, sources


@dataclass(frozen=True)
class Journal:
    """The kills that a file holds.

    Parameters
    ----------
    path
        Of the file, which need not be there yet.
    """

    path: Path

    def killer_of(self, fault: Fault) -> str | None:
        """Return what killed this very fault before, None where that may be different now."""
        killer = self._killers.get(fault.name, {})
        for test, told in killer.items():
            if told == _digest(fault, test):
                return test
        return None

    def add(self, fault: Fault, killer: str) -> None:
        """Add a kill."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"fault": fault.name, "killer": killer, "digest": _digest(fault, killer)})
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    def forget(self) -> None:
        """Begin anew."""
        self.path.unlink(missing_ok=True)

    @cached_property
    def _killers(self) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        for line in map(json.loads, lines):
            found.setdefault(line["fault"], {})[line["killer"]] = line["digest"]
        return found


def _digest(fault: Fault, killer: str) -> str:
    changed = fault.applied(sources()[fault.place(sources())])
    test = ROOT / killer.partition("::")[0]
    told = test.read_bytes() if test.is_file() else b""
    return blake2b(changed.encode() + b"\0" + told, digest_size=16).hexdigest()

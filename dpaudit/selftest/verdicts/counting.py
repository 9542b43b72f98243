"""Rates at which audits accuse private mechanisms that keep noise, and miss broken ones."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import dpaudit.selftest.verdicts.mechanisms as mechanisms
from dpaudit.auditing.api import own_case
from dpaudit.auditing.run import audit_case
from dpaudit.errors import MechanismError
from dpaudit.execution import importable
from dpaudit.execution.ledger import get_current_ledger
from dpaudit.extension.settings import Settings
from dpaudit.guarantees.kinds import PureDP
from dpaudit.mechanisms.foreign.isolation import Isolation, isolate_reference
from dpaudit.neighbours import REPLACE_RECORD, Pair

# An audit errs so rarely that one that does was no bad luck.
_CONFIDENCE = 1 - 1e-6
NOMINAL = 1e-6
_TRIALS = 600
_QUICK = 3  # mechanisms of a kind in a quick self-test


@dataclass(frozen=True)
class Verdicts:
    """Verdicts on mechanisms of one kind.

    Parameters
    ----------
    name
        Of the kind, for the report.
    private
        Whether they are, so that none may be refuted; else all have to be.
    true
        Their epsilon, or the least of it.
    """

    name: str
    private: bool
    true: float

    @property
    def law(self) -> str:
        """The law in words, for the report."""
        return "private mechanisms" if self.private else "broken mechanisms"

    def errors(self, seeds: range, *, full: bool) -> tuple[int, int]:
        """Return how many audits were wrong, and of how many."""
        functions = mechanisms.PRIVATE if self.private else mechanisms.BROKEN
        names = [one.__name__ for one in functions[: None if full else _QUICK]]
        with _copy_mechanisms_folder() as module:
            refuted = [
                _is_mechanism_refuted(module, name, seed) for seed in seeds for name in names
            ]
        return sum(one == self.private for one in refuted), len(refuted)


KEPT = Verdicts("verdicts where noise is kept", True, 1.0)
VARYING = Verdicts("verdicts where outputs vary", False, 10.0)
VERDICTS = (KEPT, VARYING)


@contextmanager
def _copy_mechanisms_folder() -> Iterator[str]:
    """Yield the name of a copy of the mechanisms beside a key and a configuration of its own."""
    # A name of its own each time: Python would take a module of the same name from the cache of
    # an earlier copy, with that copy's key.
    module = f"_verdicts_{secrets.token_hex(8)}"
    with TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(mechanisms.__file__, folder / f"{module}.py")
        # The key has to be unknown to everybody: with one in the source, the noise that follows
        # from it would be none.
        (folder / "key").write_bytes(os.urandom(16))
        (folder / "config.json").write_text('{"scale": 0.1}')
        with importable(folder):
            yield module


def _is_mechanism_refuted(module: str, name: str, seed: int) -> bool:
    """Return whether a mechanism is refuted, as it was found before an interruption."""
    return get_current_ledger().fact(
        f"{name}, seed {seed}", lambda: _is_refuted(f"{module}:{name}", seed)
    )


def _is_refuted(reference: str, seed: int) -> bool:
    """Return whether an audit of one record more or less refutes a claim of 1."""
    pair = Pair([1.0, 2.0, 3.0], [1.0, 2.0, 2.0], REPLACE_RECORD)
    case, words = own_case(isolate_reference(reference, Isolation()), pair, claimed=PureDP(1.0))
    settings = Settings(trials=_TRIALS, delta=0.0, seed=seed, confidence=_CONFIDENCE)
    try:
        return audit_case(case, settings, statement=words).verdict == "refuted"
    except MechanismError:  # noise that a process keeps
        return False

"""Processes that charge one budget and are killed, and what has to be true afterwards."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpaudit import Budget
from dpaudit.errors import BudgetExceeded

SCALES = (40.0, 55.0, 70.0, 90.0)


@dataclass(frozen=True)
class Aftermath:
    """What is left when all writers are gone: who was told of success, and what the file has."""

    kills: int
    acknowledged: tuple[str, ...]
    written: tuple[str, ...]
    torn: int
    refused: int

    @property
    def lost(self) -> set[str]:
        return set(self.acknowledged) - set(self.written)


def kill_writers(path: Path, acks: Path, kills: int, seed: int, writers: int = 4) -> Aftermath:
    """Let writers charge a budget, and kill one after the other at random moments."""
    rng = np.random.default_rng(seed)
    acks.mkdir()
    running: dict[int, int] = {}
    names = iter(range(10**9))
    for _ in range(writers):
        running[_start(path, acks, next(names))] = 0
    try:
        for _ in range(kills):
            time.sleep(float(rng.exponential(0.02)))
            victim = int(rng.choice(list(running)))
            _end(victim)
            del running[victim]
            running[_start(path, acks, next(names))] = 0
    finally:
        for process in running:
            _end(process)
    return _aftermath(path, acks, kills)


def _start(path: Path, acks: Path, name: int) -> int:
    process = os.fork()
    if process:
        return process
    with contextlib.suppress(BaseException):  # the child ends here, whatever happens
        _write(path, acks, name)
    os._exit(0)


def _end(process: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


def _write(path: Path, acks: Path, name: int) -> None:
    """Charge until killed; say what succeeded only when it has."""
    rng = np.random.default_rng(name)
    budget = Budget(path)
    told = os.open(acks / str(name), os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    for number in range(10**6):
        mark = f"{name}.{number}"
        try:
            budget.charge(
                "gaussian", sensitivity=1.0, noise_scale=float(rng.choice(SCALES)), by=mark
            )
        except BudgetExceeded:
            os.write(told, b"refused\n")
            return
        os.write(told, f"{mark}\n".encode())


def _aftermath(path: Path, acks: Path, kills: int) -> Aftermath:
    told = [line for file in acks.iterdir() for line in file.read_text().split()]
    chain = Budget(path).verify()
    return Aftermath(
        kills=kills,
        acknowledged=tuple(one for one in told if one != "refused"),
        written=tuple(str(entry.by) for entry in chain.charged),
        torn=len(chain.torn.pieces) + sum(entry.torn is not None for entry in chain.entries),
        refused=told.count("refused"),
    )

"""Mechanisms that are no code of Python: programs, services, whatever answers when it is asked.

An audit takes one wherever it takes a function. It says itself how it is called, what it is called
in reports, which code it is, and what identifies it in a store: nothing is read of its class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpaudit.execution.processes import Limits


class Outside(ABC):
    """A mechanism outside of Python, which pickles, and is called as a function is.

    A class of these is made of plain values, so that a worker and a store have it too.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """The name in reports."""

    @property
    @abstractmethod
    def form(self) -> str:
        """The form of a call, such as ``"f(data, rng)"``; without rng its randomness is its own."""

    @property
    @abstractmethod
    def digest(self) -> str:
        """The SHA-256, in hexadecimal digits, of all that is known to decide its outputs."""

    @property
    def remarks(self) -> Sequence[str]:
        """The remarks in a report, one sentence each."""
        return ()

    @property
    def names_datasets(self) -> bool:
        """Whether its datasets are names of data that it holds itself."""
        return False

    @property
    def reaches(self) -> tuple[str, str]:
        """Another source of its outputs beside its data: a kind, and a name."""
        return "process", self.name

    def read_as(self, read: Any, fresh: Any) -> tuple[Outside, Any, Any]:
        """Return the mechanism with the settings that it takes itself, and those that are left."""
        return self, read, fresh

    def with_file(self, records: Any, path: Path) -> Outside:
        """Return the mechanism that takes a file as it is, where it is called on its records."""
        return self

    def settled(self, limits: Limits | None) -> Outside:
        """Return the mechanism once it is known how it is called, which may have to be tried.

        Parameters
        ----------
        limits
            Of the process that tries it; None for this process.
        """
        return self

    @property
    def goes_on(self) -> bool:
        """Whether one process of it draws many outputs, so that it sees no later environment."""
        return False

    @property
    def is_costly(self) -> bool:
        """Whether a call costs much, so that few outputs are drawn beside those that certify."""
        return False

    def begin(self) -> None:
        """Start the parts that the first output needs, so that their time can be seen."""
        return

    @abstractmethod
    def __call__(self, dataset: Any, *given: Any) -> Any:
        """Return one output, or as many as trials, by `form`."""

    @property
    def __identity__(self) -> str:
        """The identity in a store: code with another digest takes no outputs of this one."""
        return f"{self.name} {self.digest}"

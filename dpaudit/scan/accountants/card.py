"""Cards of accountants: the package, how it is asked, and the promises of its documentation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dpaudit.extension.package import Package

States = Literal["upper bound", "lower bound", "bounds", "estimate"]


@dataclass(frozen=True, kw_only=True)
class PublicFault:
    """A public fault: the releases in which it is found, and the thread that tells of it.

    Parameters
    ----------
    thread
        Where.
    kinds
        Kinds of releases it is found in; empty for all.
    asks
        What is asked when it shows; empty for everything.
    """

    thread: str
    kinds: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()

    def tells_of(self, kind: str, asks: str) -> bool:
        """Return whether it is about such a question."""
        return (not self.kinds or kind in self.kinds) and (not self.asks or asks in self.asks)


@dataclass(frozen=True, kw_only=True)
class AccountantMethod:
    """One way to an answer.

    Parameters
    ----------
    name
        Its key in ``METHODS`` of the plain module.
    states
        What the documentation says an answer is: an ``upper bound`` on the truth, which it must
        not be below; a ``lower bound``; ``bounds``, a lower end, an estimate and an upper end; or
        an ``estimate``, which cannot be refuted, only be off.
    where
        Where the documentation says so, paraphrased.
    relation
        Of the neighbours it is documented for.
    audits
        Whether it bounds epsilon from below by the scores of an attack: then it is asked how often
        it is in error where nothing leaks, and nothing else.
    known
        Faults of it that are public.
    """

    name: str
    states: States
    where: str
    relation: str = "add-remove-record"
    audits: bool = False
    known: tuple[PublicFault, ...] = ()


@dataclass(frozen=True, kw_only=True)
class AccountantCard:
    """A package that accounts for privacy.

    Parameters
    ----------
    name
        What the command line calls it.
    distribution, versions, requirements
        What is installed: the distribution, the releases that are asked, the default one first,
        and pins beside it.
    home
        Where it is developed.
    methods
        The ways to its answers.
    """

    name: str
    distribution: str
    versions: tuple[str, ...]
    home: str
    methods: tuple[AccountantMethod, ...]
    requirements: tuple[str, ...] = ()

    @property
    def module(self) -> Path:
        """The plain module that asks it."""
        return Path(__file__).parent / "plain" / f"{self.distribution.replace('-', '_')}.py"

    @property
    def package(self) -> Package:
        """Its package, of which no mechanism is scanned here."""
        return Package(
            name=self.name,
            distribution=self.distribution,
            code="",
            subjects=(),
            versions=self.versions,
            requirements=self.requirements,
            home=self.home,
        )

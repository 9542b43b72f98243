"""The trace of a function on all datasets: one path for each outcome of public noise."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from dpaudit.proving.program import PathProgram
from dpaudit.proving.universe import Universe


class NodeKind(Enum):
    """The dependence of a node's value on data and draws.

    Attributes
    ----------
    PUBLIC
        Neither records nor noise that still hides some: constants, and whatever is made of releases
        and of coins of which nothing else is made.
    PRIVATE
        Records, not hidden by noise.
    NOISE
        Fresh noise times public numbers, and nothing else.
    NOISY
        Records plus noise: a release, once somebody looks at it.
    """

    PUBLIC = "public"
    PRIVATE = "private"
    NOISE = "noise"
    NOISY = "noisy"


@dataclass(frozen=True, eq=False)
class Path:
    """One way through a function.

    Parameters
    ----------
    program
        What it forms, with a ``decide`` node where public noise decided.
    decisions
        The outcomes, in order.
    """

    program: PathProgram
    decisions: tuple[bool, ...] = ()


@dataclass(frozen=True, eq=False)
class FunctionTrace:
    """A function, as far as a proof needs it.

    Parameters
    ----------
    universe
        The datasets.
    paths
        All of them: each is left at a decision that another one takes.
    compared
        How many concrete datasets gave what the program gives.
    source
        SHA-256 of the source of the function's module, empty where there is none.
    skeletons
        Of each path, the nesting of what is returned, with the number of an output for each part.
    """

    universe: Universe
    paths: tuple[Path, ...]
    compared: int = 0
    source: str = ""
    skeletons: tuple[Any, ...] = ()

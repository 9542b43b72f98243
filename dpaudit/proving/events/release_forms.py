"""The form of a release before any distance is known: its noise, and the value that it shows."""

from __future__ import annotations

from dataclasses import dataclass

from dpaudit.proving.events.forms import Atoms
from dpaudit.proving.events.noise_laws import IndependentNoise
from dpaudit.proving.program import Node


@dataclass(frozen=True, eq=False)
class Additive:
    """A release of a value plus noise.

    Parameters
    ----------
    node
        The value with its noise.
    centre
        The node of the value without it.
    noise
        Its law and scale.
    """

    node: Node
    centre: int
    noise: IndependentNoise


@dataclass(frozen=True, eq=False)
class Selection:
    """A release of the place of the largest, or smallest, of noisy values, and of nothing else.

    Parameters
    ----------
    node
        The ``argmax`` or ``argmin``.
    scores
        The values with their noise.
    """

    node: Node
    scores: Additive


@dataclass(frozen=True, eq=False)
class RecordDraw:
    """A draw whose law depends on records: an item chosen with probabilities, a coin of one's own.

    Parameters
    ----------
    node
        The draw; its operands are what the law depends on.
    """

    node: Node


@dataclass(eq=False)
class ReleaseMatch:
    """A part of a program that is one release by a theorem of its own.

    Parameters
    ----------
    heads
        Nodes that the release makes public.
    hidden
        Nodes inside of it, on which nothing else depends.
    atoms
        Noise that it uses.
    release
        What the theorem needs to know.
    """

    heads: tuple[int, ...]
    hidden: frozenset[int]
    atoms: Atoms
    release: object

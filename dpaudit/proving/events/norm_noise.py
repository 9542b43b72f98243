r"""Noise whose density falls with its Euclidean length: a direction times a radius.

**Theorem.** Let z have d independent standard normal entries and r the gamma law of order d. Then
``b r z / ||z||`` has the density proportional to ``exp(-||e|| / b)``. *Proof.* The direction is
uniform on the sphere and independent of r, whose density at t is proportional to
``t^(d-1) exp(-t)``; the sphere of radius t has an area proportional to ``t^(d-1)``. []

On a centre that moves by D in Euclidean length it costs ``D / b``, by the triangle inequality
(Chaudhuri, Monteleoni & Sarwate 2011, Theorem 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit.proving.events.draft import Draft, size_of
from dpaudit.proving.program import Node

_SPREADING = frozenset({"reshape", "broadcast"})


@dataclass(frozen=True)
class NormNoise:
    """A direction and a radius.

    Parameters
    ----------
    direction
        The draw of normal numbers.
    inside
        All nodes of which the product is made, both draws among them.
    dimension
        How many numbers the direction has.
    """

    direction: int
    inside: frozenset[int]
    dimension: int


def match_norm_noise(draft: Draft, unit: int, radius: int) -> NormNoise | None:
    """Return the noise that is a direction of length 1 times a radius, None of anything else."""
    found = _match_direction(draft, unit)
    if found is None:
        return None
    draw, inside = found
    chain = _spread_chain(draft, radius)
    gamma = draft.node(chain[-1])
    dimension = size_of(draft.shape(draw))
    if gamma.operation != "draw" or gamma.parameters["law"] != "gamma":
        return None
    # A gamma of any other order gives another density near 0, where the log-ratio may have no
    # bound.
    if size_of(gamma.shape) != 1 or gamma.parameters["order"] != dimension:
        return None
    return NormNoise(draw, frozenset({*inside, *chain}), dimension)


def _spread_chain(draft: Draft, index: int) -> list[int]:
    """Return a node, and those of which it is a copy that is spread out, down to the first."""
    chain = [index]
    while draft.node(chain[-1]).operation in _SPREADING:
        chain.append(draft.node(chain[-1]).operands[0])
    return chain


def _match_direction(draft: Draft, index: int) -> tuple[int, set[int]] | None:
    """Match ``z / ||z||``; return the draw and the nodes of which it is made."""
    node = draft.node(index)
    if node.operation != "divide":
        return None
    draw = draft.node(node.operands[0])
    if draw.operation != "draw" or draw.parameters["law"] != "normal" or draw.operands:
        return None
    # A direction that is broadcast repeats its noise.
    if node.shape != draw.shape:
        return None
    inside = _match_length(draft, node.operands[1], draw)
    return None if inside is None else (draw.index, {index, draw.index, *inside})


def _match_length(draft: Draft, index: int, draw: Node) -> set[int] | None:
    """Match the Euclidean length of all numbers of a draw."""
    outer = _spread_chain(draft, index)
    root = draft.node(outer[-1])
    if root.operation != "sqrt":
        return None
    inner = _spread_chain(draft, root.operands[0])
    total = draft.node(inner[-1])
    # The length has to be that of all numbers; lengths by row make several directions.
    if total.operation != "sum" or size_of(total.shape) != 1:
        return None
    square = draft.node(total.operands[0])
    if not _is_square(draft, square, draw.index):
        return None
    return {*outer, *inner, square.index}


def _is_square(draft: Draft, node: Node, index: int) -> bool:
    if node.operation == "multiply":
        return node.operands == (index, index)
    if node.operation != "power" or node.operands[0] != index:
        return False
    exponent = draft.value(node.operands[1])
    return exponent is not None and bool(np.all(exponent == 2))

"""Programs that release noisy values one after another, each used again after its release."""

from __future__ import annotations

import math

from dpaudit.proving.program import PathProgram
from dpaudit.proving.universe import Universe

from .choices import Choices
from .grammar import SINGLE, UNKNOWN, Growth, Unfit, weigh
from .phrases import PHRASES
from .replays import Release
from .silence import silence_numpy

SCALES = (1.0, 2.0, 0.5, 5.0)
_MOST_NOISY = 12  # entries of one release


@silence_numpy()
def grow_releases(
    choices: Choices, universe: Universe, *, law: str
) -> tuple[PathProgram, tuple[Release, ...]]:
    """Return a program that releases values with noise of one law, and what it releases.

    What is released is used again, and all of it is an output.
    """
    growth, found = Growth(choices, universe), list[Release]()
    for _ in range(choices.between(1, 3)):
        grow_a_little(growth)
        release = _release(growth, law)
        if release is not None:
            found.append(release)
    if choices.happens(30):
        grow_a_little(growth)
    growth.program.outputs = tuple(one.node for one in found)
    return growth.program, tuple(found)


def grow_a_little(growth: Growth) -> None:
    """Append a few operations or phrases."""
    steps, phrases = weigh(SINGLE), weigh(PHRASES)
    for _ in range(growth.choices.between(1, 4)):
        step = growth.choices.one_of(phrases if growth.choices.happens(35) else steps)
        try:
            step(growth)
        except Unfit:
            continue


def _release(growth: Growth, law: str) -> Release | None:
    """Append noise of a public scale to one of the last values."""
    node = growth.any_node()
    shape = growth.samples[node].shape
    if UNKNOWN in shape or not 0 < math.prod(shape) <= _MOST_NOISY:
        return None
    draw = growth.draw(shape, law)
    scale = growth.number(SCALES)
    noise = growth.add("multiply", scale, draw)
    form = growth.choices.below(3)
    if form == 0:
        return Release(growth.add("add", node, noise), node, noise, draw)
    if form == 1:
        return Release(growth.add("add", noise, node), node, noise, draw)
    return Release(growth.add("subtract", node, noise), node, noise, draw)

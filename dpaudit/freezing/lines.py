"""The lines of the source at which a call draws noise, and whether the noise has another scale.

One run on either dataset with the same frozen noise. Of the first draw of all no noise was seen
before, so that a scale which differs there is the data's; of later ones it may be that of noise
that was released before.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import patching, primitives, recorder, tracked_noise

_MOST = 3  # lines that are shown


@dataclass(frozen=True)
class NoiseLine:
    """A line that draws noise.

    Parameters
    ----------
    file, line, function
        Where it is: the name of the file without its folder.
    text
        What stands there; empty where the source is not at hand.
    scale_moved
        Whether the data decide the scale of what is drawn there.
    """

    file: str
    line: int
    function: str
    text: str
    scale_moved: bool = False


class _Recording(recorder.State):
    """A run that remembers the whole path of every line."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.lines: list[tuple[str, int, str]] = []

    def stack(self) -> list[str]:
        """Return the calls around a draw, and remember the innermost."""
        self.lines.append(tracked_noise.innermost())
        return super().stack()


def noise_lines(
    function: Callable[[Any, Any], Any], dataset: Any, neighbour: Any, seed: int = 1
) -> list[NoiseLine]:
    """Return the lines at which a function of data and a generator draws, each once, in order.

    Parameters
    ----------
    function
        Called as ``function(data, rng)``; what it raises ends its run.
    dataset, neighbour
        What it is called on.
    seed
        Of the frozen noise.
    """
    states = [_Recording(seed), _Recording(seed)]
    with patching.patch_primitives(function):
        for state, data in zip(states, (dataset, neighbour), strict=True):
            recorder.record(state, function, data, primitives.generator(recorder.GIVEN))
    first, other = states
    places = list(dict.fromkeys(first.lines))[:_MOST]
    moved = first.lines[0] if _first_scale_moves(first, other) else None
    return [_line(one, scale_moved=one == moved) for one in places]


def _first_scale_moves(one: _Recording, other: _Recording) -> bool:
    """Return whether the first draws are the same but for their scale."""
    if not one.run.calls or not other.run.calls or one.lines[0] != other.lines[0]:
        return False
    a, b = one.run.calls[0], other.run.calls[0]
    if (a.name, a.key, a.shape) != (b.name, b.key, b.shape) or a.scale is None or b.scale is None:
        return False
    return not np.array_equal(a.scale, b.scale)


def _line(where: tuple[str, int, str], *, scale_moved: bool) -> NoiseLine:
    file, line, function = where
    short = file.replace("\\", "/").rpartition("/")[2]
    text = linecache.getline(file, line).strip()
    return NoiseLine(short, line, function, text, scale_moved)

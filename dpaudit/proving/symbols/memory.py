"""Memory of traced arrays: its contents, and how views take their entries from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from dpaudit.freezing import tracked_noise


@dataclass(eq=False)
class Cell:
    """Memory of an array.

    Parameters
    ----------
    node
        What it holds, or None where that are the public numbers ``value``.
    value
        Public numbers, or None.
    version
        How often it was written into.
    is_ordered
        Whether it is known to lie row after row.
    shares
        Why it is not known which arrays share it, where so: then nothing may be written.
    """

    node: int | None
    value: NDArray[Any] | None = None
    version: int = 0
    is_ordered: bool = True
    shares: str = ""

    def __post_init__(self) -> None:
        if self.value is not None:
            self.is_ordered = self.value.flags.c_contiguous


@dataclass(frozen=True, eq=False)
class ViewStep:
    """The map from the entries of a view to those of another symbol.

    Parameters
    ----------
    apply
        To an array of plain numbers: a view of it.
    emit
        To a node, whose operations are written: returns the node of the view.
    place
        The line that takes the view.
    """

    apply: Callable[[Any], Any]
    emit: Callable[[int], int]
    place: str = field(default_factory=tracked_noise.place)

"""A figure as the registry knows it; the code behind it is imported when it is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from dpaudit._references import load_reference

# A list of figures costs no import of what draws them.
if TYPE_CHECKING:
    from dpaudit.reproduction.result import FigureRequest, Reproduction


class Reproduce(Protocol):
    """Draws a figure's numbers again and judges the paper's statements about it."""

    def __call__(self, request: FigureRequest) -> Reproduction:
        """Return the reproduction."""
        ...


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure of a paper.

    Parameters
    ----------
    name, title, source
        Its identifier, what it shows, and where it stands.
    statements
        What the paper says about it, by a short name; each is judged held or not.
    run
        ``"module:function"`` of a `Reproduce`.
    """

    name: str
    title: str
    source: str
    statements: Mapping[str, str]
    run: str

    def load(self) -> Reproduce:
        """Import and return the code that draws it."""
        reproduce: Reproduce = load_reference(f"figure {self.name}", self.run)
        return reproduce

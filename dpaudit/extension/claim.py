"""A claim: what a source states, under which assumptions, and the code that makes it auditable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from dpaudit._references import load_reference

if TYPE_CHECKING:
    from dpaudit.extension.case import Prepare


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A published claim, as the registry knows it.

    Parameters
    ----------
    name
        Its identifier, also that of its entry point.
    title, statement, source
        In words; the source names paper, theorem and equation.
    kind
        ``privacy`` bounds what an observer learns, ``sensitivity`` how far a query moves,
        ``property`` any other number, such as an error after so many iterations.
    relation
        The neighbour relation it is about (`dpaudit.neighbours.RELATIONS`).
    assumptions
        Name and sentence of each; checked on every audited instance.
    prepare
        ``"module:function"`` of a `dpaudit.extension.case.Prepare`: settings to a case that can be
        audited.
    parameters
        ``"module:Model"``: a pydantic model of the claim's own parameters, with their defaults.
    published
        The audits of the published report, beside the one with default settings: a name for each,
        and the `dpaudit.extension.settings.Settings` it changes.
    """

    name: str
    title: str
    statement: str
    source: str
    kind: Literal["privacy", "sensitivity", "property"]
    relation: str
    assumptions: Mapping[str, str]
    prepare: str
    parameters: str
    published: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def load(self) -> Prepare:
        """Import and return the code that prepares an audit."""
        prepare: Prepare = load_reference(f"claim {self.name}", self.prepare)
        return prepare

    def load_parameters(self) -> Any:
        """Import and return the model of the claim's parameters."""
        return load_reference(f"claim {self.name}", self.parameters)

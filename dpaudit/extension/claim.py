"""A claim: what a source states, under which assumptions, and the code that makes it auditable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pydantic import BaseModel

    from dpaudit.extension.case import Prepare


@dataclass(frozen=True, kw_only=True)
class Statement:
    """What is audited, in words: all that a report says of a claim beside its numbers.

    Parameters
    ----------
    name
        Its identifier.
    title, statement, source
        In words; the source names paper, theorem and equation.
    kind
        ``privacy`` bounds what an observer learns, ``sensitivity`` how far a query moves,
        ``property`` any other number, such as an error after so many iterations.
    relation
        The neighbour relation it is about (`dpaudit.neighbours.RELATIONS`).
    assumptions
        Name and sentence of each; checked on every audited instance.
    """

    name: str
    title: str
    statement: str
    source: str
    kind: Literal["privacy", "sensitivity", "property"]
    relation: str
    assumptions: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Claim(Statement):
    """A published claim, as the registry knows it; the name is also that of its entry point.

    The module that holds it is the claim's home. Listing claims imports every home, so that a home
    imports what computes inside ``prepare``. The verifier of its certificates is ``recompute`` of
    the module of the same name in the package ``verify`` beside ``claims``
    (`dpaudit.verification.judge`).

    Parameters
    ----------
    prepare
        Settings and parameters to a case that can be audited.
    parameters
        A pydantic model of the claim's own parameters, with their defaults.
    published
        The audits of the published report, beside the one with default settings: a name for each,
        and the `dpaudit.extension.settings.Settings` it changes.
    """

    prepare: Prepare
    parameters: type[BaseModel]
    published: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

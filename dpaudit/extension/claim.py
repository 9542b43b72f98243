"""A claim: the statement of a source, its assumptions, and the code that makes it auditable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

# Listing claims imports this module; pydantic and what computes are needed for a single claim
# only.
if TYPE_CHECKING:
    from pydantic import BaseModel

    from dpaudit.extension.case import Prepare


@dataclass(frozen=True, kw_only=True)
class Statement:
    """The audited statement in words: everything that a report says of a claim beside its numbers.

    Parameters
    ----------
    name
        The identifier.
    title, statement, source
        The words of the claim; the source names paper, theorem and equation.
    kind
        ``privacy`` bounds the knowledge of an observer, ``sensitivity`` the movement of a query,
        ``property`` any other number, such as an error after so many iterations.
    relation
        The neighbour relation it is about (`dpaudit.neighbours.RELATIONS`).
    assumptions
        The name and the sentence of each assumption; the audit checks them on every instance.
    """

    name: str
    title: str
    statement: str
    source: str
    kind: Literal["privacy", "sensitivity", "property"]
    relation: str
    assumptions: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Variant:
    """An audit of the published report beside the one with default settings.

    Parameters
    ----------
    settings
        What it changes of `dpaudit.extension.settings.Settings`.
    scope
        As of a claim.
    printed
        Whether it is about the claim as its source prints it, with other numbers or another part of
        it. Else it is about another statement: a stricter, looser or corrected one, or one with
        other constants. Its verdict is none on the claim.

    Examples
    --------
    >>> Variant(settings={"epsilon": 2.0}).printed
    False
    """

    settings: Mapping[str, Any]
    scope: str = ""
    printed: bool = False


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
        A function from settings and parameters to a case that can be audited.
    parameters
        A pydantic model of the claim's own parameters, with their defaults.
    published
        The audits of the published report, beside the one with default settings, by name.
    scope
        The scope of the audit with default settings, in a sentence: the reading under which a
        refutation would not hold, or the regime in which the audit tried the claim.
    question
        True if nobody makes the claim: it is a question of those who audit, and does not count as a
        claim.
    """

    prepare: Prepare
    parameters: type[BaseModel]
    published: Mapping[str, Variant] = field(default_factory=dict)
    scope: str = ""
    question: bool = False

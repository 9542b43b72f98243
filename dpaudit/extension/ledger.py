"""A paper's ledger: every statement that it makes, its verdict, and whose fault a refutation is.

One row is one statement. Its verdict is computed from its evidence, never written down: from a
published audit, from a check that runs in exact arithmetic, or from another row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

Standing = Literal["theorem", "proof step", "hypothesis", "gloss", "figure", "definition"]
Nature = Literal["fault", "misprint", "assumption", "reading"]
Number = int | float | Fraction


@dataclass(frozen=True, kw_only=True)
class Cause:
    """One thing that is wrong, under one name; several rows may fall by it.

    Causes of one name in several papers are one: a fault that was handed on is counted once.

    Parameters
    ----------
    name
        A short noun phrase: ``sign in Lemma 3``.
    text
        A sentence or two: what is wrong, and where.
    nature
        ``fault``: the argument fails. ``misprint``: the formula is not what its author uses.
        ``assumption``: it is supposed where it cannot hold. ``reading``: it falls under one of its
        readings.
    privacy
        Whether a privacy guarantee falls by it: at least one such row is refuted, and names it.
    """

    name: str
    text: str
    nature: Nature
    privacy: bool = False


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The two sides of a statement on one instance, exact where both are rational.

    Parameters
    ----------
    left, right
        The two sides.
    relation
        What the paper says of them.
    instance
        The instance in words: ``M = 1, rho = 3``.

    Examples
    --------
    >>> Finding(left=Fraction(1, 3), relation="<=", right=Fraction(1, 27), instance="M = 1").holds
    False
    """

    left: Number
    relation: Literal["<=", "<", "="]
    right: Number
    instance: str = ""

    @property
    def holds(self) -> bool:
        """Whether the two sides stand in the relation."""
        if self.relation == "=":
            # Without a tolerance: it would hide the small differences that exact arithmetic is
            # there to show.
            return self.left == self.right
        return self.left < self.right if self.relation == "<" else self.left <= self.right


Check = Callable[[], Finding | tuple[Finding, ...]]


@dataclass(frozen=True)
class AuditEvidence:
    """The published audits of a claim, as printed: they give the verdict."""

    claim: str


@dataclass(frozen=True)
class ProofEvidence:
    """A reference ``module:function``: its docstring is the proof, and its findings all hold."""

    check: str


@dataclass(frozen=True)
class CounterexampleEvidence:
    """A reference ``module:function`` whose findings do not all hold."""

    check: str


@dataclass(frozen=True)
class Consequence:
    """Another row, which decides this one, and the step between them in a sentence.

    Parameters
    ----------
    row
        That row; it may be of another paper.
    step
        How one gets from one to the other.
    link
        ``follows``: that row implies this one, which is proved if that one is. Where that one is
        refuted, this one has lost its derivation and is not settled. ``implies``: this row implies
        that one, with which it is refuted. ``restates``: both at once, it says the same.
    """

    row: str
    step: str
    link: Literal["follows", "implies", "restates"] = "follows"


@dataclass(frozen=True)
class ReproductionEvidence:
    """A published run that draws a figure again, and judges the paper's statement about it.

    A statement that does not hold in it is not reproduced, which refutes nothing: papers leave
    settings open. It is not settled where the run could not use the paper's data.

    Parameters
    ----------
    figure
        The name of its card.
    statement
        The short name that the card gives to the statement.
    stand_in
        What the run used in place of the paper's data; empty where it used these.
    """

    figure: str
    statement: str
    stand_in: str = ""


@dataclass(frozen=True)
class OpenQuestion:
    """Why nobody settled it, and how somebody could."""

    reason: str


@dataclass(frozen=True)
class Convention:
    """Why it says nothing that could be false: a definition, a choice, a citation."""

    reason: str


Evidence = (
    AuditEvidence
    | ProofEvidence
    | CounterexampleEvidence
    | ReproductionEvidence
    | Consequence
    | OpenQuestion
    | Convention
)


@dataclass(frozen=True, kw_only=True)
class LedgerRow:
    """One statement of a paper.

    Parameters
    ----------
    name
        ``smith2031-equation2``; the claim's name where there is a claim.
    place
        Where it stands in the paper: ``section 4, eq. (22)``.
    statement
        What it says, in our own words and with its symbols.
    standing
        What it is in the paper's argument.
    evidence
        What decides it.
    privacy
        Whether it states a privacy guarantee, or a part of its proof.
    cause
        The name of a cause of its paper; required where it is refuted.
    repair
        What would be true in its place, if that is known.
    repair_check
        A check that proves the repair, as one of `ProofEvidence` does; empty where there is none.
    defence, answer
        The best that its authors could say, and what we say to that; required where it is refuted.
    note
        Numbers and remarks that a reader needs.
    """

    name: str
    place: str
    statement: str
    standing: Standing
    evidence: Evidence
    privacy: bool = False
    cause: str = ""
    repair: str = ""
    repair_check: str = ""
    defence: str = ""
    answer: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A paper, its causes and its rows in the order of its text.

    Parameters
    ----------
    name
        ``smith2031``; that of its entry point in the group ``dpaudit.papers``.
    title, citation
        As one cites it.
    causes
        Each under its own name.
    rows
        Each under its own name.
    """

    name: str
    title: str
    citation: str
    causes: tuple[Cause, ...]
    rows: tuple[LedgerRow, ...]

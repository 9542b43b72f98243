"""Refusals of a proof: the line, the reason, and a remedy."""

from __future__ import annotations

from dataclasses import dataclass

from dpaudit.errors import DpauditError


@dataclass(frozen=True)
class ProofRefusal:
    """Why a function is not proved.

    Parameters
    ----------
    place
        The line of the source.
    reason
        What it does there.
    cure
        What would make it provable, where a rule knows; empty elsewhere.
    fault
        The code of its kind of fault, where it is one whatever the rest of the code does.
    """

    place: str
    reason: str
    cure: str = ""
    fault: str | None = None

    def __str__(self) -> str:
        cure = f" ({self.cure})" if self.cure else ""
        return f"{self.place}: {self.reason}{cure}"


class NotProved(DpauditError):
    """No rule bounds the effect of records on a function.

    Parameters
    ----------
    refusal
        Where, why, and what would help.
    """

    def __init__(self, refusal: ProofRefusal) -> None:
        self.refusal = refusal
        super().__init__(str(refusal))

    @classmethod
    def at(cls, place: str, reason: str, cure: str = "", *, fault: str | None = None) -> NotProved:
        """Return the error of a line, a reason, a cure and a kind of fault."""
        return cls(ProofRefusal(place, reason, cure, fault))

"""The result of a replay: its verdict, its findings, its calls, and what a file says of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dpaudit.formats import stamped
from dpaudit.refutation.certificate import Certificate
from dpaudit.replaying.counting import most_of_counts
from dpaudit.replaying.shifts import Unknown
from dpaudit.replaying.spending import Spending
from dpaudit.verdicts import Verdict

# What the claim's verdict is with a finding of a tier; a violation breaks what the code states, and
# with it what the claim rests on, without a proof that it is false.
_VERDICTS: Mapping[str, Verdict] = {
    "proof": "refuted",
    "violation": "withheld",
    "withheld": "withheld",
}


@dataclass(frozen=True, kw_only=True)
class ReplayFinding:
    """A finding: its sort, its tier, a sentence, what it proves, and its place in the source."""

    kind: str
    tier: str
    words: str
    epsilon: float | None = None
    place: str | None = None


@dataclass(frozen=True, kw_only=True)
class ReplayedCall:
    """A noisy call on both datasets, as `dpaudit.replaying.movement.Moved` describes it."""

    index: int
    place: str
    name: str
    kind: str
    shape: tuple[int, ...]
    scale: float | None
    other_scale: float | None
    moved: float | None
    seen: str | None
    steady: bool
    declared: float | None
    epsilon: float | None
    spent: float | None
    unknown: Unknown | None = None


@dataclass(frozen=True, kw_only=True)
class Replay:
    """What two runs with the same frozen noise show of a claim.

    Parameters
    ----------
    mechanism
        Its name.
    epsilon, delta, relation
        What is claimed.
    edit
        How the neighbour was made, where it was made.
    findings
        Proofs first, then violations, what withholds the verdict, and hints.
    calls
        The noisy calls of the run on the dataset, in order.
    spending
        What all noisy values spend on this pair, each released by itself, or why that is unknown.
    unread
        Numbers of the output whose law was not read.
    runs, pairs
        Frozen runs on each dataset, and pairs that were looked at.
    form
        How the function was called.
    certificates
        Of proofs and violations, for ``dpaudit verify``.
    """

    mechanism: str
    epsilon: float
    delta: float
    relation: str
    edit: str | None
    findings: tuple[ReplayFinding, ...]
    calls: tuple[ReplayedCall, ...]
    spending: Spending
    unread: tuple[str, ...]
    runs: int
    pairs: int
    form: str
    seed: int
    certificates: tuple[Certificate, ...] = field(default=(), repr=False)

    @property
    def verdict(self) -> Verdict:
        """``refuted`` by a proof, ``withheld`` where nothing can be said, else ``not refuted``.

        A violation without a proof withholds it, and a hint does not. It is never ``proved``: what
        two datasets spend says nothing of other pairs.
        """
        first = self.findings[0].tier if self.findings else ""
        return _VERDICTS.get(first, "not refuted")

    @property
    def composed(self) -> float | None:
        """The epsilon of all noisy values, released one by one, on this pair; None if unknown."""
        return self.spending.epsilon

    @property
    def cap(self) -> float:
        """The most that its counts of runs can certify, if all of them tell; laws have none."""
        return most_of_counts(self.epsilon, self.delta, self.pairs)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the verdict is withheld; empty if it is not."""
        if self.verdict != "withheld":
            return ()
        return tuple(f"{one.kind}: {one.words}" for one in self.findings if one.tier in _VERDICTS)

    def _repr_html_(self) -> str:
        from dpaudit.replaying.page import as_html

        return as_html(self)

    def document(self) -> dict[str, Any]:
        """Return the result as plain JSON values."""
        content = {
            "mechanism": self.mechanism,
            "claimed": {"epsilon": self.epsilon, "delta": self.delta},
            "relation": self.relation,
            "edit": self.edit,
            "verdict": self.verdict,
            "withheld": list(self.reasons),
            "findings": [_plain(vars(one)) for one in self.findings],
            "calls": [_plain({**vars(one), "shape": list(one.shape)}) for one in self.calls],
            "composed": self.composed,
            "spending": {
                "epsilon": self.spending.epsilon,
                "unknown": [vars(one) for one in self.spending.reasons],
                "mu": self.spending.mu,
                "excess": self.spending.excess,
                "runs": {"ordinary": self.spending.ordinary, "graded": self.spending.graded},
            },
            "unread": list(self.unread),
            "cap": self.cap,
            "runs": self.runs,
            "pairs": self.pairs,
            "form": self.form,
            "seed": self.seed,
        }
        return stamped("replay", content)


def _plain(held: Mapping[str, Any]) -> dict[str, Any]:
    """Return numbers that JSON has; what is infinite as text."""
    return {
        name: "infinite" if isinstance(value, float) and math.isinf(value) else value
        for name, value in held.items()
    }

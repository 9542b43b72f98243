"""The result of a replay: its verdict, its findings, its calls, and its words in a file."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpaudit.formats import add_schema, to_json
from dpaudit.refutation.certificate import Certificate
from dpaudit.replaying.counting import most_of_counts
from dpaudit.replaying.digits import in_four_digits
from dpaudit.replaying.shifts import Unknown
from dpaudit.replaying.spending import Spending
from dpaudit.report.schema import AUnit
from dpaudit.verdicts import Verdict

# Of a call, what tells a record where one record makes a movement.
_OF_A_CALL = ("scale", "other_scale", "moved", "spent")
# What the claim's verdict is with a finding of a tier; a violation breaks what the code states, and
# with it what the claim rests on, without a proof that it is false.
_VERDICTS: Mapping[str, Verdict] = {
    "proof": "refuted",
    "violation": "withheld",
    "withheld": "withheld",
}


@dataclass(frozen=True, kw_only=True)
class ReplayFinding:
    """A finding: its sort, its tier, a sentence, the bound it proves, and its place in the source.

    ``call`` is ``"first"`` where it is of the first call alone, of code that calls change.
    ``fault`` is the code of its kind of fault (docs/faults/index.md); None where it is not decided.
    """

    kind: str
    tier: str
    words: str
    epsilon: float | None = field(default=None, repr=False)
    place: str | None = None
    call: str | None = None
    fault: str | None = None

    @property
    def heading(self) -> str:
        """Its sort, and of which call it is where that is the first alone."""
        return self.kind if self.call is None else f"at the {self.call} call, {self.kind}"


@dataclass(frozen=True, kw_only=True)
class ReplayedCall:
    """A noisy call on both datasets, as `dpaudit.replaying.movement.CallMovement` describes it.

    A movement tells a record where one record makes it, and so does whatever is worked out of it:
    these are in no ``repr``.
    """

    index: int
    place: str
    name: str
    kind: str
    shape: tuple[int, ...]
    scale: float | None = field(repr=False)
    other_scale: float | None = field(repr=False)
    moved: float | None = field(repr=False)
    seen: str | None
    steady: bool
    declared: float | None
    epsilon: float | None
    spent: float | None = field(repr=False)
    unknown: Unknown | None = None


@dataclass(frozen=True, kw_only=True)
class Replay:
    """The evidence about a claim from two calls with the same frozen noise.

    Parameters
    ----------
    mechanism
        Its name.
    epsilon, delta, relation
        What is claimed of this pair.
    a_unit
        What is claimed a unit of distance, and how far the two are apart, where that is the claim.
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
        Replays on each dataset, and pairs that were looked at.
    first_call
        Whether calls change what they use, so that the first call was replayed for itself.
    form
        How the function was called.
    certificates
        Of proofs and violations, for ``dpaudit verify``.
    shows_records
        Whether files hold movements, scales and what is worked out of them in all digits; else they
        have four.
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
    first_call: bool = False
    a_unit: AUnit | None = None
    certificates: tuple[Certificate, ...] = field(default=(), repr=False)
    shows_records: bool = False

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.mechanism}: {self.verdict}>"

    def __str__(self) -> str:
        from dpaudit.replaying.page import as_text

        return as_text(self)

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
        """The most that its counts can certify, if all of them tell; laws have none."""
        return most_of_counts(self.epsilon, self.delta, self.pairs * (2 if self.first_call else 1))

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the verdict is withheld; empty if it is not."""
        if self.verdict != "withheld":
            return ()
        return tuple(
            f"{one.heading}: {one.words}" for one in self.findings if one.tier in _VERDICTS
        )

    def _repr_html_(self) -> str:
        from dpaudit.replaying.page import as_html

        return as_html(self)

    def figure(
        self, path: str | os.PathLike[str] | None = None, *, width: float | None = None
    ) -> NDArray[np.object_]:
        """Return matplotlib axes that show the spending of each call; write a file where asked.

        Numbers have the four digits of the report, unless records are shown.

        Parameters
        ----------
        path
            A file to write, which ends in ``.pdf``, ``.svg`` or ``.png``.
        width
            Of the figure in inches, say 3.3 for one column of two.

        Returns
        -------
        numpy.ndarray
            Axes, one for each unit (epsilon, mu). The figure is ``axes[0].figure``.

        Raises
        ------
        InvalidArgument
            The file ends otherwise, or the width is below 2 inches.
        DataError
            The file cannot be written.
        """
        from dpaudit.replaying.pictures import draw_replay

        return draw_replay(self._for_a_file(), path, width=width)

    def to_latex(self) -> str:
        r"""Return name, claim, joint spending of all calls, and verdict: a row in LaTeX."""
        from dpaudit.replaying.pictures import row_of_replay

        return row_of_replay(self._for_a_file())

    def document(self) -> dict[str, Any]:
        """Return the result as plain JSON values; records are in it if they are shown."""
        found, spending = self._for_a_file(), self.spending
        content = {
            "mechanism": self.mechanism,
            "claimed": {"epsilon": self.epsilon, "delta": self.delta},
            "a_unit": None if self.a_unit is None else self.a_unit.model_dump(),
            "relation": self.relation,
            "edit": self.edit,
            "verdict": self.verdict,
            "withheld": list(self.reasons),
            "findings": [_to_plain_numbers(vars(one)) for one in found.findings],
            "calls": [self._call(one) for one in found.calls],
            "composed": found.composed,
            "spending": {
                "epsilon": found.spending.epsilon,
                "unknown": [vars(one) for one in spending.reasons],
                "mu": found.spending.mu,
                "excess": found.spending.excess,
                "runs": {"ordinary": spending.ordinary, "graded": spending.graded},
            },
            "unread": list(self.unread),
            "cap": self.cap,
            "runs": self.runs,
            "pairs": self.pairs,
            "first_call": self.first_call,
            "form": self.form,
            "seed": self.seed,
        }
        return add_schema("replay", content)

    def moved_a_unit(self, call: ReplayedCall) -> float | None:
        """Return how far a call moved a unit of distance; None where nothing is claimed of that."""
        if self.a_unit is None or call.moved is None:
            return None
        return in_four_digits(call.moved / self.a_unit.apart, ROUND_HALF_EVEN)

    def _call(self, one: ReplayedCall) -> dict[str, Any]:
        held = {**vars(one), "shape": list(one.shape)}
        return _to_plain_numbers({**held, "moved_a_unit": self.moved_a_unit(one)})

    def _for_a_file(self) -> Replay:
        """Return this with as few digits as its pages show, unless records are shown."""
        if self.shows_records:
            return self
        spending = self.spending
        return replace(
            self,
            findings=tuple(_round_fields(one, ROUND_FLOOR, "epsilon") for one in self.findings),
            calls=tuple(_round_fields(one, ROUND_HALF_EVEN, *_OF_A_CALL) for one in self.calls),
            spending=_round_fields(
                _round_fields(spending, ROUND_CEILING, "epsilon", "mu"), ROUND_HALF_EVEN, "excess"
            ),
        )


_Held = TypeVar("_Held", ReplayFinding, ReplayedCall, Spending)


def _round_fields(one: _Held, rounding: str, *names: str) -> _Held:
    """Return an object whose numbers of these names have four digits."""
    held = {name: getattr(one, name) for name in names}
    shown: dict[str, Any] = {
        name: in_four_digits(value, rounding)
        for name, value in held.items()
        if value is not None and math.isfinite(value)
    }
    return replace(one, **shown)


def _to_plain_numbers(held: Mapping[str, Any]) -> dict[str, Any]:
    return {name: to_json(value, non_finite="infinite") for name, value in held.items()}

"""The headline of the ledger: faults, proofs and unsettled statements, counted from rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dpaudit.ledger.verdicts import JudgedRow

_SPELLED = "no one two three four five six seven eight nine ten".split()


@dataclass(frozen=True, kw_only=True)
class RowCounts:
    """The totals of the rows of several papers.

    Parameters
    ----------
    papers
        How many have rows.
    faults, private_faults
        Causes by which an argument fails; and those of them by which a row about privacy falls.
    misprints, others
        Causes that are misprints; readings and assumptions.
    proved, private_proved
        Rows; and those of them that are about privacy.
    refuted, repaired
        Rows; and those of them of which it is known what would be true in their place.
    not_settled
        Rows.
    reproduced, differing
        Rows about figures that were drawn again, with the paper's data.
    stipulated
        Rows that say nothing that could be false.
    """

    papers: int
    faults: int
    private_faults: int
    misprints: int
    others: int
    proved: int
    private_proved: int
    refuted: int
    repaired: int
    not_settled: int
    reproduced: int
    differing: int
    stipulated: int

    @property
    def statements(self) -> int:
        """Rows that say something which is true or false, but those about figures drawn again."""
        return self.proved + self.refuted + self.not_settled

    @property
    def headline(self) -> str:
        """The counts as sentences, the same wherever they stand.

        Examples
        --------
        >>> print(
        ...     RowCounts(
        ...         papers=2, faults=3, private_faults=1, misprints=1, others=0, proved=4,
        ...         private_proved=2, refuted=5, repaired=1, not_settled=6, reproduced=8,
        ...         differing=1, stipulated=7,
        ...     ).headline
        ... )
        3 independent faults in two papers, of which 1 touches a privacy guarantee; 1 misprint and \
0 readings or assumptions stand apart. Of 15 statements, 4 are proved (2 of them about privacy), \
5 are refuted as printed (1 of them repaired), and 6 are not settled. Of 9 more about \
figures, 8 are reproduced.
        """
        return f"{self.faults_sentence} {self.statements_sentence}"

    @property
    def faults_sentence(self) -> str:
        """The causes by which statements fall, in one sentence."""
        touch = "touches" if self.private_faults == 1 else "touch"
        return (
            f"{_format_count(self.faults, 'independent fault')} in "
            f"{_format_spelled_count(self.papers, 'paper')}, of "
            f"which {self.private_faults} {touch} a privacy guarantee; "
            f"{_format_count(self.misprints, 'misprint')} and "
            f"{_format_count(self.others, 'reading or assumption', 'readings or assumptions')} "
            "stand "
            "apart."
        )

    @property
    def statements_sentence(self) -> str:
        """The totals of the statements; those about figures in a sentence of their own."""
        figures = self.reproduced + self.differing
        about = (
            f" Of {figures} more about figures, {_format_are_count(self.reproduced)} reproduced."
        )
        return (
            f"Of {_format_count(self.statements, 'statement')}, {_format_are_count(self.proved)} "
            "proved "
            f"({self.private_proved} of them about privacy), {_format_are_count(self.refuted)} "
            "refuted as "
            f"printed ({self.repaired} of them repaired), and "
            f"{_format_are_count(self.not_settled)} not settled."
            f"{about if figures else ''}"
        )


def count_rows(rows: Iterable[JudgedRow]) -> RowCounts:
    """Return the totals of judged rows."""
    judged = list(rows)
    natures, private = _find_cause_natures(judged)
    faults = {name for name, nature in natures.items() if nature == "fault"}
    misprints = {name for name, nature in natures.items() if nature == "misprint"}
    proved, refuted = _with_verdict(judged, "proved"), _with_verdict(judged, "refuted")
    return RowCounts(
        papers=len({one.paper for one in judged}),
        faults=len(faults),
        private_faults=len(faults & private),
        misprints=len(misprints),
        others=len(natures) - len(faults) - len(misprints),
        proved=len(proved),
        private_proved=sum(one.row.privacy for one in proved),
        refuted=len(refuted),
        repaired=sum(bool(one.repair) for one in refuted),
        not_settled=len(_with_verdict(judged, "not settled")),
        reproduced=len(_with_verdict(judged, "reproduced")),
        differing=len(_with_verdict(judged, "differs")),
        stipulated=len(_with_verdict(judged, "stipulated")),
    )


def _find_cause_natures(judged: Sequence[JudgedRow]) -> tuple[dict[str, str], set[str]]:
    """Return the nature of each cause by which a row falls, and those that a privacy row has."""
    falling = [(one.cause, one.row) for one in judged if one.cause is not None]
    # By name: a cause that two papers share is one fault, however many statements fall by it.
    natures = {cause.name: cause.nature for cause, _ in falling}
    return dict(natures), {cause.name for cause, row in falling if row.privacy}


def _with_verdict(judged: Sequence[JudgedRow], verdict: str) -> list[JudgedRow]:
    return [one for one in judged if one.verdict == verdict]


def _format_count(count: int, noun: str, nouns: str | None = None) -> str:
    return f"{count} {noun if count == 1 else nouns or noun + 's'}"


def _format_are_count(count: int) -> str:
    return f"{count} {'is' if count == 1 else 'are'}"


def _format_spelled_count(count: int, noun: str) -> str:
    word = _SPELLED[count] if count < len(_SPELLED) else str(count)
    return f"{word} {noun}" if count == 1 else f"{word} {noun}s"

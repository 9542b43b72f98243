"""Proofs of the subjects, and the time they take: ``make proofs``.

Writes ``docs/proved-programs.md`` and ``build/proofs.json``. Of every program it says what is
proved, or the line that stops the proof.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import dpaudit
from benchmarks._processor import processor_seconds
from benchmarks.proofs import long_traces, page
from benchmarks.proofs.subjects import SETS, Subject

ROOT = Path(__file__).resolve().parents[2]
LONG = "long"
CLOSE = 1.05  # a proof within 5% of a claim shows it, but for constants


@dataclass(frozen=True)
class Row:
    """What a proof of a subject gave.

    Attributes
    ----------
    is_proved
        Whether the claim is proved.
    epsilon
        What is proved at the delta of the claim; None where nothing is.
    line
        Where a proof stops and why, empty where it does not.
    seconds
        Of a processor.
    """

    name: str
    function: str
    claimed: float
    delta: float
    relation: str
    is_right: bool
    is_proved: bool
    epsilon: float | None
    line: str
    seconds: float
    note: str = ""

    @property
    def is_close(self) -> bool:
        """Whether what is proved is at most 5% above the claim."""
        return self.epsilon is not None and self.epsilon <= CLOSE * self.claimed


def proved(subject: Subject) -> Row:
    """Return what a proof of a subject gives."""
    began = processor_seconds()
    found = dpaudit.prove(
        subject.function,
        domain=subject.domain,
        relation=subject.relation,
        epsilon=subject.epsilon,
        delta=subject.delta,
        certified=False,
    )
    return Row(
        name=subject.name,
        function=name_of(subject.function),
        claimed=subject.epsilon,
        delta=subject.delta,
        relation=subject.relation,
        is_right=subject.is_right,
        is_proved=found.verdict == "proved",
        epsilon=None if found.numbers is None else found.numbers.epsilon,
        line="" if found.refusal is None else str(found.refusal),
        seconds=round(processor_seconds() - began, 3),
        note=subject.note,
    )


def name_of(function: Any) -> str:
    """Return the name of a function, or of the class of an object."""
    return getattr(function, "__name__", type(function).__name__)


def proofs_of(subjects: Iterable[Subject]) -> list[Row]:
    """Return what proofs of subjects give, each printed."""
    rows = []
    for subject in subjects:
        row = proved(subject)
        print(told(row), flush=True)
        rows.append(row)
    return rows


def told(row: Row) -> str:
    """Return a row as a line."""
    number = "nothing" if row.epsilon is None else f"epsilon {row.epsilon:.6g}"
    right = "right" if row.is_right else "wrong"
    said = f"{row.name} ({row.function}, {right}): {number} of {row.claimed:g}, {row.seconds} s"
    return f"{said}; {row.line}" if row.line else said


def main() -> None:
    """Prove all, and write the page and the numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only",
        action="append",
        choices=(*SETS, LONG),
        help="prove this set anew, and take the others from the JSON that is there",
    )
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "proved-programs.md")
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "proofs.json")
    options = parser.parse_args()
    found = _earlier(options.json) if options.only else {"sets": {}}
    found["machine"] = f"{platform.machine()}, Python {platform.python_version()}"
    for name in options.only or (*SETS, LONG):
        if name == LONG:
            found[LONG] = asdict(long_traces.measured())
        else:
            rows = proofs_of(SETS[name]())
            found["sets"][name] = [asdict(row) | {"is_close": row.is_close} for row in rows]
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    if LONG in found and found["sets"].keys() == SETS.keys():
        options.page.write_text(page.written(found), encoding="utf-8")
        print(f"{options.page}\n{options.json}")


def _earlier(path: Path) -> dict[str, Any]:
    """Return what an earlier run wrote down, sets without any where there was none."""
    if not path.exists():
        return {"sets": {}}
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    main()

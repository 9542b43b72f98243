"""CheckDP's programs: proofs of what holds, and audits of what is not proved: ``make checkdp``.

Writes ``docs/checkdp.md`` and ``build/checkdp.json``. An audit is told the domain and the claim.
The programs run in this process: they are ours, and draw from their generator alone.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import dpaudit
from benchmarks._processor import processor_seconds
from benchmarks.checkdp import page
from benchmarks.proofs.run import Row, proved
from benchmarks.proofs.subjects import Subject, programs
from dpaudit.mechanisms.foreign.isolation import Isolation

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Options:
    """How a program is audited: outputs a side, and confidences by whether its claim is true."""

    trials: int = 20_000
    confidence_true: float = 0.999999
    confidence_false: float = 0.95
    seed: int = 0


@dataclass(frozen=True)
class Answer:
    """A program: its proof, and the audit of a claim that is not proved."""

    proof: Row
    verdict: str
    lower: float
    seconds: float


def answer(subject: Subject, options: Options) -> Answer:
    """Return what a proof says of a program, and an audit where nothing is proved."""
    began = processor_seconds()
    proof = proved(subject)
    verdict, lower = ("proved", 0.0) if proof.is_proved else audited(subject, options)
    return Answer(proof, verdict, lower, round(processor_seconds() - began, 1))


def audited(subject: Subject, options: Options) -> tuple[str, float]:
    """Return the verdict of an audit, and what it certifies."""
    result = dpaudit.audit(
        subject.function,
        domain=subject.domain,
        relation=subject.relation,
        epsilon=subject.epsilon,
        trials=options.trials,
        confidence=options.confidence_true if subject.is_right else options.confidence_false,
        seed=options.seed,
        isolation=Isolation(in_process=True),
    )
    return result.verdict, float(result.measured.lower)


def answers(options: Options) -> Iterator[Answer]:
    """Yield what is said of every program, and print it."""
    for subject in programs():
        found = answer(subject, options)
        label = "right" if subject.is_right else "wrong"
        said = f"{found.verdict}, at least {found.lower:.3g}, {found.seconds} s"
        print(f"{subject.name}: {label}; {said}; {found.proof.line}", flush=True)
        yield found


def main() -> None:
    """Prove or audit all programs, and write the page and the numbers."""
    standard = Options()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=standard.trials)
    parser.add_argument("--seed", type=int, default=standard.seed)
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "checkdp.md")
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "checkdp.json")
    given = parser.parse_args()
    options = Options(trials=given.trials, seed=given.seed)
    found: dict[str, Any] = {
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "options": asdict(options),
        "answers": [asdict(one) for one in answers(options)],
    }
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    given.page.write_text(page.written(found), encoding="utf-8")
    print(f"{given.page}\n{given.json}")


if __name__ == "__main__":
    main()

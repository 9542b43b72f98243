"""DPriv-Bench's category 1, our verdict beside its label: ``make dpriv-bench``.

No dataset is given: `dpaudit.audit` is told the domain, looks for the worst pair, and certifies on
fresh outputs. Writes ``docs/dpriv-bench.md`` and ``build/dpriv-bench.json``.

The mechanisms run in this process, which is sound for them: they are ours, draw all that is random
from the generator that they are given, and keep nothing. An audit looks for the worst pair, and
counts what refutes once more, in fresh processes even so.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import dpaudit
from benchmarks._processor import processor_seconds
from benchmarks.dpriv_bench import page
from benchmarks.dpriv_bench.functions import VARIANTS
from benchmarks.dpriv_bench.questions import ADDITIVE, MECHANISMS, RECORDS, Question, questions
from dpaudit.laws.isolated import Isolation

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Options:
    """How every question is audited; ``trials`` are outputs a side, of choices so many more."""

    trials: int = 1000
    choice_trials: int = 4000
    confidence_true: float = 0.999999
    confidence_false: float = 0.95
    seed: int = 0
    isolated: bool = False


@dataclass(frozen=True)
class Row:
    """A question and what an audit said of it; seconds are of a processor, all processes."""

    mechanism: str
    number: int
    statistic: str
    formula: str
    claimed: str
    records: int
    label: bool
    verdict: str
    lower: float
    seconds: float
    why: str = ""


def audited(name: str, question: Question, options: Options, why: str = "") -> Row:
    """Return what an audit of a question says, given the domain and no dataset."""
    began = processor_seconds()
    verdict, lower = said_of(question, options)
    statistic = question.statistic
    return Row(
        mechanism=name,
        number=statistic.number,
        statistic=statistic.name,
        formula=statistic.formula,
        claimed=statistic.claimed.words,
        records=question.records,
        label=question.label,
        verdict=verdict,
        lower=lower,
        seconds=round(processor_seconds() - began, 2),
        why=why,
    )


def said_of(question: Question, options: Options) -> tuple[str, float]:
    """Return the verdict and what is certified."""
    chooses = question.mechanism.columns is not None
    result = dpaudit.audit(
        question.release(),
        domain=question.mechanism.domain(question.records),
        relation="replace-record",
        trials=options.choice_trials if chooses else options.trials,
        confidence=options.confidence_true if question.label else options.confidence_false,
        seed=options.seed,
        isolation=Isolation(in_process=not options.isolated),
        **question.mechanism.claim,
    )
    return result.verdict, float(result.measured.lower)


def asked_of(name: str, numbers: Sequence[int] = ()) -> list[tuple[Question, str]]:
    """Return the questions of a mechanism, then variants labelled false, and why these hold."""
    asked = [(question, "") for question in questions([name], RECORDS, numbers)]
    if name in ADDITIVE and not numbers:
        asked += [
            (Question(one.statistic, MECHANISMS[name], label=False, records=one.records), one.why)
            for one in VARIANTS
        ]
    return asked


def told(row: Row) -> Row:
    """Print a row, and return it."""
    said = "holds" if row.label else "does not hold"
    known = f"{row.mechanism} {row.number} {row.statistic}, n = {row.records}"
    print(f"{known}: {said}; {row.verdict}, {row.lower:.3g}, {row.seconds} s", flush=True)
    return row


def settled(name: str, options: Options, rows: list[dict[str, Any]]) -> Iterator[None]:
    """Add what is said of every question of a mechanism that has no row yet, one by one."""
    for question, why in asked_of(name)[len(rows) :]:
        rows.append(asdict(told(audited(name, question, options, why))))
        yield


def main() -> None:
    """Audit all questions, and write the page and the numbers."""
    standard = Options()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=standard.trials)
    parser.add_argument("--choice-trials", type=int, default=standard.choice_trials)
    parser.add_argument("--confidence-true", type=float, default=standard.confidence_true)
    parser.add_argument("--confidence-false", type=float, default=standard.confidence_false)
    parser.add_argument("--seed", type=int, default=standard.seed)
    parser.add_argument("--isolated", action="store_true", help="mechanisms in processes too")
    parser.add_argument("--only", action="append", choices=tuple(MECHANISMS))
    parser.add_argument(
        "--resume", action="store_true", help="take what is in the JSON, and audit what is not"
    )
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "dpriv-bench.md")
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "dpriv-bench.json")
    given = vars(parser.parse_args())
    only, resume, shown, kept = (given.pop(one) for one in ("only", "resume", "page", "json"))
    options = Options(**given)
    machine = f"{platform.machine()}, Python {platform.python_version()}"
    found: dict[str, Any] = {"machine": machine, "options": asdict(options), "rows": {}}
    if resume and kept.exists():
        found = json.loads(kept.read_text(encoding="utf-8"))
        options = Options(**found["options"])
    kept.parent.mkdir(parents=True, exist_ok=True)
    for name in only or MECHANISMS:
        for _ in settled(name, options, found["rows"].setdefault(name, [])):
            kept.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    shown.write_text(page.written(found), encoding="utf-8")
    print(f"{shown}\n{kept}")


if __name__ == "__main__":
    main()

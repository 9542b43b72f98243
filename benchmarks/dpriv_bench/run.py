"""DPriv-Bench's category 1, our verdict beside its label: ``make dpriv-bench``.

Every claim is first to be proved of the code. What is not proved is audited; no dataset is given:
`dpaudit.audit` is told the domain, looks for the worst pair, and certifies on fresh outputs.
Writes ``docs/dpriv-bench.md`` and ``build/dpriv-bench.json``.

The mechanisms run in this process, which is sound for them: they are ours, draw all that is random
from the generator that they are given, and keep nothing. An audit looks for the worst pair, and
counts what refutes once more, in fresh processes even so.
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import dpaudit
from benchmarks._processor import processor_seconds
from benchmarks.dpriv_bench import page
from benchmarks.dpriv_bench.functions import VARIANTS
from benchmarks.dpriv_bench.questions import ADDITIVE, MECHANISMS, RECORDS, Question, questions
from dpaudit.mechanisms.foreign.isolation import Isolation
from dpaudit.proving.report import CodeProof

ROOT = Path(__file__).resolve().parents[2]
AUDITED = Path(__file__).with_name("audited.json")
Audit = Callable[["Question"], tuple[str, float]]


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
    """A question, what a proof said of it, and an audit where nothing is proved.

    Attributes
    ----------
    verdict
        ``proved``, or that of an audit.
    lower
        What an audit certifies; 0 where there was none.
    proved
        What is proved, in the number that is claimed; None where nothing is.
    line
        Where a proof stops, and why.
    proof_seconds, seconds
        Of the proof and of both, of a processor, all processes.
    """

    mechanism: str
    number: int
    statistic: str
    formula: str
    claimed: str
    records: int
    label: bool
    verdict: str
    lower: float
    proved: float | None
    line: str
    proof_seconds: float
    seconds: float
    why: str = ""


def decided(name: str, question: Question, audit: Audit, why: str = "") -> Row:
    """Return what a proof says of a question, or an audit where nothing is proved."""
    began = processor_seconds()
    proof = proof_of(question)
    after = processor_seconds()
    is_proved = proof.verdict == "proved"
    verdict, lower = ("proved", 0.0) if is_proved else audit(question)
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
        proved=None if proof.numbers is None else proof.numbers.of(question.mechanism.guarantee),
        line="" if proof.refusal is None else str(proof.refusal),
        proof_seconds=round(after - began, 3),
        seconds=round(processor_seconds() - began, 2),
        why=why,
    )


def proof_of(question: Question) -> CodeProof:
    """Return what is proved of a question, given the domain."""
    return dpaudit.prove(
        question.release(),
        domain=question.mechanism.domain(question.records),
        relation="replace-record",
        certified=False,
        **question.mechanism.claim,
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
    number = row.proved if row.verdict == "proved" else row.lower
    print(f"{known}: {said}; {row.verdict}, {number:.3g}, {row.seconds} s; {row.line}", flush=True)
    return row


def settled(name: str, audit: Audit, rows: list[dict[str, Any]]) -> Iterator[None]:
    """Add what is said of every question of a mechanism that has no row yet, one by one."""
    for question, why in asked_of(name)[len(rows) :]:
        rows.append(asdict(told(decided(name, question, audit, why))))
        yield


@dataclass
class Audits:
    """Audits by question: those of an earlier run, as far as they are to do, and those of this one.

    Attributes
    ----------
    options
        Of the audits.
    earlier
        Verdicts and lower ends by the key of a question.
    date
        Of the earlier ones, empty where there are none.
    """

    options: Options
    earlier: dict[str, list[Any]]
    date: str = ""

    @classmethod
    def kept(cls, options: Options) -> Audits:
        """Return the audits that an earlier run wrote down."""
        found = json.loads(AUDITED.read_text(encoding="utf-8"))
        return cls(options, found["audits"], found["date"])

    def __call__(self, question: Question) -> tuple[str, float]:
        """Return the verdict and what is certified."""
        key = self.key(question)
        if key not in self.earlier:
            self.earlier[key] = list(said_of(question, self.options))
        verdict, lower = self.earlier[key]
        return str(verdict), float(lower)

    def key(self, question: Question) -> str:
        """Return what tells a question from the others."""
        known = (question.mechanism.name, question.number, question.statistic.name)
        return f"{' '.join(map(str, known))}, n = {question.records}"

    def write(self) -> None:
        """Write all down, with the date of the earliest."""
        date = self.date or datetime.date.today().isoformat()
        text = json.dumps({"date": date, "audits": self.earlier}, indent=1)
        AUDITED.write_text(text + "\n", encoding="utf-8")


def main() -> None:
    """Prove or audit all questions, and write the page and the numbers."""
    standard = Options()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=standard.trials)
    parser.add_argument("--choice-trials", type=int, default=standard.choice_trials)
    parser.add_argument("--confidence-true", type=float, default=standard.confidence_true)
    parser.add_argument("--confidence-false", type=float, default=standard.confidence_false)
    parser.add_argument("--seed", type=int, default=standard.seed)
    parser.add_argument(
        "--proofs", action="store_true", help="prove anew, and take audits of an earlier run"
    )
    parser.add_argument("--isolated", action="store_true", help="mechanisms in processes too")
    parser.add_argument("--only", action="append", choices=tuple(MECHANISMS))
    parser.add_argument(
        "--resume", action="store_true", help="take what is in the JSON, and audit what is not"
    )
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "dpriv-bench.md")
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "dpriv-bench.json")
    given = vars(parser.parse_args())
    names = ("only", "resume", "page", "json", "proofs")
    only, resume, shown, kept, proofs = (given.pop(one) for one in names)
    options = Options(**given)
    machine = f"{platform.machine()}, Python {platform.python_version()}"
    found: dict[str, Any] = {"machine": machine, "options": asdict(options), "rows": {}}
    if resume and kept.exists():
        found = json.loads(kept.read_text(encoding="utf-8"))
        options = Options(**found["options"])
    audit = Audits.kept(options) if proofs else Audits(options, {})
    found["audited"] = audit.date
    kept.parent.mkdir(parents=True, exist_ok=True)
    for name in only or MECHANISMS:
        for _ in settled(name, audit, found["rows"].setdefault(name, [])):
            kept.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    audit.write()
    shown.write_text(page.written(found), encoding="utf-8")
    print(f"{shown}\n{kept}")


if __name__ == "__main__":
    main()

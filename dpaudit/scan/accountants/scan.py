"""`dpaudit scan` of an accountant: its answers, asked for in its own environment and judged."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence

from dpaudit.errors import DpauditError
from dpaudit.execution.executor import Progress, Silent
from dpaudit.scan.accountants.asking import MEMORY, SECONDS, MethodAnswer, ask_in_environment
from dpaudit.scan.accountants.card import AccountantCard
from dpaudit.scan.accountants.cases import AccountantQuestion, make_question_grid
from dpaudit.scan.accountants.document import AccountantScan, make_accountant_scan
from dpaudit.scan.accountants.judge import AnswerJudgement, judge_answer

_PROBE = "import platform; from importlib.metadata import version as v; import sys; \
print(platform.python_version(), v(sys.argv[1]))"


def scan_accountant(
    card: AccountantCard,
    *,
    python: str = sys.executable,
    questions: Sequence[AccountantQuestion] | None = None,
    seconds: float = SECONDS,
    memory: int | None = MEMORY,
    progress: Progress | None = None,
) -> AccountantScan:
    """Return the judgement of an accountant's answers to all questions.

    Parameters
    ----------
    card
        The accountant.
    python
        The interpreter of an environment in which its package is installed.
    questions
        Those of `make_question_grid` if None.
    seconds, memory
        Most for one question, and bytes for the asking process.
    progress
        Told of every answer and every judgement.

    Raises
    ------
    DpauditError
        The package is not installed there, or cannot be loaded.
    """
    began = time.perf_counter()
    release = version_in(python, card.distribution)
    chosen = make_question_grid() if questions is None else tuple(questions)
    asked = [
        (method.name, question)
        for method in card.methods
        for question in chosen
        if method.audits is (question.asks == "errors")
    ]
    progress = progress or Silent()
    progress.start(f"asking {card.name}", len(asked))
    answers = ask_in_environment(
        card.module, asked, python=python, seconds=seconds, memory=memory, advance=progress.advance
    )
    progress.start(f"judging {card.name}", len(answers))
    judgements = judge_all(card, answers, progress)
    took = time.perf_counter() - began
    return make_accountant_scan(card, release[1], judgements, python=release[0], seconds=took)


def judge_all(
    card: AccountantCard, answers: Sequence[MethodAnswer], progress: Progress | None = None
) -> list[AnswerJudgement]:
    """Return the judgements of all answers of an accountant."""
    methods = {method.name: method for method in card.methods}
    progress, found = progress or Silent(), list[AnswerJudgement]()
    for answer in answers:
        found += judge_answer(answer, methods[answer.method])
        progress.advance(1)
    return found


def version_in(python: str, distribution: str) -> tuple[str, str]:
    """Return the versions of Python and of a distribution in an environment.

    Raises
    ------
    DpauditError
        It is not installed there.
    """
    done = subprocess.run(
        [python, "-I", "-c", _PROBE, distribution], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise DpauditError(f"{distribution}: is not installed in the environment of {python}")
    interpreter, release = done.stdout.split()
    return interpreter, release

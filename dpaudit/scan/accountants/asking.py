"""Puts the questions to an accountant in an environment of its own, and brings back its answers.

The other side is `dpaudit/scan/accountants/plain/child.py`, a script of the standard library. A
question that takes too long is stopped there; one that ends the process is an answer too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dpaudit.errors import DpauditError
from dpaudit.scan.accountants.cases import AccountantQuestion

Outcome = Literal["answer", "nothing", "raised", "slow", "died"]
CHILD = Path(__file__).parent / "plain" / "child.py"
# Seconds of the processor for one answer: some corners never end.
SECONDS = 5.0
# Bytes of address space. Some accountants ask for a grid that grows with the count, and would
# take the whole machine instead of failing.
MEMORY = 6 * 2**30
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True, kw_only=True)
class MethodAnswer:
    """The answer of an accountant to one way of asking.

    Parameters
    ----------
    method, question
        Who was asked what.
    outcome
        ``answer``; ``nothing``, as the package has nothing for such a question; ``raised``;
        ``slow``, when it was stopped; or ``died``, when its process ended.
    values
        One number, or a lower end, an estimate and an upper end; two where epsilon and delta
        were asked for.
    words
        Of an exception, its type first.
    seconds
        How much of a processor's time it took.
    warnings
        The kinds of warnings that were shown.
    """

    method: str
    question: AccountantQuestion
    outcome: Outcome
    values: tuple[float, ...] = ()
    words: str = ""
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()


def ask_in_environment(
    module: Path,
    asked: Sequence[tuple[str, AccountantQuestion]],
    *,
    python: str = sys.executable,
    seconds: float = SECONDS,
    memory: int | None = MEMORY,
    advance: Callable[[int], None] = lambda count: None,
) -> list[MethodAnswer]:
    """Return the answers to pairs of a method and a question, in order.

    Parameters
    ----------
    module
        The plain module with ``METHODS``.
    asked
        Each a method of the module and a question.
    python
        The interpreter of the environment.
    seconds, memory
        Most of a processor's time for one question, and bytes for the process, None for as much
        as there is.
    advance
        Called with 1 after each answer.

    Raises
    ------
    DpauditError
        The module cannot be loaded there, or the asking process ended.
    """
    work = {
        "questions": [
            {"id": k, "method": method, "question": question.plain()}
            for k, (method, question) in enumerate(asked)
        ],
        "seconds": seconds,
        "memory": memory or 0,
    }
    found: list[MethodAnswer] = []
    for said in _read_child_lines(module, work, python):
        if "failed" in said:
            raise DpauditError(f"{module.stem}: cannot be loaded: {said['failed']}")
        if "id" in said:
            found.append(_parse_child_answer(said, *asked[said["id"]]))
            advance(1)
    # A child that ends early would otherwise leave questions without a judgement, which would
    # look as if the accountant had never been asked.
    if len(found) < len(asked):
        raise DpauditError(f"{module.stem}: the process that runs it ended too early")
    return found


def _read_child_lines(
    module: Path, work: Mapping[str, Any], python: str
) -> Iterator[dict[str, Any]]:
    """Yield the lines of the asking process."""
    # One thread each: the processor seconds of all threads count, and would depend on the
    # number of cores.
    environment = {**os.environ, **dict.fromkeys(_THREADS, "1"), "PYTHONDONTWRITEBYTECODE": "1"}
    # The questions come from a file: writing them into a pipe would fail here where the child ends
    # before it has read them all.
    with tempfile.TemporaryFile() as given:
        given.write(json.dumps(work).encode())
        given.seek(0)
        with subprocess.Popen(
            [python, str(CHILD), str(module)],
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        ) as process:
            try:
                for line in process.stdout or ():
                    yield json.loads(line)
            finally:
                process.kill()


def _parse_child_answer(
    said: Mapping[str, Any], method: str, question: AccountantQuestion
) -> MethodAnswer:
    outcome: Outcome = "answer"
    values: tuple[float, ...] = ()
    words = ""
    if said.get("stopped"):
        outcome = "slow"
    elif "died" in said:
        outcome, words = "died", f"its process ended with status {said['died']}"
    elif "raised" in said:
        outcome, words = "raised", f"{said['raised']}: {said['words']} ({said['at']})"
    elif said["values"] is None:
        outcome = "nothing"
    else:
        # The child sends numbers as text, since its JSON has no infinity and no NaN.
        values = tuple(float(value) for value in said["values"])
    return MethodAnswer(
        method=method,
        question=question,
        outcome=outcome,
        values=values,
        words=words,
        seconds=float(said["seconds"]),
        warnings=tuple(said.get("warnings", ())),
    )

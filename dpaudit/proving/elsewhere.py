"""Proofs of somebody's code in a process of its own: plain JSON comes back."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from typing import Any

from dpaudit._references import load_reference
from dpaudit.execution.pool import Crew
from dpaudit.laws.calling import form_of
from dpaudit.laws.isolated import Isolated, Isolation, named
from dpaudit.laws.observed import Observed
from dpaudit.proving.api import Question
from dpaudit.proving.refusals import Refusal
from dpaudit.proving.report import CodeProof


def prove_elsewhere(
    reference: str, isolation: Isolation, question: Question, form: str | None = None
) -> CodeProof:
    """Return what is proved of a function that runs elsewhere.

    Parameters
    ----------
    reference
        The function, ``module:name``.
    isolation
        Whether it runs in a process of its own, and what that may take.
    question
        What is to be proved.
    form
        How it is called; by default its signature says.

    Raises
    ------
    MechanismError, InvalidArgument
        It cannot be run, or an argument is refused.
    """
    if isolation.in_process:
        return _read(_prove_reference(reference, question, form))
    with named(reference), Crew(isolation.limits) as crew:
        return _read(crew.call(_prove_reference, reference, question, form))


def prove_mechanism(mechanism: Any, question: Question) -> CodeProof:
    """Return what is proved of a mechanism of an audit, where its code runs.

    Parameters
    ----------
    mechanism
        Other people's code, in this process or in others.
    question
        What is to be proved.
    """
    if isinstance(mechanism, Isolated):
        return _read(mechanism.ask(_prove_there, question))
    return _read(_prove_there(mechanism, question))


def _read(answer: str) -> CodeProof:
    found = json.loads(answer)
    return CodeProof.from_document(found["proof"], found["certificate"])


def _written(proof: CodeProof) -> str:
    return json.dumps({"proof": proof.document(), "certificate": proof.certificate})


def _prove_reference(reference: str, question: Question, form: str | None) -> str:
    with redirect_stdout(sys.stderr):
        function = load_reference("function", reference)
        return _written(question.answer(function, form_of(function, form), reference))


def _prove_there(mechanism: Any, question: Question) -> str:
    if not isinstance(mechanism, Observed):
        return _refused(question, "the mechanism states its law itself, and is no plain code")
    calls = mechanism.calls
    if mechanism.watched or mechanism.ignored or calls.fresh is not None or calls.read is not None:
        reason = "what an audit reads, observes, ignores or makes anew is no output of the code"
        return _refused(question, reason)
    with redirect_stdout(sys.stderr):
        return _written(question.answer(calls.function, calls.form))


def _refused(question: Question, reason: str) -> str:
    refusal = Refusal("the audit", reason)
    relation = getattr(question.relation, "name", str(question.relation))
    return _written(CodeProof(name="mechanism", relation=relation, refusal=refusal))

"""Proofs of somebody's code that runs elsewhere: its traces come back, and are judged here."""

from __future__ import annotations

import json
from typing import Any

from dpaudit.execution.pool import Crew
from dpaudit.mechanisms.foreign.guard import add_mechanism_name
from dpaudit.mechanisms.foreign.isolation import Isolation
from dpaudit.mechanisms.foreign.proxy import IsolatedMechanism
from dpaudit.proving.api import ProofQuestion
from dpaudit.proving.refusals import NotProved, ProofRefusal
from dpaudit.proving.report import CodeProof
from dpaudit.proving.runs.answers import read_mechanism, read_reference
from dpaudit.proving.transport import read_traces


def prove_elsewhere(
    reference: str, isolation: Isolation, question: ProofQuestion, form: str | None = None
) -> CodeProof:
    """Return the proof of a function that runs elsewhere.

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
        return _judge_elsewhere_answer(
            question, read_reference(reference, question.request, form), reference
        )
    with add_mechanism_name(reference), Crew(isolation.limits) as crew:
        answer = crew.call(read_reference, reference, question.request, form)
    return _judge_elsewhere_answer(question, answer, reference)


def prove_mechanism(mechanism: Any, question: ProofQuestion) -> CodeProof:
    """Return the proof of an audit's mechanism, in the process of its code.

    Parameters
    ----------
    mechanism
        Other people's code, in this process or in others.
    question
        What is to be proved.
    """
    if isinstance(mechanism, IsolatedMechanism):
        return _judge_elsewhere_answer(question, mechanism.ask(read_mechanism, question.request))
    return _judge_elsewhere_answer(question, read_mechanism(mechanism, question.request))


def _judge_elsewhere_answer(
    question: ProofQuestion, answer: str, reference: str | None = None
) -> CodeProof:
    """Return the proof in an answer."""
    found = json.loads(answer)
    if "refused" in found:
        return question.refuse(found["name"], NotProved(ProofRefusal(**found["refused"])))
    where = reference or found["reference"]
    return question.judge(found["name"], read_traces(found["traces"]), where)

"""The answers of a process of somebody's code: traces as text, or the line that stopped them."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from dataclasses import asdict
from typing import Any

from dpaudit._references import load_reference
from dpaudit.mechanisms.foreign.calling import CallForm, form_of
from dpaudit.mechanisms.foreign.code_mechanism import CodeMechanism
from dpaudit.proving.refusals import NotProved
from dpaudit.proving.runs.request import TraceRequest, name_of, reference_of
from dpaudit.proving.transport import write_traces

_OTHERWISE = (
    "with options that read, observe, ignore or renew parts, the audited output is not "
    "the output of the code"
)


def read_reference(reference: str, request: TraceRequest, form: str | None) -> str:
    """Return the reading of ``module:name``, which is imported here."""
    with redirect_stdout(sys.stderr):  # standard output is for results
        function = load_reference("function", reference)
        return _make_trace_answer(function, form_of(function, form), request)


def read_mechanism(mechanism: Any, request: TraceRequest) -> str:
    """Return the reading of an audit's mechanism."""
    if not isinstance(mechanism, CodeMechanism):
        return _make_refusal_answer(
            "mechanism", "the mechanism states its own law and is not plain code"
        )
    calls = mechanism.calls
    if mechanism.watched or mechanism.ignored or calls.fresh is not None or calls.read is not None:
        return _make_refusal_answer("mechanism", _OTHERWISE)
    with redirect_stdout(sys.stderr):
        return _make_trace_answer(calls.function, calls.form, request)


def _make_trace_answer(function: Any, form: CallForm, request: TraceRequest) -> str:
    name = name_of(function)
    try:
        traces = write_traces(request.read(function, form))
    except NotProved as error:
        return json.dumps({"name": name, "refused": asdict(error.refusal)})
    return json.dumps({"name": name, "reference": reference_of(function), "traces": traces})


def _make_refusal_answer(name: str, reason: str) -> str:
    return json.dumps({"name": name, "refused": asdict(NotProved.at("the audit", reason).refusal)})

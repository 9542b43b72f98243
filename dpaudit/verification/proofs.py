"""Certificates of proofs from code: the program is bounded again, and compared with the code.

`dpaudit.proving.checker` derives every event and its cost from the program in the file, and
believes no number of it. Whether that is the program of a function is seen where the reader names
the function: it is traced again over the datasets that the file states, in a process of its own,
and every node, constant and output has to be the file's. Without the code the verdict has a
reservation.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

from dpaudit.errors import shorten_repr
from dpaudit.proving import checker
from dpaudit.verification.document import Document, Verdict

if TYPE_CHECKING:
    from dpaudit.verification.redrawn_counts import Reader

_UNKNOWN = "only the file says what code this is: --mechanism module:function compares it"


def verify_proof(document: Document, reader: Reader) -> Verdict:
    """Check a proof by the rules of the checker, and the reader's code against its program.

    Parameters
    ----------
    document
        A certificate of kind ``proof``.
    reader
        ``mechanism`` is the function: it is called as ``f(data)`` or ``f(data, rng)``, or as
        ``form`` says.

    Raises
    ------
    MechanismError, InvalidArgument
        The code cannot be run.
    """
    content = {
        "format": "dpaudit-certificate",
        "kind": document.kind,
        "instance": document.instance,
    }
    summary, failures = "", tuple[str, ...]()
    try:
        summary = checker.check_proof_certificate(content)
    except checker.NotVerified as error:
        failures = (str(error),)
    # Running the reader's code against a program that proves nothing could only add to the
    # failures.
    other, reservations = ((), ()) if failures else _compare_code(document.instance, reader)
    return Verdict(
        claim="proof" if reader.mechanism is None else _name_of(reader.mechanism),
        failures=(*failures, *other),
        ratio=1.0,
        summary=summary,
        reservations=reservations,
        proves=True,
    )


def _name_of(mechanism: object) -> str:
    if isinstance(mechanism, str):
        return mechanism
    return str(getattr(mechanism, "__name__", type(mechanism).__name__))


def _compare_code(
    instance: Mapping[str, Any], reader: Reader
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the differences of the reader's code, and the statements of the file alone."""
    if reader.mechanism is None:
        return (), (_UNKNOWN,)
    found = trace_again(reader.mechanism, instance["universe"], reader)
    if "refused" in found:
        return (f"the code is not followed: {found['refused']}",), ()
    return tuple(compare_program_paths(instance, found)), ()


def trace_again(
    function: Callable[..., Any] | str, universe: Mapping[str, Any], reader: Reader
) -> dict[str, Any]:
    """Return the paths of a function as a certificate has them, or why it is not followed.

    Parameters
    ----------
    function
        ``module:name`` runs in a process of its own, a callable in this one.
    universe
        The datasets, as the file states them.
    reader
        How the function is called, and how long that may take.
    """
    from dpaudit.execution.pool import Crew
    from dpaudit.execution.processes import Limits
    from dpaudit.mechanisms.foreign.guard import add_mechanism_name

    if not isinstance(function, str):
        found: dict[str, Any] = json.loads(_paths_of(function, universe, reader.form))
        return found
    with add_mechanism_name(function), Crew(Limits(timeout=reader.seconds)) as crew:
        found = json.loads(crew.call(_paths_elsewhere, function, universe, reader.form))
        return found


def _paths_elsewhere(reference: str, universe: Mapping[str, Any], form: str | None) -> str:
    from dpaudit._references import load_reference

    with redirect_stdout(sys.stderr):  # standard output is for results
        return _paths_of(load_reference("function", reference), universe, form)


def _paths_of(function: Callable[..., Any], universe: Mapping[str, Any], form: str | None) -> str:
    from dpaudit.mechanisms.foreign.calling import form_of
    from dpaudit.proving.certificate import instance_of, universe_in
    from dpaudit.proving.refusals import NotProved
    from dpaudit.proving.runs.reading import read_trace
    from dpaudit.proving.runs.request import call_as

    try:
        trace = read_trace(call_as(function, form_of(function, form)), universe_in(universe))
        found = instance_of(trace)
    except (NotProved, checker.NotVerified) as error:
        return json.dumps({"refused": str(error)})
    return json.dumps({name: found[name] for name in ("alike", "draws", "paths")})


def compare_program_paths(stated: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    """Yield the first thing that each path of the file has otherwise than the code.

    Examples
    --------
    >>> path = {"nodes": [{"operation": "number", "place": "f.py:1"}], "outputs": [0]}
    >>> program = {"alike": True, "draws": [], "paths": [path]}
    >>> list(compare_program_paths(program, {**program, "paths": [{**path, "outputs": []}]}))
    ['path 0: returns other numbers than the code']
    """
    if (stated["alike"], stated["draws"]) != (found["alike"], found["draws"]):
        yield "the file has other noise, or other records, than the code"
    if len(stated["paths"]) != len(found["paths"]):
        yield f"the file has {len(stated['paths'])} paths, the code {len(found['paths'])}"
        return
    for n, (one, other) in enumerate(zip(stated["paths"], found["paths"], strict=True)):
        yield from (f"path {n}: {what}" for what in _differences_of_path(one, other))


def _differences_of_path(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[str]:
    if len(one["nodes"]) != len(other["nodes"]):
        yield f"has {len(one['nodes'])} operations, the code {len(other['nodes'])}"
        return
    if one["outputs"] != other["outputs"] or one.get("skeleton") != other.get("skeleton"):
        yield "returns other numbers than the code"
    for left, right in zip(one["nodes"], other["nodes"], strict=True):
        # The place is the line of the source, which an added blank line moves without changing
        # the program.
        names = [key for key in right if key != "place" and left.get(key) != right[key]]
        if names:
            what = f"{shorten_repr(left.get(names[0]))}, the code {shorten_repr(right[names[0]])}"
            yield f"{names[0]} at {right['place']} is {what}"
            return

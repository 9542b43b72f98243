"""Checks that a ledger refers to: they are run, and their findings are all that counts."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

from dpaudit._references import build_referenced_object, load_reference
from dpaudit.errors import InvalidArgument
from dpaudit.extension.ledger import Finding


@cache
def run_check(reference: str) -> tuple[Finding, ...]:
    """Return the findings of the check ``module:function``; it runs once.

    Raises
    ------
    InvalidArgument
        It cannot be imported, fails, or returns something else than findings.
    """
    check = load_check(reference)
    found = build_referenced_object("check", reference, check)
    findings = found if isinstance(found, tuple) else (found,)
    # No finding at all must not pass for one in which everything holds.
    if not findings or not all(isinstance(one, Finding) for one in findings):
        raise InvalidArgument("check", reference, "a function that returns one Finding or several")
    return findings


def load_check(reference: str) -> Callable[[], Any]:
    """Return the function that a reference names.

    Raises
    ------
    InvalidArgument
        It cannot be imported, or is no function.
    """
    check = load_reference("check", reference)
    if not inspect.isfunction(check):
        raise InvalidArgument("check", reference, "a function without arguments")
    return check


def proof_of(reference: str) -> str:
    """Return the proof that a check's docstring gives; empty if it has none."""
    return inspect.getdoc(load_check(reference)) or ""

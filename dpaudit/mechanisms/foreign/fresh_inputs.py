"""Inputs to renew for every output of a mechanism: a nonce, a salt, a cache.

A mechanism whose noise follows from a secret gives one answer for one dataset, however often it is
asked. What it releases has a law over the secrets: to draw from it, another secret is made for each
output. Which one it is, is declared by who asks; what is certified is about that law.
"""

from __future__ import annotations

import importlib
import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.random import Generator

from dpaudit._references import load_reference
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.mechanisms.foreign.outside import Outside

PROCESS = "process"
_VARIABLE = "env:"
_EXPECTED = (
    "a function that is called before every output, 'process' for one output a process, 'env:NAME' "
    "for a variable of the environment, or the name of an argument, an attribute or a global "
    "(also as module:name) that gets another value for every output"
)
_UNSEEN = (
    "'process' for a program that goes on, which has read its environment when the variable gets "
    "another value; or a command that is run for every output (protocol 'once')"
)
_LENGTH = 32  # letters of a salt whose length nobody knows


@dataclass(frozen=True)
class Fresh:
    """An input that is new before every output.

    Parameters
    ----------
    what
        A function of nothing or of a generator; ``"env:NAME"``; ``"module:name"``; or the name of
        an argument of the mechanism, of an attribute of its object, or of a global beside it.
    """

    what: Any

    def make(self, function: Any, rng: Generator) -> None:
        """Make it anew, if it is no argument."""
        if callable(self.what):
            _call_refresher(self.what, rng)
        elif self.what == PROCESS:  # the process is the fresh one
            return
        elif self.what.startswith(_VARIABLE):
            name = self.what.removeprefix(_VARIABLE)
            os.environ[name] = draw_similar_value(os.environ.get(name, "0" * _LENGTH), name, rng)
        elif not self.is_argument(function):
            self._replaced(function, rng)

    def arguments(self, function: Any, rng: Generator) -> dict[str, Any]:
        """Return the argument that gets another value, if it is one."""
        if not self.is_argument(function):
            return {}
        default = _get_call_parameters(function)[self.what].default
        like = bytes(16) if default in (inspect.Parameter.empty, None) else default
        return {self.what: draw_similar_value(like, self.what, rng)}

    def is_argument(self, function: Any) -> bool:
        """Return whether it is an argument of a function."""
        return isinstance(self.what, str) and self.what in _get_call_parameters(function)

    def _replaced(self, function: Any, rng: Generator) -> None:
        """Let an attribute or a global have another value, or call it if it is a function."""
        owner, name = _resolve_name_owner(function, self.what)
        held = owner[name] if isinstance(owner, dict) else getattr(owner, name)
        if callable(held):
            _call_refresher(held, rng)
        elif isinstance(owner, dict):
            owner[name] = draw_similar_value(held, name, rng)
        else:
            setattr(owner, name, draw_similar_value(held, name, rng))


def require_fresh(given: Any) -> None:
    """Refuse words that name nothing to renew.

    Examples
    --------
    >>> require_fresh(3)
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: fresh: got 3, expected a function that is called before every \
output, 'process' for one output a process, 'env:NAME' for a variable of the environment, or the \
name of an argument, an attribute or a global (also as module:name) that gets another value for \
every output
    """
    if given is None or callable(given):
        return
    if not isinstance(given, str) or not given or given == _VARIABLE:
        raise InvalidArgument("fresh", given, _EXPECTED)


def require_seen(given: Any, outside: Outside) -> None:
    """Refuse a variable that is made anew for a program that goes on, which would never see it.

    Raises
    ------
    InvalidArgument
        No output could depend on what is made anew.
    """
    if isinstance(given, str) and given.startswith(_VARIABLE) and outside.goes_on:
        raise InvalidArgument("fresh", given, _UNSEEN)


def fresh_of(given: Any, function: Any) -> Fresh:
    """Return the input that is new before every output of a mechanism.

    Raises
    ------
    InvalidArgument
        Nothing has such a name.
    """
    found = Fresh(given)
    named = isinstance(given, str) and given != PROCESS and not given.startswith(_VARIABLE)
    if named and not found.is_argument(function):
        _resolve_name_owner(function, given)
    return found


def draw_similar_value(like: Any, name: str, rng: Generator) -> Any:
    """Return another value of the kind and length of one.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> len(draw_similar_value(b"0123", "KEY", rng)), len(draw_similar_value("salt", "SALT", rng))
    (4, 4)
    >>> draw_similar_value(0.5, "SCALE", rng)
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: fresh: got SCALE, expected something of bytes, text, an \
integer, a generator or an empty container: nobody knows which law float has; give a function that \
makes it
    """
    match like:
        case bytes() | bytearray():
            return type(like)(rng.bytes(len(like) or 16))
        case str():
            return rng.bytes(len(like) or _LENGTH).hex()[: len(like) or _LENGTH]
        # To Python a bool is an int, and would become a number of 63 bits.
        case bool():
            pass
        case int():
            return int(rng.integers(2**63))
        case np.random.Generator():
            return np.random.default_rng(int(rng.integers(2**63)))
        case dict() | list() | set():
            return type(like)()
    kind = type(like).__name__
    if type(like).__module__ == "random":
        return type(like)(int(rng.integers(2**63)))
    expected = "something of bytes, text, an integer, a generator or an empty container"
    cure = f"nobody knows which law {kind} has; give a function that makes it"
    raise InvalidArgument("fresh", VerbatimText(name), f"{expected}: {cure}")


def _call_refresher(function: Callable[..., Any], rng: Generator) -> None:
    """Call a function of nothing, or of a generator."""
    if hasattr(function, "cache_clear"):
        function.cache_clear()
        return
    try:
        takes = bool(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # it is compiled
        takes = False
    if takes:
        function(rng)
    else:
        function()


def _get_call_parameters(function: Any) -> Any:
    """Return the parameters of the called routine; none of a class, or of a compiled one."""
    try:
        return (
            {}
            if isinstance(function, type)
            else inspect.signature(_get_called_routine(function)).parameters
        )
    except (TypeError, ValueError):
        return {}


def _get_called_routine(function: Any) -> Any:
    """Return the function or method that is called where an object is audited."""
    target = function
    while isinstance(target, partial):
        target = target.func
    if inspect.isroutine(target):
        return target
    for name in ("sample", "fit"):
        if hasattr(target, name):
            return getattr(target, name)
    return getattr(target, "__call__")  # noqa: B004, B009 -- a method, with its globals


def _resolve_name_owner(function: Any, what: str) -> tuple[Any, str]:
    """Return the owner of a name, and the name in it."""
    if ":" in what:
        load_reference("fresh", what)
        module, _, path = what.partition(":")
        owner: Any = importlib.import_module(module)
        *inner, name = path.split(".")
        for part in inner:
            owner = getattr(owner, part)
        return owner, name
    routine = _get_called_routine(function)
    held = function if isinstance(function, type) else getattr(routine, "__self__", None)
    if held is not None and hasattr(held, what):
        return held, what
    known = getattr(getattr(routine, "__func__", routine), "__globals__", {})
    if what in known:
        return known, what
    raise InvalidArgument("fresh", what, _EXPECTED)

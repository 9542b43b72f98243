"""Words of errors that hold no record, judged by their parts.

Python's own words name attributes, variables, modules and arguments. Such a name may be a record:
`getattr(row, "Alice")`, `importlib.import_module(cell)` and `f(**row)` put one there. It is none
where the code on the way to the error has it written out.
"""

from __future__ import annotations

import builtins
import os
import re
import sys
import traceback
from collections.abc import Collection, Iterator
from types import CodeType

ANY = "*"  # in place of names: what asked is no code of others
_WITH_NAMES = re.compile(
    r"name '(?P<name>\w+)' is not defined"
    r"|cannot access (local|free) variable '(?P<variable>\w+)' where it is not associated with a "
    r"value( in enclosing scope)?"
    r"|(partially initialized )?(type object|module) '(?P<kind>[\w.]+)' has no attribute "
    r"'(?P<attribute>\w+)'( \(most likely due to a circular import\))?"
    r"|'(?P<object>[\w.]+)' object has no attribute '(?P<missing>\w+)'"
    r"|No module named '(?P<module>[\w.]+)'(; '(?P<package>[\w.]+)' is not a package)?"
    r"|cannot import name '(?P<imported>\w+)' from '(?P<source>[\w.]+)' \([^()]*\)"
    r"|(?P<function>[\w.<>]+)\(\) got (an unexpected keyword argument|multiple values for argument)"
    r" '(?P<argument>\w+)'(\. Did you mean '(?P<meant>\w+)'\?)?"
)
_LISTED = re.compile(
    r"(?P<function>[\w.<>]+)\(\) (takes|missing) [\w ()-]+?(?P<listed>: .*)?(\(\d+ given\))?"
)
_PLAIN = re.compile(
    r"((integer|float|complex) )?(division|modulo|floor division|divmod\(\)|division or modulo)"
    r"( or modulo)? by zero|division by zero|float floor division by zero"
    r"|(0\.0|zero) cannot be raised to a negative power|0\.0 to a negative or complex power"
    r"|unsupported operand type\(s\) for [^\w ]+=?( or pow\(\))?: '[\w.]+' and '[\w.]+'"
    r"|'[\w.]+' object (is not|does not|cannot) [\w ]+"
    r"|cannot pickle '[\w. ]+' object|object of type '[\w.]+' has no len\(\)"
    r"|operands could not be broadcast together with [a-z ]*shapes [\d,() ]+"
    r"|shapes [\d,()]+ and [\d,()]+ not aligned: [\d() dim!=]+"
    r"|(assignment destination|output array) is read-only"
    r"|cannot reshape array of size \d+ into shape [\d,()]+"
    r"|maximum recursion depth exceeded[a-z A-Z]*"
)
# What numpy and Python say of arithmetic, whatever the values are.
_OF_ARITHMETIC = re.compile(
    r"(invalid value|divide by zero|overflow|underflow) encountered in [\w ]+"
    r"|Mean of empty slice\.?|Degrees of freedom <= 0 for slice\.?|All-NaN (slice|axis) encountered"
)


def is_of_arithmetic(words: str) -> bool:
    """Return whether a warning is numpy's about arithmetic, which repeats no value.

    Examples
    --------
    >>> is_of_arithmetic("overflow encountered in exp"), is_of_arithmetic("odd record: Alice")
    (True, False)
    """
    return _OF_ARITHMETIC.fullmatch(words) is not None


def is_of_code(words: str, written: Collection[str]) -> bool:
    """Return whether words are Python's own, of types and shapes and names that code has written.

    Parameters
    ----------
    words
        Of an error.
    written
        Names in the code on the way to it, `ANY` among them where no code of others asked.

    Examples
    --------
    >>> words = "module 'numpy' has no attribute 'summ'"
    >>> is_of_code(words, {"np", "summ"}), is_of_code(words, {"np", "getattr", "row"})
    (True, False)
    """
    if not words or _PLAIN.fullmatch(words):
        return True
    found = _WITH_NAMES.fullmatch(words) or _LISTED.fullmatch(words)
    if found is None:
        return False
    groups = {key: text for key, text in found.groupdict().items() if text}
    listed = re.findall(r"'(\w+)'", groups.pop("listed", ""))
    function = groups.pop("function", "").replace("<locals>", "locals")
    names = [*groups.values(), *listed, *([function.rpartition(".")[2]] if function else [])]
    return ANY in written or all(_is_known(name, written) for name in names)


def _is_known(name: str, written: Collection[str]) -> bool:
    """Return whether a name is written in code, or is one of a module or of Python itself."""
    if name in sys.modules or name in vars(builtins):
        return True
    return all(part in written for part in name.split("."))


def names_on_the_way(error: BaseException) -> frozenset[str]:
    """Return the names that stand in the code on the way to an error, and that of its objects.

    Code that was made of a text in the run is left out: the text may be a record.

    Examples
    --------
    >>> try:
    ...     getattr(1, "Ali" + "ce")
    ... except AttributeError as error:
    ...     "Alice" in names_on_the_way(error)
    False
    """
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    own = [one for one in frames if not one.f_code.co_filename.startswith("<frozen ")]
    own = [one for one in own if one.f_globals.get("__name__") != "importlib"]
    if own and str(own[-1].f_globals.get("__name__")).partition(".")[0] == "dpaudit":
        return frozenset({ANY})
    # `exec` and `eval` name their code so. A name that stands in it may have come from a cell
    # of the data.
    codes = [one.f_code for one in own if one.f_code.co_filename not in ("<string>", "<unknown>")]
    names = {name for code in codes for name in _names_in(code)}
    return frozenset({*names, *_types_of(getattr(error, "obj", None))})


def _names_in(code: CodeType) -> Iterator[str]:
    names = (*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars, code.co_name)
    for name in names:
        yield from name.split(".")
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _names_in(one)
        elif isinstance(one, tuple):  # keywords of a call
            yield from (text for text in one if isinstance(text, str))


def _types_of(value: object) -> Iterator[str]:
    """Yield the names of a value's type, if its module has it by that name."""
    kind = value if isinstance(value, type) else type(value)
    found = getattr(sys.modules.get(kind.__module__), kind.__qualname__, None)
    if found is kind:
        yield from (*kind.__module__.split("."), kind.__qualname__)


def is_of_a_file(error: BaseException) -> bool:
    """Return whether an error of syntax is about a file, not about a text that the run has made.

    Examples
    --------
    >>> try:
    ...     eval("Alice 37")
    ... except SyntaxError as error:
    ...     is_of_a_file(error)
    False
    """
    return isinstance(error, SyntaxError) and os.path.isfile(error.filename or "")

"""Whether the words of an error hold no record: the same call on made-up data says them too.

Data of the same kind and shape are made, in which every value is another one, and a small one if
it is a number. If the call raises
the same error with the same words on them, the words follow from code and shapes alone, unless they
repeat something that the code holds beside its argument: what stands in its variables, and is not
written in the code that ran, may be a record as well.
"""

from __future__ import annotations

import re
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FrameType
from typing import Any

import numpy as np

from dpaudit._packages import is_installed
from dpaudit.errors import let_be_shown, what_happened, words_of
from dpaudit.redaction import are_shown

_SECONDS = 2.0  # that a call on made data may take
_MOST = 10_000  # values that are looked at
_LETTERS = "quevlimnortasdpyz"
_WORD = re.compile(r"[\w.+-]+")


class _CannotBeMade(Exception):
    """A kind of data that nobody knows how to make."""


def what_code_raised(error: BaseException, dataset: Any, again: Callable[[Any], object]) -> str:
    """Return on one line how somebody's code ended on a dataset, with words that hold no record.

    Every door that calls such code with records says it so.

    Parameters
    ----------
    error
        What the call raised.
    dataset
        On which it was raised.
    again
        Makes the same call of other data: words that it has for these are shown.

    Examples
    --------
    >>> def count(data):
    ...     return {"age": 1}["agee"]
    >>> try:
    ...     count([8675309])
    ... except KeyError as raised:
    ...     print(what_code_raised(raised, [8675309], count).partition(" in ")[0])
    KeyError: "'agee'"
    """
    if not are_shown() and tells_no_record(error, dataset, again):
        let_be_shown(error)
    return what_happened(error)


def find_raised_error(call: Callable[[Any], object], dataset: Any) -> BaseException | None:
    """Return the exception of a call of somebody's code; None if it returns.

    Raises
    ------
    KeyboardInterrupt
        Somebody stopped it.

    Examples
    --------
    >>> find_raised_error(len, [1.0]), type(find_raised_error(len, 1.0)).__name__
    (None, 'TypeError')
    """
    try:
        call(dataset)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # other people's code
        return error
    return None


def tells_no_record(
    error: BaseException, dataset: Any, call: Callable[[Any], object], *, seconds: float = _SECONDS
) -> bool:
    """Return whether an error on made data has the words that it had on a dataset.

    Parameters
    ----------
    error
        What the call raised.
    dataset
        On which it was raised.
    call
        The same call of other data.
    seconds
        That it may take.

    Examples
    --------
    >>> def adds(data):
    ...     return data[0] + "text"
    >>> def refuses(data):
    ...     raise ValueError(f"{data[0]} is too large")
    >>> for function in (adds, refuses):
    ...     try:
    ...         function([8675309])
    ...     except Exception as raised:
    ...         print(tells_no_record(raised, [8675309], function))
    True
    False
    """
    words, names = words_of(error), frozenset(_generate_error_names(error))
    if words is None or not isinstance(error, Exception):
        return False
    try:
        # Two made datasets, as one of them might happen to agree with the true one where the
        # words come from.
        made = [make_standin(dataset, names, number) for number in (1, 2)]
    except (_CannotBeMade, RecursionError):
        return False
    if any(_run_for_error(call, one, seconds) != (type(error), words) for one in made):
        return False
    return not _repeats_a_value(error, words, names)


def make_standin(value: Any, names: frozenset[str], number: int) -> Any:
    """Return other data of the same kind and shape; texts that are names in code stay.

    Examples
    --------
    >>> make_standin({"age": [37, 1.5], "Alice": True}, frozenset({"age"}), 1)
    {'age': [3, 0.75], 'yomul': False}
    """
    if value is None:
        return None
    if isinstance(value, bool | np.bool_):
        return type(value)(not value)
    if isinstance(value, int | np.integer):
        return _make_other_number(value, type(value)(2 * number + 1))
    if isinstance(value, float | np.floating):
        return _make_other_number(value, type(value)(0.75 * number))
    if isinstance(value, str):
        return value if value in names else _make_standin_text(value, number)
    if type(value) in (list, tuple, set, frozenset):
        return type(value)(make_standin(one, names, number) for one in value)
    if type(value) is dict:
        return {
            make_standin(key, names, number): make_standin(one, names, number)
            for key, one in value.items()
        }
    if type(value) is np.ndarray and value.dtype.kind in "biufO":
        flat = [make_standin(one, names, number) for one in value.ravel()]
        return np.array(flat, dtype=value.dtype).reshape(value.shape)
    return _make_standin_table(value, names, number)


def _make_other_number(value: Any, made: Any) -> Any:
    """Return a number that was made, and another one where it happens to be the value."""
    return type(value)(made + 1) if made == value else made


def _make_standin_table(value: Any, names: frozenset[str], number: int) -> Any:
    """Return another table of the same columns, but for names that no code has."""
    if not (hasattr(value, "to_dict") and hasattr(value, "columns") and hasattr(value, "iloc")):
        raise _CannotBeMade
    columns = [value.iloc[:, place].tolist() for place in range(value.shape[1])]
    made = {
        place: [make_standin(one, names, number) for one in column]
        for place, column in enumerate(columns)
    }
    table = type(value)(made)
    table.columns = [make_standin(name, names, number) for name in value.columns]
    return table


def _make_standin_text(value: str, number: int) -> str:
    return "".join(
        _LETTERS[(ord(one) + place * number + number) % len(_LETTERS)]
        for place, one in enumerate(value)
    )


def _run_for_error(
    call: Callable[[Any], object], made: Any, seconds: float
) -> tuple[type[BaseException], str | None] | None:
    """Return the error that a call raises and its words; None if none, or not in time."""
    found: list[tuple[type[BaseException], str | None]] = []

    def attempt() -> None:
        try:
            call(made)
        except BaseException as error:  # other people's code
            found.append((type(error), words_of(error)))

    # A thread can be left behind where the call never returns; nothing waits for a daemon.
    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    thread.join(seconds)
    return found[0] if found else None


def _find_foreign_frames(error: BaseException) -> list[FrameType]:
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    ours = "dpaudit"
    return [one for one in frames if str(one.f_globals.get("__name__")).partition(".")[0] != ours]


def _generate_error_names(error: BaseException) -> Iterator[str]:
    """Yield names and texts that are written in the functions on the way to an error."""
    for frame in _find_foreign_frames(error):
        if frame.f_code.co_name != "<module>":
            yield from _generate_code_texts(frame.f_code)


def _generate_code_texts(code: CodeType) -> Iterator[str]:
    yield from (*code.co_names, *code.co_varnames, *code.co_freevars)
    for one in code.co_consts:
        for inner in one if isinstance(one, tuple | frozenset) else (one,):
            if isinstance(inner, str):
                yield inner
        if isinstance(one, CodeType):
            yield from _generate_code_texts(one)


def _repeats_a_value(error: BaseException, words: str, names: frozenset[str]) -> bool:
    """Return whether words repeat values of variables that the code does not write itself."""
    told = set(_WORD.findall(words)) - names
    left = _MOST
    for frame in _find_foreign_frames(error):
        held_globally = {} if is_installed(frame.f_code.co_filename) else frame.f_globals
        for held in (frame.f_locals, held_globally):
            own = {name: one for name, one in held.items() if not name.startswith("__")}
            for text in _generate_held_texts(list(own.values()), 4):
                left -= 1
                # Short texts occur in any words by chance, and count as whole words only.
                if left < 0 or text in told or (len(text) > 3 and text in words):
                    if left < 0 or text not in names:
                        return True
    return False


def _generate_held_texts(value: Any, deep: int) -> Iterator[str]:
    """Yield the texts in the value of a variable: text itself, and numbers as they are written."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, int | float | np.number) and not isinstance(value, bool):
        yield from {str(value), f"{value:g}"}
    elif deep and isinstance(value, list | tuple | set | frozenset):
        for one in value:
            yield from _generate_held_texts(one, deep - 1)
    elif deep and isinstance(value, Mapping):
        yield from _generate_held_texts([*value.keys(), *value.values()], deep - 1)
    elif isinstance(value, np.ndarray) and value.dtype.kind in "iuf":
        for one in value.ravel()[:1000].tolist():
            yield from _generate_held_texts(one, deep)

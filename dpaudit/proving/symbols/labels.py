"""Texts and other values of a few kinds, as the numbers that stand for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from dpaudit.proving.symbols.symbol import Symbol, SymbolTracing

NONE = -2  # what no value is; -1 is any that is none of those that are known


@dataclass(eq=False)
class Vocabulary:
    """The values that numbers stand for; of a part with other values, more as code asks for them.

    Parameters
    ----------
    values
        Those of the numbers 0, 1, ....
    is_open
        Whether others occur.
    """

    values: list[Any]
    is_open: bool = False
    places: dict[Any, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.places = {_make_equality_key(one): n for n, one in enumerate(self.values)}

    def number_of(self, value: Any) -> int | None:
        """Return the number of a value; None where no record holds it."""
        key = _make_equality_key(value)
        if key not in self.places and self.is_open:
            self.places[key] = len(self.values)
            self.values.append(value)
        return self.places.get(key)


def _make_equality_key(value: Any) -> Any:
    """Return a key that equal values share, as ``==`` has it."""
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value.item() if isinstance(value, np.generic) else value


class Labels:
    """Values that are no numbers: one, or an array or a column of them.

    Parameters
    ----------
    codes
        The numbers that stand for them.
    vocabulary
        What they stand for.
    """

    __array_ufunc__ = None
    codes: Symbol
    vocabulary: Vocabulary

    def __init__(self, codes: Symbol, vocabulary: Vocabulary) -> None:
        self.__dict__.update(codes=codes, vocabulary=vocabulary)

    @property
    def tracing(self) -> SymbolTracing:
        """The run."""
        return self.codes.tracing

    def equals(self, value: Any) -> Symbol:
        """Return which are a value, or the same as other labels."""
        if isinstance(value, Labels):
            if value.vocabulary is not self.vocabulary:
                self._refuse("the code compares texts of two kinds")
            return self.codes == value.codes  # type: ignore[no-any-return]
        if isinstance(value, Symbol) or np.ndim(value):
            self._refuse("the code compares texts with an array")
        number = self.vocabulary.number_of(value)
        return self.codes == (NONE if number is None else number)  # type: ignore[no-any-return]

    def is_among(self, values: Any) -> Symbol:
        """Return which are one of some values."""
        numbers = sorted({n for one in values if (n := self.vocabulary.number_of(one)) is not None})
        found: Any = self.codes == NONE
        for number in numbers:
            found = np.logical_or(found, self.codes == number)
        return found  # type: ignore[no-any-return]

    def numbers_by(self, mapping: Any) -> Any:
        """Return the number that a mapping gives each: it has to have one for every value."""
        if self.vocabulary.is_open or any(one not in mapping for one in self.vocabulary.values):
            self._refuse(
                "the code maps texts, some of which have no number", "give one for every category"
            )
        return _select_by_number(self.codes, [mapping[one] for one in self.vocabulary.values])

    def __eq__(self, other: object) -> Any:
        return self.equals(other)

    def __ne__(self, other: object) -> Any:
        return np.logical_not(self.equals(other))

    def __getitem__(self, key: Any) -> Labels:
        return Labels(self.codes[key], self.vocabulary)

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Any:
        return (Labels(one, self.vocabulary) for one in self.codes)

    def __deepcopy__(self, memo: Any) -> Labels:
        return Labels(self.codes.copy(), self.vocabulary)

    def __hash__(self) -> int:
        self._refuse(
            "the code uses texts of records as keys, or as members of a set",
            "go through public keys",
        )

    def __bool__(self) -> bool:
        self._refuse("the code branches on a text of a record")

    def __str__(self) -> str:
        self._refuse("the code writes a value that depends on records as text")

    def __format__(self, form: str) -> str:
        self._refuse("the code writes a value that depends on records as text")

    def __repr__(self) -> str:
        return f"Labels(shape={self.codes.dims})"

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        self._refuse(
            "the code makes an array of texts of records", "compare them with public texts"
        )

    def __setattr__(self, name: str, value: Any) -> None:
        self._refuse(f"the code sets .{name} of texts of records")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse(
            f"no rule covers .{name} of texts of records", "compare them with public texts"
        )

    def _refuse(self, reason: str, cure: str = "") -> NoReturn:
        self.tracing.refuse(reason, cure)


def label_of(number: Symbol, options: Sequence[Any]) -> Any:
    """Return the option of a number: a number where all options are, a label elsewhere."""
    if all(isinstance(one, int | float | np.integer | np.floating) for one in options):
        return _select_by_number(number, options)
    return Labels(number, Vocabulary(list(options)))


def _select_by_number(number: Symbol, values: Sequence[Any]) -> Any:
    """Return the value of each number from 0 on, of public numbers."""
    if [*values] == [*range(len(values))]:
        return number
    found: Any = values[-1]
    for n in reversed(range(len(values) - 1)):
        found = np.where(number == n, values[n], found)
    return found

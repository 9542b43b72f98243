"""Numbers by category, as ``value_counts`` and ``groupby`` of pandas give them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from dpaudit.proving.symbols.columns import METHODS, ColumnSymbol, join_masks
from dpaudit.proving.symbols.labels import label_of
from dpaudit.proving.symbols.symbol import Symbol

_CURE = "take public categories: .reindex(categories, fill_value=0)"


class CategoryCounts:
    """Counts, or sums, of the rows of each category: which there are depends on the records.

    Parameters
    ----------
    keys
        The column of categories.
    values
        What is summed; None for how many rows there are.
    """

    def __init__(self, keys: ColumnSymbol, values: ColumnSymbol | None) -> None:
        self.keys, self.values_ = keys, values

    def reindex(self, index: Any, fill_value: Any = None) -> Series:
        """Return the numbers of public categories, 0 of such as no record has."""
        # pandas fills in NaN otherwise, which shows that no record has the category.
        if fill_value is None or isinstance(fill_value, Symbol) or fill_value != 0:
            self.keys.refuse("categories without records give missing numbers", "give fill_value=0")
        names = list(index)
        return Series(self.keys.tracing.symbol_of([self._of(one) for one in names]), names)

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the number of a public category, 0 of one that no record has."""
        if default is None or isinstance(default, Symbol) or default != 0:
            self.keys.refuse("a category without records gives no number", "give 0 in its place")
        return self._of(key)

    def _of(self, key: Any) -> Any:
        chosen = self.keys == key
        rows = join_masks(self.keys.mask, chosen)
        return (
            np.sum(rows)
            if self.values_ is None
            else np.sum(ColumnSymbol(self.values_.numbers(), rows).numbers_or(0))
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self.keys.refuse(
            f"no rule covers .{name} of numbers by category when the categories depend on records",
            _CURE,
        )

    def __getitem__(self, key: Any) -> Any:
        self.keys.refuse("the code takes the number of a category that no record may have", _CURE)

    def as_output(self) -> Any:
        """Refuse to be returned."""
        return self[""]

    # The length alone says how many categories the records have.
    def _uncounted(self, *_: Any, **__: Any) -> Any:
        self.keys.refuse(
            "the code uses numbers by category, and the number of categories depends on records",
            _CURE,
        )

    __iter__ = __len__ = __contains__ = __array__ = __array_ufunc__ = __array_function__ = (
        _uncounted
    )
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _uncounted
    __rtruediv__ = __pow__ = __neg__ = __lt__ = __le__ = __gt__ = __ge__ = _uncounted


class Series(NDArrayOperatorsMixin):
    """Numbers by public names, as a Series of pandas has them.

    Parameters
    ----------
    numbers
        One for each name, shape ``(names,)``.
    names
        The index.
    """

    __array_priority__ = 4000.0

    def __init__(self, numbers: Symbol, names: Sequence[Any]) -> None:
        self.numbers, self.names = numbers, list(names)

    def as_symbol(self) -> Symbol:
        """Return the numbers as an array."""
        return self.numbers

    as_output = as_symbol

    @staticmethod
    def plain_sample() -> Any:
        """Return a plain Series."""
        import pandas

        return pandas.Series([0.0])

    @property
    def values(self) -> Symbol:
        """The numbers as an array."""
        return self.numbers

    @property
    def index(self) -> Any:
        """The names."""
        import pandas

        return pandas.Index(self.names)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        given = [self._operand(one) for one in inputs]
        return Series(getattr(ufunc, method)(*given, **options), self.names)

    def _operand(self, value: Any) -> Any:
        if isinstance(value, Series) and value.names != self.names:
            self.numbers.tracing.refuse("the code combines numbers with different names")
        return value.numbers if isinstance(value, Series) else value

    def __array_function__(self, function: Any, types: Any, args: Any, named: Any) -> Any:
        return function(
            *(self._operand(one) for one in args),
            **{name: self._operand(one) for name, one in named.items()},
        )

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str | int) and key in self.names:
            return self.numbers[self.names.index(key)]
        self.numbers.tracing.refuse("the code takes numbers by a key that is not a public name")

    @property
    def loc(self) -> Series:
        """Itself, to be indexed by a name."""
        return self

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.numbers)

    def items(self) -> Iterator[tuple[Any, Any]]:
        """Return names and numbers."""
        return zip(self.names, self.numbers, strict=True)

    def to_dict(self) -> dict[Any, Any]:
        """Return the numbers by name."""
        return dict(self.items())

    def to_numpy(self) -> Symbol:
        """Return the numbers as an array."""
        return self.numbers.copy()  # type: ignore[no-any-return]

    def tolist(self) -> list[Any]:
        """Return the numbers as a list."""
        return list(self.numbers)

    def clip(self, lower: Any = None, upper: Any = None) -> Series:
        """Return the numbers between two ends."""
        found: Any = np.clip(self.numbers, lower, upper)
        return Series(found, self.names)

    def round(self, decimals: int = 0) -> Series:
        """Return the numbers rounded."""
        found: Any = np.round(self.numbers, decimals)
        return Series(found, self.names)

    def astype(self, dtype: Any) -> Series:
        """Return the numbers of another type."""
        return Series(self.numbers.astype(np.dtype(dtype)), self.names)

    def idxmax(self) -> Any:
        """Return the name of the largest number."""
        place: Any = np.argmax(self.numbers)
        return label_of(place, self.names)

    def idxmin(self) -> Any:
        """Return the name of the least number."""
        place: Any = np.argmin(self.numbers)
        return label_of(place, self.names)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in ("sum", "mean", "max", "min", "median"):
            return partial(getattr(np, name), self.numbers)
        self.numbers.tracing.refuse(f"no rule covers .{name} of a Series")


def _value_counts(column: ColumnSymbol, **named: Any) -> CategoryCounts:
    if named.keys() - {"sort", "dropna"}:
        column.refuse(f"no rule covers .value_counts() with {', '.join(named)}")
    return CategoryCounts(column, None)


METHODS["value_counts"] = _value_counts

"""A column of a table of pandas whose entries are symbols, all of them or those of some rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from dpaudit.proving.symbols.labels import Labels
from dpaudit.proving.symbols.symbol import Symbol, SymbolTracing

_NAMED = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater"}
_NAMED |= {"ge": "greater_equal", "add": "add", "sub": "subtract", "mul": "multiply"}
_NAMED |= {"div": "divide", "truediv": "divide", "pow": "power", "mod": "remainder"}
_ONE_FOR_ONE = "round exp log sqrt".split()
MEANS_OF_SOME = "the code takes the mean of some records, whose number is not public"
CURE_OF_MEANS = "add noise to the sum and to the number, and divide the noisy values"


class ColumnSymbol(NDArrayOperatorsMixin):
    """A column of a table.

    Parameters
    ----------
    values
        The entries of all rows.
    mask
        Which rows it has; None for all.
    """

    __array_priority__ = 4000.0
    values_: Symbol | Labels
    mask: Symbol | None

    def __init__(self, values: Symbol | Labels, mask: Symbol | None = None) -> None:
        self.__dict__.update(values_=values, mask=mask)

    # --- what it is made of ------------------------------------------------------------------

    @property
    def tracing(self) -> SymbolTracing:
        """The run."""
        return self.values_.tracing

    def refuse(self, reason: str, cure: str = "") -> NoReturn:
        """Refuse, for good."""
        self.tracing.refuse(reason, cure)

    def numbers(self) -> Symbol:
        """Return the entries of all rows as numbers."""
        if isinstance(self.values_, Labels):
            self.refuse("the code computes with texts of records", "compare them with public texts")
        return self.values_

    def as_symbol(self) -> Symbol:
        """Return the entries, where it has all rows."""
        if self.mask is not None:
            self.refuse(
                "the code uses some rows as an array, and the number of rows is not public",
                "sum over them",
            )
        return self.numbers()

    as_output = as_symbol

    @staticmethod
    def plain_sample() -> Any:
        """Return a plain column."""
        import pandas

        return pandas.Series([0.0])

    def _like(self, values: Any) -> ColumnSymbol:
        return ColumnSymbol(values, self.mask)

    def numbers_or(self, otherwise: Any) -> Symbol:
        """Return the numbers of its rows, and another number in all others."""
        numbers = self.numbers()
        if self.mask is None:
            return numbers
        found: Any = np.where(self.mask, numbers, otherwise)
        return found  # type: ignore[no-any-return]

    # --- operations --------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            self.refuse(
                f"no rule covers numpy.{ufunc.__name__} of a column and values that are not numbers"
            )
        if ufunc in (np.equal, np.not_equal) and any(map(_holds_labels, inputs)):
            return self._compare_labels(ufunc, inputs)
        given = [self._operand(one) for one in inputs]
        return self._like(ufunc(*given))

    def _operand(self, value: Any) -> Any:
        if not isinstance(value, ColumnSymbol):
            if np.ndim(value) if not isinstance(value, Symbol) else value.dims:
                self._require_all_rows()
            return value
        # pandas aligns rows by their names and fills in NaN where one side lacks a row.
        if not are_same_rows(value.mask, self.mask):
            self.refuse("the code combines columns of different rows")
        return value.numbers()

    def _require_all_rows(self) -> None:
        if self.mask is not None:
            self.refuse("the code combines an array with a column of some rows")

    def _compare_labels(self, ufunc: Any, inputs: Sequence[Any]) -> ColumnSymbol:
        one, other = (each.values_ if isinstance(each, ColumnSymbol) else each for each in inputs)
        labels, value = (one, other) if isinstance(one, Labels) else (other, one)
        equal = labels.equals(value)
        return self._like(equal if ufunc is np.equal else np.logical_not(equal))

    def __array_function__(self, function: Any, types: Any, args: Any, named: Any) -> Any:
        given = [one.as_symbol() if isinstance(one, ColumnSymbol) else one for one in args]
        options = {
            name: one.as_symbol() if isinstance(one, ColumnSymbol) else one
            for name, one in named.items()
        }
        return function(*given, **options)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, ColumnSymbol):
            return ColumnSymbol(self.values_, join_masks(self.mask, key))
        self.refuse("the code takes an entry of a column by position or name")

    def __iter__(self) -> Iterator[Any]:
        if isinstance(self.values_, Labels):
            return iter(self.values_)
        return iter(self.as_symbol().tolist())

    def __len__(self) -> int:
        return len(self.as_symbol())

    def __bool__(self) -> bool:
        raise ValueError("the truth value of a column is ambiguous")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        self.refuse("the code uses a column as an array of plain numbers", "use .to_numpy()")

    def __deepcopy__(self, memo: Any) -> ColumnSymbol:
        return self

    def __hash__(self) -> int:
        raise TypeError("unhashable type: 'Series'")

    def __setattr__(self, name: str, value: Any) -> None:
        self.refuse(f"the code sets .{name} of a column")

    def __setitem__(self, key: Any, value: Any) -> None:
        self.refuse("the code writes into a column", "use .where, .clip or a new column")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if (found := METHODS.get(name)) is not None:
            return partial(found, self)
        if name in _NAMED:
            return partial(getattr(np, _NAMED[name]), self)
        self.refuse(f"no rule covers .{name} of a column")

    # --- what is no method ---------------------------------------------------------------------

    @property
    def values(self) -> Symbol:
        """The entries, as an array."""
        return self.as_symbol()

    @property
    def loc(self) -> ColumnSymbol:
        """Itself, to be indexed by a condition."""
        return self

    @property
    def size(self) -> Any:
        """The number of rows."""
        return self.row_count()

    @property
    def shape(self) -> Any:
        """The number of rows, as a tuple."""
        return (self.row_count(),)

    @property
    def ndim(self) -> int:
        """One axis."""
        return 1

    def row_count(self) -> Any:
        """Return how many rows it has: a symbol, where that is not public."""
        codes = self.values_.codes if isinstance(self.values_, Labels) else self.values_
        return count_rows(codes, self.mask)


def count_rows(values: Symbol, mask: Symbol | None) -> Any:
    """Return how many rows there are, all or those of a mask."""
    return values.shape[0] if mask is None else np.sum(mask)


def are_same_rows(one: Symbol | None, other: Symbol | None) -> bool:
    """Return whether two masks are one."""
    if one is None or other is None:
        return one is other
    # Of two nodes nobody knows whether they choose the same rows, even if they always do.
    return one.index == other.index


def join_masks(mask: Symbol | None, condition: ColumnSymbol) -> Symbol:
    """Return which rows are left of those of a mask by a condition on them, or on all."""
    if not are_same_rows(condition.mask, mask) and condition.mask is not None:
        condition.refuse("the code takes rows by a condition on other rows")
    wanted = condition.numbers()
    if wanted.dtype.kind != "b":
        condition.refuse("the code takes rows by numbers", "use a comparison")
    if mask is None:
        return wanted
    found: Any = np.logical_and(mask, wanted)
    return found  # type: ignore[no-any-return]


def _holds_labels(value: Any) -> bool:
    return isinstance(value, ColumnSymbol) and isinstance(value.values_, Labels)


# --- methods ---------------------------------------------------------------------------------


def _compute_column_sum(
    column: ColumnSymbol, *, numeric_only: bool = False, skipna: bool = True
) -> Any:
    return np.sum(column.numbers_or(0))


def _count_column_rows(column: ColumnSymbol) -> Any:
    return column.row_count()


def _of_all(function: Callable[..., Any], **usual: Any) -> Callable[..., Any]:
    """Return a method that only a column of all rows has."""

    def apply(column: ColumnSymbol, *given: Any, **named: Any) -> Any:
        if column.mask is not None:
            column.refuse(MEANS_OF_SOME, CURE_OF_MEANS)
        return function(column.numbers(), *given, **{**usual, **named})

    return apply


def _clip_column(column: ColumnSymbol, lower: Any = None, upper: Any = None) -> ColumnSymbol:
    return column._like(np.clip(column.numbers(), lower, upper))


def _apply_column_between(
    column: ColumnSymbol, left: Any, right: Any, inclusive: str = "both"
) -> ColumnSymbol:
    values = column.numbers()
    low = values >= left if inclusive in ("both", "left") else values > left
    high = values <= right if inclusive in ("both", "right") else values < right
    return column._like(np.logical_and(low, high))


def _apply_column_isin(column: ColumnSymbol, values: Any) -> ColumnSymbol:
    if isinstance(column.values_, Labels):
        return column._like(column.values_.is_among(values))
    numbers, found = column.numbers(), None
    for one in values:
        same = numbers == one
        found = same if found is None else np.logical_or(found, same)
    return column._like(np.not_equal(numbers, numbers) if found is None else found)


def _map_column(column: ColumnSymbol, mapping: Any, na_action: Any = None) -> ColumnSymbol:
    if not isinstance(mapping, Mapping):
        column.refuse(
            "the code maps a column by a function", "give a dictionary, or compute with the column"
        )
    if isinstance(column.values_, Labels):
        return column._like(column.values_.numbers_by(mapping))
    column.refuse("the code maps numbers by a dictionary", "use numpy.where")


def _convert_column_type(column: ColumnSymbol, dtype: Any) -> ColumnSymbol:
    return column._like(column.numbers().astype(np.dtype(dtype)))


def _fill_column(column: ColumnSymbol, value: Any = None) -> ColumnSymbol:
    return column  # nothing is missing


def _to_numpy(column: ColumnSymbol, dtype: Any = None) -> Symbol:
    found = column.as_symbol()
    return found.copy() if dtype is None else found.astype(dtype)  # type: ignore[no-any-return]


def _convert_column_to_list(column: ColumnSymbol) -> Any:
    return list(column)


def _apply_column_where(column: ColumnSymbol, condition: Any, other: Any) -> ColumnSymbol:
    wanted = column._operand(condition)
    return column._like(np.where(wanted, column.numbers(), column._operand(other)))


def _apply_column_mask(column: ColumnSymbol, condition: Any, other: Any) -> ColumnSymbol:
    wanted = column._operand(condition)
    return column._like(np.where(wanted, column._operand(other), column.numbers()))


def _compute_absolute_column(column: ColumnSymbol) -> ColumnSymbol:
    return column._like(np.absolute(column.numbers()))


def _round_column(column: ColumnSymbol, decimals: int = 0) -> ColumnSymbol:
    return column._like(np.round(column.numbers(), decimals))


def _compute_column_any(column: ColumnSymbol) -> Any:
    return np.any(column.numbers_or(False))


def _compute_column_all(column: ColumnSymbol) -> Any:
    return np.all(column.numbers_or(True))


METHODS: dict[str, Callable[..., Any]] = {
    "sum": _compute_column_sum,
    "count": _count_column_rows,
    "mean": _of_all(np.mean),
    "median": _of_all(np.median),
    # pandas divides by n - 1 where numpy divides by n.
    "std": _of_all(np.std, ddof=1),
    "var": _of_all(np.var, ddof=1),
    "min": _of_all(np.min),
    "max": _of_all(np.max),
    "quantile": _of_all(np.quantile),
    "clip": _clip_column,
    "between": _apply_column_between,
    "isin": _apply_column_isin,
    "map": _map_column,
    "astype": _convert_column_type,
    "fillna": _fill_column,
    "dropna": _fill_column,
    "to_numpy": _to_numpy,
    "to_list": _convert_column_to_list,
    "tolist": _convert_column_to_list,
    "where": _apply_column_where,
    "mask": _apply_column_mask,
    "abs": _compute_absolute_column,
    "round": _round_column,
    "any": _compute_column_any,
    "all": _compute_column_all,
    "copy": _fill_column,
}
"""Methods of a column; others are added where they are written."""

"""A table of pandas whose columns are symbols: all rows, or those that a condition leaves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from dpaudit.proving.symbols.by_category import CategoryCounts
from dpaudit.proving.symbols.columns import ColumnSymbol, count_rows, join_masks
from dpaudit.proving.symbols.labels import Labels
from dpaudit.proving.symbols.symbol import Symbol, SymbolTracing


class TableSymbol:
    """A table.

    Parameters
    ----------
    tracing
        The run.
    parts
        The columns with all rows, by name.
    mask
        Which rows it has; None for all.
    """

    __array_ufunc__ = None

    def __init__(
        self,
        tracing: SymbolTracing,
        parts: Mapping[str, Symbol | Labels],
        mask: Symbol | None = None,
    ) -> None:
        self.__dict__.update(tracing=tracing, parts=dict(parts), mask=mask)

    tracing: SymbolTracing
    parts: dict[str, Symbol | Labels]
    mask: Symbol | None

    def refuse(self, reason: str, cure: str = "") -> NoReturn:
        """Refuse, for good."""
        self.tracing.refuse(reason, cure)

    def plain_sample(self) -> Any:
        """Return a plain table of the same columns."""
        import pandas

        return pandas.DataFrame({name: [0.0] for name in self.parts})

    def column(self, name: Any) -> ColumnSymbol:
        """Return a column by its name."""
        if name not in self.parts:
            raise KeyError(name)
        return ColumnSymbol(self.parts[name], self.mask)

    def some(self, names: list[Any]) -> TableSymbol:
        """Return a table of some columns."""
        return TableSymbol(self.tracing, {name: self.parts[name] for name in names}, self.mask)

    def chosen(self, condition: ColumnSymbol) -> TableSymbol:
        """Return a table of the rows of which a condition is true."""
        return TableSymbol(self.tracing, self.parts, join_masks(self.mask, condition))

    # --- what pandas has -----------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, ColumnSymbol):
            return self.chosen(key)
        if isinstance(key, list) and all(isinstance(one, str) for one in key):
            return self.some(key)
        if isinstance(key, str):
            return self.column(key)
        self.refuse(
            "the code takes rows of a table by position", "take them by a condition on columns"
        )

    def __setitem__(self, key: Any, value: Any) -> None:
        if not isinstance(key, str) or self.mask is not None:
            self.refuse("the code writes into a table", "write whole columns: table[name] = ...")
        self.parts[key] = self._new(value)

    def _new(self, value: Any) -> Symbol | Labels:
        """Return the new content of a column."""
        first = next(iter(self.parts.values()))
        rows = first.codes if isinstance(first, Labels) else first
        if isinstance(value, ColumnSymbol):
            if value.mask is not None:
                self.refuse("the code writes a column of some rows into a table")
            return value.values_
        if isinstance(value, Symbol) and value.dims:
            if value.dims[0] != rows.dims[0]:
                self.refuse("the code writes a column of another length into a table")
            return value
        if np.ndim(value) if not isinstance(value, Symbol) else 0:
            return self.tracing.symbol_of(value)
        zeros = rows * 0
        return zeros + value  # type: ignore[no-any-return]

    @property
    def loc(self) -> _LocIndexer:
        """Rows by a condition, and columns by name."""
        return _LocIndexer(self)

    @property
    def columns(self) -> Any:
        """The names."""
        import pandas

        return pandas.Index(list(self.parts))

    @property
    def shape(self) -> Any:
        """The numbers of rows and columns."""
        return (self.row_count(), len(self.parts))

    @property
    def empty(self) -> bool:
        """Whether there are no rows, which nobody is told."""
        self.refuse("the code checks whether there are records")

    @property
    def values(self) -> Any:
        """The numbers as an array."""
        return self.to_numpy()

    def row_count(self) -> Any:
        """Return how many rows there are: a symbol, where that is not public."""
        first = next(iter(self.parts.values()))
        return count_rows(first.codes if isinstance(first, Labels) else first, self.mask)

    def to_numpy(self, dtype: Any = None) -> Any:
        """Return the numbers as an array of a row a record."""
        columns = [self.column(name).as_symbol() for name in self.parts]
        found = np.stack(columns, axis=1)
        return found if dtype is None else found.astype(dtype)

    def assign(self, **columns: Any) -> TableSymbol:
        """Return a table with further columns."""
        made = self.copy()
        for name, one in columns.items():
            made[name] = one(made) if callable(one) else one
        return made

    def copy(self, deep: bool = True) -> TableSymbol:
        """Return the same table."""
        return TableSymbol(self.tracing, self.parts, self.mask)

    def drop(self, *, columns: Any) -> TableSymbol:
        """Return a table without some columns."""
        without = [columns] if isinstance(columns, str) else list(columns)
        return self.some([name for name in self.parts if name not in without])

    def groupby(self, by: Any, **named: Any) -> Groups:
        """Return sums by the categories of a column."""
        by = by[0] if isinstance(by, list) and len(by) == 1 else by
        if not isinstance(by, str) or named.keys() - {"observed", "sort"}:
            self.refuse("the code groups rows other than by one column")
        return Groups(self, self.column(by))

    def __len__(self) -> int:
        first = next(iter(self.parts.values()))
        if self.mask is not None:
            self.refuse(
                "the code reads the number of records of a kind", "add noise to their number"
            )
        return len(first)

    def __contains__(self, name: Any) -> bool:
        return name in self.parts

    def __deepcopy__(self, memo: Any) -> TableSymbol:
        return self.copy()

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        self.refuse("the code uses a table as an array of plain numbers", "use .to_numpy()")

    def __iter__(self) -> Any:
        return iter(self.parts)

    def __bool__(self) -> bool:
        raise ValueError("the truth value of a table is ambiguous")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.parts:
            self.refuse(f"the code sets .{name} of a table")
        self[name] = value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        parts = self.__dict__["parts"]
        if name in parts:
            return self.column(name)
        self.refuse(f"no rule covers .{name} of a table")


class _LocIndexer:
    """``table.loc``."""

    def __init__(self, table: TableSymbol) -> None:
        self.table = table

    def __getitem__(self, key: Any) -> Any:
        rows, *columns = key if isinstance(key, tuple) else (key,)
        found = self.table
        if isinstance(rows, ColumnSymbol):
            found = found.chosen(rows)
        elif not (isinstance(rows, slice) and rows == slice(None)):
            found.refuse("the code takes rows of a table by position", "take them by a condition")
        return found[columns[0]] if columns else found

    def __setitem__(self, key: Any, value: Any) -> None:
        table = self.table
        rows, *columns = key if isinstance(key, tuple) else (key,)
        if not isinstance(rows, ColumnSymbol) or len(columns) != 1 or columns[0] not in table.parts:
            table.refuse("the code writes into a table", "write whole columns: table[name] = ...")
        column = table.column(columns[0])
        if table.mask is not None or (isinstance(value, ColumnSymbol) and value.mask is not None):
            table.refuse("the code writes into some rows of a table", "write whole columns")
        table[columns[0]] = column.where(~rows, value)


class Groups:
    """``table.groupby(column)``: sums by category.

    Parameters
    ----------
    table, keys
        Of which table, and by which column.
    """

    def __init__(self, table: TableSymbol, keys: ColumnSymbol, value: Any = None) -> None:
        self.table, self.keys, self.value = table, keys, value

    def __getitem__(self, name: Any) -> Groups:
        return Groups(self.table, self.keys, self.table.column(name))

    def size(self) -> CategoryCounts:
        """Return how many rows each category has."""
        return CategoryCounts(self.keys, None)

    def sum(self, **named: Any) -> CategoryCounts:
        """Return the sum of each category."""
        if self.value is None:
            self.table.refuse(
                "the code sums all columns by category", "choose one: groupby(a)[b].sum()"
            )
        return CategoryCounts(self.keys, self.value)

    def count(self) -> CategoryCounts:
        """Return how many rows each category has."""
        if self.value is None:
            self.table.refuse("the code counts all columns by category", "use .size()")
        return CategoryCounts(self.keys, None)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self.table.parts:
            return self[name]
        self.table.refuse(
            f"no rule covers .{name} of groups",
            "sum and count, by public categories, and divide these",
        )

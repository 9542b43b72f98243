"""Datasets of symbols, as a function takes them: arrays, lists, features with labels, a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from dpaudit.proving.runs.domain_parts import DatasetLayout
from dpaudit.proving.symbols.labels import Labels, Vocabulary
from dpaudit.proving.symbols.symbol import Symbol, SymbolTracing
from dpaudit.proving.symbols.tables import TableSymbol
from dpaudit.proving.universe import Part


@dataclass(eq=False)
class Data:
    """The dataset of a run, and the values that its numbers stand for.

    Parameters
    ----------
    layout
        What datasets are to a function.
    vocabularies
        Of parts that hold no numbers, by name; they grow as code asks for values.
    """

    layout: DatasetLayout
    vocabularies: dict[str, Vocabulary] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for part in self.layout.universe.parts:
            if part.categories is not None:
                values = list(self.layout.values[part.name])
                self.vocabularies[part.name] = Vocabulary(values, is_open=bool(part.low < 0))

    def symbols(self, tracing: SymbolTracing) -> Any:
        """Return the dataset as a function takes it."""
        parts = {one.name: self._part(tracing, one) for one in self.layout.universe.parts}
        match self.layout.form:
            case "array":
                return parts[""]
            case "labelled":
                return parts["X"], parts["y"]
            case "value":
                return _get_column_entry(parts[""], 0)
            case "list":
                return _list_of(parts[""])
            case "dicts":
                return _make_record_dictionaries(tracing, parts)
        return TableSymbol(tracing, parts)

    def _part(self, tracing: SymbolTracing, part: Part) -> Symbol | Labels:
        dtype = self.layout.dtypes[part.name]
        codes = tracing.add("data", (), part.shape, dtype, part=part.name)
        if part.categories is None:
            return codes
        return Labels(codes, self.vocabularies[part.name])

    def grown(self) -> DatasetLayout:
        """Return the layout with all values that code has asked for."""
        found = self.layout
        for name, vocabulary in self.vocabularies.items():
            if len(vocabulary.values) > len(found.values[name]):
                found = found.with_values(name, tuple(vocabulary.values))
        return found


def _get_column_entry(column: Symbol | Labels, at: int) -> Any:
    """Return one entry of a column, as a list has it: a number of Python's."""
    if isinstance(column, Labels):
        return Labels(column.codes[at], column.vocabulary)
    entry = column[at]
    return Symbol.of_node(column.tracing, entry.index, column.dtype, is_weak=True)


class RecordSymbols(list[Any]):
    """A list of records, each a symbol."""

    def count(self, value: Any) -> Any:
        """Return how many are a value."""
        if not self:
            return 0
        found = [one == value for one in self]
        return np.sum(self[0].tracing.symbol_of(found))


class Crowd(Symbol):
    """A list of records whose number is not public: nobody goes through it."""

    def count(self, value: Any) -> Any:
        """Return how many are a value."""
        return np.sum(np.equal(self, value))

    def refuse_operator(self, *others: Any) -> NoReturn:
        """Refuse operators that lists and arrays define differently."""
        self.tracing.refuse(
            "the code joins, compares or repeats a list of records", "make it an array: numpy.array"
        )

    __add__ = __radd__ = __iadd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = refuse_operator
    __truediv__ = __rtruediv__ = __lt__ = __le__ = __gt__ = __ge__ = refuse_operator
    __eq__ = __ne__ = __pow__ = __and__ = __or__ = __getitem__ = refuse_operator
    __hash__ = Symbol.__hash__


class TextCrowd(Labels):
    """A list of texts whose number is not public."""

    def count(self, value: Any) -> Any:
        """Return how many are a value."""
        return np.sum(self.equals(value))


def _list_of(column: Symbol | Labels) -> Any:
    codes = column.codes if isinstance(column, Labels) else column
    if codes.dims[0] is not None:
        return RecordSymbols(_get_column_entry(column, at) for at in range(codes.dims[0]))
    if isinstance(column, Labels):
        return TextCrowd(column.codes, column.vocabulary)
    return Crowd.of_node(column.tracing, column.index, column.dtype)


def _make_record_dictionaries(tracing: SymbolTracing, parts: Mapping[str, Symbol | Labels]) -> Any:
    first = next(iter(parts.values()))
    count = (first.codes if isinstance(first, Labels) else first).dims[0]
    if count is None:
        tracing.refuse(
            "the records are a list of dictionaries whose number is not public", "take a table"
        )
    return RecordSymbols(
        {name: _get_column_entry(one, at) for name, one in parts.items()} for at in range(count)
    )


def sample_of(value: Any) -> Any:
    """Return a plain value of the kind that a symbol stands for."""
    if isinstance(value, Crowd | TextCrowd):
        return []
    if isinstance(value, Labels):
        return "" if not value.codes.dims else np.zeros((0,) * len(value.codes.dims), dtype=str)
    if isinstance(value, Symbol):
        if value.is_array:
            return np.zeros([1] * len(value.dims), dtype=value.dtype)
        number = value.dtype.type(0)
        return number.item() if value.is_weak else number
    return value.plain_sample() if hasattr(type(value), "plain_sample") else value

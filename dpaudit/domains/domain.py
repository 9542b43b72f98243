"""A domain, written as people think of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal

from numpy.random import Generator

import dpaudit._check as check
import dpaudit.domains.layouts as layouts
from dpaudit.domains.columns import Categories, Column, Integers, Numbers
from dpaudit.domains.dataset_domain import layout_around
from dpaudit.domains.generation import ExampleSampler
from dpaudit.domains.graphs import Frame, by_edge, frame_of
from dpaudit.domains.layouts import RecordLayout
from dpaudit.domains.schemas import Schema
from dpaudit.domains.special import first_value
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.neighbours.cells import are_graphs
from dpaudit.neighbours.records import Bounds, records_of

Form = Literal["array", "list", "table", "dicts", "value"]
_FORMS: tuple[Form, ...] = ("array", "list", "table", "dicts", "value")
FLAGS = ("integers", "missing", "of_records")  # of which somebody says yes or no
_UNBOUNDED = 1e6  # a number of which nothing is known is looked for up to here
_SIZES = (1, 8)


@dataclass(frozen=True, kw_only=True)
class Domain:
    """The datasets that are possible.

    Parameters
    ----------
    bounds
        The bounds of numbers: ``(low, high)``, or None if nothing is known about them. Two integers
        are bounds of numbers too; ``integers`` states that all numbers are integers.
    records
        The number of records of a dataset, or the fewest and the most.
    columns
        The number of entries of a record, or the domain of each column by its name, for a table.
    integers
        True if all numbers are integers.
    missing
        True if numbers may be missing.
    norm
        The largest Euclidean length of a record.
    labels
        The labels that a record may have: datasets are ``(X, y)``.
    users
        The largest number of records of a user; the column ``user`` holds the users' numbers.
    nodes
        The number of nodes, for graphs of networkx.
    form
        ``array``, ``list``, ``table`` or ``dicts`` (a list of one for each record); by default a
        table if columns have names, an array for numbers, and a list for anything else. Under
        ``value`` a dataset is one number, or one cell of the only column.
    make
        A function of a generator that returns a dataset: records are those that it makes, whole.
    examples
        Datasets that stand for the domain, in place of everything else.
    around
        A dataset around which the domain lies: other datasets are of its kind and have as many
        records, and only ``bounds`` (here also by column) and ``missing`` limit their values.
        Around a graph of networkx lie the graphs on its nodes.
    of_records
        True if ends and categories come from somebody's records: then messages show none of them.

    Raises
    ------
    InvalidArgument
        An argument does not fit its description here, or two of them exclude each other.

    Examples
    --------
    >>> Domain(bounds=(0, 1), records=3).example()
    array([0., 0., 0.])
    >>> Domain(bounds=(0, 1), records=2, columns=2, labels=(-1, 1)).example()
    (array([[0., 0.],
           [0., 0.]]), array([-1, -1]))
    >>> Domain(bounds=(1, 0))
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: bounds: got (1, 0), expected (low, high) with low <= high
    """

    bounds: Bounds | None = None
    records: int | tuple[int, int] | None = None
    columns: int | Mapping[str, Column] | Schema | None = None
    integers: bool = False
    missing: bool = False
    norm: float | None = None
    labels: Sequence[Any] | None = None
    users: int | None = None
    nodes: int | None = None
    form: Form | None = None
    make: Callable[[Generator], Any] | None = None
    examples: Sequence[Any] = field(default=(), repr=False)
    around: Any = field(default=None, repr=False)
    of_records: bool = False

    def __post_init__(self) -> None:
        for name in FLAGS:
            object.__setattr__(self, name, check.require_boolean(name, getattr(self, name)))
        if self.bounds is not None:
            object.__setattr__(self, "bounds", self._validate_bounds(self.bounds))
        if self.form is not None:
            check.require_choice("form", self.form, _FORMS)
        if self.norm is not None:
            self._require_scaling()
        for name in ("users", "nodes"):
            if getattr(self, name) is not None:
                check.require_integer(name, getattr(self, name), least=1 if name == "users" else 2)
        if self.records is not None and not isinstance(self.records, int):
            object.__setattr__(self, "records", _require_size_pair(self.records))
        if self.labels is not None:
            _check_labels(self.labels)
        self._refuse_both()
        # Worked out at once, so that whatever is wrong is refused where the domain is made, and not
        # in the middle of a search.
        _ = self.sizes, self.layout

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone: values that are computed from them are computed again."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def made(self, rng: Generator, count: int = 16) -> Domain:
        """Return the domain with examples in place of the function that makes some.

        Raises
        ------
        InvalidArgument
            The function raises an error, or returns a dataset without records.
        """
        if self.make is None:
            return self
        try:
            if isinstance(self.make, ExampleSampler):
                examples = tuple(self.make.several(rng, count))
            else:
                examples = tuple(self.make(rng) for _ in range(count))
        except Exception as error:
            given = VerbatimText(f"a function that raises {type(error).__name__}")
            raise InvalidArgument("domain", given, "one that makes datasets") from error
        return replace(self, make=None, examples=examples)

    def _validate_bounds(self, given: Any) -> Bounds:
        if isinstance(given, Mapping) and self.around is not None:
            return {name: _require_bounds_pair(one) for name, one in given.items()}
        return _require_bounds_pair(given)

    def _refuse_both(self) -> None:
        """Refuse arguments that say of one thing two things."""
        names = ("columns", "norm", "labels", "users", "form", "bounds", "records")
        said = [name for name in names if getattr(self, name) is not None]
        if self.nodes is not None and said:
            raise InvalidArgument(said[0], VerbatimText("a value"), "nothing beside nodes")
        other = [one for one in said if one not in ("bounds", "records")]
        if self.bounds is not None and are_graphs(self.around):
            raise InvalidArgument("bounds", VerbatimText("a value"), "nothing beside a graph")
        if self.around is not None and other:
            raise InvalidArgument(other[0], VerbatimText("a value"), "nothing beside around")
        if self.form == "value":
            self._refuse_beside_value()
        named = isinstance(self.columns, Mapping | Schema)
        if named and (self.norm is not None or self.labels is not None):
            name = "norm" if self.norm is not None else "labels"
            raise InvalidArgument(name, getattr(self, name), "nothing: columns have names")

    def _refuse_beside_value(self) -> None:
        """Refuse keywords that state more than one value."""
        columns = self.columns.columns if isinstance(self.columns, Schema) else self.columns
        if columns is not None and not (isinstance(columns, Mapping) and len(columns) == 1):
            raise InvalidArgument("columns", columns, "one with a name, or none, of one value")
        for name in ("records", "norm", "labels", "users"):
            given = getattr(self, name)
            if given is not None and (name, given) != ("records", 1):
                raise InvalidArgument(name, given, "nothing, as a dataset is one value")

    @cached_property
    def sizes(self) -> tuple[int, int]:
        """The fewest and the most records of a dataset; of graphs, edges that there may be."""
        if self.nodes is not None:
            edges = self.nodes * (self.nodes - 1) // 2
            return edges, edges
        if self.examples:
            sizes = [len(records_of(one).rows) for one in self.examples]
            return min(sizes), max(sizes)
        if self.records is None and self.around is not None:
            count = len(self.start.units)
            return count, count
        if self.form == "value":
            return 1, 1
        if self.records is None:
            return _SIZES[0], _SIZES[1] * (self.users or 1)
        given = self.records
        low, high = given if isinstance(given, Sequence) else (given, given)
        low = check.require_integer("records", low, least=0)
        return low, check.require_integer("records", high, least=max(1, low))

    @property
    def is_bounded(self) -> bool:
        """Whether somebody says how large numbers may be."""
        if self.around is not None:
            return self.start.is_of_bounds
        named = isinstance(self.columns, Mapping | Schema) or self.nodes is not None
        seen = bool(self.examples) or self.make is not None
        return named or seen or self.bounds is not None or self.norm is not None

    @property
    def numbers(self) -> Column:
        """The value of a cell of no other kind."""
        low, high = self.bounds if isinstance(self.bounds, tuple) else self._limits
        if self.integers:
            return Integers(missing=self.missing, low=math.ceil(low), high=math.floor(high))
        return Numbers(missing=self.missing, low=low, high=high)

    @property
    def _limits(self) -> tuple[float, float]:
        most = _UNBOUNDED if self.norm is None else self.norm
        return -most, most

    def _require_scaling(self) -> None:
        """Refuse a norm beside settings that a shortened record would no longer keep."""
        check.require_positive("norm", self.norm)
        if self.integers or self.missing:
            expected = "numbers that may have any value, without integers= or missing="
            raise InvalidArgument("norm", self.norm, expected)
        # A record that is too long is scaled towards 0, which has to be allowed.
        low, high = self.bounds if isinstance(self.bounds, tuple) else (0.0, 0.0)
        if not low <= 0 <= high:
            raise InvalidArgument("bounds", self.bounds, "bounds with 0 between them, beside norm")

    @cached_property
    def layout(self) -> RecordLayout:
        """The columns, and the function that makes a dataset of records."""
        if self.frame is not None:
            return by_edge(self.frame)
        if self.around is not None:
            return layout_around(self.around, self.bounds, missing=self.missing)
        if self.examples:
            return layouts.of_examples(self.examples)
        found = self._records()
        return found if self.users is None else layouts.of_users(found)

    @property
    def frame(self) -> Frame | None:
        """The common part of all graphs, for a domain of graphs."""
        if self.nodes is not None:
            return Frame(self.nodes)
        return frame_of(self.around) if are_graphs(self.around) else None

    @property
    def start(self) -> layouts.Start:
        """The dataset that others are beside of."""
        assert self.layout.start is not None
        return self.layout.start

    def _records(self) -> RecordLayout:
        columns = self.columns.columns if isinstance(self.columns, Schema) else self.columns
        if isinstance(columns, Mapping):
            checked = Schema(columns).columns
            if self.form == "value":
                return layouts.make_value_layout(next(iter(checked.values())), "value")
            made = (
                layouts.make_dictionary_layout
                if self.form in ("dicts", "list")
                else layouts.make_table_layout
            )
            return made(list(checked), list(checked.values()))
        width = 1 if columns is None else check.require_integer("columns", columns, least=1)
        cells = [self.numbers] * width
        if self.labels is not None:
            return layouts.make_labelled_layout(
                cells, Categories(values=tuple(self.labels)), self.norm
            )
        if columns is None and self.norm is None:
            return layouts.make_value_layout(self.numbers, self.form or "array")
        return layouts.make_matrix_layout(cells, self.norm)

    def example(self) -> Any:
        """Return the dataset of the fewest records, each with the first value of every column."""
        low, _ = self.sizes
        return self.layout.build([self.first_unit] * max(1, low))

    @property
    def first_unit(self) -> layouts.Unit:
        """A unit with the first value of every column."""
        return (self.layout.allowed(tuple(map(first_value, self.layout.columns))),)


def _require_size_pair(given: Any) -> tuple[int, int]:
    expected = "a number of records, or the fewest and the most"
    try:
        low, high = given
    except (TypeError, ValueError):
        raise InvalidArgument("records", given, expected) from None
    return low, high


def _check_labels(given: Any) -> None:
    expected = "at least two different ones"
    try:
        different = set(given)
    except TypeError:
        raise InvalidArgument("labels", given, expected) from None
    if len(different) < 2:
        raise InvalidArgument("labels", list(given), expected)


def _require_bounds_pair(given: Any) -> tuple[float, float]:
    expected = "(low, high) with low <= high"
    if isinstance(given, str):  # of a command line
        raise InvalidArgument("bounds", given, "[low,high] with low <= high, such as [0,1]")
    try:
        low, high = given
    except (TypeError, ValueError):
        raise InvalidArgument("bounds", given, expected) from None
    low, high = _require_exact_bound(low), _require_exact_bound(high)
    if not low <= high:
        raise InvalidArgument("bounds", given, expected)
    return low, high


def _require_exact_bound(bound: Any) -> float:
    """Return a bound as a double, or as the integer that it is where no double is the same."""
    number = check.require_real("bounds", bound)
    return bound if number != bound and isinstance(bound, int) else number

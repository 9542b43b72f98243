"""The relation of two datasets where the caller names none, and the declaration of a caller."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from dpaudit.errors import InvalidArgument, UnknownName, VerbatimText
from dpaudit.neighbours.cells import (
    are_graphs,
    compute_record_surplus,
    differ_in_one_edge,
    differ_in_one_node,
    make_cells,
    user_records,
)
from dpaudit.neighbours.metrics import Metric, relation
from dpaudit.neighbours.tables import Pair, Relation
from dpaudit.standins import what_code_raised

_PREFIX = "declared:"
_USER = "-user:"
_FINEST = ("replace-label", "replace-cell", "replace-record", "add-remove-record")
_OF_ONE = ("replace-record", "add-remove-record")
_COARSE = ("replace-column", "replace-tuple")


@dataclass(frozen=True)
class DeclaredRelation(Relation):
    """A relation that a caller declares, and that nobody checks or only the caller's function.

    Parameters
    ----------
    holds
        Returns whether two datasets are neighbours, or raises; None checks nothing.
    words
        The caller's own, after ``declared:``, where it is declared in words.
    user
        The column of users, of a relation of all records of one.
    """

    holds: Callable[[Any, Any], Any] | None = field(default=None, repr=False)
    words: str | None = None
    user: str | None = None

    def check(self, dataset: object, neighbour: object) -> int:
        """Return 0 where the function holds, or there is none."""
        if self.holds is None:
            return 0
        try:
            held = self.holds(dataset, neighbour)
        except InvalidArgument:
            raise
        except Exception as error:
            said = what_code_raised(error, (dataset, neighbour), self._again)
            expected = f"neighbours, as {self.name} says ({said})"
            raise InvalidArgument(
                "pair", VerbatimText("datasets that it refuses"), expected
            ) from error
        if held is not None and not held:
            raise InvalidArgument(
                "pair", VerbatimText("no neighbours"), f"neighbours, as {self.name} says"
            )
        return 0

    def _again(self, both: Any) -> Any:
        assert self.holds is not None
        return self.holds(*both)


# What a caller may name besides, with words of the caller's.
_WITH_WORDS = (
    "add-remove-user: COLUMN",
    "replace-user: COLUMN",
    "metric: DISTANCE",
    "declared: WORDS",
)


def chosen_relation(given: Relation | str | Callable[[Any, Any], Any] | None) -> Relation | None:
    """Return the relation that a caller names, declares or checks; None if none is named.

    Raises
    ------
    InvalidArgument, UnknownName
        It is none of these.

    Examples
    --------
    >>> chosen_relation("declared: one visit of one patient").statement
    'one visit of one patient, as the caller declares'
    """
    if given is None or isinstance(given, Relation):
        return given
    if isinstance(given, str) and given.startswith(_PREFIX):
        words = given.removeprefix(_PREFIX).strip()
        if not words:
            raise InvalidArgument("relation", given, "what the two differ in, after declared:")
        if words == _UNREAD.statement:
            return _UNREAD
        return DeclaredRelation(
            "declared", f"{words}, as the caller declares", _refuse_table_comparison, words=words
        )
    if isinstance(given, str) and _USER in given:
        return _of_users(given)
    if callable(given):
        name = getattr(given, "__name__", type(given).__name__)
        return DeclaredRelation(
            name, f"neighbours as the caller's {name} checks", _refuse_table_comparison, given
        )
    return next((one for one in OF_GRAPHS if one.name == given), None) or _get_named_relation(given)


def _get_named_relation(given: str) -> Relation:
    """Return the relation of a name; where it is unknown, all are listed that a caller may name."""
    try:
        return relation(given)
    except UnknownName as error:
        if error.kind != "relation":
            raise
        further = (*(one.name for one in OF_GRAPHS), *_WITH_WORDS)
        raise UnknownName("relation", given, [*error.known, *further]) from None


def _of_users(given: str) -> DeclaredRelation:
    """Return the relation of all records of one user, such as ``"add-remove-user: patient"``."""
    kind, _, by = (part.strip() for part in given.partition(":"))
    kinds = {"add-remove-user": "are added", "replace-user": "are replaced"}
    if kind not in kinds or not by:
        raise InvalidArgument("relation", given, "add-remove-user: COLUMN or replace-user: COLUMN")

    def holds(dataset: Any, neighbour: Any) -> None:
        found = make_cells(dataset, neighbour)
        if found is None:
            raise InvalidArgument(
                "pair", VerbatimText("no records"), "records with a column of users"
            )
        user_records(found, by, added=kind == "add-remove-user")

    return DeclaredRelation(
        kind,
        f"the records of one user ({by}) {kinds[kind]}",
        _refuse_table_comparison,
        holds,
        user=by,
    )


def _refuse_table_comparison(*_: Any) -> int:
    raise AssertionError("a declared relation compares no tables")


ADD_REMOVE_EDGE = DeclaredRelation(
    "add-remove-edge",
    "one graph has one edge more than the other",
    _refuse_table_comparison,
    differ_in_one_edge,
)


REPLACE_NODE = DeclaredRelation(
    "replace-node",
    "the edges of one node of a graph are replaced",
    _refuse_table_comparison,
    differ_in_one_node,
)
OF_GRAPHS = (ADD_REMOVE_EDGE, REPLACE_NODE)


class FoundPair(NamedTuple):
    """A pair, a sentence on its relation if there is one, and whether nobody named that."""

    pair: Pair[Any]
    words: str | None = None
    was_read: bool = False


def find_pair_relation(dataset: Any, neighbour: Any, given: Any = None) -> FoundPair:
    """Return a pair under the given relation, or else the smallest that explains it, in words.

    Parameters
    ----------
    dataset, neighbour
        Anything.
    given
        A relation, its name, ``"declared: ..."``, a function that checks, or None.

    Returns
    -------
    pair
        The two.
    words
        A sentence on the relation that was read or declared, None where the caller named one.
    was_read
        Whether nobody named the relation, and it is the smallest that explains the difference.

    Raises
    ------
    InvalidArgument
        They are records, and no relation, or not the one that is given, explains the difference.

    Examples
    --------
    >>> pair, words, was_read = find_pair_relation(["a", "b"], ["a"])
    >>> pair.relation.name, pair.index, was_read
    ('add-remove-record', 1, True)
    """
    for name, one in (("dataset", dataset), ("neighbour", neighbour)):
        # Checking the pair would use it up, and the mechanism would get nothing.
        if isinstance(one, Iterator):
            raise InvalidArgument(
                name, VerbatimText(type(one).__name__), "data that can be read again"
            )
    if (named := chosen_relation(given)) is not None:
        return FoundPair(Pair(dataset, neighbour, named), _format_declared_relation(named))
    if are_graphs(dataset, neighbour):
        return _as_read(Pair(dataset, neighbour, ADD_REMOVE_EDGE))
    refusals = list[InvalidArgument]()
    # The finest first: what differs in one cell differs in one record, too, and a claim about
    # records would be tested on less than it allows.
    for name in (*_FINEST, *_COARSE):
        if name == "replace-column" and _count_record_columns(dataset, neighbour) < 2:
            continue  # the one column there is: all that there is
        try:
            return _as_read(Pair(dataset, neighbour, relation(name)))
        except InvalidArgument as error:
            refusals.append(error)
    if not are_readable(dataset, neighbour):
        return FoundPair(Pair(dataset, neighbour, _UNREAD), _format_declared_relation(_UNREAD))
    which = refusals[_FINEST.index("replace-record")]
    if _sizes_differ(dataset, neighbour):
        which = refusals[_FINEST.index("add-remove-record")]
    expected = (
        f"{which.expected}; if they are neighbours in your setting, declare it with "
        "relation='declared: ...' or pass a function that checks it"
    )
    raise InvalidArgument("pair", which.value, expected)


def declare_relation(given: Any) -> Relation | None:
    """Return a relation of datasets that are only named: one that would read records is declared.

    Examples
    --------
    >>> declare_relation("replace-record").statement
    'one record (features and label) is replaced, as the caller declares'
    >>> declare_relation("declared: one visit").statement
    'one visit, as the caller declares'
    """
    named = chosen_relation(given)
    if named is None or isinstance(named, Metric) or callable(given):
        return named
    declared = isinstance(named, DeclaredRelation) and named.words is not None
    return named if declared else chosen_relation(f"{_PREFIX} {named.statement}")


def _count_record_columns(dataset: Any, neighbour: Any) -> float:
    """Return the number of columns of records, infinite for data that has rules of its own."""
    found = make_cells(dataset, neighbour)
    return math.inf if found is None else len(found.columns)


def _sizes_differ(dataset: Any, neighbour: Any) -> bool:
    found = make_cells(dataset, neighbour)
    return found is not None and len(found.dataset) != len(found.neighbour)


def are_readable(dataset: Any, neighbour: Any) -> bool:
    """Return whether relations can be read on both: then one of them has to hold."""
    if make_cells(dataset, dataset) is None or make_cells(neighbour, neighbour) is None:
        tabular = all(
            hasattr(one, "features") or hasattr(one, "as_table") for one in (dataset, neighbour)
        )
        return tabular
    return True


_UNREAD = DeclaredRelation(
    "declared",
    "the two are neighbours as the caller declares: no relation can be read on them",
    _refuse_table_comparison,
)


def format_relation_words(given: Relation) -> str:
    """Return a relation in its declarer's own words; else as it states itself.

    Examples
    --------
    >>> format_relation_words(chosen_relation("declared: one visit of one patient"))
    'one visit of one patient'
    """
    own = given.words if isinstance(given, DeclaredRelation) else None
    return own or given.statement


def _format_declared_relation(found: Relation) -> str | None:
    return f"Neighbours: {found.statement}." if isinstance(found, DeclaredRelation) else None


def _as_read(pair: Pair[Any]) -> FoundPair:
    finest = f"{pair.relation.name} ({pair.relation.statement})"
    words = f"No relation was named: the smallest that explains the difference is {finest}."
    return FoundPair(pair, words, was_read=True)


def difference_in_words(dataset: Any, neighbour: Any) -> str:
    """Return in how many records two datasets differ, in whichever order they stand.

    Examples
    --------
    >>> difference_in_words([1, 2, 3], [3, 2, 9]), difference_in_words([1, 2, 3], [1])
    ('the two differ in 1 of 3 records', 'the two differ in 2 of 3 records')
    """
    found = make_cells(dataset, neighbour)
    if found is None:
        return "the number of records in which the two differ cannot be counted"
    only = max(rows.total() for rows in compute_record_surplus(found))
    of = max(len(found.dataset), len(found.neighbour))
    return f"the two differ in {only} of {of} records"


def keeps_order(dataset: Any, neighbour: Any) -> bool:
    """Return whether all records but one stand where they stood, as far as records are read.

    Examples
    --------
    >>> keeps_order(["a", "b", "c"], ["a", "d", "c"]), keeps_order(["a", "b", "c"], ["b", "c"])
    (True, True)
    >>> keeps_order(["a", "b", "c"], ["b", "a", "d"]), keeps_order(["a", "b", "c"], ["c", "b"])
    (False, False)
    """
    found = make_cells(dataset, neighbour)
    if found is None:
        return True
    longer, shorter = sorted((found.dataset, found.neighbour), key=len, reverse=True)
    alike = (longer[: len(shorter)] == shorter).all(axis=1)
    place = len(shorter) if alike.all() else int(np.argmin(alike))
    rest = shorter[place:] if len(longer) > len(shorter) else shorter[place + 1 :]
    return np.array_equal(longer[place + 1 :], rest)


def is_usual(dataset: Any, neighbour: Any, given: Relation) -> bool:
    """Return whether a relation is of one record, edge or node, or the smallest there is.

    Examples
    --------
    >>> import numpy as np
    >>> table, other = np.zeros((3, 2)), np.eye(3, 2)
    >>> is_usual(table, other, chosen_relation("declared: one visit"))
    False
    """
    if given.name in _OF_ONE or given in OF_GRAPHS:
        return True
    try:
        found = find_pair_relation(dataset, neighbour)[0].relation
    except InvalidArgument:
        return False
    return not isinstance(found, DeclaredRelation) and found.name == given.name


def depends_on_reading(found: Relation, claimed: float, allowed: float, lower: float) -> str | None:
    """Return the effect of another relation, if a refutation rests on the one that was read.

    To replace a record is to remove one and to add one: under add/remove a claim allows the same
    pair what it allows two steps: twice its epsilon, where delta is 0.

    Parameters
    ----------
    found
        The relation that was read.
    claimed, allowed
        What is claimed of one step, and what follows of two.
    lower
        What was certified.

    Examples
    --------
    >>> depends_on_reading(relation("replace-record"), 1.0, 2.0, 2.5)
    >>> depends_on_reading(relation("replace-record"), 1.0, 2.0, 1.5)  # doctest: +ELLIPSIS
    'If the claim is about adding or removing a record, these two datasets are two steps apart, ...'
    """
    # Above what two steps allow, the claim is refuted under either reading.
    if not found.name.startswith("replace-") or not claimed < lower <= allowed:
        return None
    if math.isinf(allowed):  # delta grows with the steps, and this is the delta of one
        limit = "the claim states no epsilon for two steps at this delta"
    else:
        limit = (
            f"the claim allows an epsilon of {allowed:.4g} for two steps, which this bound does "
            "not refute"
        )
    return (
        "If the claim is about adding or removing a record, these two datasets are two steps "
        f"apart, and {limit}. Name the relation of the claim."
    )

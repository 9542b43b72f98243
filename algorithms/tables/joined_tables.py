r"""Tables of several owners and their join: who holds which features of which training record.

| paper   | code                   | meaning                                        | shape      |
|---------|------------------------|------------------------------------------------|------------|
| T_i     | ``features[i]``        | tuples of client i                             | (n_i, d_i) |
| p_i(j)  | ``mappings[i][j]``     | the tuple of T_i in row j of the join          | (N,)       |
| G_{i,j} | ``counts(i)[j]``       | how many rows of the join hold tuple j, eq. 37 | (n_i,)     |
| X_i     | ``joined(i)``          | ``T_i[p_i]``, never needed by a client, eq. 35 | (N, d_i)   |
| y       | ``labels``             | one label for each tuple of ``label_table``    | (n_l,)     |
| y_j     | ``labels[label_rows]`` | the labels the server trains on                | (N,)       |
| M, N    | ``tables``, ``rows``   | number of tables, number of rows of the join   | integers   |

Where labels live. The paper keeps them at the server, and its Theorem 1 adds noise to "the label
set" once, before training. So `labels` are an array of their own, apart from every client's
features. They come into being with the tuples of one table, though: where a join repeats a tuple,
it repeats the label. Noise belongs on the ``n_l`` labels before the join; on the N joined copies,
each with noise of its own, a label used G times would cost G epsilon.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.neighbours import Table
from dpaudit.redaction import Record

Index = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class JoinedTables:
    """Tables with the mappings of their join, on which the algorithms and the audits work.

    Parameters
    ----------
    features
        One array of shape ``(n_i, d_i)`` for each table. Copied, and read-only afterwards.
    mappings
        One array of shape ``(N,)`` for each table: the tuple that each row of the join uses.
    labels
        Shape ``(n_l,)``: one for each tuple of the label table.
    label_table
        Which table the labels came with.

    Raises
    ------
    InvalidArgument
        A value is not finite, or the shapes do not fit together.

    Examples
    --------
    >>> visits, patients = [[1.0], [2.0], [3.0]], [[0.5, 0.5], [0.0, 1.0]]
    >>> data = JoinedTables((visits, patients), ([0, 1, 2], [1, 0, 1]), [1, -1, 1])
    >>> data.counts(1)
    array([1., 2.])
    >>> data.joined(1)
    array([[0. , 1. ],
           [0.5, 0.5],
           [0. , 1. ]])
    """

    features: tuple[Array, ...]
    mappings: tuple[Index, ...]
    labels: Array
    _: KW_ONLY
    label_table: int = 0
    name: str = "joined tables"

    def __post_init__(self) -> None:
        features = tuple(
            check.finite_array(f"features of table {i}", table, ndim=2)
            for i, table in enumerate(self.features)
        )
        if not features or not all(table.size for table in features):
            raise InvalidArgument("features", [t.shape for t in features], "tables with tuples")
        mappings = self._validate_mappings([len(table) for table in features])
        labels = check.finite_array("labels", self.labels, ndim=1)
        table = check.require_integer("label_table", self.label_table, least=0)
        if table >= len(features):
            raise InvalidArgument("label_table", table, f"less than the {len(features)} tables")
        if len(labels) != len(features[table]):
            expected = f"one for each of the {len(features[table])} tuples of table {table}"
            raise InvalidArgument("labels", VerbatimText(f"{len(labels)} values"), expected)
        # Laws keep what they have worked out for a data set, so no array may change under them.
        for array in (*features, *mappings, labels):
            array.flags.writeable = False
        fields = (("features", features), ("mappings", mappings), ("labels", labels))
        for field, value in fields:
            object.__setattr__(self, field, value)

    def _validate_mappings(self, tuples: list[int]) -> tuple[Index, ...]:
        if len(self.mappings) != len(tuples):
            expected = f"one for each of the {len(tuples)} tables"
            raise InvalidArgument(
                "mappings", VerbatimText(f"{len(self.mappings)} mappings"), expected
            )
        mappings = []
        for i, (mapping, count) in enumerate(zip(self.mappings, tuples, strict=True)):
            rows = np.array(mapping)
            expected = f"tuple numbers from 0 to {count - 1}, one for each row of the join"
            same_length = rows.ndim == 1 and len(rows) == np.size(self.mappings[0])
            whole = np.issubdtype(rows.dtype, np.integer) and rows.size > 0
            if not same_length or not whole or rows.min() < 0 or rows.max() >= count:
                raise InvalidArgument(f"mapping of table {i}", Record(mapping), expected)
            mappings.append(rows.astype(np.int64))
        return tuple(mappings)

    @property
    def tables(self) -> int:
        """The number of tables, ``M``."""
        return len(self.features)

    @property
    def rows(self) -> int:
        """The number of rows of the join, ``N``."""
        return len(self.mappings[0])

    @property
    def tuples(self) -> tuple[int, ...]:
        """The number of tuples of each table, ``n_i``."""
        return tuple(len(table) for table in self.features)

    @property
    def widths(self) -> tuple[int, ...]:
        """The number of columns of each table, ``d_i``."""
        return tuple(table.shape[1] for table in self.features)

    @property
    def label_rows(self) -> Index:
        """The index of each join row's label, shape ``(N,)``."""
        return self.mappings[self.label_table]

    def counts(self, table: int) -> Array:
        """Return ``G_{i,j}`` (eq. 37), shape ``(n_i,)``; 0 for a tuple the join does not use."""
        # Without minlength, counts would end at the last tuple that the join uses.
        counts = np.bincount(self.mappings[table], minlength=self.tuples[table])
        return counts.astype(np.float64)

    def joined(self, table: int) -> Array:
        """Return ``X_i``: a table's columns in the join, shape ``(N, d_i)``."""
        return np.asarray(self.features[table][self.mappings[table]])

    def predictions(self, models: tuple[Array, ...]) -> tuple[Array, ...]:
        """Return ``h_i = theta_i' T_i`` of every table's tuples, each ``(R, n_i, d_c)``."""
        tables = zip(self.features, models, strict=True)
        return tuple(features @ model for features, model in tables)

    def with_tuple(self, table: int, row: int, features: ArrayLike) -> JoinedTables:
        """Return a copy with other features in one tuple: a neighbour under replace-tuple."""
        changed = self.features[table].copy()
        changed[row] = np.asarray(features)
        tables = [changed if i == table else kept for i, kept in enumerate(self.features)]
        return replace(self, features=tuple(tables))

    def with_label(self, row: int, label: float) -> JoinedTables:
        """Return a copy with another label: a neighbour under replace-label."""
        labels = self.labels.copy()
        labels[row] = label
        return replace(self, labels=labels)

    def as_table(self) -> Table:
        """Return the table that neighbour relations compare: every tuple of every table is a row.

        A table's columns stand beside those of the others, which are 0 there. Mappings are public.
        """
        stacked = np.zeros((sum(self.tuples), sum(self.widths)))
        row = column = 0
        for table in self.features:
            stacked[row : row + len(table), column : column + table.shape[1]] = table
            row, column = row + len(table), column + table.shape[1]
        public = (np.array(self.widths), np.array([self.label_table]), *self.mappings)
        return Table(stacked, self.labels, self.tuples, public)

    def locate(self, index: int) -> tuple[int, int]:
        """Return the table and the tuple in it that row ``index`` of `as_table` is."""
        # On a boundary the index is that of the next table's first tuple.
        table = int(np.searchsorted(np.cumsum(self.tuples), index, side="right"))
        return table, index - sum(self.tuples[:table])

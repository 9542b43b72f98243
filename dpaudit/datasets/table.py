"""A CSV file of a user's own."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpaudit.datasets.dataset import Dataset
from dpaudit.datasets.preprocessing import convert_to_signed_labels, preprocess
from dpaudit.datasets.sources import DAMAGED, PathLike, as_path, read_text
from dpaudit.errors import DataError, InvalidArgument, UnknownName, shorten_repr
from dpaudit.redaction import Record, are_shown

if TYPE_CHECKING:
    from pandas import DataFrame, Series


def csv(
    path: PathLike,
    label_column: str,
    *,
    positive: object = None,
    scaled: bool = True,
) -> Dataset:
    r"""Load a CSV file of your own: a header line, then numbers.

    Parameters
    ----------
    path
        The file.
    label_column
        The column that holds the labels; every other column is a feature.
    positive
        The label that becomes +1, a number or a word, the only other one becoming -1; by default
        the labels have to be -1 and +1 already.
    scaled
        Whether each column is divided by its largest absolute value and then each row by its norm
        where that exceeds 1; with False the values stay as they are.

    Returns
    -------
    Dataset
        Features of shape ``(N, d)`` in the order of the columns; labels in {-1, +1}.

    Raises
    ------
    InvalidArgument
        ``path`` is no path.
    UnknownName
        No column has that name.
    DataError
        The file is missing or damaged, a value is no finite number, or the labels are others.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "own.csv")
    ...     _ = file.write_text("height,ill,weight\n1.5,yes,60\n2.0,no,80\n")
    ...     data = csv(file, "ill", positive="yes", scaled=False)
    >>> data.features, data.labels
    (array([[ 1.5, 60. ],
           [ 2. , 80. ]]), array([ 1., -1.]))
    """
    place = as_path(path)
    table = _read_csv_cells(place)
    if label_column not in table.columns:
        known = _get_header_names(table)
        if known is None:
            expected = "a column's name (not shown: a number among them may be that of a record)"
            raise InvalidArgument("label_column", str(label_column), expected)
        raise UnknownName("label_column", str(label_column), known)
    if not len(table) or len(table.columns) < 2:
        found = f"{len(table)} records of {len(table.columns)} columns"
        raise DataError(f"{place}: found {found}, expected some records and features; {DAMAGED}")
    labels = _parse_table_labels(table[label_column].str.strip(), positive, place)
    features = _parse_table_numbers(table.drop(columns=label_column), place)
    return Dataset(preprocess(features) if scaled else features, labels, name=place.name)


def _read_csv_cells(place: Path) -> DataFrame:
    """Return the cells as text, indexed by line number, under the names in the header."""
    import pandas as pd

    try:
        # The header is read as a row: pandas would take surplus fields for row names.
        cells: DataFrame = pd.read_csv(
            io.StringIO(read_text(place)),
            header=None,
            dtype=str,
            keep_default_na=False,
            skipinitialspace=True,
            skip_blank_lines=False,
        ).fillna("")
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        reason = " ".join(str(error).split()).removeprefix("Error tokenizing data. C error: ")
        raise DataError(f"{place}: {reason}; {DAMAGED}") from None
    header = [" ".join(name.split()) for name in cells.iloc[0]]
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        which = " and ".join(f"column {i + 1}" for i, name in enumerate(header) if name == twice[0])
        raise DataError(f"{place}: line 1: {which} have the same name; {DAMAGED}")
    table = cells.set_axis(header, axis=1).iloc[1:]
    # Line numbers of the file count from 1, and the header is the first.
    table.index += 1
    return table[table.ne("").any(axis=1)]


def _get_header_names(table: DataFrame) -> list[str] | None:
    """Return the names in the header; None if that may be a record, in a file without one.

    Names are no numbers, and below them there is one.
    """
    header = list(table.columns)
    below = list(table.iloc[0]) if len(table) else []
    named = any(map(_is_number, below)) and not any(map(_is_number, header))
    return header if named or are_shown() else None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _parse_table_numbers(table: DataFrame, place: Path) -> NDArray[np.float64]:
    import pandas as pd

    parsed = table.apply(pd.to_numeric, errors="coerce")
    numbers: NDArray[np.float64] = parsed.to_numpy(dtype=np.float64)
    bad = ~np.isfinite(numbers)
    if bad.any():
        names = _get_header_names(table)
        row, column = np.argwhere(bad)[0].tolist()
        name = f"feature {column + 1}" if names is None else names[column]
        raise DataError(
            f"{place}: line {table.index[row]}: {name}: "
            f"got {shorten_repr(Record(table.iat[row, column]))}, expected a finite number; "
            f"{DAMAGED}"
        )
    return numbers


def _parse_table_labels(column: Series, positive: object, place: Path) -> NDArray[np.float64]:
    """Compare labels as numbers where all are numbers, so that ``1`` and ``1.0`` are one label."""
    # A label nobody entered must not pass for "the other one".
    blank = column.str.lower().isin(("", "nan")).to_numpy()
    if blank.any():
        line = column.index[int(np.argmax(blank))]
        raise DataError(f"{place}: line {line}: {column.name}: the label is missing; {DAMAGED}")
    words = column.to_numpy(dtype=np.str_)
    try:
        numbers = words.astype(np.float64)
        wanted = None if positive is None else float(str(positive))
    except ValueError:
        wanted_word = None if positive is None else str(positive)
        return convert_to_signed_labels(words, wanted_word, str(place))
    return convert_to_signed_labels(numbers, wanted, str(place))

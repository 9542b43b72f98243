"""The UCI Adult records with the papers' preprocessing.

The columns of UCI Adult, and the values of each in its 45,222 complete records.

The table is written down rather than derived from the file at hand, so that no file can move a
feature to another column and a damaged value can be named. A test derives it again from the files.
"""

from __future__ import annotations

import io
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpaudit.datasets.dataset import Dataset
from dpaudit.datasets.preprocessing import preprocess
from dpaudit.datasets.sources import DAMAGED, DatasetSource, PathLike, read_text
from dpaudit.errors import DataError, shorten_repr
from dpaudit.redaction import Record

if TYPE_CHECKING:
    from pandas import DataFrame, Series


NUMERIC = (
    "age",
    "fnlwgt",
    "education-num",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
)

# Sorted within each column. "Never-worked" is missing on purpose: none of those who never worked
# has an occupation, so no complete record holds it.
CATEGORIES = MappingProxyType(
    {
        "workclass": (
            "Federal-gov Local-gov Private Self-emp-inc Self-emp-not-inc State-gov Without-pay"
        ).split(),
        "education": (
            "10th 11th 12th 1st-4th 5th-6th 7th-8th 9th Assoc-acdm Assoc-voc Bachelors Doctorate "
            "HS-grad Masters Preschool Prof-school Some-college"
        ).split(),
        "marital-status": (
            "Divorced Married-AF-spouse Married-civ-spouse Married-spouse-absent Never-married "
            "Separated Widowed"
        ).split(),
        "occupation": (
            "Adm-clerical Armed-Forces Craft-repair Exec-managerial Farming-fishing "
            "Handlers-cleaners Machine-op-inspct Other-service Priv-house-serv Prof-specialty "
            "Protective-serv Sales Tech-support Transport-moving"
        ).split(),
        "relationship": "Husband Not-in-family Other-relative Own-child Unmarried Wife".split(),
        "race": "Amer-Indian-Eskimo Asian-Pac-Islander Black Other White".split(),
        "sex": "Female Male".split(),
        "native-country": (
            "Cambodia Canada China Columbia Cuba Dominican-Republic Ecuador El-Salvador England "
            "France Germany Greece Guatemala Haiti Holand-Netherlands Honduras Hong Hungary India "
            "Iran Ireland Italy Jamaica Japan Laos Mexico Nicaragua Outlying-US(Guam-USVI-etc) "
            "Peru Philippines Poland Portugal Puerto-Rico Scotland South Taiwan Thailand "
            "Trinadad&Tobago United-States Vietnam Yugoslavia"
        ).split(),
    }
)

# The columns as the files hold them.
COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
)

# The columns of the feature matrix: the numbers first, then one column for each value.
ADULT_FEATURES = NUMERIC + tuple(
    f"{column}={value}" for column, values in CATEGORIES.items() for value in values
)


SOURCE = DatasetSource(
    files=("adult.data", "adult.test"),
    archive="UCI Machine Learning Repository, 'Adult'",
    openml_name="adult",
    openml_version=2,
)

# Records in adult.data and adult.test; a9a and a9a.t hold the same people in the same order.
FILE_RECORDS = (32_561, 16_281)
FILE_POSITIVES = (7_841, 3_846)
COMPLETE_RECORDS = 45_222

# Features of shape (n, 104) and labels of shape (n,).
Encoded = tuple[NDArray[np.float64], NDArray[np.float64]]


def adult(path: PathLike | None = None) -> Dataset:
    """Load the UCI Adult census records: does a person earn more than 50,000 dollars a year.

    The preprocessing is that of the papers: ``adult.data`` followed by ``adult.test``, records
    with a missing value left out, one binary feature for each value of the 8 categorical columns,
    each column divided by its maximum, then each row by its Euclidean norm where that exceeds 1.

    Parameters
    ----------
    path
        The directory that holds ``adult.data`` and ``adult.test`` (or one of the two, the other
        beside it). Without it, the directory in ``DPAUDIT_DATA``; without that, the copy on OpenML
        is fetched, which gives the same dataset.

    Returns
    -------
    Dataset
        Features of shape ``(45222, 104)``: 6 numbers and 98 binary features, named in
        ``ADULT_FEATURES``; label +1 for more than 50K (11,208 records), -1 for the others.

    Raises
    ------
    DataError
        The files are missing or damaged, or could not be fetched.

    Notes
    -----
    Source: R. Kohavi and B. Becker, "Adult", UCI Machine Learning Repository, 1996.
    Preprocessing: X. Zhang, M. Khalili, M. Liu, "Improving the privacy and accuracy of ADMM-based
    distributed algorithms", ICML 2018, section 5. That text counts 45,223 records of dimension
    105, later papers 45,222 of dimension 104, which is what the files hold.

    Examples
    --------
    >>> adult("/nowhere")
    Traceback (most recent call last):
    dpaudit.errors.DataError: /nowhere: found nothing, expected a directory; put adult.data and \
adult.test (UCI Machine Learning Repository, 'Adult') into a directory and name it with \
DPAUDIT_DATA or --data-path
    """
    files = SOURCE.find(path)
    parts = _fetch_parts() if files is None else _read_parts(files)
    features, labels = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    if len(labels) != COMPLETE_RECORDS:
        origin = SOURCE.openml if files is None else " and ".join(map(str, files))
        raise DataError(
            f"{origin}: found {len(labels):,} complete records, "
            f"expected {COMPLETE_RECORDS:,}; {DAMAGED}"
        )
    return Dataset(preprocess(features), labels, name="adult")


def _read_parts(files: tuple[Path, ...]) -> list[Encoded]:
    parts = []
    for path, expected in zip(files, FILE_RECORDS, strict=True):
        records = read_records(path)
        part = encode_census(records, str(path))
        require_count(str(path), len(records), expected)
        parts.append(part)
    return parts


def read_records(path: Path) -> DataFrame:
    """Return the raw records of one file as text, indexed by line number.

    Raises
    ------
    DataError
        The file cannot be read, or a line does not have 15 fields.
    """
    import pandas as pd

    lines = pd.Series(read_text(path).split("\n"))
    lines.index += 1
    # adult.test opens with a note for the program that drew it, '|1x3 Cross validator'.
    lines = lines[(lines.str.strip() != "") & ~lines.str.startswith("|")]
    if not len(lines):
        raise DataError(f"{path}: found no records; {DAMAGED}")
    fields = lines.str.count(",") + 1
    if (fields != len(COLUMNS)).any():
        line = (fields != len(COLUMNS)).idxmax()
        raise DataError(
            f"{path}: line {line}: found {fields[line]} fields, expected {len(COLUMNS)}; {DAMAGED}"
        )
    records: DataFrame = pd.read_csv(
        io.StringIO("\n".join(lines)),
        names=list(COLUMNS),
        dtype=str,
        keep_default_na=False,
        skipinitialspace=True,
        quoting=3,
    )
    return records.set_index(lines.index)


def encode_census(records: DataFrame, source: str) -> Encoded:
    """Return unscaled features and labels of the complete records.

    Parameters
    ----------
    records
        The columns ``COLUMNS`` as text or numbers, ``?`` or NaN where a value is missing, indexed
        by line number.
    source
        Where they come from, for the message.

    Returns
    -------
    tuple
        Features of shape ``(n, 104)`` and labels of shape ``(n,)``, ``n`` complete records.

    Raises
    ------
    DataError
        A value is none that its column can hold.
    """
    complete = records[~(records.isna() | records.eq("?")).any(axis=1)]
    numbers = [_parse_census_numbers(complete[column], source) for column in NUMERIC]
    indicators = [
        np.eye(len(values))[_encode_categories(complete[column], values, source)]
        for column, values in CATEGORIES.items()
    ]
    # adult.test ends its labels in a full stop.
    income = complete["income"].astype(str).str.removesuffix(".")
    labels = np.array([-1.0, 1.0])[_encode_categories(income, ["<=50K", ">50K"], source)]
    return np.column_stack([*numbers, *indicators]), labels


def _parse_census_numbers(column: Series, source: str) -> NDArray[np.float64]:
    import pandas as pd

    parsed = pd.to_numeric(column, errors="coerce")
    numbers: NDArray[np.float64] = parsed.to_numpy(dtype=np.float64)
    _require(column, np.isfinite(numbers) & (numbers >= 0), "a number, at least 0", source)
    return numbers


def _encode_categories(column: Series, values: list[str], source: str) -> NDArray[np.intp]:
    import pandas as pd

    codes: NDArray[np.intp] = pd.Index(values).get_indexer(column.astype(str))
    _require(column, codes >= 0, "one of: " + ", ".join(values), source)
    return codes


def _require(column: Series, good: NDArray[np.bool_], expected: str, source: str) -> None:
    if not good.all():
        position = int(np.argmin(good))
        raise DataError(
            f"{source}: line {column.index[position]}: {column.name}: "
            f"got {shorten_repr(Record(column.iloc[position]))}, expected {expected}; {DAMAGED}"
        )


def require_count(source: str, found: int, expected: int) -> None:
    """Raise `DataError` unless as many records were found as the name promises."""
    if found != expected:
        raise DataError(f"{source}: found {found:,} records, expected {expected:,}; {DAMAGED}")


def _fetch_parts() -> list[Encoded]:
    import pandas as pd

    frame: DataFrame = SOURCE.fetch(as_frame=True).frame.rename(columns={"class": "income"})
    absent = [column for column in COLUMNS if column not in frame.columns]
    if absent:
        raise DataError(f"{SOURCE.openml}: no column {', '.join(absent)}; {SOURCE.advice}")
    require_count(SOURCE.openml, len(frame), sum(FILE_RECORDS))
    records = frame[list(COLUMNS)].set_axis(pd.RangeIndex(1, len(frame) + 1), axis=0)
    positive = records["income"].astype(str).eq(">50K").to_numpy()
    return [
        encode_census(records.iloc[rows], SOURCE.openml)
        for rows in find_merged_parts(positive, SOURCE)
    ]


def find_merged_parts(positive: NDArray[np.bool_], source: DatasetSource) -> tuple[slice, slice]:
    """Return where the two files lie in a copy that merges them: training rows, test rows.

    OpenML's copy of Adult holds the test file first. The order decides which record a seed picks,
    so it is recognised by the positive labels of each part, and refused where it is neither.

    Parameters
    ----------
    positive
        Shape ``(48842,)``: which of the merged records are labelled +1.
    source
        The copy, for the message.

    Raises
    ------
    DataError
        Neither order matches.
    """
    train, test = FILE_RECORDS
    for parts in (
        (slice(0, train), slice(train, None)),
        (slice(test, None), slice(0, test)),
    ):
        if tuple(int(positive[rows].sum()) for rows in parts) == FILE_POSITIVES:
            return parts
    raise DataError(
        f"{source.openml}: its records are not those of the two files in turn; {source.advice}"
    )

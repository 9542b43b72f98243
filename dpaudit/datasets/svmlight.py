"""LIBSVM files: the a9a records, and a reader for a user's own."""

from __future__ import annotations

import io
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpaudit._check as check
from dpaudit.datasets.census import FILE_RECORDS, find_merged_parts, require_count
from dpaudit.datasets.dataset import Dataset
from dpaudit.datasets.preprocessing import convert_to_signed_labels, preprocess
from dpaudit.datasets.sources import DAMAGED, DatasetSource, PathLike, as_path, read_text
from dpaudit.errors import DataError, format_error_words, shorten_repr
from dpaudit.redaction import Record

A9A_FEATURES = 123
_SPLITS = ("train", "test")
_ARCHIVE = "LIBSVM Data: Classification (Binary Class), 'a9a'"
_SOURCES = {
    split: DatasetSource(files=(file,), archive=_ARCHIVE, openml_name="a9a", openml_version=1)
    for split, file in zip(_SPLITS, ("a9a", "a9a.t"), strict=True)
}

# Records are dense in memory; 8 GiB of them is a damaged index rather than a dataset.
_MOST_VALUES = 2**30

# What LIBSVM writes: a label and index:value pairs (ranking files add a query), maybe a comment.
_PAIR = re.compile(r"(\d+|qid):(\S+)")


def a9a(path: PathLike | None = None, split: str = "train") -> Dataset:
    """Load a9a: UCI Adult as 123 binary features, as LIBSVM publishes it.

    Each row is divided by its Euclidean norm where that exceeds 1; the features are binary, so the
    column maximum is 1 beforehand.

    Parameters
    ----------
    path
        The directory that holds ``a9a`` and ``a9a.t``, or the one file. Without it, the directory
        in ``DPAUDIT_DATA``; without that, the copy on OpenML is fetched.
    split
        ``"train"`` for ``a9a`` (32,561 records), ``"test"`` for ``a9a.t`` (16,281 records).

    Returns
    -------
    Dataset
        Features of shape ``(32561, 123)`` or ``(16281, 123)``; label +1 for an income above 50K.

    Raises
    ------
    InvalidArgument
        There is no such split.
    DataError
        The file is missing or damaged, or could not be fetched.

    Notes
    -----
    Source: C.-C. Chang and C.-J. Lin, "LIBSVM Data", after J. Platt, "Fast training of support
    vector machines using sequential minimal optimization", 1998.

    Examples
    --------
    >>> a9a(split="validation")
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: split: got 'validation', expected one of: train, test
    """
    check.require_choice("split", split, _SPLITS)
    source = _SOURCES[split]
    files = source.find(path)
    if files is None:
        where = source.openml
        features, labels = _load_openml_split(source, split)
    else:
        where = str(files[0])
        features, labels = _read_svmlight(files[0], A9A_FEATURES, zero_based=False)
    require_count(f"{where} ({split})", len(labels), FILE_RECORDS[_SPLITS.index(split)])
    if not np.isin(features.data, (0, 1)).all():
        raise DataError(f"{where}: found a feature that is neither 0 nor 1; {DAMAGED}")
    signed = convert_to_signed_labels(labels, None, where)
    return Dataset(preprocess(features.toarray()), signed, name=f"a9a-{split}")


def libsvm(
    path: PathLike,
    n_features: int | None = None,
    *,
    positive: float | None = None,
    zero_based: bool = False,
    scaled: bool = True,
) -> Dataset:
    r"""Load a LIBSVM (svmlight) file of your own.

    Parameters
    ----------
    path
        The file.
    n_features
        How many features there are; the largest index in the file by default.
    positive
        The label that becomes +1, the only other one becoming -1; by default the labels have to be
        -1 and +1 already.
    zero_based
        Whether the first feature has index 0; LIBSVM's own files begin at 1.
    scaled
        Whether each column is divided by its largest absolute value and then each row by its norm
        where that exceeds 1; with False the values stay as they are.

    Returns
    -------
    Dataset
        Features of shape ``(N, n_features)``, dense; labels in {-1, +1}.

    Raises
    ------
    InvalidArgument
        ``n_features`` is no positive integer, or ``path`` no path.
    DataError
        The file is missing or damaged, or its labels are others.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "own.txt")
    ...     _ = file.write_text("+1 1:3 2:4\n-1 2:1\n")
    ...     libsvm(file, scaled=False).features
    array([[3., 4.],
           [0., 1.]])
    """
    if n_features is not None:
        n_features = check.require_integer("n_features", n_features, least=1)
    place = as_path(path)
    matrix, labels = _read_svmlight(place, n_features, zero_based=zero_based)
    number = None if positive is None else check.require_real("positive", positive)
    signed = convert_to_signed_labels(labels, number, str(place))
    features = matrix.toarray()
    return Dataset(preprocess(features) if scaled else features, signed, name=place.name)


def _read_svmlight(
    place: Path, n_features: int | None, *, zero_based: bool
) -> tuple[Any, NDArray[Any]]:
    """Return a sparse matrix of shape ``(N, d)`` and labels of shape ``(N,)``, all finite."""
    from sklearn.datasets import load_svmlight_file

    text = read_text(place)
    try:
        features, labels = load_svmlight_file(
            io.BytesIO(text.encode()), n_features=n_features, zero_based=zero_based
        )
    except (ValueError, OverflowError) as error:
        reason = _first_complaint(text, n_features, zero_based)
        reason = reason or f"no reader takes it: {format_error_words(type(error), str(error))}"
        raise DataError(f"{place}: {reason}; {DAMAGED}") from None
    if not (np.isfinite(features.data).all() and np.isfinite(labels).all()):
        reason = _first_complaint(text, n_features, zero_based) or "a number is not finite"
        raise DataError(f"{place}: {reason}; {DAMAGED}")
    if not features.nnz:
        raise DataError(f"{place}: found {len(labels)} records without a single feature; {DAMAGED}")
    if math.prod(features.shape) > _MOST_VALUES:
        raise DataError(
            f"{place}: found {features.shape[0]:,} records of {features.shape[1]:,} features, "
            f"expected at most {_MOST_VALUES:,} values; {DAMAGED}"
        )
    return features, labels


def _first_complaint(text: str, n_features: int | None, zero_based: bool) -> str | None:
    """Return the fault of the first bad line; only once the reader has refused the file."""
    complaints = (
        f"line {number}: {complaint}"
        for number, line in enumerate(text.split("\n"), start=1)
        if (complaint := _find_line_fault(line.split("#")[0].split(), n_features, zero_based))
    )
    return next(complaints, None)


def _find_line_fault(tokens: list[str], n_features: int | None, zero_based: bool) -> str | None:
    if tokens and not _is_number(tokens[0]):
        return f"label: got {shorten_repr(Record(tokens[0]))}, expected a finite number"
    previous = -1 if zero_based else 0
    for token in tokens[1:]:
        pair = _PAIR.fullmatch(token)
        if not pair or not _is_number(pair[2]):
            return f"got {shorten_repr(Record(token))}, expected index:value with a finite number"
        if pair[1] == "qid":
            continue
        index = int(pair[1])
        if index <= previous:
            begin = "0" if zero_based else "1"
            return f"index {Record(index)!r}: expected indices that ascend from {begin}"
        if n_features is not None and index >= n_features + (not zero_based):
            return f"index {Record(index)!r}: expected at most {n_features} features"
        previous = index
    return None


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _load_openml_split(source: DatasetSource, split: str) -> tuple[Any, NDArray[np.float64]]:
    from scipy.sparse import csr_array

    bunch = source.fetch(as_frame=False)
    features = csr_array(bunch.data)
    if features.shape != (sum(FILE_RECORDS), A9A_FEATURES):
        raise DataError(
            f"{source.openml}: found {features.shape[0]:,} records of {features.shape[1]:,} "
            f"features, expected {sum(FILE_RECORDS):,} of {A9A_FEATURES}; {source.advice}"
        )
    try:
        labels = np.asarray(bunch.target).astype(np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{source.openml}: its labels are not numbers; {source.advice}") from None
    rows = find_merged_parts(labels == 1, source)[_SPLITS.index(split)]
    return features[rows], labels[rows]

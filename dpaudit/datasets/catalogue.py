"""The datasets by name, for the command line and for specifications.

One comes with an installed library, so it is always there.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from dpaudit.datasets.census import adult
from dpaudit.datasets.dataset import Dataset
from dpaudit.datasets.preprocessing import preprocess
from dpaudit.datasets.sources import PathLike
from dpaudit.datasets.svmlight import a9a, libsvm
from dpaudit.datasets.table import csv
from dpaudit.errors import InvalidArgument, UnknownName


def breast_cancer() -> Dataset:
    """Load the Wisconsin diagnostic breast-cancer records that come with scikit-learn.

    Each column is divided by its largest value, then each row by its norm where that exceeds 1.

    Returns
    -------
    Dataset
        Features of shape ``(569, 30)``, row norm at most 1; label +1 for a malignant tumour (212
        records), -1 for a benign one.

    Notes
    -----
    Source: W. Wolberg, O. Mangasarian, N. Street, W. Street, "Breast Cancer Wisconsin
    (Diagnostic)", UCI Machine Learning Repository, 1995.

    Examples
    --------
    >>> data = breast_cancer()
    >>> data.features.shape, int((data.labels == 1).sum())
    ((569, 30), 212)
    >>> data.require_signed_labels()
    >>> data.require_unit_rows()
    """
    # Imported here, as scikit-learn takes long to load and most commands need none of it.
    from sklearn.datasets import load_breast_cancer

    records = load_breast_cancer()
    malignant = np.asarray(records.target) == list(records.target_names).index("malignant")
    labels = np.where(malignant, 1.0, -1.0)
    return Dataset(preprocess(records.data), labels, name="breast-cancer")


CATALOGUE: Mapping[str, Callable[..., Dataset]] = MappingProxyType(
    {
        "a9a": a9a,
        "adult": adult,
        "breast-cancer": breast_cancer,
        "csv": csv,
        "libsvm": libsvm,
    }
)


def options_of(name: str) -> tuple[str, ...]:
    """Return the options of a dataset's loader besides ``path``; no option names a file.

    Examples
    --------
    >>> options_of("a9a"), options_of("breast-cancer"), options_of("unheard-of")
    (('split',), (), ())
    """
    loader = CATALOGUE.get(_to_catalogue_key(str(name)))
    parameters = inspect.signature(loader).parameters if loader else {}
    return tuple(parameter for parameter in parameters if parameter != "path")


def _to_catalogue_key(name: str) -> str:
    return name.replace("_", "-")


def load(name: str, /, *, path: PathLike | None = None, **options: object) -> Dataset:
    """Load a dataset by name.

    Parameters
    ----------
    name
        A key of `CATALOGUE`; ``_`` may stand for ``-``.
    path
        Where its files are: a directory, or the file. By default those that need files look into
        the directory in ``DPAUDIT_DATA``, then on OpenML.
    **options
        Further arguments of the function behind the name, such as ``split`` of `a9a` or
        ``label_column`` of `csv`.

    Returns
    -------
    Dataset
        The records, held by one node.

    Raises
    ------
    UnknownName
        There is no such dataset.
    InvalidArgument
        The dataset does not take these arguments.
    DataError
        The files are missing or damaged, or could not be fetched.

    Examples
    --------
    >>> load("breast-cancer").features.shape
    (569, 30)
    >>> load("aduld")
    Traceback (most recent call last):
    dpaudit.errors.UnknownName: dataset: got 'aduld', expected one of: a9a, adult, \
breast-cancer, csv, libsvm; did you mean 'adult'?
    """
    key = _to_catalogue_key(str(name))
    if key not in CATALOGUE:
        raise UnknownName("dataset", str(name), CATALOGUE)
    loader = CATALOGUE[key]
    arguments = options if path is None else {"path": path, **options}
    signature = inspect.signature(loader)
    try:
        # Bound before it is called: a TypeError from within the loader must not pass for a wrong
        # argument.
        signature.bind(**arguments)
    except TypeError as error:
        accepted = ", ".join(signature.parameters) or "no arguments"
        raise InvalidArgument(
            f"dataset {key}", arguments, f"arguments among: {accepted} ({error})"
        ) from None
    return loader(**arguments)

"""Records that come with an installed library, so they are always there."""

from __future__ import annotations

import numpy as np

from dpaudit.datasets.dataset import Dataset
from dpaudit.datasets.preprocess import preprocess


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
    from sklearn.datasets import load_breast_cancer

    records = load_breast_cancer()
    malignant = np.asarray(records.target) == list(records.target_names).index("malignant")
    labels = np.where(malignant, 1.0, -1.0)
    return Dataset(preprocess(records.data), labels, name="breast-cancer")

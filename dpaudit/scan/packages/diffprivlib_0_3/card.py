"""The scan of diffprivlib 0.3: principal components by the Wishart mechanism.

Thread: https://github.com/IBM/differential-privacy-library/issues/23; release 0.4 replaced it (pull
request 25), and the card of diffprivlib scans the same model of 0.6.
"""

from typing import Any

from dpaudit.extension.package import Package, PackageClaim, Parameters, Subject


def _make_half_rows(given: Parameters) -> tuple[Any, ...]:
    import numpy as np

    return (np.array([[0.0], [0.5]]), np.array([[0.0], [0.5], [0.5], [0.5]]))


PACKAGE = Package(
    name="diffprivlib-0.3",
    distribution="diffprivlib",
    code="dpaudit.scan.packages.diffprivlib_0_3.subjects",
    versions=("0.3.0",),
    requirements=("scikit-learn==1.0.2", "numpy<1.24"),
    python=">=3.9,<3.11",
    home="https://github.com/IBM/differential-privacy-library",
    subjects=(
        Subject(
            name="models.PCA",
            code="pca",
            parameters=({"epsilon": 1.0, "data_norm": 1.0, "centered": True},),
            datasets=_make_half_rows,
            bounds=(0.0, 1.0),
            relations=("replace-record",),
            nan=False,
            claims=(
                PackageClaim(
                    epsilon="epsilon",
                    relation="replace-record",
                    where="docstring of diffprivlib.models.PCA: the privacy parameter epsilon, for "
                    "data of norm at most data_norm; read under replacement, as n is published",
                ),
            ),
            trials=5_000,
        ),
    ),
)

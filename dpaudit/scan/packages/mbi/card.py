"""The scan of mbi: models of marginals that its user made noisy.

Its wheel holds no mechanism: noise and budget are the user's, and a model is made of noisy numbers
alone, which costs nothing more.
"""

from __future__ import annotations

from dpaudit.extension.package import Package, PackageClaim, Subject

_CLAIM = PackageClaim(
    rho="rho",
    relation="add-remove-record",
    where="README: inference from noisy marginal measurements, which post-processes them, so that "
    "a model is as private as they are",
)
_ROWS = [(number % 2, number % 3) for number in range(24)]

PACKAGE = Package(
    name="mbi",
    distribution="mbi",
    code="dpaudit.scan.packages.mbi.subjects",
    versions=("2.0.0",),
    home="https://github.com/ryan112358/mbi",
    subjects=(
        Subject(
            name="MirrorDescent",
            code="estimated",
            claims=(_CLAIM,),
            parameters=(
                {"sizes": (2, 3), "rho": 0.5, "iters": 20},
                {"sizes": (2, 3), "rho": 0.05, "iters": 20},
            ),
            datasets=([(1, 2)], _ROWS),
            bounds={0: (0, 1), 1: (0, 2)},
            relations=("add-remove-record",),
            nan=False,
            trials=300,
            about="the total and the marginals of a model of two noisy marginals",
        ),
        Subject(
            name="synthetic data",
            code="synthetic",
            claims=(_CLAIM,),
            parameters=({"sizes": (2, 3), "rho": 0.5, "iters": 20, "rows": 10},),
            datasets=([(1, 2)], _ROWS),
            bounds={0: (0, 1), 1: (0, 2)},
            relations=("add-remove-record",),
            nan=False,
            trials=200,
            about="rows of a model of two noisy marginals",
        ),
    ),
)

"""The scan of NVFlare.

Its documentation claims pure differential privacy of ``SVTPrivacy`` alone, with the budget that its
accountant reports, for what leaves a client; scalars pass it as they are, which it says. The other
filters claim no differential privacy.
"""

import math

from dpaudit.extension.package import Package, PackageClaim, Parameters, Subject

_FIELDS = 6  # numbers in an update


def _compute_nvflare_budget(given: Parameters) -> float:
    uploaded = math.ceil(_FIELDS * float(given["fraction"]))
    return float(given["epsilon"]) + uploaded * float(given["noise_var"])


_DEFAULTS = {"fraction": 0.1, "epsilon": 0.1, "noise_var": 0.1, "gamma": 1e-5, "tau": 1e-6}
_COARSE = {"fraction": 0.5, "epsilon": 1.0, "noise_var": 0.2, "gamma": 1.0, "tau": 0.1}

PACKAGE = Package(
    name="nvflare",
    distribution="nvflare",
    code="dpaudit.scan.packages.nvflare.subjects",
    versions=("2.9.0",),
    home="https://github.com/NVIDIA/NVFlare",
    subjects=(
        Subject(
            name="filters.SVTPrivacy",
            code="svt_privacy",
            parameters=(
                _DEFAULTS,
                _COARSE,
                {**_COARSE, "replace": False},
                {**_COARSE, "fraction": 1.0, "epsilon": 0.5},
                {**_COARSE, "fraction": 0.1, "epsilon": 4.0, "tau": 2.0},
                {**_COARSE, "steps": 10},
                {**_COARSE, "dtype": "float32"},
            ),
            datasets=(
                [(0.0,) * _FIELDS],
                [(1.0,) * _FIELDS],
                [(1.0, -1.0, 0.0, 0.0, 0.0, 0.0)],
            ),
            bounds=(-100.0, 100.0),
            relations=("replace-record",),
            claims=(
                PackageClaim(
                    epsilon=_compute_nvflare_budget,
                    relation="replace-record",
                    where="Differential privacy, privacy-preserving filters: one call is the "
                    "composition of three pure phases, with a budget of epsilon for threshold and "
                    "queries and epsilon_release, by default n_upload * noise_var, and delta = 0, "
                    "for the update that the filter is given",
                ),
            ),
            about="What leaves one client: the data is its update, as the only record.",
        ),
    ),
)

"""The scan of NVFlare 2.0: the filter that selects the weights which a client uploads.

Thread: https://github.com/NVIDIA/NVFlare/pull/343, which is in release 2.0.19 and not in 2.0.16.
The filter needs numpy alone; the releases pin a library of encryption that has no wheel for Python
3.11, so they are installed without what they depend on. Missing values are tried by the card of
newer releases.
"""

import math

from dpaudit.extension.package import Package, PackageClaim, Parameters, Subject

_FIELDS = 6  # numbers in an update


def _compute_nvflare_2_0_budget(given: Parameters) -> float:
    """Return the joint cost of all phases: threshold, queries and released numbers."""
    uploaded, epsilon = math.ceil(_FIELDS * float(given["fraction"])), float(given["epsilon"])
    queries = epsilon * (2.0 * uploaded) ** (2 / 3)
    return float(epsilon + queries + uploaded * float(given["noise_var"]))


PACKAGE = Package(
    name="nvflare-2.0",
    distribution="nvflare",
    code="dpaudit.scan.packages.nvflare_2_0.subjects",
    versions=("2.0.19", "2.0.16"),
    requirements=("numpy<1.24",),
    bare=True,
    python=">=3.9,<3.12",
    home="https://github.com/NVIDIA/NVFlare",
    subjects=(
        Subject(
            name="filters.SVTPrivacy",
            code="svt_privacy",
            parameters=(
                {"fraction": 0.5, "epsilon": 0.1, "noise_var": 0.1, "gamma": 1.0, "tau": 0.1},
                {"fraction": 0.1, "epsilon": 0.1, "noise_var": 0.1, "gamma": 1.0, "tau": 0.1},
            ),
            datasets=(
                [(0.0,) * _FIELDS],
                [(0.5,) * _FIELDS],
                [(1.0, -1.0, 0.0, 0.0, 0.0, 0.0)],
            ),
            bounds=(-1.0, 1.0),
            relations=("replace-record",),
            nan=False,
            claims=(
                PackageClaim(
                    epsilon=_compute_nvflare_2_0_budget,
                    relation="replace-record",
                    where="docstring of SVTPrivacy: the standard sparse vector technique, with "
                    "epsilon for the threshold and noise_var for each number that is returned; "
                    "with what the code derives for the queries, all of it added up",
                ),
            ),
            about="What leaves one client: the data is its update, as the only record.",
        ),
    ),
)

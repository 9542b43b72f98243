"""The scan of TensorFlow Privacy.

Its queries clip every record and add Gaussian noise of a multiple of the clipping norm to their
sum; its accountants take that multiple as the ratio of noise to sensitivity, with one record more
or less.
"""

import math

from dpaudit.extension.package import Package, PackageClaim, Parameters, Subject

_RELATIONS = ("add-remove-record", "replace-record")  # what is claimed first


def _compute_tensorflow_mu(given: Parameters) -> float:
    return 1 / float(given["noise_multiplier"])


def _with_count(given: Parameters) -> float:
    """Return mu of a sum and of a count of sensitivity 1/2 beside it."""
    count = 1 / (2 * float(given["clipped_count_stddev"]))
    return math.hypot(_compute_tensorflow_mu(given), count)


_SUM = PackageClaim(
    mu=_compute_tensorflow_mu,
    relation="add-remove-record",
    where="docstring of GaussianSumQuery: records are clipped to l2_norm_clip, and Gaussian noise "
    "of stddev is added to their sum; compute_dp_sgd_privacy takes their ratio, add or remove one",
)
_ADAPTIVE = PackageClaim(
    mu=_with_count,
    relation="add-remove-record",
    where="docstring of QuantileAdaptiveClipSumQuery: the sum of records clipped to a norm that "
    "follows a private estimate of a quantile, with noise on the sum and on the count of records "
    "below it, as in Andrew et al. (2019)",
)
_DATASETS = ([(0.0, 0.0)], [(0.5, 0.5), (-1.0, 0.0)], [(3.0, -4.0)] * 3)

PACKAGE = Package(
    name="tensorflow-privacy",
    distribution="tensorflow-privacy",
    code="dpaudit.scan.packages.tensorflow_privacy.subjects",
    versions=("0.9.0",),
    requirements=("tensorflow==2.15.1",),
    python="<3.12",
    home="https://github.com/tensorflow/privacy",
    subjects=(
        Subject(
            name="dp_query.GaussianSumQuery",
            code="gaussian_sum",
            parameters=(
                {"noise_multiplier": 1.0, "l2_norm_clip": 1.0},
                {"noise_multiplier": 2.0, "l2_norm_clip": 0.1},
            ),
            datasets=_DATASETS,
            bounds=(-1e25, 1e25),
            relations=_RELATIONS,
            claims=(_SUM,),
            additive=True,
            trials=2_000,
        ),
        Subject(
            name="dp_query.QuantileAdaptiveClipSumQuery",
            code="adaptive_sum",
            parameters=({"noise_multiplier": 1.0, "clipped_count_stddev": 2.0},),
            datasets=_DATASETS,
            bounds=(-10.0, 10.0),
            relations=_RELATIONS,
            claims=(_ADAPTIVE,),
            trials=2_000,
        ),
    ),
)

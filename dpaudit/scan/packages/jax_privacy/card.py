"""The scan of JAX Privacy.

Its documentation states the sensitivity of a sum of clipped values for each relation, as a formal
guarantee that holds for NaN and infinity too, and Gaussian noise calibrated to it. Its pages on
sharp edges, newer than 2.0.0, call attacks on floating-point numbers theoretical, and recommend
float32 for sums and noise for the sake of stability.
"""

import math

from dpaudit.extension.package import MadePair, Package, PackageClaim, Parameters, Subject

_ADD_REMOVE = "add-remove-record"
_REPLACE = "replace-record"
_WHERE = (
    "docstrings of clipped_fun and clipped_grad, formal guarantees: the L2 sensitivity is "
    "l2_clip_norm under add/remove and zero-out, and twice that under replace-one; "
    "gaussian_privatizer adds isotropic Gaussian noise"
)


def _compute_jax_mu(given: Parameters) -> float:
    return math.sqrt(float(given.get("iterations", 1))) / float(given["noise_multiplier"])


_CLAIMS = (
    PackageClaim(mu=_compute_jax_mu, relation=_ADD_REMOVE, where=_WHERE),
    PackageClaim(mu=lambda given: 2 * _compute_jax_mu(given), relation=_REPLACE, where=_WHERE),
)
_NOISE = {"noise_multiplier": 1.0}
_LOW_PRECISION = ("bfloat16", "float16")


def _make_zeroed_pairs(given: Parameters) -> tuple[MadePair, ...]:
    """Return a long batch with one example replaced by zero, as padding does."""
    if given.get("microbatch_size") is None:
        return ()
    rest = [1.0] * 255 + [1.125, -0.875] * 100
    edit = "one example zeroed out"
    return (
        MadePair(dataset=[1.0, *rest], neighbour=[0.0, *rest], relation=_REPLACE, edit=edit),
        MadePair(dataset=[1.0] * 8, neighbour=[0.0] + [1.0] * 7, relation=_REPLACE, edit=edit),
    )


PACKAGE = Package(
    name="jax-privacy",
    distribution="jax-privacy",
    code="dpaudit.scan.packages.jax_privacy.subjects",
    versions=("2.0.0",),
    home="https://github.com/google-deepmind/jax_privacy",
    subjects=(
        Subject(
            name="clipped_fun, gaussian_privatizer",
            code="noisy_sum",
            parameters=(
                _NOISE,
                {**_NOISE, "l2_clip_norm": 0.1},
                {**_NOISE, "rescale_to_unit_norm": True, "l2_clip_norm": 10.0},
                {**_NOISE, "normalize_by": 4.0},
            ),
            datasets=([0.0], [0.5, -1.0, 3.0]),
            bounds=(-1e5, 1e5),
            claims=_CLAIMS,
            additive=True,
            about="The sum of clipped values, with noise.",
        ),
        Subject(
            name="clipped_fun, gaussian_privatizer (types)",
            code="noisy_sum",
            parameters=(
                *({**_NOISE, "dtype": dtype} for dtype in (*_LOW_PRECISION, "int32")),
                {**_NOISE, "microbatch_size": 1, "l2_clip_norm": 1.125},
                {**_NOISE, "microbatch_size": 1, "l2_clip_norm": 1.125, "dtype": "bfloat16"},
            ),
            datasets=([0.5, -1.0, 3.0],),
            bounds=(-(2.0**16), 2.0**16),
            pairs=_make_zeroed_pairs,
            claims=_CLAIMS,
            about="The same sum of values of other types, and in small batches.",
        ),
        Subject(
            name="clipped_grad, gaussian_privatizer",
            code="noisy_gradient",
            parameters=(
                _NOISE,
                {**_NOISE, "rescale_to_unit_norm": True, "l2_clip_norm": 0.5},
                {**_NOISE, "keep_batch_dim": False},
            ),
            datasets=([(0.0, 0.0, 1.0)], [(1.0, -1.0, 0.5), (2.0, 0.0, 0.0), (0.1, 0.2, 0.3)]),
            bounds=(-1e3, 1e3),
            claims=_CLAIMS,
            about="The sum of clipped gradients of a linear model, with noise.",
        ),
        Subject(
            name="CyclicPoissonSampling, gaussian_privatizer",
            code="sampled_sums",
            parameters=({"noise_multiplier": 20.0, "sampling_prob": 0.5, "iterations": 2},),
            datasets=([0.0, 0.0], [1.0, -1.0, 0.5, 3.0]),
            bounds=(-10.0, 10.0),
            relations=(_ADD_REMOVE,),
            claims=_CLAIMS,
            trials=500,
            about="Sums over Poisson samples, with noise; amplification is left out of the claim.",
        ),
        Subject(
            name="matrix_factorization_privatizer",
            code="correlated_sums",
            parameters=(
                _NOISE,
                {**_NOISE, "strategy": "identity"},
                {**_NOISE, "dense": True},
            ),
            datasets=([0.0, 0.0, 0.0, 0.0], [1.0, -1.0, 0.5, 3.0]),
            bounds=(-10.0, 10.0),
            relations=(_REPLACE,),
            claims=_CLAIMS,
            about="A stream of clipped values with correlated noise, a record a step.",
        ),
    ),
)

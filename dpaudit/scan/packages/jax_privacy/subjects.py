"""JAX Privacy's clipping and noise, composed as its documentation tells to.

Noise of one step is independent over the entries of an array: an array of one total, repeated, is
as many draws of the mechanism.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax_privacy import batch_selection, clipping, noise_addition
from jax_privacy.matrix_factorization import sensitivity, toeplitz

jax.config.update("jax_platforms", "cpu")


def noisy_sum(data, trials, rng, noise_multiplier, l2_clip_norm=1.0, dtype="float32", **options):
    total = clipping.clipped_fun(jnp.sum, l2_clip_norm=l2_clip_norm, **options)
    values = np.asarray(data, dtype=np.float64)
    if dtype == "int32":
        values = np.nan_to_num(values)
    with np.errstate(all="ignore"):  # a number that is too large for the type becomes infinite
        values = values.astype(dtype)
    summed = total(jnp.asarray(values))
    privatizer = noise_addition.gaussian_privatizer(
        stddev=noise_multiplier * total.l2_norm_bound, prng_key=int(rng.integers(2**31))
    )
    if jnp.issubdtype(summed.dtype, jnp.integer):
        summed = summed.astype(jnp.float32)  # noise is of floating-point numbers
    released = jnp.full(trials, summed)
    noisy, _ = privatizer.update(released, privatizer.init(released))
    return np.asarray(noisy.astype(jnp.float32)).tolist()


def noisy_gradient(data, trials, rng, noise_multiplier, l2_clip_norm=1.0, **options):
    def loss(weights, features, labels):
        return jnp.mean((features @ weights - labels) ** 2)

    rows = jnp.asarray(data, dtype=jnp.float32).reshape(-1, 3)
    gradient = clipping.clipped_grad(
        loss, l2_clip_norm=l2_clip_norm, batch_argnums=(1, 2), **options
    )
    summed = gradient(jnp.full(2, 0.5), rows[:, :2], rows[:, 2])
    privatizer = noise_addition.gaussian_privatizer(
        stddev=noise_multiplier * gradient.l2_norm_bound, prng_key=int(rng.integers(2**31))
    )
    released = jnp.tile(summed, (trials, 1))
    noisy, _ = privatizer.update(released, privatizer.init(released))
    return np.asarray(noisy).tolist()


def sampled_sums(data, rng, noise_multiplier, sampling_prob, iterations, l2_clip_norm=1.0):
    values = np.asarray(data, dtype=np.float32)
    total = clipping.clipped_fun(jnp.sum, l2_clip_norm=l2_clip_norm)
    strategy = batch_selection.CyclicPoissonSampling(
        sampling_prob=sampling_prob,
        iterations=iterations,
        partition_type=batch_selection.PartitionType.INDEPENDENT,
    )
    privatizer = noise_addition.gaussian_privatizer(
        stddev=noise_multiplier * total.l2_norm_bound, prng_key=int(rng.integers(2**31))
    )
    state, released = privatizer.init(jnp.float32(0)), []
    for batch in strategy.batch_iterator(len(values), rng):
        noisy, state = privatizer.update(total(jnp.asarray(values[batch])), state)
        released.append(float(noisy))
    return released


def correlated_sums(data, trials, rng, noise_multiplier, strategy="banded", dense=False):
    coefficients = jnp.array([1.0, 0.5, 0.25] if strategy == "banded" else [1.0])
    matrix = toeplitz.materialize_lower_triangular(coefficients, len(data))
    bound = float(sensitivity.single_participation_sensitivity(matrix))
    inverse = (
        jnp.linalg.inv(matrix) if dense else toeplitz.inverse_as_streaming_matrix(coefficients)
    )
    privatizer = noise_addition.matrix_factorization_privatizer(
        inverse, stddev=noise_multiplier * bound, prng_key=int(rng.integers(2**31))
    )
    state, released = privatizer.init(jnp.zeros(trials)), []
    for value in data:
        clipped, _ = clipping.clip_pytree(jnp.float32(value), 1.0)
        noisy, state = privatizer.update(jnp.full(trials, clipped), state)
        released.append(np.asarray(noisy))
    return np.stack(released, axis=1).tolist()

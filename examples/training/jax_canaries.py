"""JAX Privacy: one run of its DP-SGD with a thousand canaries, every noisy gradient seen."""

import jax
import jax.numpy as jnp
import numpy as np
from canaries import CANARIES, inserted, said, scored
from jax_privacy import auditing, batch_selection, clipping, noise_addition
from numpy_steps import CLIP, DELTA, NOISE, RATE, STEPS

from dpaudit.adapters.jax_privacy import JaxNoisyGradients
from dpaudit.estimation.one_run import draw_coins

INDEPENDENT = batch_selection.PartitionType.INDEPENDENT
SAMPLING = batch_selection.CyclicPoissonSampling(RATE, STEPS, partition_type=INDEPENDENT)


def run(rng):
    """Return the scores of one run's canaries, and their coins."""
    coins = draw_coins(CANARIES, rng)
    rows = inserted(coins, 10 * CLIP)
    loss = clipping.clipped_grad(lambda w, x: jax.nn.softplus(-x @ w).sum(), l2_clip_norm=CLIP)
    weights, gradient = jnp.zeros(rows.shape[1]), jax.jit(loss)
    how = {"stddev": NOISE * CLIP, "prng_key": int(rng.integers(2**31))}
    noise = JaxNoisyGradients(noise_addition.gaussian_privatizer(**how), CLIP)
    state = noise.init(weights)
    for batch in SAMPLING.batch_iterator(len(rows), rng):
        taken = np.zeros_like(rows)  # of one shape for the compiler: empty rows have no gradient
        taken[: len(batch)] = rows[batch]
        noisy, state = noise.update(gradient(weights, jnp.asarray(taken)), state)
        weights = weights - 1e-4 * noisy
    # The logistic loss falls along a record.
    return scored(-np.array(noise.steps)[:, -CANARIES:]), coins


if __name__ == "__main__":
    scores, coins = run(np.random.default_rng(0))
    print(said("JAX Privacy", scores, coins))
    peer = auditing.CanaryScoreAuditor(scores[coins == 1], scores[coins == -1])
    one_run, whole = peer.epsilon_one_run(0.05, DELTA), peer.epsilon_one_run_fdp(0.05, DELTA)
    print(f"its own: epsilon_one_run {one_run:.3f}, epsilon_one_run_fdp {whole:.3f}")

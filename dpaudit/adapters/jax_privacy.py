"""The noise that JAX Privacy adds, as an observer sees it."""

from __future__ import annotations

from typing import Any

import numpy as np

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.adapters._calls import convert_library_import_errors


class JaxNoisyGradients:
    """A privatizer whose every noisy sum of clipped gradients is kept.

    It is used in the privatizer's place, outside of ``jax.jit``.

    Parameters
    ----------
    privatizer
        What adds noise, such as ``jax_privacy.noise_addition.gaussian_privatizer``: an optax
        ``GradientTransformation``.
    clip_norm
        The clipping norm of what it is given.

    Attributes
    ----------
    steps
        One array a step, of all leaves in the tree's order, in units of the clipping norm.

    Raises
    ------
    InvalidArgument
        The clipping norm is no number above 0.

    Examples
    --------
    ::

        noise = JaxNoisyGradients(noise_addition.gaussian_privatizer(stddev=1.0, prng_key=0), 1.0)
        state = noise.init(weights)
        noisy, state = noise.update(clipped_sum, state)
        np.array(noise.steps)  # shape (steps, weights)
    """

    def __init__(self, privatizer: Any, clip_norm: float) -> None:
        self.steps: list[Array] = []
        self._privatizer = privatizer
        self._clip_norm = check.require_positive("clip_norm", clip_norm)

    def init(self, params: Any) -> Any:
        """Return the privatizer's state."""
        return self._privatizer.init(params)

    def update(self, updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        """Return noisy sums and the next state, as the privatizer does."""
        with convert_library_import_errors("jax", "jax-privacy"):
            import jax
        noisy, state = self._privatizer.update(updates, state, params)
        leaves = [np.ravel(np.asarray(leaf)) for leaf in jax.tree_util.tree_leaves(noisy)]
        # In units of the clipping norm, in which the noise multiplier is stated, whatever the norm
        # is.
        self.steps.append(np.concatenate(leaves).astype(np.float64) / self._clip_norm)
        return noisy, state

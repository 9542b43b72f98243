r"""The leakage of multi-step DP-ADMM to an observer who does not see the inner models.

One replaced record moves a node's gradient by at most ``Delta = 2 c_1 / m_i`` (Lemma 5). In units
in which Delta is 1, the node's inner models are

    w^r = phi_r(w^{r-1}) + N(0, (sigma / C_r)^2 I),    phi_r(w) = (eta_r w - grad L(w) + pull) / C_r

with ``C_r = 2 rho |V_i| + eta_r``, and the neighbour's ``phi'_r`` is within ``1 / C_r`` of
``phi_r`` everywhere. Whoever sees all w^r learns ``sqrt(t l) / sigma`` (`composition_mu`).

| symbol      | name           | meaning                                              | shape     |
|-------------|----------------|------------------------------------------------------|-----------|
| eta^{k,r}   | ``weights``    | proximal weights of every node                       | (t, l, n) |
| 2 rho |V_i| | ``stiffness``  |                                                      | (n,)      |
| C_r         | ``curvatures`` | ``stiffness + weights``                              | (t, l, n) |
| h           | ``curvature``  | of the node's mean loss, ``lambda / n`` included     | scalar    |
| a_r         | ``kept``       | of an affine step: ``(eta_r - h) / C_r``             | (t, l)    |
| c_r         | ``factors``    | Lipschitz constant of phi_r                          | (t, l)    |

**Affine instances.** Where the gradient is ``H w - b`` and both datasets have the same H, a shift
is the same whatever the model. Along an eigenvector of H with eigenvalue h the inner models are a
scalar Gaussian chain with factor a_r, and different eigenvectors do not meet: what is linear in the
inner models is exactly Gaussian DP, with ``mu^2 = sum_j g_j^2 mu(h_j)^2`` for a gradient that moves
by g (`of_directions`). A linear loss is the case ``h = lambda / n`` in every direction.

**The averages** (Algorithm 1). The pull is a function of averages seen before, so it cancels. Given
them, the hidden last model of an iteration is Gaussian and so is the next average; the innovations
are independent (Kalman 1960) and ``mu^2`` is the sum of their squared shifts over their variances
(`averages_mu`). For other losses nothing below composition is proved here, and little could be: a
bound for a class of losses that contains the linear ones cannot be below `averages_mu` of a linear
loss, which at the size of Figure 1 is within a tenth of composition. With one inner step the
averages are the inner models, and with weights that are small beside the stiffness the a_r vanish
and every average is as good as its steps: there composition is exact.

**The last models.** A variant that sends ``w^{k,l}`` in place of the average starts every iteration
from a model that is public. Its inner loop is a chain of noisy maps from a public start, of which
only the end is seen: shifted interpolation applies (Bok, Su & Altschuler 2024), with factors,
shifts and noise that vary. Let the mean loss with its regulariser be m-strongly convex and
beta-smooth, twice differentiable or not. Then ``grad L(w) - (m + beta) w / 2`` is Lipschitz with
``(beta - m) / 2`` (Baillon & Haddad 1977, of ``L - m ||w||^2 / 2``), and phi_r therefore with
``(|eta_r - (m + beta) / 2| + (beta - m) / 2) / C_r``, which is
``c_r = max(|eta_r - m|, |eta_r - beta|) / C_r``.

*Theorem.* With shifts ``s_r`` and noise ``sigma_r``, put ``z_0 = 0`` and choose ``0 <= d_r <= c_r
z_{r-1} + s_r`` such that ``z_r = c_r z_{r-1} + s_r - d_r`` ends at ``z_l = 0``. Then w^l is
mu-Gaussian DP with ``mu^2 = sum_r (d_r / sigma_r)^2``.

*Proof.* Let X and X' be the chains on the two datasets, Z_r the noise of X. Put ``Y_0 = X_0 =
X'_0`` and ``Y_r = phi'_r(Y_{r-1}) + lambda_r D_r + Z_r`` with ``D_r = phi_r(X_{r-1}) -
phi'_r(Y_{r-1})`` and ``lambda_r = d_r / (c_r z_{r-1} + s_r)`` (1 if both are 0). As long as
``||X_{r-1} - Y_{r-1}|| <= z_{r-1}``, D_r is at most ``||phi_r(X) - phi_r(Y)|| + ||phi_r(Y) -
phi'_r(Y)|| <= c_r z_{r-1} + s_r`` long, so ``||X_r - Y_r|| = (1 - lambda_r) ||D_r|| <= z_r``; at
the end ``Y_l = X_l``. On the other side Y_r and X'_r are the same map phi'_r of Y_{r-1} and
X'_{r-1} and fresh noise, but that Y_r is shifted by some V of norm at most d_r, independent of Z_r.
Given ``Y_{r-1} = y``, draw V from its law given y on both sides: even with V in hand the shifted
noise is ``G(d_r / sigma_r)`` against the unshifted one, and V can be dropped. So by adaptive
composition (Dong, Roth & Su 2022) the trade-off function of (Y_{r-1}, Y_r) against (X'_{r-1}, X'_r)
is at least the product of that of Y_{r-1} against X'_{r-1} with ``G(d_r / sigma_r)``, and so is
that of Y_r against X'_r. Y_0 is X'_0; after l steps the product is ``G(mu)``. The datasets may be
exchanged. QED

*The best shifts.* Let ``p_r`` be the product of the factors after r, ``S_r`` the partial sums of
``p s`` and ``W_r`` those of ``(p sigma)^2``. In ``U_r``, the partial sums of ``p d``, the
conditions are ``U <= S``, with equality at l, and U does not fall, and ``mu^2 = sum (U_r -
U_{r-1})^2 / (W_r - W_{r-1})``. The least is reached by the greatest convex minorant of the points
(W_r, S_r): the steps fall into blocks, z is 0 between them, and a block adds ``S^2 / W`` of its own
sums. Adjacent violators are pooled from the left; sums are kept in the unit of a block's last step,
so that nothing overflows. One block for every step (``d_r = s_r``) is composition, which the result
never exceeds.

*When it is exact.* A block's ``S^2 / W`` is exactly what an affine chain with factors c_r leaks
from a public start. With one block and ``eta_r >= (m + beta) / 2`` the factors are those of the
curvature m, and the bound is attained by a gradient ``m w - b`` (`last_affine_mu`): no proof can do
better. Where eta_r is below (m + beta) / 2, two steps in one feature attain it too, with a loss
whose shift changes its sign (tests). There is one block if ``c_{r+1} C_{r+1} <= C_r`` for all r, as
with weights that do not grow faster than ``2 rho |V_i| + m`` a step and smoothness of at most ``C_r
+ eta_{r+1}``.

Iterations compose adaptively: given all that was sent before, start and pull are public, so
``mu^2`` is the sum over iterations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.algorithms.multistep.algorithm import MultiStepADMM
from dpaudit.algorithms.problems.linearised_objectives import DatasetSizes, proximal_weights
from dpaudit.errors import InvalidArgument

# More than rounding does to any mu here, as 50 digits show: what is called proved is larger by it.
ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class InnerLoops:
    """The public parameters of the inner loops of one node.

    Parameters
    ----------
    weights
        ``eta^{k,r}`` of the node, above 0, shape ``(t, l)``.
    stiffness
        ``2 rho |V_i|``.
    noise_multiplier
        ``sigma``, above 0.

    Raises
    ------
    InvalidArgument
        A parameter is outside its domain.

    Examples
    --------
    >>> loops = InnerLoops(weights=np.ones((3, 2)), stiffness=1.0, noise_multiplier=6.0)
    >>> loops.steps, float(loops.kept(0.5)[0, 0])
    (6, 0.25)
    """

    weights: Array
    stiffness: float
    noise_multiplier: float

    def __post_init__(self) -> None:
        weights = check.finite_array("weights", self.weights, ndim=2)
        if weights.size == 0 or not weights.min() > 0:
            raise InvalidArgument("weights", self.weights, "one number above 0 for every step")
        check.non_negative("stiffness", self.stiffness)
        check.require_positive("noise_multiplier", self.noise_multiplier)

    @classmethod
    def of(cls, algorithm: MultiStepADMM, sizes: DatasetSizes, node: int) -> InnerLoops:
        """Return those of a node, counted from 0; of the data only the sizes are used.

        Raises
        ------
        InvalidArgument
            There is no such node, no noise, or gradients are of mini-batches.

        Examples
        --------
        >>> from dpaudit.algorithms.problems.graphs import ring
        >>> from dpaudit.datasets.dataset import Dataset
        >>> algorithm = MultiStepADMM(
        ...     graph=ring(3), iterations=4, inner_steps=2, noise_multiplier=1.0
        ... )
        >>> data = Dataset(np.eye(3), [1, -1, 1], node_sizes=(1, 1, 1))
        >>> loops = InnerLoops.of(algorithm, data, 0)
        >>> loops.weights.shape, loops.stiffness
        ((4, 2), 0.4)
        """
        require_known_law(algorithm)
        if not 0 <= check.require_integer("node", node, least=0) < algorithm.graph.nodes:
            raise InvalidArgument("node", node, f"one of the {algorithm.graph.nodes} nodes")
        return cls(
            weights=all_weights(algorithm, sizes)[:, :, node],
            stiffness=float(2 * algorithm.penalty * algorithm.graph.degrees[node]),
            noise_multiplier=algorithm.noise_multiplier,
        )

    @property
    def steps(self) -> int:
        """``t l``."""
        return int(self.weights.size)

    @property
    def curvatures(self) -> Array:
        """``C_r``, shape ``(t, l)``."""
        return np.asarray(self.stiffness + self.weights)

    def kept(self, curvature: float) -> Array:
        """Return the factors ``a_r`` of affine steps of this curvature, shape ``(t, l)``."""
        check.non_negative("curvature", curvature)
        return np.asarray((self.weights - curvature) / self.curvatures)

    def factors(self, convexity: float, smoothness: float) -> Array:
        """Return the Lipschitz constants ``c_r``, shape ``(t, l)``.

        Parameters
        ----------
        convexity, smoothness
            ``m`` and ``beta`` of the node's mean loss with its regulariser, ``0 <= m <= beta``.

        Raises
        ------
        InvalidArgument
            They are out of order or not finite: a loss that is not smooth has no such constant.

        Examples
        --------
        >>> loops = InnerLoops(weights=np.ones((1, 2)), stiffness=1.0, noise_multiplier=6.0)
        >>> loops.factors(0.0, 3.0)
        array([[1., 1.]])
        """
        check.non_negative("convexity", convexity)
        if check.non_negative("smoothness", smoothness) < convexity:
            raise InvalidArgument("smoothness", smoothness, f"at least convexity, {convexity}")
        return np.maximum(np.abs(self.kept(convexity)), np.abs(self.kept(smoothness)))


def all_weights(algorithm: MultiStepADMM, sizes: DatasetSizes) -> Array:
    """Return ``eta_i^{k,r}`` of every node and step, shape ``(t, l, n)``."""
    steps = range(1, algorithm.inner_steps + 1)
    return np.array(
        [
            # Eq. (23) depends on the product k r alone.
            [proximal_weights(algorithm, sizes, k * r) for r in steps]
            for k in range(1, algorithm.iterations + 1)
        ]
    )


def require_known_law(algorithm: MultiStepADMM) -> None:
    """Raise `InvalidArgument` without noise, or for the stochastic variant."""
    check.require_positive("noise_multiplier", algorithm.noise_multiplier)
    if algorithm.batch_size is not None:
        raise InvalidArgument("batch_size", algorithm.batch_size, "full gradients")


def composition_mu(loops: InnerLoops) -> float:
    """Return ``sqrt(t l) / sigma``: the loss of all inner models, and a bound for every observer.

    Examples
    --------
    >>> composition_mu(InnerLoops(weights=np.ones((2, 2)), stiffness=1.0, noise_multiplier=4.0))
    0.5
    """
    return math.sqrt(loops.steps) / loops.noise_multiplier


def of_directions(mus: Sequence[float], change: Sequence[float]) -> float:
    """Return ``sqrt(sum_j g_j^2 mu_j^2)``: the mu of an affine instance from its eigenvectors.

    Parameters
    ----------
    mus
        ``mu(h_j)`` of every eigenvector of the common Hessian.
    change
        ``g_j``, the difference of the two gradients along them, in units of Delta.

    Raises
    ------
    InvalidArgument
        The difference is longer than 1, more than one record can do.

    Examples
    --------
    >>> round(of_directions([1.0, 2.0], [0.6, 0.8]), 6)
    1.708801
    """
    # A direction that was scaled to norm 1 may exceed it by rounding.
    if math.hypot(*change) > 1 + 1e-9:
        raise InvalidArgument("change", tuple(change), "of norm at most 1")
    return math.sqrt(sum((g * mu) ** 2 for g, mu in zip(change, mus, strict=True)))


def averages_mu(loops: InnerLoops, curvature: float) -> float:
    """Return the mu of the averages, exactly, of an affine instance with this curvature.

    Formal guarantee: for losses whose gradient at the node is ``h w - b`` on both datasets, such as
    a linear loss with its regulariser, h = lambda / n, everybody who sees all averages of all
    nodes and no inner model learns at most mu-Gaussian DP; a record that moves the gradient by
    Delta reaches it.

    Examples
    --------
    >>> loops = InnerLoops(weights=np.full((1, 2), 9.0), stiffness=0.0, noise_multiplier=1.0)
    >>> round(averages_mu(loops, 0.0) ** 2, 12)  # (2 + 1)^2 / (2^2 + 1^2)
    1.8
    """
    # In units of sigma: every step has the shift 1 / C_r and the noise of the same size.
    total = shift = variance = 0.0
    for kept, scales in zip(loops.kept(curvature), 1 / loops.curvatures, strict=True):
        seen = seen_variance = both = 0.0
        for a, scale in zip(kept.tolist(), scales.tolist(), strict=True):
            shift, variance = a * shift + scale, a * a * variance + scale * scale
            both = a * both + variance  # of the model and the sum, after the sum took the model
            seen, seen_variance = seen + shift, seen_variance + 2 * both - variance
        # The gain of a Kalman filter: Cov(last model, sum) / Var(sum).
        gain = both / seen_variance
        total += seen * seen / seen_variance
        # With one inner step the sum is the model, and rounding may leave a variance below 0.
        shift, variance = shift - gain * seen, max(variance - gain * both, 0.0)
    return math.sqrt(total) / loops.noise_multiplier


def last_mu(loops: InnerLoops, convexity: float, smoothness: float) -> float:
    """Return a mu for the last inner models, by shifted interpolation.

    Formal guarantee: if the mean loss of the node, with its regulariser, is m-strongly convex and
    beta-smooth on both datasets, the variant that sends the last inner model of every iteration
    is mu-Gaussian DP against everybody who sees what is sent. See the module for the proof.

    Parameters
    ----------
    loops
        The node's.
    convexity, smoothness
        ``m`` and ``beta``.

    Examples
    --------
    >>> loops = InnerLoops(weights=np.ones((1, 50)), stiffness=1.0, noise_multiplier=1.0)
    >>> round(last_mu(loops, 0.0, 0.0) ** 2, 9)  # (1 + 1/2) / (1 - 1/2), not 50
    3.0
    """
    factors = loops.factors(convexity, smoothness)
    # Shift and noise of a step are both 1 / C_r, in units of sigma.
    scales = 1 / loops.curvatures
    squares = [_compute_least_shift(c, s, s) for c, s in zip(factors, scales, strict=True)]
    return math.sqrt(math.fsum(squares)) / loops.noise_multiplier


def last_affine_mu(loops: InnerLoops, curvature: float) -> float:
    """Return the mu of the last inner models, exactly, of an affine instance.

    Formal guarantee: as for `averages_mu`, with the last inner models sent in place of averages.

    Examples
    --------
    >>> loops = InnerLoops(weights=np.ones((1, 1)), stiffness=1.0, noise_multiplier=2.0)
    >>> last_affine_mu(loops, 0.0)  # one step hides nothing
    0.5
    """
    total = 0.0
    for kept, scales in zip(loops.kept(curvature), 1 / loops.curvatures, strict=True):
        shift = variance = 0.0
        for a, scale in zip(kept.tolist(), scales.tolist(), strict=True):
            shift, variance = a * shift + scale, a * a * variance + scale * scale
        total += shift * shift / variance
    return math.sqrt(total) / loops.noise_multiplier


@dataclass(frozen=True)
class _Block:
    """Steps that hide together: their sums, in the unit of the last, and product of factors."""

    shift: float
    variance: float
    product: float

    def hides(self, later: _Block) -> bool:
        """Return whether the slope over this block is not below that over the next."""
        # Slopes S / W are compared crosswise, with the earlier block's sums brought to the later
        # block's unit.
        left = self.shift * later.variance
        return left >= later.shift * self.variance * later.product

    def then(self, later: _Block) -> _Block:
        """Return both as one block."""
        return _Block(
            later.product * self.shift + later.shift,
            later.product**2 * self.variance + later.variance,
            self.product * later.product,
        )


def _compute_least_shift(factors: Array, shifts: Array, scales: Array) -> float:
    """Return the least ``sum (d_r / sigma_r)^2`` of the theorem: pooled adjacent violators."""
    blocks: list[_Block] = []
    for factor, shift, scale in zip(
        factors.tolist(), shifts.tolist(), scales.tolist(), strict=True
    ):
        block = _Block(shift, scale * scale, factor)
        # A block that rises no less steeply than the next one breaks the minorant: the two become
        # one.
        while blocks and blocks[-1].hides(block):
            block = blocks.pop().then(block)
        blocks.append(block)
    return math.fsum(block.shift**2 / block.variance for block in blocks)

r"""hu2019, Lemma 5 and the proofs after it: whether iterations settle, read off a linear map.

For the squared loss ``l(z) = c ||z - b||^2 / 2`` and no constraint the iterations are affine. By
Lemma 2 y is ``c (z - b)`` after every iteration, so that a step ``e = (dx_1, ..., dx_M, dz)`` is
followed by ``A e``, with ``R_m = (lambda I + rho D_m'D_m)^-1 D_m'`` and

    dx_m^{t+1} = -R_m ((c - rho) dz^t + rho sum_{k != m} D_k dx_k^t)                 from (6)
    dz^{t+1}   = (c dz^t + rho sum_m D_m dx_m^{t+1}) / (c + rho)                     from (7), (8)

Growth. Let mu be a real eigenvalue of A with ``|mu| > 1``, and let the entries of
``adj(mu I - A) e`` that belong to z not all be 0. Then one of the functions
``sum_t dz_i^t s^t = s^-1 [adj(I/s - A) e]_i / det(I/s - A)`` has a pole at ``s = 1/mu``, so that
the radius of convergence of its series is at most ``1/|mu|``: the steps of z have no bound, and
grow like ``|mu|^t`` along a subsequence at least.

The Lagrangian then has no limit. With ``gap = sum_m D_m x_m - z``, (8) and Lemma 2 say that
``rho gap^t = y^t - y^{t-1} = c dz``, and (20), which is true, says that for a lower bound f of the
objective

    L^t >= f + (rho - c) / 2 ||gap^t||^2,        rho > c by Assumption 1.2c,

so that the Lagrangian is bounded below, as Lemma 5 states, and has no bound above. The proof has
that it falls from Lemma 4, which is false; where Lemma 4 is true, ``(M - 1) rho <= 2``, so is this.

The stationarity measure V^t of 7.2 grows as well, and no T is large enough. With R_m smooth, as
here, it is the sum of the squares of

    grad_{x_m} L^t = lambda x_m + D_m'(y + rho gap),   grad_z L^t = c (z - b) - y - rho gap,   gap.

All are linear in the state, and (6) and (7), which are quadratic, are solved by ``dx_m = -(lambda I
+ rho D_m'D_m)^-1 grad_{x_m} L^t`` and ``dz = -(grad_z L^t - rho sum_m D_m dx_m) / (c + rho)``: so
``||e^t||^2 <= K V^t`` for a constant K. The row of ``adj(mu I - A)`` that belongs to an entry as
above is a left eigenvector w with ``w.e != 0``, and ``w.A^t e = mu^t w.e``: V^t is at least a
positive constant times ``mu^(2t)`` in every iteration, and T(epsilon) infinite for small epsilon.

Proof of (20). ``l(S) <= l(z) + <grad l(z), S - z> + L/2 ||S - z||^2`` for ``S = sum_m D_m x_m``,
as the slope of l is L-Lipschitz; put ``y = grad l(z)`` into (5).
"""

from __future__ import annotations

import numpy as np

from dpaudit._typing import Array
from dpaudit.algorithms.sharing.claims.hu2019.iterations import (
    IterationState,
    LemmaSides,
    Measure,
    Problems,
    compute_loss_slopes,
)

_EXCITED = 1e-6  # part of a step of z that a mode has to have, to count


def linear_map(problems: Problems) -> Array:
    """Return A, which takes the step of one iteration to that of the next, shape ``(B, n, n)``.

    A step lists ``dx_1`` to ``dx_M`` and ``dz``: n is ``M d + N``.

    Examples
    --------
    >>> from dpaudit.algorithms.sharing.claims.hu2019.iterations import IterationSetting
    >>> one = IterationSetting(
    ...     parties=1, features=1, samples=1, penalty=3.0, regulariser_weight=0.0
    ... )
    >>> problems = Problems(setting=one, designs=np.ones((1, 1, 1, 1)), labels=np.ones((1, 1)))
    >>> linear_map(problems)[0]  # dx' = 2/3 dz, and dz' = (dz + 3 dx') / 4
    array([[0.        , 0.66666667],
           [0.        , 0.75      ]])
    """
    setting, designs = problems.setting, problems.designs
    count, parties, samples, features = designs.shape
    rho, c, models = setting.penalty, setting.loss_weight, parties * features
    transposed = np.swapaxes(designs, 2, 3)
    ridge = setting.regulariser_weight * np.eye(features)
    response = np.linalg.solve(ridge + rho * (transposed @ designs), transposed)
    own = np.arange(parties)
    pulls = -rho * np.einsum("bmdn,bkne->bmdke", response, designs)
    # (6) leaves the party's own part out of the pull: its next step depends on the others' alone.
    pulls[:, own, :, own] = 0.0
    along = np.concatenate(
        [
            pulls.reshape(count, models, models),
            (rho - c) * response.reshape(count, models, samples),
        ],
        axis=2,
    )
    joined = np.swapaxes(designs, 1, 2).reshape(count, samples, models)
    centre = rho * (joined @ along)
    centre[:, :, models:] += c * np.eye(samples)
    return np.concatenate([along, centre / (c + rho)], axis=1)


def find_excited_modes(problems: Problems, before: IterationState, after: IterationState) -> Array:
    """Return the real eigenvalue of A of largest modulus that the step has, shape ``(B,)``.

    It is 0 where the step has no real one in z.
    """
    count = len(problems.designs)
    models = (after.models - before.models).reshape(count, -1)
    step = np.concatenate([models, after.prediction - before.prediction], axis=1)
    values, vectors = np.linalg.eig(linear_map(problems))
    # Eigenvectors may depend on each other; the pseudo-inverse then still gives parts of the step.
    parts = np.einsum("bij,bj->bi", np.linalg.pinv(vectors), step.astype(complex))
    in_centre = np.abs(vectors[:, models.shape[1] :]).max(axis=1) * np.abs(parts)
    size = np.linalg.norm(step, axis=1)[:, None]
    # Eigenvalues of a real matrix come in doubles: one counts as real up to rounding.
    real = np.abs(values.imag) <= 1e-12 * np.abs(values)
    found = np.where(real & (in_centre > _EXCITED * size), values.real, 0.0)
    best = np.argmax(np.abs(found), axis=1)
    return np.asarray(found[np.arange(count), best])


def growth(factor: float = 1.0) -> Measure:
    """Return the measure that a search climbs: the growth factor of steps of z, and ``factor``.

    Examples
    --------
    >>> from dpaudit.algorithms.sharing.claims.hu2019.iterations import (
    ...     IterationSetting, run_sharing_iterations, starting_point)
    >>> setting = IterationSetting(
    ...     parties=3, features=1, samples=1, regulariser_weight=0.0, loss_weight=9.0)
    >>> problems = Problems(setting=setting, designs=np.ones((1, 3, 1, 1)), labels=np.ones((1, 1)))
    >>> zero = starting_point(problems, *(np.zeros(s) for s in ((1, 3, 1), (1, 1), (1, 1))))
    >>> _, first, second = run_sharing_iterations(problems, zero, 2)
    >>> round(float(growth()(problems, first, second).value[0]), 2)
    1.87
    """

    def measure(problems: Problems, before: IterationState, after: IterationState) -> LemmaSides:
        bound = np.full(len(problems.designs), factor)
        return LemmaSides(
            value=np.abs(find_excited_modes(problems, before, after)), bound=bound, scale=bound
        )

    return measure


def stationarity(problems: Problems, point: IterationState) -> Array:
    """Return V^t, the squared gradients of the Lagrangian and the squared gap, shape ``(B,)``.

    Examples
    --------
    >>> from dpaudit.algorithms.sharing.claims.hu2019.iterations import (
    ...     IterationSetting,
    ...     starting_point,
    ... )
    >>> one = IterationSetting(
    ...     parties=1, features=1, samples=1, penalty=3.0, regulariser_weight=1.0
    ... )
    >>> problems = Problems(setting=one, designs=np.ones((1, 1, 1, 1)), labels=np.ones((1, 1)))
    >>> two = starting_point(problems, np.full((1, 1, 1), 2.0), np.zeros((1, 1)), np.ones((1, 1)))
    >>> stationarity(problems, two)  # (2 + 1 + 6)^2 + (-1 - 1 - 6)^2 + 2^2
    array([149.])
    """
    rho = problems.setting.penalty
    pull = point.dual + rho * point.gap
    models = problems.setting.regulariser_weight * point.models
    models = models + np.einsum("bmnd,bn->bmd", problems.designs, pull)
    centre = compute_loss_slopes(problems, point.prediction) - pull
    squares = (models**2).sum(axis=(1, 2)) + (centre**2).sum(axis=1)
    return np.asarray(squares + (point.gap**2).sum(axis=1))

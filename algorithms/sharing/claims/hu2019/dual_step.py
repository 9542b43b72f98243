r"""hu2019, Lemma 2: the dual variable is the slope of the loss, and moves at most L times as far.

    grad l(z^{t+1}) = y^{t+1},        ||y^{t+1} - y^t||^2 <= L^2 ||z^{t+1} - z^t||^2

The first part is the optimality of z in (7) with (8) put in, and holds after every iteration. The
second takes the first at t as well: it holds once a first iteration has made ``y^t`` the slope at
``z^t``. It need not hold in the first iteration: from the paper's own start x = y = z = 0 every
x_m stays 0, so (8) gives ``y^1 - y^0 = -rho (z^1 - z^0)``, and ``rho > L`` under Assumption 1.2c
for a convex loss.
"""

from __future__ import annotations

import numpy as np

from dpaudit._typing import Array
from dpaudit.algorithms.sharing.claims.hu2019.instance import ROUNDING, Sides
from dpaudit.algorithms.sharing.claims.hu2019.iterations import Point, Problems, slopes

SOLVED = 1e-11  # of the slope of (7) at its computed minimiser, beside rounding


def dual_step(problems: Problems, before: Point, after: Point, factor: float = 1.0) -> Sides:
    """Return ``||dy||^2`` and ``factor L^2 ||dz||^2``.

    Examples
    --------
    >>> from dpaudit.algorithms.sharing.claims.hu2019.iterations import (
    ...     Setting, iterate, starting_point)
    >>> one = Setting(parties=1, features=1, samples=1, penalty=3.0, regulariser_weight=0.0)
    >>> problems = Problems(setting=one, designs=np.ones((1, 1, 1, 1)), labels=np.ones((1, 1)))
    >>> zero = starting_point(problems, *(np.zeros(s) for s in ((1, 1, 1), (1, 1), (1, 1))))
    >>> start, first, second = iterate(problems, zero, 2)
    >>> round(float(dual_step(problems, first, second).ratio[0]), 6)
    1.0
    >>> round(float(dual_step(problems, start, first).ratio[0]), 6)  # rho^2 / L^2
    9.0
    """
    smooth = problems.setting.smoothness
    moved = np.maximum(_norm(after.dual - before.dual) - _size(problems, before, after), 0.0)
    bound = factor * smooth**2 * _norm(after.prediction - before.prediction) ** 2
    return Sides(value=moved**2, bound=bound, scale=bound)


def identity(problems: Problems, before: Point, after: Point) -> Sides:
    """Return ``||grad l(z) - y||`` after the step, and what rounding and the solver may add to it.

    Examples
    --------
    >>> from dpaudit.algorithms.sharing.claims.hu2019.iterations import (
    ...     Setting, iterate, starting_point)
    >>> problems = Problems(
    ...     setting=Setting(parties=1, loss="sigmoid"),
    ...     designs=np.eye(4, 2)[None, None],
    ...     labels=np.ones((1, 4)),
    ... )
    >>> zero = starting_point(problems, *(np.zeros(s) for s in ((1, 1, 2), (1, 4), (1, 4))))
    >>> bool(identity(problems, *iterate(problems, zero, 1)).ratio[0] < 1)
    True
    """
    residual = _norm(slopes(problems, after.prediction) - after.dual)
    bound = _size(problems, before, after)
    return Sides(value=residual, bound=bound, scale=bound)


def _size(problems: Problems, before: Point, after: Point) -> Array:
    """Return what rounding and the solver of (7) may add to a dual variable, shape ``(B,)``."""
    setting = problems.setting
    terms = _norm(np.abs(after.parts).sum(axis=1)) + _norm(after.prediction)
    terms = setting.penalty * terms + _norm(before.dual) + _norm(after.dual)
    terms += setting.smoothness * (_norm(problems.labels) + _norm(before.prediction))
    solved = SOLVED * (setting.penalty + setting.smoothness)
    return np.asarray(ROUNDING * terms + solved)


def _norm(rows: Array) -> Array:
    return np.asarray(np.linalg.norm(rows, axis=-1))

r"""The determinant in the density of a broadcast: zhang2018's eq. (60), for a few missing records.

By (67), ``-de/df = k (H + (C/B) sum_k l''(u_k'f) u_k u_k')`` with ``k = 1/(2 eta V)`` the share and

    H = (C/B) sum_{known n} l''(u_n'f) u_n u_n' + (rho/N + 1/k) I.

All that depends on the m missing records is, with U their matrix, A = U H^-1 U' and
Q = (C/B) diag l'',

    log det(I + Q A),       of derivative  2 W U H^-1  and, through l'',  diag(A (I + Q A)^-1) Q' f

by U, where ``W = (I + Q A)^-1 Q`` and ``l''' = -l'' (1 + 2 l')`` for the logistic loss. It is small
beside the noise's density, but it alone tells a long record that is classified well from a short
one: without it estimates of the norm are far too small.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from algorithms.smooth_losses import LOGISTIC
from attacks.stationarity import Conditions
from dpaudit.errors import InvalidArgument, Shown

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Determinant:
    """``sum_t log det(I + Q A)`` as a function of the missing records.

    ``inverses`` are ``H^-1``, shape ``(T, d, d)``.
    """

    conditions: Conditions
    inverses: Array

    @classmethod
    def of(cls, conditions: Conditions) -> Determinant:
        """Prepare the inverses.

        Raises
        ------
        InvalidArgument
            The loss is not the logistic one, or the penalties are private.
        """
        if (shares := conditions.shares) is None:
            raise InvalidArgument("penalties", Shown("private ones"), "known ones: H depends on k")
        if conditions.loss is not LOGISTIC:
            raise InvalidArgument("loss", conditions.loss.name, f"{LOGISTIC.name}, which has l'''")
        curvatures = conditions.weight * LOGISTIC.curvature(conditions.models @ conditions.others.T)
        identity = np.eye(conditions.dimension)
        hessians = [
            (conditions.others.T * each) @ conditions.others
            + (conditions.ridge + 1 / share) * identity
            for each, share in zip(curvatures, shares, strict=True)
        ]
        return cls(conditions=conditions, inverses=np.linalg.inv(np.array(hessians)))

    def __call__(self, records: Array) -> tuple[float, Array]:
        """Return the sum and its derivative by the records, shape ``(m, d)``."""
        models, weight = self.conditions.models, self.conditions.weight
        margins = models @ records.T
        curvatures = weight * LOGISTIC.curvature(margins)
        solved = records @ self.inverses
        overlaps = solved @ records.T
        matrices = np.eye(len(records)) + curvatures[:, :, None] * overlaps
        inverted = np.linalg.inv(matrices)
        weights = inverted * curvatures[:, None, :]
        slope = 2 * np.einsum("tkl,tld->kd", weights, solved)
        bends = -curvatures * (1 + 2 * LOGISTIC.margin.slope(margins))
        slope += (bends * np.einsum("tkl,tlk->tk", overlaps, inverted)).T @ models
        return float(np.linalg.slogdet(matrices)[1].sum()), slope

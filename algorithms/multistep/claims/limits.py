"""The constant of Theorems 4 and 6, and how far in epsilon Theorem 6 holds with it.

The proof of Theorem 4 gives ``epsilon' = sqrt(t ln(1/delta) / ln(1.25/delta)) epsilon``, that is
``c_0 = sqrt(ln(1/delta) / ln(1.25/delta))``, a little below 1. It drops the term mu^2/2 of the tail
bound, for ``mu = epsilon sqrt(t / (2 ln(1.25/delta)))``.
"""

from __future__ import annotations

import math

from scipy.optimize import brentq

from dpaudit.algorithms.multistep.claims.parameters import Composition, Parameters
from dpaudit.errors import InvalidArgument
from dpaudit.guarantees.kinds import GaussianDP


def constant(delta: float, parameters: Parameters | Composition) -> float:
    """Return ``c_0``: the one given, or that of the proof of Theorem 4.

    Raises
    ------
    InvalidArgument
        Both were asked for.

    Examples
    --------
    >>> constant(1e-5, Parameters()), round(constant(1e-5, Parameters(c0_of_proof=True)), 6)
    (1.0, 0.990448)
    """
    if not parameters.c0_of_proof:
        return parameters.c0
    if parameters.c0 != 1:
        raise InvalidArgument("c0", parameters.c0, "nothing beside c0_of_proof")
    return math.sqrt(math.log(1 / delta) / math.log(1.25 / delta))


def valid_up_to(delta: float, c0: float, factor: float = 1.0) -> tuple[str, ...]:
    """Return a note on where the worst case's exact epsilon overtakes the claimed one.

    The claimed one is ``factor`` times the epsilon that the noise is published for.

    Examples
    --------
    >>> valid_up_to(1e-5, 1.0)[0][-50:]
    'up to epsilon = 8.4198 and above it from there on.'
    """
    unit = c0 * math.sqrt(2 * math.log(1.25 / delta))

    def excess(epsilon: float) -> float:
        return GaussianDP(epsilon / unit).epsilon(delta) - factor * epsilon

    if excess(1e-3) > 0:
        return (
            f"With c_0 = {c0:g} at delta = {delta:g}, the exact epsilon of the worst case is above "
            "the claimed one already at epsilon = 0.001.",
        )
    if excess(1e4) < 0:
        return ()
    limit = float(brentq(excess, 1e-3, 1e4, xtol=1e-9))
    return (
        f"With c_0 = {c0:g} at delta = {delta:g}, the exact epsilon of the worst case is below the "
        f"claimed one up to epsilon = {limit:.4f} and above it from there on.",
    )

"""Outputs that decide by themselves: their exact loss exceeds every epsilon that is looked at."""

from __future__ import annotations

import math

import numpy as np

from dpaudit.accounting.pairs.composition import Composition

_LARGEST = 20  # power of two of the largest loss
_DOUBT = 1e-9  # share of the deciding outputs that may stay undecided


def split_off_decided_outputs(
    pairs: Composition, epsilon: float
) -> tuple[Composition, float, float]:
    """Return pairs without outputs that decide by themselves, up to which epsilon, and the doubt.

    Bounds of losses are powers of the root of 2, so that laws need not be worked out too often.
    """
    if not epsilon or pairs.infinite_mass:
        return pairs, 0.0, 0.0
    decided = 1.1 * epsilon
    for power in range(math.ceil(2 * math.log2(decided)), 2 * _LARGEST):
        most = 2 ** (power / 2)
        cut = pairs.up_to(most)
        passing = math.fsum(count * pair.beyond[1] for pair, count in cut)
        if not passing:
            break
        doubt = math.exp(
            min(decided + math.log(passing) + _bound_log_loss_removal(pairs, most - decided), 700.0)
        )
        if doubt <= _DOUBT * cut.beyond[0]:
            return cut, decided, doubt
    return pairs, 0.0, 0.0


def _bound_log_loss_removal(pairs: Composition, loss: float) -> float:
    """Return a bound on the log-probability under Q that the losses take so much away."""
    if pairs.steps == 1:
        return -math.inf if loss > 0 else 0.0
    orders: list[float] = (np.geomspace(1.0, 1e3, 8) / max(loss, 1e-300)).tolist()
    best = min(orders, key=lambda c: pairs.some.log_moment(-1 - c) - c * loss)
    return min(0.0, pairs.log_moment(-1 - best) - best * loss)

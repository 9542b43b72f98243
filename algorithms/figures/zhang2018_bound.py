"""Where Theorem 4.1 of Zhang, Khalili & Liu makes P(T), eq. (26), a bound on the privacy loss.

It asks for ``2 c_1 < (B_i/C)(rho/N + 2 theta V_i)`` at every node i: an upper limit on C, which the
paper does not give. The paper draws P(T) whether or not that holds, and so do the figures here,
which say where it does not. It is no empty number there: `algorithms.guarantees.consensus` has a
bound of our own that asks for no such condition and is never above eq. (26).
"""

from __future__ import annotations

import math

import numpy as np

from algorithms.figures.zhang2018_runs import Setting

OUTSIDE = "Theorem 4.1 does not apply"
_ROOM = 0.9  # of the largest C, for the one that is tried


def largest_weight(setting: Setting) -> float:
    """Return the C below which Theorem 4.1 applies."""
    algorithm = setting.algorithm(1.0)
    stretch = 2 * algorithm.dual_steps.min(axis=0) * setting.graph.degrees
    ridge = setting.regulariser_weight / setting.data.nodes + stretch
    least = float(np.min(np.array(setting.data.node_sizes) * ridge))
    return least / (2 * algorithm.loss.largest_curvature)


def applies(setting: Setting) -> bool:
    """Return whether Theorem 4.1 applies; q1 of at least 1 and q2 do not matter."""
    return setting.algorithm(1.0).meets_theorem41(setting.data)


def fitting_weight(setting: Setting) -> float:
    """Return a C of two digits, somewhat below the largest."""
    aim = _ROOM * largest_weight(setting)
    unit = 10.0 ** (math.floor(math.log10(aim)) - 1)
    return float(f"{math.floor(aim / unit) * unit:.6g}")


def bound_parameters(setting: Setting) -> dict[str, object]:
    """Return whether the theorem applies, and up to which C it would."""
    return {
        "meets_theorem41": applies(setting),
        "theorem41_holds_for_C_below": largest_weight(setting),
    }


def outside_note(setting: Setting) -> tuple[str, ...]:
    """Return what a reader must know of P(T) where Theorem 4.1 does not apply."""
    if applies(setting):
        return ()
    return (
        f"{OUTSIDE} at C = {setting.loss_weight:g}: with {min(setting.data.node_sizes)} records at "
        f"the smallest node it asks for C below {largest_weight(setting):.4g}, so it does not make "
        "P(T) a bound on the privacy loss as drawn. P(T) is eq. (26) all the same, as the paper "
        f"draws it, and every statement is judged at C = {fitting_weight(setting):g} too, where "
        "the theorem applies. (A bound of our own without the condition is never above eq. (26): "
        "algorithms/guarantees/consensus.py.)",
    )

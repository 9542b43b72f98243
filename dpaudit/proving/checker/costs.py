"""What events cost together."""

from __future__ import annotations

import math
from fractions import Fraction as F
from typing import Any

from .enclosures import ONE, ZERO, normal_tail, root, series

SLACK = F(1, 10**9)  # digits beyond it belong to the rounding of the code's own constants


def delta_of_mu(epsilon: F, square: F) -> Any:
    """Return the delta of Gaussian noise with a squared mu, rounded up."""
    if not square:
        return ZERO
    found = []
    for up in (True, False):
        mu = root(square, up)
        first, second = -epsilon / mu + mu / 2, -epsilon / mu - mu / 2
        found.append((first, second))
    first = max(one[0] for one in found)
    second = min(one[1] for one in found)
    factor = series("exp", epsilon, False)
    return max(ZERO, normal_tail(first, True) - factor * normal_tail(second, False))


def delta_of_rho(epsilon: F, rho: F) -> Any:
    """Return a delta of rho-zCDP (Canonne, Kamath, Steinke: the best order), rounded up."""
    if not rho:
        return ZERO

    def at_order(a: float) -> float:
        r, e = float(rho), float(epsilon)
        return (a - 1) * (a * r - e) - math.log(a - 1) + a * math.log1p(-1 / a)

    orders = [1 + 10 ** (k / 40) for k in range(-160, 320)]
    near = min(orders, key=at_order)
    for step in (0.03, 0.003, 0.0003):
        near = min((1 + (near - 1) * (1 + step * k) for k in range(-20, 21)), key=at_order)
    a = F(near)
    exponent = (a - 1) * (a * rho - epsilon) + a * series("log", 1 - 1 / a, True)
    return series("exp", exponent, True) / (a - 1)


class Cost:
    """What the events of one path cost: pure epsilon, squared mu, and rho of all."""

    def __init__(self, events: list[dict[str, Any]], count: int) -> None:
        gaussian = [one["cost"] for one in events if one["law"] == "normal"]
        pure = [one["cost"] * count for one in events if one["law"] != "normal"]
        self.pure, self.square = sum(pure, ZERO), sum(gaussian, ZERO) * count * count
        self.rho = sum((one * one / 2 for one in pure), ZERO) + self.square / 2

    def join(self, other: Cost) -> None:
        self.pure, self.square = max(self.pure, other.pure), max(self.square, other.square)
        self.rho = max(self.rho, other.rho)

    def delta(self, epsilon: F) -> Any:
        """Return the least of the deltas at an epsilon, at most 1."""
        found = [ONE]
        if epsilon >= self.pure:
            found.append(delta_of_mu(epsilon - self.pure, self.square))
        if self.rho < 10_000:
            found.append(delta_of_rho(epsilon, self.rho))
        return min(found)

    def holds(self, claim: dict[str, F]) -> bool:
        slack = 1 + SLACK
        if "mu" in claim:
            return not self.pure and self.square <= (claim["mu"] * slack) ** 2
        if "rho" in claim:
            return self.rho <= claim["rho"] * slack
        epsilon = claim["epsilon"] * slack
        if not self.square and self.pure <= epsilon:
            return True
        return claim["delta"] > 0 and self.delta(epsilon) <= claim["delta"]

r"""Second opinions in 60 digits: profiles and Renyi divergences from their closed forms.

Nothing here is shared with `dpaudit.accounting`. ``delta(epsilon)`` is the hockey-stick divergence
of the pair named, in the worse direction; a Renyi divergence is the larger of both directions.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias

import mpmath
import numpy as np
from mpmath import mpf
from scipy.special import gammaln

from dpaudit.scan.accountants.cases import Part

Number: TypeAlias = Any  # mpmath's reals have no types
# Delta is a difference of two tails that may agree to the first 20 digits and lie near 1e-300;
# 60 digits leave more than a double holds.
DIGITS = 60
_MOST_SUMMANDS = 20_000
# Of binomial sums.
_ALL = 2000  # orders up to which all terms are taken
_KEPT = 2000  # largest terms that are taken at other orders
_LEFT_OUT = 1e-13  # share of the sum that the others may have


def compute_gaussian_delta_mpf(mu: Number, epsilon: float) -> Number:
    """Return delta of N(mu, 1) and N(0, 1): Balle & Wang 2018, Theorem 8.

    Examples
    --------
    >>> mpmath.nstr(compute_gaussian_delta_mpf(mpf(1), 1.0), 12)
    '0.126936737507'
    """
    with mpmath.workdps(DIGITS):
        at = mpf(epsilon)
        lost = mpmath.ncdf(-mu / 2 - at / mu)
        return mpmath.ncdf(mu / 2 - at / mu) - mpmath.exp(at) * lost


def compute_response_delta_mpf(own: Number, count: int, epsilon: float) -> Number:
    """Return delta of composed randomised response: a sum over the number of truths.

    Examples
    --------
    >>> mpmath.nstr(compute_response_delta_mpf(mpf(1), 1, 0.0), 6)  # tanh(1/2)
    '0.462117'
    """
    with mpmath.workdps(DIGITS):
        at, truth = mpf(epsilon), 1 / (1 + mpmath.exp(-own))
        # The lie is the truth times exp(-own): 1 - truth would lose all digits at a large
        # epsilon.
        lie, total = mpmath.exp(-own) * truth, mpf(0)
        for lies in range(count + 1):
            loss = own * (count - 2 * lies)
            # The loss falls with each lie, so that no later summand is above 0.
            if loss <= at:
                break
            mass = mpmath.binomial(count, lies) * truth ** (count - lies) * lie**lies
            total += mass * -mpmath.expm1(at - loss)
        return total


def compute_laplace_delta_mpf(shift: Number, epsilon: float) -> Number:
    """Return delta of two Laplace laws of scale 1: ``1 - exp((epsilon - shift) / 2)``."""
    with mpmath.workdps(DIGITS):
        return max(mpf(0), -mpmath.expm1((mpf(epsilon) - shift) / 2))


def compute_sampled_delta(ratio: Number, noise: Number, epsilon: float) -> Number:
    """Return delta of one Poisson-sampled Gaussian release, a record removed: normal integrals."""
    with mpmath.workdps(DIGITS):
        e = mpmath.exp(mpf(epsilon))
        edge = noise**2 * mpmath.log((e - 1 + ratio) / ratio) + mpf(1) / 2
        kept = (1 - ratio - e) * mpmath.ncdf(-edge / noise)
        return kept + ratio * mpmath.ncdf((1 - edge) / noise)


@lru_cache(maxsize=64)
def discrete_gaussian(noise: Number, count: int) -> tuple[int, tuple[Number, ...]]:
    """Return the first value and the masses of the sum of ``count`` discrete Gaussians.

    Integers in fixed point, so that the convolution is exact; tails below 1e-60 of the largest mass
    are left out.
    """
    with mpmath.workdps(DIGITS + 20):
        # At this distance a mass is 1e-75 of the largest one, which leaves the sum of the tails
        # below 1e-60.
        reach = int(mpmath.ceil(noise * mpmath.sqrt(2 * 75 * mpmath.log(10))))
        weights = [mpmath.exp(-mpf(x * x) / (2 * noise**2)) for x in range(-reach, reach + 1)]
        unit, total = mpf(10) ** (DIGITS + 15), mpmath.fsum(weights)
        # Masses are rounded down, so that every sum of them is a lower bound.
        one = [int(mpmath.floor(w / total * unit)) for w in weights]
        found, scale = [1], mpf(1)
        for _ in range(count):
            found = _convolve_integers(found, one)
            scale *= unit
        return -reach * count, tuple(mpf(mass) / scale for mass in found)


def _convolve_integers(one: list[int], two: list[int]) -> list[int]:
    """Return the convolution of nonnegative integers, through one product of long integers."""
    # Each slot holds the largest sum of products that may fall into it, so that no carry
    # reaches the next slot.
    digits = (max(one).bit_length() + max(two).bit_length() + len(one).bit_length() + 8) // 8
    packed = [
        int.from_bytes(b"".join(x.to_bytes(digits, "little") for x in xs), "little")
        for xs in (one, two)
    ]
    length = len(one) + len(two) - 1
    text = (packed[0] * packed[1]).to_bytes(digits * (length + 1), "little")
    return [int.from_bytes(text[k * digits : (k + 1) * digits], "little") for k in range(length)]


def discrete_gaussian_delta(noise: Number, count: int, epsilon: float) -> Number:
    """Return delta of ``count`` discrete Gaussian releases.

    The sum of the outputs is sufficient: the loss of outputs y is
    ``(2 sum y - count) / (2 sigma^2)``, the dataset with the query 1 under P.
    """
    first, masses = discrete_gaussian(noise, count)
    with mpmath.workdps(DIGITS):
        at, total = mpf(epsilon), mpf(0)
        for k, mass in enumerate(masses):
            loss = (2 * (first + k) + count) / (2 * noise**2)
            if loss > at:
                total += mass * -mpmath.expm1(at - loss)
        return total


def compute_closed_form_delta(part: Part, epsilon: float, factor: int = 1) -> Number | None:
    """Return delta of a release at ``epsilon``, or None where no closed form is known.

    Parameters
    ----------
    part
        Of `dpaudit.scan.accountants.cases`.
    epsilon
        At least 0.
    factor
        Of the sensitivity: 2 where a record is replaced.
    """
    count = int(part["count"])
    with mpmath.workdps(DIGITS):
        if count == 0 or part.get("ratio") == 0:
            return mpf(0)
        if part.get("noise") == 0:
            return mpf(1)
        return _choose_closed_form_delta(part, count, epsilon, factor)


def _choose_closed_form_delta(part: Part, count: int, epsilon: float, factor: int) -> Number | None:
    kind, noise = part["kind"], mpf(part.get("noise", 1))
    whole = kind == "sampled" and part["ratio"] == 1
    if kind == "gaussian" or whole:
        return compute_gaussian_delta_mpf(factor * mpmath.sqrt(count) / noise, epsilon)
    if kind == "sampled" and count == 1 and factor == 1:
        return compute_sampled_delta(mpf(part["ratio"]), noise, epsilon)
    if kind == "laplace" and count == 1:
        return compute_laplace_delta_mpf(factor / noise, epsilon)
    if kind == "discrete-gaussian" and factor == 1:
        return discrete_gaussian_delta(noise, count, epsilon)
    if kind == "discrete-laplace" and factor == 1 and count <= _MOST_SUMMANDS:
        return compute_response_delta_mpf(1 / noise, count, epsilon)
    if kind in ("response", "pure", "approximate") and count <= _MOST_SUMMANDS:
        lost = 1 - (1 - mpf(part.get("delta", 0))) ** count
        return lost + (1 - lost) * compute_response_delta_mpf(mpf(part["epsilon"]), count, epsilon)
    return None


def compute_closed_form_renyi(part: Part, order: float, factor: int = 1) -> Number | None:
    """Return the Renyi divergence of a release at an order above 1, or None.

    The query moves by ``factor``; a sample in which it does is known by one removed record alone,
    which is a lower bound.
    """
    count, kind = int(part["count"]), part["kind"]
    with mpmath.workdps(DIGITS):
        a = mpf(order)
        one = _compute_single_renyi(kind, part, a, factor) if count else mpf(0)
        return None if one is None else count * one


def _compute_single_renyi(kind: object, part: Part, a: Number, factor: int) -> Number | None:
    noise = mpf(part.get("noise", 1))
    if kind == "sampled":
        moved = factor if part["ratio"] == 1 else 1
        return _compute_sampled_renyi(mpf(part["ratio"]), noise / moved, a)
    if factor > 1 and kind in ("discrete-laplace", "discrete-gaussian"):
        return None
    noise = noise / factor
    if noise == 0:
        return mpf("inf")
    match kind:
        case "gaussian":
            return a / (2 * noise**2)
        case "concentrated":
            return mpf(part["rho"]) * a
        case "laplace":
            up, down = mpmath.exp((a - 1) / noise), mpmath.exp(-a / noise)
            return mpmath.log((a * up + (a - 1) * down) / (2 * a - 1)) / (a - 1)
        case "response" | "pure" | "discrete-laplace":
            own = 1 / noise if kind == "discrete-laplace" else mpf(part["epsilon"])
            p = 1 / (1 + mpmath.exp(-own))
            q = 1 - p
            return mpmath.log(p**a * q ** (1 - a) + q**a * p ** (1 - a)) / (a - 1)
        case "discrete-gaussian":
            return _discrete_gaussian_renyi(noise, a)
    return None


def _discrete_gaussian_renyi(noise: Number, a: Number) -> Number:
    """Return ``log E_Q[(P/Q)^a] / (a - 1)`` by the sum over the integers."""
    first, masses = discrete_gaussian(noise, 1)
    exponents = ((a * (2 * (first + k) - 1)) / (2 * noise**2) for k in range(len(masses)))
    total = mpmath.fsum(mass * mpmath.exp(x) for mass, x in zip(masses, exponents, strict=True))
    return mpmath.log(total) / (a - 1)


def _compute_sampled_renyi(ratio: Number, noise: Number, a: Number) -> Number | None:
    """Return the binomial sum of Mironov, Talwar & Zhang 2019, section 3.3, or an integral."""
    if ratio == 0:
        return mpf(0)
    if noise == 0:
        return mpf("inf")
    if ratio == 1:
        return a / (2 * noise**2)
    if a != int(a):
        return _integrate_renyi_moment(ratio, noise, a) if a < 50 else None
    kept = (
        range(int(a) + 1) if a <= _ALL else _find_largest_terms(float(ratio), float(noise), int(a))
    )
    terms = [
        mpmath.binomial(int(a), k)
        * ratio**k
        * (1 - ratio) ** (int(a) - k)
        * mpmath.exp(mpf(k * (k - 1)) / (2 * noise**2))
        for k in kept
    ]
    total = mpmath.fsum(terms)
    if a * min(terms) > total * _LEFT_OUT and len(terms) <= a:
        return None  # what was left out may count
    return mpmath.log(total) / (a - 1)


def _find_largest_terms(ratio: float, noise: float, a: int) -> list[int]:
    """Return the places of the largest terms of the binomial sum, by their logarithms in doubles.

    All terms are above 0, so that any of them give a lower bound; those that are left out are at
    most the smallest that is kept, but for the rounding of its logarithm.
    """
    k = np.arange(a + 1, dtype=np.float64)
    chosen = gammaln(a + 1) - gammaln(k + 1) - gammaln(a - k + 1)
    logs = chosen + k * np.log(ratio) + (a - k) * np.log1p(-ratio) + k * (k - 1) / 2 / noise**2
    return sorted(np.argsort(logs)[-_KEPT:].tolist())


def _integrate_renyi_moment(ratio: Number, noise: Number, a: Number) -> Number:
    def integrand(x: Number) -> Number:
        mixed = 1 - ratio + ratio * mpmath.exp((2 * x - 1) / (2 * noise**2))
        return mpmath.npdf(x / noise) / noise * mixed**a

    with mpmath.workdps(40):
        # The integrand has one bump around 0 and one around the order; a rule over one long
        # interval may miss the second.
        edges = [mpf(k) * noise for k in range(-16, 17, 2)] + [
            a + k * noise for k in range(-16, 17, 2)
        ]
        moment = mpmath.quad(integrand, sorted(set(edges)))
        return mpmath.log(moment) / (a - 1)

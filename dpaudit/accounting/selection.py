r"""Private selection: the Renyi divergence of the best of a random number of runs.

Papernot & Steinke 2022 (arXiv 2110.03620), Theorems 2 and 6, which contain Liu & Talwar 2019. With
K the number of runs and f its generating function, an output y of the best run has the density
``Q(y) f'(q)``, q the probability that a run is no better than y (ties broken at random). So the
moment of order a between neighbours is at most that of one run times the largest

    f'(q)^a f'(q')^(1 - a),   q and q' probabilities of one event.

* *Negative binomial, shape s, parameter g*: ``f'(x) = E[K] (g / (1 - (1 - g) x))^(s + 1)``. Now
  ``h = g + (1 - g)(1 - q)`` is a probability too, and what is to be bounded is ``E[K] g^(s + 1)
  (h'^(a - 1) h^-a)^(s + 1)``. By order b, ``h' <= exp((1 - 1/b) D_b) h^(1 - 1/b)``; and ``h >= g``:

      D'_a = D_a + (s + 1) ((1 - 1/b) D_b + log(1/g) / b) + log E[K] / (a - 1),   any b >= 1.

  ``E[K] = s (1 - g) / (g (1 - g^s))``: 1/g for s = 1, the geometric law; ``(1/g - 1) / log(1/g)``
  in the limit s = 0, the logarithmic one. Of epsilon-DP it makes ``(2 + s) epsilon``.
* *Poisson, mean m*: ``f'(x) = m exp(m (x - 1))``, the exponent ``m ((a - 1)(1 - q') - a (1 - q))``.
  If a run is (e, d)-DP with ``(a - 1) exp(e) <= a``, ``1 - q' <= exp(e)(1 - q) + d`` leaves at most
  ``(a - 1) m d`` of it; that there was no run is an output too, of probability ``exp(-m)``:

      D'_a = log(exp(-m) + m exp((a - 1)(D_a + m d))) / (a - 1),

  which is the theorem's ``D_a + m d + log(m) / (a - 1)`` and what that output adds.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq

from dpaudit._typing import Array

_SHAPES = {"geometric": 1.0, "logarithmic": 0.0}


def negative_binomial(
    law: str, runs: float, divergence: Array, orders: Array, known: tuple[Array, Array]
) -> Array:
    """Return the divergence of the best of a geometric or logarithmic number of runs.

    Parameters
    ----------
    law, runs
        Of the number, and its mean above 1.
    divergence, orders
        Of one run, same shape.
    known
        Orders b and one run's divergences there, of which the best is taken.

    Examples
    --------
    >>> far = np.array([math.inf])
    >>> negative_binomial("geometric", 50.0, np.array([1.0]), far, (far, np.array([1.0]))).tolist()
    [3.0]
    """
    shape, parameter = _SHAPES[law], parameter_of(law, runs)
    b, at_b = known
    # Every order b gives a bound, so that the best may be taken from a grid.
    costs = (1 - 1 / b) * at_b - math.log(parameter) / b
    return np.asarray(divergence + (shape + 1) * float(costs.min()) + math.log(runs) / (orders - 1))


def parameter_of(law: str, runs: float) -> float:
    """Return g of the law with this mean.

    Examples
    --------
    >>> parameter_of("geometric", 4.0), round(parameter_of("logarithmic", 4.0), 6)
    (0.25, 0.09665)
    """
    if law == "geometric":
        return 1 / runs

    def excess(log_inverse: float) -> float:
        return math.expm1(log_inverse) / log_inverse - runs

    far = 2.0
    while excess(far) < 0:
        far *= 2
    found = math.exp(-float(brentq(excess, 1e-12, far, xtol=1e-15, rtol=1e-14)))
    return found * (1 - 1e-12)  # the smaller, the more runs and the more is lost


def compute_poisson_divergence(
    runs: float, divergence: Array, orders: Array, deltas: Array
) -> Array:
    """Return the divergence of the best of a Poisson number of runs.

    Parameters
    ----------
    runs
        The mean.
    divergence, orders
        Of one run, same shape.
    deltas
        One run's at ``epsilon = log(1 + 1 / (order - 1))``, same shape.

    Examples
    --------
    >>> orders = np.array([2.0])
    >>> compute_poisson_divergence(9.0, np.array([1.0]), orders, np.zeros(1)).round(
    ...     4
    ... ).tolist()  # 1 + log 9
    [3.1972]
    """
    finite = np.where(np.isfinite(orders), orders, 2.0)
    lost = divergence + runs * deltas
    moment = np.logaddexp(-runs, math.log(runs) + (finite - 1) * lost)
    return np.asarray(np.where(np.isfinite(orders), moment / (finite - 1), lost))

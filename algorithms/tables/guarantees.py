r"""Releases of private ADMM over joined tables, beside Theorems 1 and 2 of its appendix.

**Labels.** Each coordinate of an encoded label gets Laplace noise of scale
``b = deviation / sqrt(2)``, once. Another label moves two coordinates of a one-hot code by 1 each,
or the one coordinate of a sign by 2. The noise is independent, so the first is two Laplace releases
of sensitivity 1, the second one of sensitivity 2: both are exactly ``2/b``-DP, which is Theorem 1
(``deviation = 2 sqrt(2) / epsilon``), and at delta > 0 the one-hot code is the more private. All
views are covered: what follows works on the noisy labels.

**Features, one client.** Theorem 2 accounts for a tuple's way into its owner's model: T rounds of
tau' clipped, noisy steps over Poisson batches. With the server's messages held fixed that is a
subsampled Gaussian, for adding or removing the tuple (`TablesADMM.client_event`). They are not
fixed: from the second round on they depend on the tuple, and another client's step moves by up to
2C for each of its tuples joined with it. So Theorem 2 is not a statement about what is released,
not even of the models alone; and the server also sees noiseless predictions (no finite epsilon).

**Features, all models.** With full batches, what does hold (`dpaudit.algorithms.tables.algorithm`):
let ``a_k`` tuples of another client k be joined with the replaced tuple. Given the past, a local
step moves the owner's clipped sum by at most 2C, client k's by at most ``2 C a_k``, with noise of
standard deviation ``sigma C`` on each. In the first round all models are 0 and nothing that the
server sends depends on features: only the owner moves. So a run is T tau' Gaussian releases of
sensitivity 2 and (T - 1) tau' of sensitivity ``2 sqrt(sum_k a_k^2)``, noise sigma, whether all
local steps or only the last of each round are seen. For batches no theorem here covers the a_k
joined tuples, nor a replacement: refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence as Several
from typing import Literal

import dpaudit._check as check
from dpaudit.accounting.events import Event, GaussianRelease, LaplaceRelease, Sequence
from dpaudit.errors import UnsupportedEvent

Encoding = Literal["one-hot", "sign"]
# One part in 10^12 more noise than published, so that a rounded sigma is not below the theorem's.
ROUNDED_UP = 1 + 1e-12


def label_event(*, deviation: float, encoding: Encoding = "one-hot") -> LaplaceRelease:
    """Return the release of the noisy labels, under replace-label.

    Formal guarantee: exact (module docstring).

    Parameters
    ----------
    deviation
        Standard deviation of the noise on each coordinate: ``lambda`` of Theorem 1.
    encoding
        How labels are written: "one-hot", or a "sign" for two classes.

    Raises
    ------
    InvalidArgument
        An argument is outside its domain.

    Examples
    --------
    >>> release = label_event(deviation=2 * math.sqrt(2))
    >>> release.count * release.sensitivity / release.noise_scale
    1.0
    """
    scale = check.require_positive("deviation", deviation) / math.sqrt(2)
    moved = 2 if check.require_choice("encoding", encoding, ("one-hot", "sign")) == "one-hot" else 1
    return LaplaceRelease(sensitivity=2.0 / moved, noise_scale=scale, count=moved)


def theorem1_epsilon(deviation: float) -> float:
    """Return Theorem 1 solved for epsilon: ``2 sqrt(2) / deviation``.

    Examples
    --------
    >>> round(theorem1_epsilon(2.8284271247461903), 12)
    1.0
    """
    return 2 * math.sqrt(2) / check.require_positive("deviation", deviation)


def model_event(
    *,
    iterations: int,
    local_steps: int,
    noise_multiplier: float,
    joined: Several[int],
    sampling_ratio: float = 1.0,
) -> Event:
    """Return the release of all clients' models about one tuple, under replace-tuple.

    Formal guarantee: exact composition of bounds that a step can attain (module docstring). It is
    about the models; the server's view has no finite epsilon.

    Parameters
    ----------
    iterations, local_steps
        ``T`` and ``tau'``.
    noise_multiplier
        ``sigma``: noise in multiples of the clipping norm.
    joined
        ``a_k`` of every client but the owner: at most how many of its tuples share a row of the
        join with one tuple of the owner.
    sampling_ratio
        1: all tuples take part in every step.

    Raises
    ------
    UnsupportedEvent
        The steps are on batches.
    InvalidArgument
        Another argument is outside its domain.

    Examples
    --------
    >>> from dpaudit.accounting.composition import gaussian_guarantee
    >>> run = {"iterations": 5, "local_steps": 2, "noise_multiplier": 20.0}
    >>> round(gaussian_guarantee(model_event(**run, joined=())).mu, 4)
    0.3162
    >>> round(gaussian_guarantee(model_event(**run, joined=(3, 1))).mu, 4)
    0.9487
    """
    check.require_integer("iterations", iterations, least=1)
    check.require_integer("local_steps", local_steps, least=1)
    squares = sum(check.require_integer("joined", count, least=0) ** 2 for count in joined)
    if check.require_positive("sampling_ratio", sampling_ratio) != 1:
        raise UnsupportedEvent(
            f"event: got sampling_ratio {sampling_ratio:g}, expected 1: no theorem here covers "
            "the tuples of other clients, or a replacement, when steps are on batches"
        )
    owner = GaussianRelease(
        sensitivity=2.0, noise_scale=noise_multiplier, count=iterations * local_steps
    )
    others = GaussianRelease(
        sensitivity=2.0 * math.sqrt(squares),
        noise_scale=noise_multiplier,
        count=(iterations - 1) * local_steps,
    )
    return Sequence((owner, others))


def theorem2_epsilon(
    *,
    noise_multiplier: float,
    steps: int,
    sampling_ratio: float,
    delta: float,
    first_constant: float,
    second_constant: float,
) -> float:
    """Return Theorem 2 solved for epsilon: ``c_2 r sqrt(tau ln(1/delta)) / sigma``.

    Infinite beyond the theorem's range ``epsilon <= c_1 r^2 tau``, and at delta = 0, where the
    formula has no answer though the theorem says "for all delta >= 0".

    Parameters
    ----------
    noise_multiplier, steps, sampling_ratio
        ``sigma``, ``tau`` and ``r``.
    delta
        In [0, 1).
    first_constant, second_constant
        ``c_1`` and ``c_2``, which exist according to the theorem; it does not give them.

    Raises
    ------
    InvalidArgument
        An argument is outside its domain.

    Examples
    --------
    >>> options = {"sampling_ratio": 0.5, "first_constant": 1.0, "second_constant": 1.0}
    >>> round(theorem2_epsilon(noise_multiplier=10.0, steps=100, delta=1e-5, **options), 4)
    1.6965
    """
    check.require_positive("noise_multiplier", noise_multiplier)
    check.require_integer("steps", steps, least=0)
    ratio = check.require_positive("sampling_ratio", sampling_ratio)
    if check.require_delta("delta", delta) == 0:
        return math.inf
    constant = check.require_positive("second_constant", second_constant)
    epsilon = constant * ratio * math.sqrt(steps * -math.log(delta)) / noise_multiplier
    largest = check.require_positive("first_constant", first_constant) * ratio**2 * steps
    return epsilon if epsilon <= largest else math.inf


def compute_published_multiplier(
    *, epsilon: float, delta: float, steps: int, sampling_ratio: float, second_constant: float
) -> float:
    """Return Theorem 2's least noise, ``sigma = c_2 r sqrt(tau ln(1/delta)) / epsilon``.

    Runs take it times `ROUNDED_UP`.

    Examples
    --------
    >>> options = {"steps": 2, "sampling_ratio": 1.0, "second_constant": 4.0}
    >>> round(compute_published_multiplier(epsilon=1.0, delta=1e-5, **options), 4)
    19.1941
    """
    root = math.sqrt(steps * -math.log(check.require_probability("delta", delta)))
    return second_constant * sampling_ratio * root / check.require_positive("epsilon", epsilon)

"""Numbers of the accountants, each with the command that prints it."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from dpaudit.errors import DpauditError


@dataclass(frozen=True)
class EpsilonBracket:
    """The proved guarantee of releases at a delta.

    Attributes
    ----------
    upper
        The epsilon that is proved; infinite where none is.
    lower
        An epsilon that some neighbours certainly lose; ``-inf`` where none is known.
    command
        What prints it.
    """

    upper: float
    lower: float
    command: str


def prove_release_epsilon(
    kind: str, delta: float, parameters: Mapping[str, Any]
) -> EpsilonBracket | None:
    """Return the accountants' epsilon of a release, or None if they refuse its numbers.

    Examples
    --------
    >>> answer = prove_release_epsilon("laplace", 0.0, {"sensitivity": 1.0, "noise_scale": 10.0})
    >>> answer.upper, answer.command
    (0.1, 'dpaudit account laplace --delta 0 --set sensitivity=1 --set noise_scale=10')
    """
    # As text, since the cache needs a key that can be hashed, and parameters may hold lists.
    return _prove_packed_release(kind, delta, json.dumps(parameters))


@lru_cache(maxsize=512)
def _prove_packed_release(kind: str, delta: float, packed: str) -> EpsilonBracket | None:
    from dpaudit.accounts.account import account_for
    from dpaudit.accounts.target import read_target

    parameters = json.loads(packed)
    try:
        proved = account_for(read_target(kind, parameters), delta).proved
    # Strangers wrote the numbers: such as the accountants refuse, or that overflow, have no answer.
    except (DpauditError, ArithmeticError):
        return None
    upper = math.inf if proved is None or proved.upper is None else proved.upper
    lower = -math.inf if proved is None or proved.lower is None else proved.lower
    if kind in _TIGHT and math.isfinite(upper):
        lower = max(lower, upper)  # the number is attained, not only a bound
    return EpsilonBracket(upper, lower, _format_account_command(kind, delta, parameters))


_TIGHT = frozenset({"laplace", "randomised-response"})  # at delta 0, where alone they are asked


def _format_account_command(kind: str, delta: float, parameters: Mapping[str, Any]) -> str:
    words = ["dpaudit", "account", kind, "--delta", format_typed_number(delta)]
    for name, value in parameters.items():
        text = json.dumps(value) if isinstance(value, list) else format_typed_number(value)
        words += ["--set", f"{name}={text}"]
    return shlex.join(words)


def format_typed_number(value: float) -> str:
    """Return a number as it is typed.

    Examples
    --------
    >>> (
    ...     format_typed_number(1.0),
    ...     format_typed_number(1e-10),
    ...     format_typed_number(0.30000000000000004),
    ...     format_typed_number(365),
    ... )
    ('1', '1e-10', '0.3', '365')
    """
    # Twelve digits are more than any record has, and too few to show the rounding of doubles.
    return format(value, ".12g")


def of_rho(rho: float, delta: float) -> EpsilonBracket | None:
    """Return the epsilon of rho-zCDP at a delta."""
    return prove_release_epsilon("zero-concentrated", delta, {"rho": rho})


def of_gaussian(mu: float, delta: float, count: int = 1) -> EpsilonBracket | None:
    """Return the epsilon of Gaussian noise for a ratio of sensitivity to deviation."""
    return of_noise(1.0, 1.0 / mu, delta, count)


def of_noise(
    sensitivity: float, deviation: float, delta: float, count: int = 1
) -> EpsilonBracket | None:
    """Return the epsilon of Gaussian noise at a delta."""
    parameters = {"sensitivity": sensitivity, "noise_scale": deviation} | _make_count_parameter(
        count
    )
    return prove_release_epsilon("gaussian", delta, parameters)


def of_laplace(sensitivity: float, scale: float, count: int = 1) -> EpsilonBracket | None:
    """Return the epsilon of Laplace noise at delta 0."""
    parameters = {"sensitivity": sensitivity, "noise_scale": scale} | _make_count_parameter(count)
    return prove_release_epsilon("laplace", 0.0, parameters)


def of_response(truth: float, categories: int = 2) -> EpsilonBracket | None:
    """Return the epsilon of randomised response that says the truth with a probability."""
    return prove_release_epsilon(
        "randomised-response", 0.0, {"truth": truth, "categories": categories}
    )


def of_samples(
    sampling: float, multiplier: float, steps: int, delta: float
) -> EpsilonBracket | None:
    """Return the epsilon of Gaussian noise on Poisson samples."""
    parameters = {"sampling_ratio": sampling, "noise_multiplier": multiplier, "count": steps}
    return prove_release_epsilon("subsampled-gaussian", delta, parameters)


def of_copies(epsilon: float, delta: float, count: int, at: float) -> EpsilonBracket | None:
    """Return the epsilon of so many releases of (epsilon, delta)-DP together at a delta."""
    return prove_release_epsilon(
        "approximate", at, {"epsilon": epsilon, "delta": delta, "count": count}
    )


def of_parts(parts: Sequence[tuple[float, float]], at: float) -> EpsilonBracket | None:
    """Return the epsilon of releases of (epsilon, delta)-DP together at a delta."""
    releases = [{"kind": "approximate", "epsilon": one, "delta": other} for one, other in parts]
    return prove_release_epsilon("parallel-groups", at, {"group": [{"release": releases}]})


def of_concentrated(parts: Sequence[float], delta: float, count: int = 1) -> EpsilonBracket | None:
    """Return the epsilon of rho-zCDP releases together at a delta, each made so many times."""
    releases = [
        {"kind": "zero-concentrated", "rho": one} | _make_count_parameter(count) for one in parts
    ]
    return prove_release_epsilon("parallel-groups", delta, {"group": [{"release": releases}]})


def _make_count_parameter(count: int) -> dict[str, int]:
    return {} if count == 1 else {"count": count}


def bound_classical_epsilon(rho: float, delta: float) -> float:
    """Return rho + 2 sqrt(rho ln(1/delta)), of Bun & Steinke 2016, Proposition 1.3."""
    return rho + 2 * math.sqrt(rho * math.log(1 / delta))


def of_order(order: float, divergence: float, delta: float) -> float:
    """Return the epsilon of one Renyi order, of Canonne, Kamath & Steinke 2020, Proposition 12.

    Examples
    --------
    >>> round(of_order(10.0, 1.0, 1e-5), 4)
    1.918
    """
    inner = math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)
    return max(0.0, divergence + inner)


def compute_amplified_epsilon(epsilon: float, sampling: float) -> float:
    """Return ln(1 + q (e^epsilon - 1)), of Balle, Barthe & Gaboardi 2018, Theorem 8.

    Examples
    --------
    >>> round(compute_amplified_epsilon(6.8, 0.124), 4)
    4.7204
    """
    # Far below where expm1 overflows (709); beside q e^epsilon the rest is lost, for any q of a
    # record.
    if epsilon > 500:
        return epsilon + math.log(sampling)
    return math.log1p(sampling * math.expm1(epsilon))

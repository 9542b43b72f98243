"""All mechanisms with a known answer, at parameters that a quick audit can see."""

from __future__ import annotations

import dpaudit._validate as check
from dpaudit.algorithms.known_answer.answer import KnownAnswer, KnownMechanism
from dpaudit.algorithms.known_answer.discrete import RandomisedResponse, Rappor, TruncatedGeometric
from dpaudit.algorithms.known_answer.floating_point import FloatingPointLaplace
from dpaudit.algorithms.known_answer.gaussian import Gaussian, SubsampledGaussian
from dpaudit.algorithms.known_answer.grid import OnGrid
from dpaudit.algorithms.known_answer.laplace import Laplace, NoisyHistogram
from dpaudit.algorithms.known_answer.noisy_max import ReportNoisyMax
from dpaudit.algorithms.known_answer.norm import ExponentialNorm
from dpaudit.algorithms.known_answer.repeated import ParallelLaplace, PrefixSum
from dpaudit.algorithms.known_answer.sparse_vector import SparseVector

_THRESHOLD = "a threshold on the output"
_ONE_BIN = "a threshold on one entry, the others being noise"
_SYMBOL = "which of a few symbols it is"
_PATTERN = "a pattern: some entries below, the next one above"
_SUM = "a clipped sum over entries: the bounded loss of each"


def known_answers(epsilon: float = 1.0) -> dict[str, KnownAnswer]:
    """Return all mechanisms by name, made to claim ``epsilon`` where it is theirs to choose.

    Parameters
    ----------
    epsilon
        1 for a quick audit; 0.1 gives the parameters that Bichsel et al. 2021 (DP-Sniper) publish
        results for. The inverted histogram and its correct sibling claim at most 0.5; prefix sums,
        RAPPOR and the sampled Gaussian have parameters of their own.

    Examples
    --------
    >>> answers = known_answers(0.1)
    >>> {name: round(answers[name].true, 4) for name in ("noisy-max-3", "svt-4", "svt-5")}
    {'noisy-max-3': 0.25, 'svt-4': 0.175, 'svt-5': inf}
    """
    check.positive("epsilon", epsilon)
    found = [*_additive(epsilon), *_finite(epsilon), *_selecting(epsilon)]
    return {name: KnownAnswer(name=name, mechanism=m, attack=attack) for name, m, attack in found}


def _additive(epsilon: float) -> list[tuple[str, KnownMechanism, str]]:
    few = min(epsilon, 0.5)
    inverted = NoisyHistogram(epsilon=few, inverted=True)
    radius = ExponentialNorm(epsilon=epsilon, exponential_radius=True)
    ball = "the distance to one centre against that to the other"
    bits = "the last bits of the float"
    return [
        ("laplace", OnGrid(Laplace(epsilon=epsilon)), _THRESHOLD),
        ("laplace-half-noise", OnGrid(Laplace(epsilon=epsilon, noise_factor=0.5)), _THRESHOLD),
        ("laplace-20-times", OnGrid(ParallelLaplace(epsilon=epsilon)), _SUM),
        ("laplace-floating-point", FloatingPointLaplace(epsilon=epsilon), bits),
        ("noisy-histogram", OnGrid(NoisyHistogram(epsilon=few)), _ONE_BIN),
        ("noisy-histogram-inverted", OnGrid(inverted), _ONE_BIN),
        ("prefix-sum", OnGrid(PrefixSum()), f"the increments, and of them {_SUM}"),
        ("gaussian", OnGrid(Gaussian(epsilon=min(epsilon, 0.9))), _THRESHOLD),
        ("gaussian-sampled", OnGrid(SubsampledGaussian()), _THRESHOLD),
        ("gaussian-fixed-batch", OnGrid(SubsampledGaussian(fixed_batch=True)), _THRESHOLD),
        ("norm-noise", OnGrid(ExponentialNorm(epsilon=epsilon)), ball),
        ("norm-noise-wrong-radius", OnGrid(radius), ball),
    ]


def _finite(epsilon: float) -> list[tuple[str, KnownMechanism, str]]:
    once = Rappor(permanent=0.95, one_time=True)
    return [
        ("randomised-response", RandomisedResponse(epsilon=epsilon), _SYMBOL),
        ("truncated-geometric", TruncatedGeometric(epsilon=epsilon), _THRESHOLD),
        ("rappor", Rappor(), "a weighted sum of bits"),
        ("rappor-one-time", once, "a weighted sum of bits"),
    ]


def _selecting(epsilon: float) -> list[tuple[str, KnownMechanism, str]]:
    # In units of the noise, these gaps make the likeliest violations.
    gaps = {1: -1.0, 2: -1.0, 3: 1.0, 4: -0.5, 6: -0.5}
    maxima: list[tuple[str, KnownMechanism, str]] = [
        (f"noisy-max-{v}", _on_grid(ReportNoisyMax(variant=v, epsilon=epsilon), v > 2), attack)
        for v, attack in ((1, _SYMBOL), (2, _SYMBOL), (3, _THRESHOLD), (4, _THRESHOLD))
    ]
    numeric = f"{_PATTERN} and with a low value"
    vectors = {
        v: SparseVector(
            variant=v,
            epsilon=epsilon,
            answers=4 if v == 3 else 10,
            gap=gaps.get(v, 0.0) / epsilon,
        )
        for v in range(1, 7)
    }
    return maxima + [
        (f"svt-{v}", _on_grid(vector, v == 3), numeric if v == 3 else _PATTERN)
        for v, vector in vectors.items()
    ]


def _on_grid(mechanism: KnownMechanism, numeric: bool) -> KnownMechanism:
    return OnGrid(mechanism) if numeric else mechanism


KNOWN_ANSWERS = known_answers()

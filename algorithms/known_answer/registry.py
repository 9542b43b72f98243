"""All mechanisms with a known answer, at parameters that a quick audit can see.

Published beside them is what another tool found, at its parameters: DP-Sniper
(Bichsel, Steffen, Bogunovic & Vechev 2021, Table 1) trains a classifier on outputs and reports, at
90% confidence and from 2 * 10^8 final samples, the epsilon of the best event it found over several
pairs of inputs. The parameters are those of `make_known_answers` at 0.1, but for these: the
truncated geometric mechanism is GeoSample with k = 3, ``epsilon = log(1 + 1/8)``; the second sparse
vector stops at the first answer above, as DP-Sniper ran it, so that its law is that of the first;
the third has ten answers, as there; and the first report-noisy-max and the sparse vectors, but for
the fifth, have pairs on which much is shown by events that are frequent enough to be counted. The
fourth has eight answers here and ten there; its epsilon does not depend on them.
"""

from __future__ import annotations

import math
from dataclasses import replace

import dpaudit._check as check
from dpaudit.algorithms.known_answer.answer import KnownAnswer, KnownMechanism, OnGrid
from dpaudit.algorithms.known_answer.discrete import RandomisedResponse, Rappor, TruncatedGeometric
from dpaudit.algorithms.known_answer.gaussian import Gaussian, SubsampledGaussian
from dpaudit.algorithms.known_answer.laplace import (
    FloatingPointLaplace,
    Laplace,
    NoisyHistogram,
    ParallelLaplace,
    PrefixSum,
)
from dpaudit.algorithms.known_answer.noisy_max import ReportNoisyMax
from dpaudit.algorithms.known_answer.norm import ExponentialNorm
from dpaudit.algorithms.known_answer.sparse_vector import SparseVector

_THRESHOLD = "a threshold on the output"
_ONE_BIN = "a threshold on one entry, the others being noise"
_SYMBOL = "which of a few symbols it is"
_PATTERN = "a pattern: some entries below, the next one above"
_SUM = "a clipped sum over entries: the bounded loss of each"


def make_known_answers(epsilon: float = 1.0) -> dict[str, KnownAnswer]:
    """Return all mechanisms by name, made to claim ``epsilon`` where it is theirs to choose.

    Parameters
    ----------
    epsilon
        1 for a quick audit; 0.1 gives the parameters that Bichsel et al. 2021 (DP-Sniper) publish
        results for. The inverted histogram and its correct sibling claim at most 0.5; prefix sums,
        RAPPOR and the sampled Gaussian have parameters of their own.

    Examples
    --------
    >>> answers = make_known_answers(0.1)
    >>> {name: round(answers[name].true, 4) for name in ("noisy-max-3", "svt-4", "svt-5")}
    {'noisy-max-3': 0.25, 'svt-4': 0.175, 'svt-5': inf}
    """
    check.require_positive("epsilon", epsilon)
    found = [*_additive(epsilon), *_finite(epsilon), *_selecting(epsilon)]
    return {name: KnownAnswer(name=name, mechanism=m, attack=attack) for name, m, attack in found}


def _additive(epsilon: float) -> list[tuple[str, KnownMechanism, str]]:
    # Scale epsilon in place of 1 / epsilon is broken only where epsilon is below 1.
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
        # The classical theorem is for epsilon below 1.
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


KNOWN_ANSWERS = make_known_answers()


DP_SNIPER = {
    "laplace": 0.0968,
    "laplace-20-times": 0.0350,
    "laplace-floating-point": 0.2521,
    "noisy-histogram": 0.0978,
    "noisy-histogram-inverted": 4.602,
    "noisy-max-1": 0.0925,
    "noisy-max-2": 0.0979,
    "noisy-max-3": 0.2488,
    "noisy-max-4": 0.3534,
    "prefix-sum": 0.5774,
    "rappor": 0.3008,
    "rappor-one-time": 0.5999,
    "svt-1": 0.0858,
    "svt-2": 0.0859,
    "svt-3": 0.1822,
    "svt-4": 0.1696,
    "svt-5": 1.761,
    "svt-6": 0.2720,
    "truncated-geometric": 0.1156,
}
_EPSILON = 0.1
_OWN_PARAMETERS: dict[str, KnownMechanism] = {
    "truncated-geometric": TruncatedGeometric(epsilon=math.log1p(1 / 8)),
    "noisy-max-1": ReportNoisyMax(variant=1, epsilon=_EPSILON, gap=5.0),
    "svt-1": SparseVector(variant=1, epsilon=_EPSILON, gap=-2.0),
    "svt-2": SparseVector(variant=2, epsilon=_EPSILON, gap=-2.0, limit=1),
    "svt-3": OnGrid(SparseVector(variant=3, epsilon=_EPSILON, gap=0.0)),
    "svt-4": SparseVector(variant=4, epsilon=_EPSILON, answers=8, gap=0.0),
    "svt-6": SparseVector(variant=6, epsilon=_EPSILON, gap=0.0),
}


def answers(*, published: bool) -> dict[str, KnownAnswer]:
    """Return all mechanisms with a known answer by name.

    Parameters
    ----------
    published
        At DP-Sniper's parameters and with what it found, instead of at an epsilon of 1.

    Examples
    --------
    >>> found = answers(published=True)["truncated-geometric"]
    >>> round(found.true, 4), found.published
    (0.1178, 0.1156)
    """
    if not published:
        return dict(KNOWN_ANSWERS)
    return {
        name: replace(
            answer,
            mechanism=_OWN_PARAMETERS.get(name, answer.mechanism),
            published=DP_SNIPER.get(name),
        )
        for name, answer in make_known_answers(_EPSILON).items()
    }

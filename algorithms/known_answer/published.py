"""What another tool has published that it found, at its parameters: next to what is found here.

DP-Sniper (Bichsel, Steffen, Bogunovic & Vechev 2021, Table 1) trains a classifier on outputs and
reports, at 90% confidence and from 2 * 10^8 final samples, the epsilon of the best event it found
over several pairs of inputs. The parameters are those of `known_answers` at 0.1, but for these: the
truncated geometric mechanism is GeoSample with k = 3, ``epsilon = log(1 + 1/8)``; the second sparse
vector stops at the first answer above, as DP-Sniper ran it, so that its law is that of the first;
the third has ten answers, as there; and the first report-noisy-max and the sparse vectors, but for
the fifth, have pairs on which much is shown by events that are frequent enough to be counted. The
fourth has eight answers here and ten there; its epsilon does not depend on them.
"""

from __future__ import annotations

import math
from dataclasses import replace

from dpaudit.algorithms.known_answer.answer import KnownAnswer, KnownMechanism
from dpaudit.algorithms.known_answer.discrete import TruncatedGeometric
from dpaudit.algorithms.known_answer.grid import OnGrid
from dpaudit.algorithms.known_answer.noisy_max import ReportNoisyMax
from dpaudit.algorithms.known_answer.registry import KNOWN_ANSWERS, known_answers
from dpaudit.algorithms.known_answer.sparse_vector import SparseVector

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
        for name, answer in known_answers(_EPSILON).items()
    }

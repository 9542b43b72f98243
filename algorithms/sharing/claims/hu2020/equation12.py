r"""The noise is seldom as long as the proof of Theorem 1 needs it not to be.

The proof bounds a privacy loss by epsilon for ``|D_m xi| <= r``, ``r = 2 C ln(1.25/delta) / epsilon
- C/2``, and (12) says that noise of standard deviation ``sigma = sqrt(2 ln(1.25/delta)) C /
epsilon`` gets to r with probability at most delta. With ``x = ln(1.25/delta)`` this is after

    t = r / sigma = sqrt(2 x) - epsilon / (2 sqrt(2 x))

standard deviations. The proof takes ``D_m xi`` for a number. It is a vector of N entries, one a
sample, of a length near ``sqrt(N)`` standard deviations, and (12) is false from N = 2 on: there the
probability is ``exp(-t^2/2) = 0.8 delta exp(epsilon/2 - epsilon^2/(16 x))``, above delta for
epsilon = 1 and small delta.

For one entry, the one along ``D_m x_m - D_m' x_m'`` on which the loss depends and all that the
theorem needs, (12) is true up to ``delta = 0.46``.

Proof. t falls with epsilon, so let epsilon be 1. Then ``t^2/2 = x - 1/2 + 1/(16 x)``, and by the
bound on Gaussian tails ``P(|X| >= t) <= 2 exp(-t^2/2) / (t sqrt(2 pi)) <= 1.0525 delta / t``. This
is at most delta where ``t >= 1.0525``, and t, which rises with x, is for ``delta <= 0.46``.

The proof's (13) needs such a limit too: it is false for delta above 0.4917. And its last lines name
another set: ``A_2 = {|D_m xi| > exp(ln(sqrt(2 pi) delta/2)) / sqrt(2 pi)}``, which is ``delta/2``
and has no unit. On A_2 anything may happen; its probability is near 1 unless sigma is tiny.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from dpaudit.extension.claim import Claim, Variant
from dpaudit.extension.parameters import Parameters

if TYPE_CHECKING:
    from numpy.random import Generator

    from dpaudit.extension.case import SearchCase
    from dpaudit.extension.settings import Settings
    from dpaudit.refutation import Inequality

_LEAST_EPSILON = 1e-3


class Equation12Parameters(Parameters):
    """The number of entries of the noise, and the meant set of it."""

    factor: float = Field(1.0, gt=0, description="the claimed bound is multiplied by this")
    entries: int = Field(8, ge=1, le=10_000, description="N, of a message")
    part: Literal["tail", "A_2"] = Field("tail", description="eq. (12), or the proof's set A_2")
    sensitivity: float = Field(1.0, gt=0, description="C")
    least_delta: float = Field(1e-12, gt=0, lt=1, description="the smallest delta of the search")
    budget: int = Field(2_000, ge=1, description="evaluated pairs, unless --trials is given")


@dataclass(frozen=True, kw_only=True)
class Level:
    """An epsilon and a delta of Theorem 1."""

    epsilon: float
    delta: float


def compute_noise_threshold(level: Level, parameters: Equation12Parameters) -> float:
    """Return the length that the noise has to keep below, in standard deviations.

    Examples
    --------
    >>> round(compute_noise_threshold(Level(epsilon=1.0, delta=1e-5), Equation12Parameters()), 4)
    4.7416
    """
    spread = math.sqrt(2 * math.log(1.25 / level.delta))
    if parameters.part == "A_2":
        return level.delta / 2 / (spread * parameters.sensitivity / level.epsilon)
    return spread - level.epsilon / (2 * spread)


def compute_noise_tail(level: Level, parameters: Equation12Parameters) -> float:
    """Return how probable longer noise is.

    Examples
    --------
    >>> level = Level(epsilon=1.0, delta=1e-5)
    >>> [f"{compute_noise_tail(level, Equation12Parameters(entries=n)):.2g}" for n in (1, 2, 8)]
    ['2.1e-06', '1.3e-05', '0.0041']
    """
    from scipy.stats import chi2

    # Noise is never shorter than 0: below, the probability is 1.
    least = max(compute_noise_threshold(level, parameters), 0.0)
    return float(chi2.sf(least**2, parameters.entries))


def prepare_equation12_search(settings: Settings, parameters: Equation12Parameters) -> SearchCase:
    """Return the audit: a search over epsilon and delta up to the settings'.

    Examples
    --------
    >>> from numpy.random import default_rng
    >>> from dpaudit.extension.settings import Settings
    >>> prepare_equation12_search(Settings(), Equation12Parameters()).attain(
    ...     500, default_rng(0)
    ... ).ratio > 100
    True
    """
    import dpaudit._check as check
    from dpaudit.algorithms.problems.records import refuse_data
    from dpaudit.errors import InvalidArgument
    from dpaudit.extension.case import SearchCase
    from dpaudit.refutation import searched

    refuse_data(settings)
    check.require_probability("delta", settings.delta)
    if not _LEAST_EPSILON <= settings.epsilon <= 1:
        expected = f"in [{_LEAST_EPSILON:g}, 1]: Theorem 1's range, and the search's"
        raise InvalidArgument("epsilon", settings.epsilon, expected)
    if settings.delta < parameters.least_delta:
        expected = f"at least least_delta = {parameters.least_delta:g}"
        raise InvalidArgument("delta", settings.delta, expected)
    claim = make_noise_tail_inequality(parameters)
    return SearchCase(
        bound=parameters.factor,  # of a probability over delta
        attain=lambda trials, rng: searched(
            claim,
            lambda budget, draws: find_worst_noise_level(settings, parameters, budget, draws),
            trials,
            rng,
            seed=settings.seed,
        ),
        view=f"Gaussian noise of {parameters.entries} entries",
        data="none: the claim is about noise",
        relation=CLAIM.relation,
        pair="none",
        default_trials=parameters.budget,
        parameters=parameters.model_dump(mode="json"),
        quantity="probability over delta",
        effort="evaluated pairs of epsilon and delta",
        notes=("Of one entry it is true for delta up to 0.46, by proof.",),
    )


def find_worst_noise_level(
    settings: Settings, parameters: Equation12Parameters, budget: int, rng: Generator
) -> Level:
    """Return the pair with the largest probability over delta."""
    low, high = math.log(parameters.least_delta), math.log(settings.delta)
    epsilons = np.exp(rng.uniform(math.log(_LEAST_EPSILON), math.log(settings.epsilon), budget))
    deltas = np.exp(rng.uniform(low, high, budget))
    # The settings' own epsilon and delta are tried in any case.
    epsilons[0], deltas[0] = settings.epsilon, settings.delta
    levels = (
        Level(epsilon=float(e), delta=float(d)) for e, d in zip(epsilons, deltas, strict=True)
    )
    return max(levels, key=lambda level: compute_noise_tail(level, parameters) / level.delta)


def make_noise_tail_inequality(parameters: Equation12Parameters) -> Inequality[Level]:
    """Return (12) as an inequality, both sides divided by delta."""
    from dpaudit.refutation import Condition, Evidence, Inequality

    def evidence(level: Level) -> Evidence:
        own = parameters.model_dump(include={"entries", "part", "sensitivity", "factor"})
        return Evidence(
            parameters=own | asdict(level),
            instance={},
            quantities={"probability": compute_noise_tail(level, parameters)},
        )

    return Inequality(
        name=CLAIM.name,
        source=CLAIM.source,
        sides=lambda level: (
            compute_noise_tail(level, parameters) / level.delta,
            parameters.factor,
        ),
        conditions=lambda level: (
            Condition(name="epsilon in range", value=level.epsilon, limit=1.0),
        ),
        words=lambda level: (
            f"epsilon = {level.epsilon:.4g}, delta = {level.delta:.4g}: noise of "
            f"{parameters.entries} entries is longer with probability "
            f"{compute_noise_tail(level, parameters):.4g}"
        ),
        because=lambda _: _REASONS[parameters.part] if parameters.factor == 1 else None,
        evidence=evidence,
    )


_REASONS = {
    "tail": "The proof uses the tail of one Gaussian number; the noise has an entry a sample.",
    "A_2": "The set's threshold of delta/2 is a probability where a length is meant.",
}

CLAIM = Claim(
    name="hu2020-equation12",
    title="Noise that is seldom too long",
    statement=(
        "For noise D_m xi of standard deviation sigma = sqrt(2 ln(1.25/delta)) C / epsilon and "
        "epsilon in (0, 1], P(|D_m xi| >= 2 C ln(1.25/delta) / epsilon - C/2) <= delta."
    ),
    source=(
        "Hu et al., ADMM sharing over vertically split features, NeurIPS 2020, proof of Theorem 1, "
        "eq. (12)"
    ),
    kind="property",
    relation="none",
    assumptions={"epsilon in range": "epsilon is in (0, 1]"},
    prepare=prepare_equation12_search,
    parameters=Equation12Parameters,
    scope="It would stand for messages of one entry and delta up to 0.46; here they have 8.",
    published={
        "2 samples": Variant(
            settings={"parameters": {"entries": 2}},
            scope="It would stand for messages of one entry and delta up to 0.46.",
            printed=True,
        ),
        "1 sample": Variant(
            settings={"parameters": {"entries": 1}},
            scope="Tried for one entry, where it has a proof.",
            printed=True,
        ),
        "A_2": Variant(
            settings={"parameters": {"part": "A_2", "entries": 1}},
            scope="Of the set that the proof names for what (12) leaves out. It would stand with "
            "the threshold of (12) for one entry.",
            printed=True,
        ),
    },
)

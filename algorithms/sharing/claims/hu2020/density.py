r"""Theorem 1's inequality for every single output.

After "specifically" Theorem 1 states (epsilon, delta)-DP as an inequality between ``P(D_m x~_m |
D_m)`` and ``P(D_m' x~_m | D_m')`` "for any output", and its proof begins with the logarithm of
their ratio. Of one output P can only be a density. Differential privacy says nothing of the kind: a
density has a unit, one over that of the message to the power N, and delta has none. With noise
``sigma = C sqrt(2 ln(1.25/delta)) / epsilon`` the density scales like ``C^-N``, so that delta is
soon too small to make up for what exceeds ``e^epsilon`` times the other density: outputs that
differ from ``D_m x_m`` by s along the movement have

    ln p / p' = (2 s C + C^2) / (2 sigma^2)  >  epsilon     for s > r of the proof.

In large units it is true, which makes it no better a definition. For sets of outputs in place of
single ones it is Theorem 1's first sentence, which is audited as hu2020-theorem1.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from dpaudit.extension.claim import Claim, Variant
from dpaudit.extension.parameters import Parameters

if TYPE_CHECKING:
    from numpy.random import Generator

    from dpaudit._typing import Array
    from dpaudit.extension.case import SearchCase
    from dpaudit.extension.settings import Settings
    from dpaudit.refutation import Inequality

_FARTHEST = 20.0  # of an output from the message without noise, in standard deviations


class DensityParameters(Parameters):
    """The size of a message, and the sensitivities that are searched."""

    factor: float = Field(1.0, gt=0, description="the claimed bound is multiplied by this")
    entries: int = Field(4, ge=1, le=100, description="N, of a message")
    least_sensitivity: float = Field(1e-3, gt=0, description="the smallest C of the search")
    most_sensitivity: float = Field(1.0, gt=0, description="the largest C of the search")
    budget: int = Field(4_000, ge=1, description="evaluated outputs, unless --trials is given")


@dataclass(frozen=True, kw_only=True)
class Output:
    """An output ``offset`` beyond ``D_m x_m``, away from ``D_m' x_m'``, which is C behind it."""

    epsilon: float
    delta: float
    sensitivity: float
    offset: float


def compute_density_sides(
    epsilon: float, delta: float, sensitivity: Array | float, offset: Array | float, entries: int
) -> tuple[Array, Array]:
    """Return the density of an output, and ``e^epsilon`` times the other one's plus delta.

    Examples
    --------
    >>> p, bound = compute_density_sides(1.0, 1e-5, 1e-3, 0.026, 4)  # 5.37 standard deviations
    >>> f"{p:.2g}", f"{bound:.2g}"
    ('26', '23')
    """
    scale = np.asarray(sensitivity) * math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    # Densities of many entries overflow where their logarithms do not.
    peak = -entries * (np.log(scale) + math.log(2 * math.pi) / 2)
    here = np.exp(peak - (offset / scale) ** 2 / 2)
    there = np.exp(peak - ((offset + sensitivity) / scale) ** 2 / 2)
    return np.asarray(here), np.asarray(math.exp(epsilon) * there + delta)


def prepare_density_search(settings: Settings, parameters: DensityParameters) -> SearchCase:
    """Return the audit: a search over sensitivities and outputs.

    Examples
    --------
    >>> from numpy.random import default_rng
    >>> from dpaudit.extension.settings import Settings
    >>> prepare_density_search(Settings(), DensityParameters()).attain(
    ...     500, default_rng(0)
    ... ).ratio > 1.1
    True
    """
    import dpaudit._check as check
    from dpaudit.algorithms.problems.records import refuse_data
    from dpaudit.errors import InvalidArgument
    from dpaudit.extension.case import SearchCase
    from dpaudit.refutation import searched

    refuse_data(settings)
    check.require_probability("delta", settings.delta)
    if not 0 < settings.epsilon <= 1:
        raise InvalidArgument("epsilon", settings.epsilon, "in (0, 1]: the theorem's range")
    least, most = parameters.least_sensitivity, parameters.most_sensitivity
    if least > most:
        raise InvalidArgument("most_sensitivity", most, f"at least least_sensitivity = {least:g}")
    claim = make_density_inequality(parameters)
    return SearchCase(
        bound=parameters.factor,  # of a density over what is allowed
        attain=lambda trials, rng: searched(
            claim,
            lambda budget, draws: find_worst_density_output(settings, parameters, budget, draws),
            trials,
            rng,
            seed=settings.seed,
        ),
        view=f"one output, a message of {parameters.entries} entries",
        data="none: two messages that are C apart",
        relation=CLAIM.relation,
        pair="messages without noise that are as far apart as C allows",
        default_trials=parameters.budget,
        parameters=parameters.model_dump(mode="json"),
        quantity="density over e^epsilon times the other one plus delta",
        effort="evaluated outputs",
        notes=("A density depends on the unit of the message, and delta does not.",),
    )


def find_worst_density_output(
    settings: Settings, parameters: DensityParameters, budget: int, rng: Generator
) -> Output:
    """Return the output with the largest density over the allowed one."""
    epsilon, delta = settings.epsilon, settings.delta
    low, high = math.log(parameters.least_sensitivity), math.log(parameters.most_sensitivity)
    sensitivity = np.exp(rng.uniform(low, high, budget))
    # Densities scale like C^-N, so the smallest sensitivity is the likeliest to break the claim.
    sensitivity[: budget // 4] = parameters.least_sensitivity
    scale = sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    offset = scale * rng.uniform(0, _FARTHEST, budget)
    density, allowed = compute_density_sides(
        epsilon, delta, sensitivity, offset, parameters.entries
    )
    best = int(np.argmax(density / allowed))
    return Output(
        epsilon=epsilon,
        delta=delta,
        sensitivity=float(sensitivity[best]),
        offset=float(offset[best]),
    )


def make_density_inequality(parameters: DensityParameters) -> Inequality[Output]:
    """Return the claim as an inequality, both sides over the allowed density."""
    from dpaudit.refutation import Condition, Evidence, Inequality

    def densities(output: Output) -> tuple[float, float]:
        density, allowed = compute_density_sides(**asdict(output), entries=parameters.entries)
        return float(density), float(allowed)

    def compute_ratio(output: Output) -> tuple[float, float]:
        density, allowed = densities(output)
        return density / allowed, parameters.factor

    def evidence(output: Output) -> Evidence:
        density, allowed = densities(output)
        own = parameters.model_dump(include={"entries", "factor"})
        return Evidence(
            parameters=own | {k: v for k, v in asdict(output).items() if k != "offset"},
            instance={"offset": output.offset},
            quantities={"density": density, "allowed": allowed},
            relation=CLAIM.relation,
        )

    return Inequality(
        name=CLAIM.name,
        source=CLAIM.source,
        sides=compute_ratio,
        conditions=lambda output: (
            Condition(name="epsilon in range", value=output.epsilon, limit=1.0),
        ),
        words=lambda output: (
            f"C = {output.sensitivity:.4g}: {output.offset:.4g} beyond the message the density is "
            f"{densities(output)[0]:.4g}, where {densities(output)[1]:.4g} is allowed"
        ),
        because=lambda _: _BECAUSE if parameters.factor == 1 else None,
        evidence=evidence,
    )


_BECAUSE = "delta bounds a probability, and a density of a short message has no bound."

CLAIM = Claim(
    name="hu2020-density",
    title="An inequality for every output",
    statement=(
        "With sigma = sqrt(2 ln(1.25/delta)) C / epsilon, epsilon in (0, 1] and a sensitivity of "
        "at most C, for any neighbouring datasets and any output, P(output | D_m) <= e^epsilon "
        "P(output | D_m') + delta, P being the density of the message."
    ),
    source=(
        "Hu et al., ADMM sharing over vertically split features, NeurIPS 2020, Theorem 1, its "
        "last sentence"
    ),
    kind="property",
    relation="replace-column",
    assumptions={"epsilon in range": "epsilon is in (0, 1]"},
    prepare=prepare_density_search,
    parameters=DensityParameters,
    scope="It would stand with probabilities of sets of outputs for P, which is the theorem's "
    "first sentence.",
    published={
        "1 entry": Variant(
            settings={"parameters": {"entries": 1, "least_sensitivity": 1e-5}},
            scope="It would stand with probabilities of sets of outputs for P.",
            printed=True,
        ),
        "large units": Variant(
            settings={"parameters": {"least_sensitivity": 1.0, "most_sensitivity": 1e3}},
            scope="Tried for sensitivities of 1 and more, where densities are small numbers.",
            printed=True,
        ),
    },
)

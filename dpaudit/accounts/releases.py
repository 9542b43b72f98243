"""The kinds of release that can be accounted for by name, without any mechanism's paper.

Each card is an event class of `dpaudit.accounting.events`, with the meaning, bounds and default of
every field.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from fractions import Fraction
from typing import Annotated, Any, get_type_hints

from pydantic import BaseModel, BeforeValidator, Field, create_model

import dpaudit.extension.registry as registry
from dpaudit.accounting.discrete_events import (
    DiscreteGaussianRelease,
    DiscreteLaplaceRelease,
    GaussianMixtureRelease,
    RandomizedResponse,
)
from dpaudit.accounting.events import (
    ADD_REMOVE,
    REPLACE,
    ZERO_OUT,
    AllocatedGaussian,
    ApproximateRelease,
    BatchedGaussian,
    Event,
    ExponentialNormRelease,
    GaussianRelease,
    LaplaceRelease,
    ObjectivePerturbation,
    Parallel,
    PoissonSubsampledGaussian,
    PoissonSubsampledLaplace,
    PrivateSelection,
    Release,
    Sequence,
    ShuffledGaussian,
    ZeroConcentratedRelease,
)
from dpaudit.errors import InvalidArgument, UnsupportedEvent
from dpaudit.extension.parameters import Parameters, parse_parameters
from dpaudit.extension.release import ReleaseCard
from dpaudit.guarantees import rounding

KINDS: dict[type[Release], ReleaseCard] = {}


def _register_release_card(
    kind: type[Release],
    name: str,
    title: str,
    source: str,
    fields: dict[str, Any],
    *,
    noise: str,
    more_noise: int = 1,
    relation: str = "any",
    neighbours: Callable[[Any], str] | None = None,
) -> ReleaseCard:
    """Return the card of a kind of event, and note it under that kind."""
    # The annotations of that module are texts, and pydantic needs types.
    types = get_type_hints(kind) | ({"sampling_ratio": Share} if "sampling_ratio" in fields else {})
    fields = {"count": Field(1, ge=0, description="number of such releases"), **fields}
    definitions: dict[str, Any] = {n: (types[n], bounds) for n, bounds in fields.items()}
    model: type[BaseModel] = create_model(kind.__name__, __base__=Parameters, **definitions)

    def event(parameters: BaseModel) -> Event:
        return kind(**parameters.model_dump())

    KINDS[kind] = ReleaseCard(
        name=name,
        title=title,
        source=source,
        relation=relation,
        parameters=model,
        event=event,
        count="count",
        noise=noise,
        more_noise=more_noise,
        neighbours=neighbours,
        plain=True,
    )
    return KINDS[kind]


def _parse_fraction_share(value: Any) -> Any:
    """Return a share that may be given as a fraction, 2/3000, rounded up."""
    parts = value.split("/") if isinstance(value, str) else []
    if len(parts) != 2 or not all(part.strip().isdecimal() for part in parts):
        return value
    one, all_ = (int(part) for part in parts)
    # A larger share loses more, so that rounding up claims no less than what is lost.
    return rounding.up(Fraction(one, all_)) if all_ else value


Share = Annotated[float, BeforeValidator(_parse_fraction_share)]
_RATIO = Field(
    0.01, gt=0, le=1, description="probability that a record is sampled; also a fraction, as 2/3000"
)
_SHIFT = Field(1.0, ge=0, description="L2 sensitivity of each query")
_SPHERICAL = {
    "sensitivity": _SHIFT,
    "noise_rate": Field(
        1.0, gt=0, description="alpha of exp(-alpha ||e||); a smaller alpha is noisier"
    ),
    "dimension": Field(1, ge=1, description="number of coordinates of the query"),
}

GAUSSIAN = _register_release_card(
    GaussianRelease,
    "gaussian",
    "Gaussian noise on queries of bounded L2 sensitivity",
    "Dong, Roth & Su 2022",
    {
        "sensitivity": _SHIFT,
        "noise_scale": Field(1.0, gt=0, description="standard deviation of each coordinate"),
    },
    noise="noise_scale",
)
LAPLACE = _register_release_card(
    LaplaceRelease,
    "laplace",
    "Laplace noise on queries of bounded L1 sensitivity",
    "Dwork, McSherry, Nissim & Smith 2006",
    {
        "sensitivity": Field(1.0, ge=0, description="L1 sensitivity of each query"),
        "noise_scale": Field(1.0, gt=0, description="b of the density exp(-|e|/b) / (2b)"),
    },
    noise="noise_scale",
)
EXPONENTIAL_NORM = _register_release_card(
    ExponentialNormRelease,
    "exponential-norm",
    "noise of density exp(-alpha ||e||_2) on queries of bounded L2 sensitivity",
    "Chaudhuri, Monteleoni & Sarwate 2011",
    _SPHERICAL,
    noise="noise_rate",
    more_noise=-1,
)
OBJECTIVE = _register_release_card(
    ObjectivePerturbation,
    "objective-perturbation",
    "minimisers of objectives with exponential-norm noise in the linear term",
    "Chaudhuri, Monteleoni & Sarwate 2011; dpaudit.accounting.pairs.exponential_norm",
    _SPHERICAL
    | {"log_determinant": Field(0.0, ge=0, description="bound on the log-ratio of Jacobians")},
    noise="noise_rate",
    more_noise=-1,
    relation="replace-record",
)
APPROXIMATE = _register_release_card(
    ApproximateRelease,
    "approximate",
    "anything (epsilon, delta)-DP; randomised response attains it",
    "Kairouz, Oh & Viswanath 2015",
    {
        "epsilon": Field(1.0, ge=0, description="epsilon of each release"),
        "delta": Field(0.0, ge=0, lt=1, description="delta of each release"),
    },
    noise="epsilon",
    more_noise=-1,
)
ZERO_CONCENTRATED = _register_release_card(
    ZeroConcentratedRelease,
    "zero-concentrated",
    "anything rho-zero-concentrated DP",
    "Bun & Steinke 2016",
    {"rho": Field(0.5, ge=0, description="rho of each release")},
    noise="rho",
    more_noise=-1,
)
SUBSAMPLED = _register_release_card(
    PoissonSubsampledGaussian,
    "subsampled-gaussian",
    "Gaussian noise on sums over a Poisson sample, as in DP-SGD",
    "Zhu, Dong & Wang 2022, Theorem 11",
    {
        "sampling_ratio": _RATIO,
        "noise_multiplier": Field(1.0, gt=0, description="standard deviation over term norm"),
    },
    noise="noise_multiplier",
    relation="add-remove-record",
)
SUBSAMPLED_LAPLACE = _register_release_card(
    PoissonSubsampledLaplace,
    "subsampled-laplace",
    "Laplace noise on sums over a Poisson sample",
    "Zhu, Dong & Wang 2022, Theorem 11; dpaudit.accounting.pairs.finite",
    {
        "sampling_ratio": _RATIO,
        "sensitivity": Field(1.0, ge=0, description="L1 norm of a record's term"),
        "noise_scale": Field(1.0, gt=0, description="b of the density exp(-|e|/b) / (2b)"),
    },
    noise="noise_scale",
    relation="add-remove-record",
)
RESPONSE = _register_release_card(
    RandomizedResponse,
    "randomised-response",
    "answers that are the truth with some probability, else another one at random",
    "Warner 1965; Kairouz, Oh & Viswanath 2014",
    {
        "truth": Field(0.75, gt=0, lt=1, description="probability of the true answer"),
        "categories": Field(2, ge=2, description="number of possible answers"),
    },
    noise="truth",
    more_noise=-1,
    relation=REPLACE,
)
_WHOLE = Field(1, ge=0, description="largest difference of the integer between neighbours")
DISCRETE_LAPLACE = _register_release_card(
    DiscreteLaplaceRelease,
    "discrete-laplace",
    "an integer with noise of mass proportional to exp(-|k| / b), also called geometric",
    "Ghosh, Roughgarden & Sundararajan 2009",
    {"sensitivity": _WHOLE, "noise_scale": Field(1.0, gt=0, description="b")},
    noise="noise_scale",
)
DISCRETE_GAUSSIAN = _register_release_card(
    DiscreteGaussianRelease,
    "discrete-gaussian",
    "an integer with noise of mass proportional to exp(-k^2 / (2 sigma^2))",
    "Canonne, Kamath & Steinke 2020",
    {"sensitivity": _WHOLE, "noise_scale": Field(1.0, gt=0, description="sigma")},
    noise="noise_scale",
)
MIXTURE = _register_release_card(
    GaussianMixtureRelease,
    "gaussian-mixture",
    "Gaussian noise on queries whose sensitivity is random",
    "Zhu, Dong & Wang 2022; dpaudit.accounting.pairs.mixtures",
    {
        "sensitivities": Field((0.0, 1.0), description="possible sensitivities, at least 0"),
        "probabilities": Field((0.5, 0.5), description="probability of each sensitivity"),
        "noise_scale": Field(1.0, gt=0, description="standard deviation of each coordinate"),
    },
    noise="noise_scale",
    relation=ADD_REMOVE,
)

_MULTIPLIER = Field(1.0, gt=0, description="standard deviation over term norm")
BATCHED = _register_release_card(
    BatchedGaussian,
    "batched-gaussian",
    "Gaussian noise on sums over fresh random batches, of a fixed size or Poisson",
    "Zhu, Dong & Wang 2022; dpaudit.accounting.pairs.mixtures",
    {
        "records": Field(100, ge=1, description="records in the larger dataset"),
        "batch_size": Field(1, ge=1, description="records in a batch; for Poisson, on average"),
        "noise_multiplier": _MULTIPLIER,
        "sampling": Field("poisson", description="poisson, fixed or fixed-replacement"),
        "relation": Field(
            ADD_REMOVE, description="add-remove-record, replace-record or zero-out-record"
        ),
    },
    noise="noise_multiplier",
    relation="by the parameter relation",
    neighbours=lambda parameters: str(parameters.relation),
)
ALLOCATED = _register_release_card(
    AllocatedGaussian,
    "allocated-gaussian",
    "epochs in which every record picks one batch at random (balls and bins)",
    "Chua et al. 2024, arXiv 2412.16802; dpaudit.accounting.pairs.allocation",
    {
        "batches": Field(100, ge=1, description="batches in an epoch"),
        "noise_multiplier": _MULTIPLIER,
    },
    noise="noise_multiplier",
    relation=ADD_REMOVE,
)
SHUFFLED = _register_release_card(
    ShuffledGaussian,
    "shuffled-gaussian",
    "epochs through the records in a random order: no gain proved, lower ends certified",
    "Chua et al. 2024, arXiv 2403.17673; dpaudit.accounting.pairs.mixtures",
    {
        "batches": Field(100, ge=1, description="batches in an epoch"),
        "noise_multiplier": _MULTIPLIER,
        "relation": Field(ZERO_OUT, description="zero-out-record or replace-record"),
    },
    noise="noise_multiplier",
    relation="by the parameter relation",
    neighbours=lambda parameters: str(parameters.relation),
)


class SelectionParameters(Parameters):
    """Parameters of a private selection."""

    base: dict[str, Any] = Field(
        {"kind": "gaussian"}, description="one run: a table with a kind and its parameters"
    )
    runs: float = Field(10.0, gt=0, description="number of runs on average")
    law: str = Field(
        "geometric", description="law of this number: geometric, logarithmic or poisson"
    )
    count: int = Field(1, ge=0, description="number of such selections")


def _resolve_base_release(parameters: Any) -> tuple[ReleaseCard, Any]:
    """Return the card of one run, and its parameters."""
    given = dict(parameters.base)
    kind = given.pop("kind", None)
    if not isinstance(kind, str):
        raise InvalidArgument("base", parameters.base, "a table with a kind")
    card = registry.RELEASES.get(kind)
    return card, parse_parameters(card.parameters, given)


def _build_selection_event(parameters: Any) -> Event:
    card, given = _resolve_base_release(parameters)
    return PrivateSelection(
        base=card.event(given),
        runs=parameters.runs,
        law=parameters.law,
        count=parameters.count,
    )


def _get_selection_relation(parameters: Any) -> str:
    card, given = _resolve_base_release(parameters)
    return card.relation if card.neighbours is None else card.neighbours(given)


KINDS[PrivateSelection] = SELECTED = ReleaseCard(
    name="private-selection",
    title="the best of a random number of runs, as tuned hyper-parameters are",
    source="Papernot & Steinke 2022, Theorems 2 and 6; Liu & Talwar 2019",
    relation="that of one run",
    parameters=SelectionParameters,
    event=_build_selection_event,
    count="count",
    noise="runs",
    more_noise=-1,
    neighbours=_get_selection_relation,
)


def parameters_of(release: Release) -> dict[str, Any]:
    """Return a release's parameters as its card takes them.

    Raises
    ------
    UnsupportedEvent
        A selection is from runs of several releases, which have no card.
    """
    given = {field.name: getattr(release, field.name) for field in fields(release)}
    if isinstance(release, PrivateSelection):
        if isinstance(release.base, Sequence | Parallel):
            name = type(release.base).__name__
            raise UnsupportedEvent(f"base: got a {name}, expected a single release")
        given["base"] = {"kind": KINDS[type(release.base)].name} | parameters_of(release.base)
    return given

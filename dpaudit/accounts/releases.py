"""The kinds of release that can be accounted for by name, without any mechanism's paper."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from dpaudit.accounting.events import (
    ApproximateRelease,
    Event,
    ExponentialNormRelease,
    GaussianRelease,
    LaplaceRelease,
    ObjectivePerturbation,
    PoissonSubsampledGaussian,
    ZeroConcentratedRelease,
)
from dpaudit.extension.release import ReleaseCard


class _Parameters(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    count: int = Field(1, ge=0, description="how many such releases")


class Gaussian(_Parameters):
    """Parameters of `GaussianRelease`."""

    sensitivity: float = Field(1.0, ge=0, description="L2 sensitivity of each query")
    noise_scale: float = Field(1.0, gt=0, description="standard deviation of each coordinate")


class Laplace(_Parameters):
    """Parameters of `LaplaceRelease`."""

    sensitivity: float = Field(1.0, ge=0, description="L1 sensitivity of each query")
    noise_scale: float = Field(1.0, gt=0, description="b of the density exp(-|e|/b) / (2b)")


class ExponentialNorm(_Parameters):
    """Parameters of `ExponentialNormRelease`."""

    sensitivity: float = Field(1.0, ge=0, description="L2 sensitivity of each query")
    noise_rate: float = Field(1.0, gt=0, description="alpha of exp(-alpha ||e||); less is noisier")
    dimension: int = Field(1, ge=1, description="of the query")


class Objective(ExponentialNorm):
    """Parameters of `ObjectivePerturbation`."""

    log_determinant: float = Field(0.0, ge=0, description="bound on the log-ratio of Jacobians")


class Approximate(_Parameters):
    """Parameters of `ApproximateRelease`."""

    epsilon: float = Field(1.0, ge=0, description="of each release")
    delta: float = Field(0.0, ge=0, lt=1, description="of each release")


class ZeroConcentrated(_Parameters):
    """Parameters of `ZeroConcentratedRelease`."""

    rho: float = Field(0.5, ge=0, description="of each release")


class Subsampled(_Parameters):
    """Parameters of `PoissonSubsampledGaussian`."""

    sampling_ratio: float = Field(0.01, gt=0, le=1, description="probability of a record")
    noise_multiplier: float = Field(1.0, gt=0, description="standard deviation over term norm")


def _event(kind: type[Any]) -> Any:
    def make(parameters: BaseModel) -> Event:
        event: Event = kind(**parameters.model_dump())
        return event

    return make


gaussian_event = _event(GaussianRelease)
laplace_event = _event(LaplaceRelease)
exponential_norm_event = _event(ExponentialNormRelease)
objective_event = _event(ObjectivePerturbation)
approximate_event = _event(ApproximateRelease)
zero_concentrated_event = _event(ZeroConcentratedRelease)
subsampled_event = _event(PoissonSubsampledGaussian)


def _card(name: str, title: str, source: str, model: str, noise: str, **more: Any) -> ReleaseCard:
    here = "dpaudit.accounts.releases"
    return ReleaseCard(
        name=name,
        title=title,
        source=source,
        relation=more.pop("relation", "any"),
        parameters=f"{here}:{model}",
        event=f"{here}:{more.pop('event')}",
        count="count",
        noise=noise,
        **more,
    )


GAUSSIAN = _card(
    "gaussian",
    "Gaussian noise on queries of bounded L2 sensitivity",
    "Dong, Roth & Su 2022",
    "Gaussian",
    "noise_scale",
    event="gaussian_event",
)
LAPLACE = _card(
    "laplace",
    "Laplace noise on queries of bounded L1 sensitivity",
    "Dwork, McSherry, Nissim & Smith 2006",
    "Laplace",
    "noise_scale",
    event="laplace_event",
)
EXPONENTIAL_NORM = _card(
    "exponential-norm",
    "noise of density exp(-alpha ||e||_2) on queries of bounded L2 sensitivity",
    "Chaudhuri, Monteleoni & Sarwate 2011",
    "ExponentialNorm",
    "noise_rate",
    event="exponential_norm_event",
    more_noise=-1,
)
OBJECTIVE = _card(
    "objective-perturbation",
    "minimisers of objectives with exponential-norm noise in the linear term",
    "Chaudhuri, Monteleoni & Sarwate 2011; dpaudit.accounting.pairs.exponential_norm",
    "Objective",
    "noise_rate",
    event="objective_event",
    more_noise=-1,
    relation="replace-record",
)
APPROXIMATE = _card(
    "approximate",
    "anything (epsilon, delta)-DP; randomised response attains it",
    "Kairouz, Oh & Viswanath 2015",
    "Approximate",
    "epsilon",
    event="approximate_event",
    more_noise=-1,
)
ZERO_CONCENTRATED = _card(
    "zero-concentrated",
    "anything rho-zero-concentrated DP",
    "Bun & Steinke 2016",
    "ZeroConcentrated",
    "rho",
    event="zero_concentrated_event",
    more_noise=-1,
)
SUBSAMPLED = _card(
    "subsampled-gaussian",
    "Gaussian noise on sums over a Poisson sample, as in DP-SGD",
    "Zhu, Dong & Wang 2022, Theorem 11",
    "Subsampled",
    "noise_multiplier",
    event="subsampled_event",
    relation="add-remove-record",
)

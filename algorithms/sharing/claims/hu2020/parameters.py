"""The public parameters of the audits of Hu et al.'s claims."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class _Factor(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    factor: float = Field(1.0, gt=0, description="the claimed bound is multiplied by this")


class Parameters(_Factor):
    """Public parameters of one update of ADMM sharing, and the budget of the search."""

    features: int = Field(16, ge=1, description="d_m")
    samples: int | None = Field(None, ge=1, description="N (by default 2 d_m)")
    penalty: float = Field(10.0, gt=0, description="rho")
    regulariser_weight: float = Field(1e-3, gt=0, description="lambda")
    bound: float = Field(1.0, gt=0, description="b_1, of every norm")
    parties: int = Field(1, ge=1, description="M")
    budget: int = Field(8_000, ge=100, description="evaluated instances, unless --trials is given")


class Theorem1Parameters(Parameters):
    """Public parameters of one private message."""

    features: int = Field(32, ge=1, description="d_m")
    variant: Literal["message", "parameter", "whitened"] = Field(
        "message", description="where the noise goes: on D x, on x, or on x as (D'D)^-1 shapes it"
    )
    sensitivity: Literal["published", "corrected"] = Field(
        "published", description="what scales the noise: Lemma 1, or a bound with a proof"
    )
    budget: int = Field(8_000, ge=100, description="instances that the search evaluates")


class Assumption1Parameters(_Factor):
    """Public parameters of runs of ADMM sharing whose norms are measured."""

    noise: Literal["parameter", "whitened", "message", "none"] = Field(
        "parameter", description="where the noise goes: on x, on x as (D'D)^-1 shapes it, or on D x"
    )
    bound: float = Field(1.0, gt=0, description="b_1, of every norm")
    parties: int = Field(2, ge=1, description="M; the features are dealt out evenly, in order")
    iterations: int = Field(20, ge=1, description="T")
    penalty: float = Field(1.0, gt=0, description="rho")
    regulariser_weight: float = Field(1e-3, gt=0, description="lambda")
    scaling: Literal["mean", "sum"] = Field("sum", description="of the loss over samples")
    records: int | None = Field(None, ge=2, description="use a random part of the data")
    runs: int = Field(100, ge=100, description="noisy runs, unless --trials is given")


class Corollary1Parameters(_Factor):
    """The compositions that are searched, up to the epsilon and the delta of the settings."""

    iterations: int = Field(1_000, ge=1, le=10_000, description="the largest T")
    least_slack: float = Field(1e-12, gt=0, lt=1, description="the smallest delta'")
    least_epsilon: float = Field(1e-3, gt=0, description="the smallest epsilon of an iteration")
    budget: int = Field(2_000, ge=100, description="evaluated compositions")

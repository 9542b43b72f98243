"""The public parameters of the audits of the claims on joined tables."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class LabelParameters(BaseModel):
    """How labels are written and how much noise they get."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    encoding: Literal["one-hot", "sign", "unit-l1"] = Field(
        "one-hot", description="how labels are written; unit-l1: any vector of L1 norm up to 1"
    )
    classes: int = Field(3, ge=2, le=100, description="d_c; a sign has two classes, one coordinate")
    noise: float = Field(1.0, ge=1, description="the published deviation is multiplied by this")
    budget: int = Field(4_000, ge=100, description="evaluated outputs, unless --trials is given")
    factor: float = Field(1.0, gt=0, description="the claimed bound is multiplied by this")


class FeatureParameters(BaseModel):
    """A run of the private algorithm, who looks at it, and the theorem's constants."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    view: Literal["server", "model"] = Field(
        "server", description="who looks: the server at predictions, or anybody at all models"
    )
    joined: int = Field(
        0,
        ge=0,
        multiple_of=2,
        description="model view: tuples of another client that the replaced one is joined with",
    )
    iterations: int = Field(2, ge=1, description="T, rounds of server and clients")
    local_steps: int = Field(1, ge=1, description="tau', steps of a client in a round")
    sampling_ratio: float = Field(1.0, gt=0, le=1, description="r, share of tuples in a batch")
    first_constant: float = Field(1.0, gt=0, description="c_1, which the theorem does not give")
    second_constant: float = Field(4.0, gt=0, description="c_2, which the theorem does not give")
    tuple_norm: float = Field(1.0, gt=0, description="largest norm of a tuple")
    clip_norm: float = Field(1e-3, gt=0, description="C")
    penalty: float = Field(1.0, gt=0, description="rho")
    regulariser_weight: float = Field(1e-9, gt=0, description="beta")
    learning_rate: float | None = Field(
        None,
        gt=0,
        description="of a client; by default small for one client, so that all steps are clipped, "
        "and large across clients, so that predictions vary",
    )
    tuples: int = Field(4, ge=2, description="server view: n_i, more than the columns")
    features: int = Field(2, ge=1, description="server view: d_i")
    budget: int = Field(2_000, ge=100, description="server view: evaluated pairs, unless --trials")
    factor: float = Field(1.0, gt=0, description="the claimed epsilon is multiplied by this")

    @property
    def steps(self) -> int:
        """All local steps of a client, ``tau``."""
        return self.iterations * self.local_steps

"""The public parameters of the audits of Huang & Gong's claims."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from dpaudit.algorithms.problems.losses import LOSSES


class Parameters(BaseModel):
    """Public parameters of the audited run; the defaults make a small, quick deployment."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    nodes: int = Field(5, ge=1, description="nodes of the graph")
    graph: Literal["complete", "ring", "star", "random"] = Field(
        "complete", description="its shape, unless edges are given"
    )
    edges: tuple[tuple[int, int], ...] | None = Field(None, description="pairs of nodes")
    split: Literal["even", "uneven"] = Field("even", description="records over nodes")
    records: int | None = Field(None, ge=2, description="use a random part of the data")
    iterations: int = Field(10, ge=1, description="t")
    inner_steps: int = Field(5, ge=1, description="l")
    penalty: float = Field(0.1, gt=0, description="rho")
    loss: str | None = Field(None, description="; ".join(LOSSES) + " (by default the claim's)")
    regulariser_weight: float = Field(1e-4, ge=0, description="lambda")
    step_size: float | None = Field(None, gt=0, description="constant eta instead of eq. (23)")
    diameter: float = Field(10.0, gt=0, description="D of eq. (23)")
    batch_size: int | None = Field(None, ge=1, description="stochastic variant")
    c0: float = Field(1.0, gt=0, description="the constant of Theorem 6")
    c0_of_proof: bool = Field(
        False, description="c_0 = sqrt(ln(1/delta) / ln(1.25/delta)), from the proof of Theorem 4"
    )
    view: Literal["inner", "broadcast"] = Field("inner", description="what the observer sees")
    factor: float = Field(1.0, gt=0, description="the claimed bound is multiplied by this")


class Composition(BaseModel):
    """Public parameters of the audits of Theorem 4; epsilon and delta of one algorithm are given.

    ``gaussian`` narrows the class to Gaussian mechanisms with the noise of eq. (20) for t = 1.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    count: int = Field(10, ge=1, le=10_000, description="t, algorithms that are composed")
    c0: float = Field(1.0, gt=0, description="the constant of the theorem")
    c0_of_proof: bool = Field(
        False, description="c_0 = sqrt(ln(1/delta) / ln(1.25/delta)), as its proof has it"
    )
    algorithms: Literal["all", "gaussian"] = Field("all", description="which are composed")
    factor: float = Field(1.0, gt=0, description="the claimed delta is multiplied by this")


class Utility(BaseModel):
    """Public parameters of the audits of Theorem 7: a star whose centre holds all the loss."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    nodes: int = Field(100, ge=1, le=100_000, description="n: a centre and its leaves")
    iterations: int = Field(100, ge=1, le=400, description="t")
    inner_steps: int = Field(1, ge=1, le=100, description="l")
    records: int = Field(10**8, ge=1, description="m, records of every node")
    lipschitz: Literal["sum", "node"] = Field(
        "sum",
        description="c_2 is of the sum of all L_i, or n times that of the steepest L_i",
    )
    factor: float = Field(1.0, gt=0, description="the claimed bound is multiplied by this")


class Broadcast(Parameters):
    """Public parameters of the audits of what is broadcast: always that view."""

    view: Literal["broadcast"] = Field("broadcast", description="what the observer sees")

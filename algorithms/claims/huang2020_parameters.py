"""The public parameters of the audits of Huang & Gong's claims."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from algorithms.losses import LOSSES


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
    view: Literal["inner", "broadcast"] = Field("inner", description="what the observer sees")

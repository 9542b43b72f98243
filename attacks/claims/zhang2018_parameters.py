"""The public parameters of the audits of what zhang2018 says about attackers."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Parameters(BaseModel):
    """Public parameters of the runs that are attacked, and what counts as found."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    nodes: int = Field(5, ge=2, description="N, all neighbours of each other")
    records: int = Field(50, ge=2, description="B, of every node")
    dimension: int = Field(10, ge=3, description="d")
    iterations: int = Field(200, ge=2, description="T")
    noise: bool = Field(True, description="whether there is noise; without it: M-ADMM")
    noise_rate: float = Field(30.0, gt=0, description="alpha, of every node and iteration")
    loss_weight: float = Field(50.0, gt=0, description="C, at most B in the paper")
    regulariser_weight: float = Field(1e-2, ge=0, description="rho")
    dual_step: float = Field(0.5, gt=0, description="theta")
    spread: float = Field(1.4, ge=1, description="eta_i(1) / theta is uniform from 1 to this")
    growth: float = Field(1.005, ge=1, description="eta_i(t+1) / eta_i(t) is uniform from 1 to it")
    norm: float = Field(1.0, gt=0, le=1, description="of the missing record")
    participates: bool = Field(True, description="False: a control whose runs do not use it")
    runs: int = Field(20, ge=1, description="independent runs, unless --trials is given")
    cosine: float = Field(0.6, gt=0, lt=1, description="c: a larger one counts as found")
    factor: float = Field(1.0, gt=0, description="the claimed bound is multiplied by this")

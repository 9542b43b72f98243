"""The public parameters of the audits of Hu et al.'s claims."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Parameters(BaseModel):
    """Public parameters of one update of ADMM sharing, and the budget of the search."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    features: int = Field(16, ge=1, description="d_m")
    samples: int | None = Field(None, ge=1, description="N (by default 2 d_m)")
    penalty: float = Field(10.0, gt=0, description="rho")
    regulariser_weight: float = Field(1e-3, gt=0, description="lambda")
    bound: float = Field(1.0, gt=0, description="b_1, of every norm")
    parties: int = Field(1, ge=1, description="M")
    budget: int = Field(8_000, ge=100, description="evaluated instances, unless --trials is given")

"""The parameters of the audits of zhang2018's theorems."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Penalties = Literal["shared", "own"]


class _Parameters(BaseModel):
    """What the audits share."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    factor: float = Field(1.0, gt=0, description="the claimed bound is multiplied by this")


class Theorem31Parameters(_Parameters):
    """Which part of Theorem 3.1 is audited, on which networks, and the budget.

    With ``part = "inequality"`` the claimed bound is 0; the factor less 1, times the distance at
    the start, is added to it.
    """

    part: Literal["growing", "bounded", "inequality"] = Field(
        "growing",
        description="penalties that grow geometrically; that settle; or inequality (19)",
    )
    nodes: int = Field(3, ge=2, le=12, description="N")
    penalties: Penalties = Field(
        "own", description="one for all nodes, or one each; for bounded and inequality"
    )
    dual_step: float = Field(0.5, ge=0.5, le=1e3, description="theta")
    loss: Literal["linear", "logistic"] = Field("logistic", description="for growing penalties")
    ridge: float = Field(1.0, gt=0, description="rho / N; for growing penalties")
    iterations: int = Field(120, ge=1, le=4000, description="T; for growing penalties")
    first: tuple[float, ...] | None = Field(
        None, description="eta_i(1) of every node (by default searched); for growing penalties"
    )
    growth: tuple[float, ...] | None = Field(
        None, description="eta_i(t+1) / eta_i(t) (by default searched); for growing penalties"
    )
    tolerance: float = Field(
        0.01,
        gt=0,
        description="share of the distance at the start that may be left; for growing penalties",
    )
    budget: int = Field(1_000, ge=100, description="evaluated runs, unless --trials is given")


class Theorem32Parameters(_Parameters):
    """Which rate and which penalties are audited, on which networks, and the budget."""

    nodes: int = Field(3, ge=2, le=12, description="N")
    penalties: Penalties = Field("shared", description="one for all nodes, or one each")
    rate: Literal["printed", "proved"] = Field(
        "printed", description="delta(t) of eq. (23), or with 2 m_o for 2 m_o + 2 sigma_min"
    )
    dual_step: float = Field(0.5, gt=0, description="theta")
    budget: int = Field(4_000, ge=100, description="evaluated steps, unless --trials is given")


class Theorem41Parameters(_Parameters):
    """Public parameters of penalty perturbation, of the search's datasets, and the budget."""

    nodes: int = Field(2, ge=2, le=30, description="N, a complete graph")
    records: int = Field(2, ge=1, le=200, description="B_i")
    dimension: int = Field(2, ge=1, le=50, description="d")
    iterations: int = Field(3, ge=1, le=50, description="T")
    penalty: float = Field(0.5, gt=0, description="eta_i(1)")
    growth: float = Field(1.1, ge=1, description="eta_i(t+1) / eta_i(t)")
    dual_step: float = Field(0.5, gt=0, description="theta")
    noise_rate: float = Field(3.0, gt=0, description="alpha_i(1)")
    noise_growth: float = Field(1.0, gt=0, description="alpha_i(t+1) / alpha_i(t)")
    loss_weight: float = Field(1.0, gt=0, description="C")
    regulariser_weight: float = Field(1e-2, gt=0, description="rho")
    start: Literal["any", "zero"] = Field("any", description="f(0): any output, or 0")
    budget: int = Field(12_000, ge=100, description="evaluated outputs, unless --trials is given")


class BroadcastsParameters(_Parameters):
    """Public parameters of penalty perturbation as a whole, and of its data."""

    nodes: int = Field(5, ge=2, le=30, description="N")
    graph: Literal["complete", "ring", "star", "random"] = Field("complete", description="shape")
    records: int = Field(100, ge=1, description="B_i, records of every node, drawn from the data")
    dimension: int = Field(20, ge=2, description="d, features of the worst case's records")
    iterations: int = Field(50, ge=1, description="T")
    penalty: float = Field(0.5, gt=0, description="eta_i(1)")
    growth: float = Field(1.0, gt=0, description="eta_i(t+1) / eta_i(t)")
    dual_step: float = Field(0.5, gt=0, description="theta")
    noise_rate: float = Field(60.0, gt=0, description="alpha_i(1): the larger, the less noise")
    noise_growth: float = Field(1.0, gt=0, description="alpha_i(t+1) / alpha_i(t)")
    loss_weight: float = Field(1.0, gt=0, description="C")
    regulariser_weight: float = Field(1.0, gt=0, description="rho")

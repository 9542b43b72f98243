"""The public parameters of what can be accounted for by name; defaults are a paper's setting."""

from __future__ import annotations

import math
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from dpaudit.algorithms.problems.smooth_losses import SMOOTH_LOSSES


class _Parameters(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Consensus(_Parameters):
    """Consensus ADMM as one node sees it; zhang2018, Figure 2, with Adult on five nodes."""

    dimension: int = Field(104, ge=1, description="d, features of a record")
    records: int = Field(9044, ge=1, description="B, records of the node")
    degree: int = Field(4, ge=1, description="V, neighbours of the node")
    nodes: int = Field(5, ge=2, description="N, nodes of the graph")
    iterations: int = Field(50, ge=1, description="T")
    dual_step: float = Field(0.5, gt=0, description="theta")
    noise_rate: float = Field(3.0, gt=0, description="alpha(1): the larger, the less noise")
    rate_ratio: float = Field(1.02, gt=0, description="q_2 of alpha(t) = alpha(1) q_2^(t-1)")
    loss_weight: float = Field(1750.0, gt=0, description="C, which the paper does not give")
    regulariser_weight: float = Field(1.0, ge=0, description="rho, which the paper does not give")
    loss: str = Field("logistic", description="; ".join(SMOOTH_LOSSES))


class PenaltyPerturbation(Consensus):
    """The same with a penalty that varies: PP, and the other variants where it is used."""

    penalty_ratio: float = Field(1.02, gt=0, description="q_1 of eta(t) = theta q_1^(t-1)")


class ConstantPenalty(PenaltyPerturbation):
    """The same with the penalty eta = theta by default, as in the papers on PVP and R-ADMM."""

    penalty_ratio: float = Field(1.0, gt=0, description="q_1 of eta(t) = theta q_1^(t-1)")


class MultiStep(_Parameters):
    """Multi-step DP-ADMM with full gradients, every inner model seen."""

    iterations: int = Field(100, ge=1, description="t")
    inner_steps: int = Field(10, ge=1, description="l")
    noise_multiplier: float = Field(150.0, gt=0, description="sigma, in multiples of Lemma 5's s")
    c0: float = Field(1.0, gt=0, description="the constant of Theorem 6")


class ServerADMM(_Parameters):
    """DP-ADMM of 2019."""

    iterations: int = Field(100, ge=1, description="T")
    noise_multiplier: float = Field(50.0, gt=0, description="sigma, in sensitivities")


class Messages(_Parameters):
    """ADMM sharing with noise on a party's messages; hu2020 on a9a."""

    iterations: int = Field(20, ge=1, description="T")
    noise_scale: float = Field(50.0, gt=0, description="sigma")
    sensitivity: float = Field(
        2.0, ge=0, description="of D_m x_m, such as 2 ||D|| b for models in a ball of radius b"
    )
    features: int = Field(66, ge=1, description="d_m, of Lemma 1")
    parties: int = Field(2, ge=1, description="M, of Lemma 1")
    penalty: float = Field(1.0, gt=0, description="rho, of Lemma 1")
    regulariser_weight: float = Field(1e-3, ge=0, description="lambda, of Lemma 1")
    regulariser_curvature: float = Field(1.0, ge=0, description="c_1, of Lemma 1")
    bound: float = Field(1.0, ge=0, description="b_1, of Lemma 1 and Assumption 1")


class Labels(_Parameters):
    """Noisy labels over joined tables."""

    deviation: float = Field(
        2 * math.sqrt(2), gt=0, description="lambda, standard deviation of a coordinate's noise"
    )
    encoding: Literal["one-hot", "sign"] = Field("one-hot", description="of the labels")


class Features(_Parameters):
    """Private steps over joined tables, all models seen."""

    iterations: int = Field(10, ge=1, description="T, rounds of server and clients")
    local_steps: int = Field(2, ge=1, description="tau', steps of a client in a round")
    noise_multiplier: float = Field(50.0, gt=0, description="sigma, in clipping norms")
    sampling_ratio: float = Field(1.0, gt=0, le=1, description="r; nothing is proved below 1")
    joined: tuple[int, ...] = Field(
        (1,), description="tuples of each other client joined with one tuple, at most"
    )
    c1: float = Field(1.0, gt=0, description="a constant of Theorem 2, which does not give it")
    c2: float = Field(1.0, gt=0, description="a constant of Theorem 2, which does not give it")

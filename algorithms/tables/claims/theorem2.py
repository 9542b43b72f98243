"""Privacy of the clients' features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from dpaudit.extension.claim import Claim
from dpaudit.extension.parameters import Parameters

if TYPE_CHECKING:
    from dpaudit.extension.case import Case
    from dpaudit.extension.settings import Settings


class FeatureParameters(Parameters):
    """A run of the private algorithm, who looks at it, and the theorem's constants."""

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


def prepare(settings: Settings, parameters: FeatureParameters) -> Case:
    """Return the audit in the view that the parameters name."""
    if parameters.view == "server":
        from dpaudit.algorithms.tables.claims.predictions import server_view

        return server_view(settings, parameters)
    from dpaudit.algorithms.tables.claims.models import model_view

    return model_view(settings, parameters)


CLAIM = Claim(
    name="tables-theorem2",
    title="Privacy of the clients' features",
    statement=(
        "There are c_1 and c_2 such that for epsilon <= c_1 r^2 tau, with per-tuple gradients "
        "clipped to C and noise N(0, C^2 sigma^2) with sigma >= c_2 r sqrt(tau ln(1/delta)) / "
        "epsilon in each of a client's tau steps on batches of ratio r, the algorithm is "
        "(epsilon, delta)-DP."
    ),
    source="TablePuppet, appendix C, Theorem 2",
    kind="privacy",
    relation="replace-tuple",
    assumptions={
        "bounded tuples": "tuples have at most the norm that is given (the theorem asks for none)",
        "bounded tuples of the neighbour": "so do those of the neighbour",
        "one tuple differs": "the tables differ in the features of one tuple",
        "published noise": "sigma is at least c_2 r sqrt(tau ln(1/delta)) / epsilon",
        "range of epsilon": "epsilon is at most c_1 r^2 tau",
    },
    prepare=prepare,
    parameters=FeatureParameters,
    published={
        "model": {"parameters": {"view": "model"}},
        "model across clients": {"parameters": {"view": "model", "joined": 40}},
        # At the end of the range of epsilon mu grows with tau: no c_1 and c_2 suit every tau.
        "model, many steps": {
            "epsilon": 200.0,
            "trials": 2_000,
            "parameters": {"view": "model", "iterations": 200},
        },
    },
)

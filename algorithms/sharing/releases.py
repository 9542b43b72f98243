"""The release of ADMM sharing to account for by name; defaults are the paper's setting.

Derivations and sources are in `dpaudit.algorithms.sharing.noise`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from dpaudit.extension.parameters import Parameters
from dpaudit.extension.release import FormulaGuarantee, ReleaseCard

if TYPE_CHECKING:
    from dpaudit.accounting.events import Event


class Messages(Parameters):
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


def make_message_release(given: Messages) -> Event:
    """Return the release of one party's messages."""
    from dpaudit.algorithms.sharing.noise import message_event

    return message_event(
        sensitivity=given.sensitivity, noise_scale=given.noise_scale, iterations=given.iterations
    )


def publish_corollary1_epsilon(given: Messages, delta: float) -> FormulaGuarantee:
    """Return Corollary 1 of hu2020, with the sensitivity of its Lemma 1."""
    from dpaudit.algorithms.sharing.noise import compute_published_sensitivity, corollary1_epsilon

    claimed = compute_published_sensitivity(
        features=given.features,
        parties=given.parties,
        penalty=given.penalty,
        regulariser_weight=given.regulariser_weight,
        regulariser_curvature=given.regulariser_curvature,
        bound=given.bound,
    )
    epsilon = corollary1_epsilon(
        sensitivity=claimed,
        noise_scale=given.noise_scale,
        iterations=given.iterations,
        delta=delta,
    )
    return FormulaGuarantee(
        epsilon=epsilon,
        delta=delta,
        source="Hu et al. 2020, Corollary 1 with Theorem 1 and Lemma 1; delta split in halves",
        note=f"rests on Lemma 1's sensitivity {claimed:.4g}, which is no bound",
    )


HU2020_MESSAGE = ReleaseCard(
    name="hu2020-message",
    title="ADMM sharing with noise on a party's messages, for a given sensitivity",
    source="derived in algorithms/sharing/noise.py; needs a true bound on the sensitivity",
    relation="replace-column",
    parameters=Messages,
    event=make_message_release,
    count="iterations",
    noise="noise_scale",
    published=publish_corollary1_epsilon,
)

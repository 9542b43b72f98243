"""The parameters of the audits of hu2019's lemmas."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from dpaudit.algorithms.sharing.claims.hu2019.search import Window

Loss = Literal["squared", "logistic", "smoothed-hinge", "sigmoid"]


class _Parameters(BaseModel):
    """What both audits share: the size of the problems and the searched iterations."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    features: int = Field(2, ge=1, description="d_m, of every party")
    samples: int = Field(4, ge=1, description="N")
    regulariser_weight: float = Field(0.01, ge=0, description="lambda")
    loss_weight: float = Field(1.0, gt=0, description="what the loss of a sample counts")
    iterations: int = Field(6, ge=1, le=50, description="the last audited iteration")
    factor: float = Field(1.0, gt=0, description="the claimed bound is multiplied by this")


class Lemma2Parameters(_Parameters):
    """Public parameters of the problems, which part of Lemma 2 is audited, and the budget."""

    parties: int | None = Field(None, ge=1, description="M (by default 1, 2 and 6)")
    penalty: float | None = Field(None, gt=0, description="rho (by default 2.5 and 20)")
    loss: Loss | None = Field(None, description="of a sample (by default every one)")
    part: Literal["dual-step", "identity"] = Field(
        "dual-step", description="||dy||^2 <= L^2 ||dz||^2, or grad l(z) = y"
    )
    start: Literal["any", "zero"] = Field("any", description="x, y and z before iteration 1")
    earliest: int = Field(2, ge=1, description="the first audited iteration")
    budget: int = Field(24_000, ge=100, description="evaluated runs, unless --trials is given")

    @property
    def window(self) -> Window:
        """Which iterations are audited, and from where."""
        return _window(self.earliest, self.iterations, self.start)


class Lemma4Parameters(_Parameters):
    """Public parameters of the problems, which version of Lemma 4 is audited, and the budget.

    With a factor it is the two terms by which the fall may be less that are multiplied.
    """

    parties: int = Field(6, ge=1, description="M")
    penalty: float = Field(10.0, gt=0, description="rho")
    loss: Loss = Field("squared", description="of a sample")
    version: Literal["published", "with-penalty", "corrected"] = Field(
        "published", description="sigma_max(D_m'D_m) as it is, times rho/2, or times (M - 1) rho/2"
    )
    start: Literal["any", "zero"] = Field("zero", description="x, y and z before iteration 1")
    earliest: int = Field(2, ge=2, description="the first audited iteration")
    budget: int = Field(16_000, ge=100, description="evaluated runs, unless --trials is given")

    @property
    def window(self) -> Window:
        """Which iterations are audited, and from where."""
        return _window(self.earliest, self.iterations, self.start)


def _window(earliest: int, latest: int, start: str) -> Window:
    return Window(earliest=earliest, latest=latest, any_start=start == "any")

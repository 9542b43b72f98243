"""The dual variable follows the slope of the loss."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Literal, get_args

from pydantic import Field

from dpaudit.extension.claim import Claim, Variant
from dpaudit.extension.parameters import Parameters

if TYPE_CHECKING:
    from dpaudit.algorithms.sharing.claims.hu2019.iterations import IterationSetting
    from dpaudit.algorithms.sharing.claims.hu2019.search import Window
    from dpaudit.extension.case import SearchCase
    from dpaudit.extension.settings import Settings

Loss = Literal["squared", "logistic", "smoothed-hinge", "sigmoid"]
_LOSSES: tuple[Loss, ...] = get_args(Loss)
_PARTIES = (1, 2, 6)
_PENALTIES = (2.5, 20.0)


class ProblemParameters(Parameters):
    """The size of the problems, and the searched iterations, which both lemmas share."""

    features: int = Field(2, ge=1, description="d_m, of every party")
    samples: int = Field(4, ge=1, description="N")
    regulariser_weight: float = Field(0.01, ge=0, description="lambda")
    loss_weight: float = Field(1.0, gt=0, description="what the loss of a sample counts")
    iterations: int = Field(6, ge=1, le=50, description="the last audited iteration")
    factor: float = Field(1.0, gt=0, description="the claimed bound is multiplied by this")

    def setting(self, parties: int, penalty: float, loss: Loss) -> IterationSetting:
        """Return the public parameters of the problems."""
        from dpaudit.algorithms.sharing.claims.hu2019.iterations import IterationSetting

        shared = self.model_dump(
            include={"features", "samples", "regulariser_weight", "loss_weight"}
        )
        return IterationSetting(parties=parties, penalty=penalty, loss=loss, **shared)

    def window(self, earliest: int, start: str) -> Window:
        """Return the audited iterations, and where they begin."""
        from dpaudit.algorithms.sharing.claims.hu2019.search import Window

        return Window(earliest=earliest, latest=self.iterations, any_start=start == "any")


class Lemma2Parameters(ProblemParameters):
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

    def grid(self) -> tuple[IterationSetting, ...]:
        """Return the settings that share the budget: penalties grow with L (Assumption 1.2c)."""
        losses = _LOSSES if self.loss is None else (self.loss,)
        parties = _PARTIES if self.parties is None else (self.parties,)
        # Assumption 1.2c asks for rho of at least L, which grows with the weight of the loss.
        weighted = tuple(max(1.0, self.loss_weight) * penalty for penalty in _PENALTIES)
        penalties = weighted if self.penalty is None else (self.penalty,)
        every = product(losses, parties, penalties)
        return tuple(self.setting(m, rho, loss) for loss, m, rho in every)


def prepare_lemma2_search(settings: Settings, parameters: Lemma2Parameters) -> SearchCase:
    """Return the audit: every loss, several numbers of parties and penalties.

    Examples
    --------
    >>> import numpy as np
    >>> from dpaudit.extension.settings import Settings
    >>> case = prepare_lemma2_search(Settings(), Lemma2Parameters(loss="logistic", parties=2))
    >>> attained = case.attain(200, np.random.default_rng(0))
    >>> 0.9 < attained.ratio <= 1 + 1e-9
    True
    >>> case.proved[0] <= case.bound
    True
    """
    from functools import partial

    from dpaudit.algorithms.problems.records import refuse_data
    from dpaudit.algorithms.sharing.claims.hu2019 import dual_step
    from dpaudit.algorithms.sharing.claims.hu2019.search import search_case

    refuse_data(settings)
    factor, own = parameters.factor, parameters.part == "identity"
    measure = (
        dual_step.compute_dual_identity_sides
        if own
        else partial(dual_step.dual_step, factor=factor)
    )
    # Of the second part the proof needs an iteration that made y^t.
    is_proved = own or parameters.earliest > 1
    return search_case(
        dual_step.make_lemma2_inequality(CLAIM, measure, factor),
        measure,
        parameters.grid(),
        parameters.window(parameters.earliest, parameters.start),
        seed=settings.seed,
        short=partial(dual_step.step_words, factor),
        parameters=parameters.model_dump(mode="json"),
        budget=parameters.budget,
        quantity="norm of grad l(z) - y" if own else "||dy||^2 over L^2 ||dz||^2",
        bound=0.0 if own else factor,
        proved=(0.0 if own else 1.0, dual_step.PROOF) if is_proved else None,
        is_ratio=not own,
        notes=(_LATER if parameters.earliest > 1 else _FIRST,),
    )


_LATER = (
    "The second part needs y to be a slope already, so it is proved and audited from the second "
    "iteration on; the variant first-iteration shows that it fails in the first."
)
_FIRST = "In the first iteration y is the start's, which need not be the slope at the start's z."

PAPER = "Hu et al., Learning Privately over Distributed Features, arXiv 2019"
ASSUMPTION_1 = {
    "full column rank": "every D_m is of full column rank (1.1)",
    "strongly convex parties": "gamma_m(rho) is at least 2 sigma_max(D_m'D_m) for every m (1.2b)",
    "penalty above smoothness": "rho is at least L (1.2c)",
    "penalty against smoothness": "rho gamma(rho) is above 2 L^2 (1.2c)",
    "signed labels": "labels are -1 or +1",
    "bounded below": "the objective has a lower bound (1.3)",
    "regulariser": "R_m is convex, or smooth (1.4)",
}

CLAIM = Claim(
    name="hu2019-lemma2",
    title="The dual variable follows the slope of the loss",
    statement=(
        "Under Assumption 1, grad l(z^{t+1}) = y^{t+1} and "
        "||y^{t+1} - y^t||^2 <= L^2 ||z^{t+1} - z^t||^2."
    ),
    source=f"{PAPER}, supplement, Lemma 2",
    kind="property",
    relation="none",
    assumptions=ASSUMPTION_1,
    prepare=prepare_lemma2_search,
    parameters=Lemma2Parameters,
    scope="Proved from the second iteration on (t = 1), where y and z come from an update before.",
    published={
        "identity": Variant(
            settings={"parameters": {"part": "identity"}},
            scope="Proved of every iteration; what is measured of the equation is rounding.",
            printed=True,
        ),
        "first-iteration": Variant(
            settings={
                "parameters": {
                    "earliest": 1,
                    "iterations": 1,
                    "start": "zero",
                    "loss": "squared",
                    "penalty": 10.0,
                }
            },
            scope="It does not fall if the lemma speaks of iterates only: its proof uses the "
            "update that made y^t, and a start is made by none.",
        ),
    },
)

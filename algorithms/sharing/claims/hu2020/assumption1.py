"""Iterates and duals stay bounded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from dpaudit.extension.claim import Claim, Variant
from dpaudit.extension.parameters import Parameters

if TYPE_CHECKING:
    from dpaudit.algorithms.sharing.algorithm import SharingADMM
    from dpaudit.datasets import Dataset
    from dpaudit.extension.case import SearchCase
    from dpaudit.extension.settings import Settings


class Assumption1Parameters(Parameters):
    """Public parameters of runs of ADMM sharing whose norms are measured."""

    factor: float = Field(1.0, gt=0, description="the claimed bound is multiplied by this")
    noise: Literal["parameter", "whitened", "message", "none"] = Field(
        "parameter", description="where the noise goes: on x, on x as (D'D)^-1 shapes it, or on D x"
    )
    bound: float = Field(1.0, gt=0, description="b_1, of every norm")
    parties: int = Field(2, ge=1, description="M; the features are dealt out evenly, in order")
    iterations: int = Field(20, ge=1, description="T")
    penalty: float = Field(1.0, gt=0, description="rho")
    regulariser_weight: float = Field(1e-3, gt=0, description="lambda")
    scaling: Literal["mean", "sum"] = Field("sum", description="of the loss over samples")
    records: int | None = Field(None, ge=2, description="use a random part of the data")
    runs: int = Field(100, ge=100, description="noisy runs, unless --trials is given")

    def algorithm(self, settings: Settings, data: Dataset) -> SharingADMM:
        """Return the algorithm with Theorem 1's noise."""
        from dpaudit.algorithms.sharing.algorithm import SharingADMM
        from dpaudit.algorithms.sharing.claims.hu2020.norms import even_blocks, make_published_noise
        from dpaudit.algorithms.sharing.vertical import Risk

        blocks = even_blocks(data, self.parties)
        return SharingADMM(
            block_sizes=blocks,
            iterations=self.iterations,
            penalty=self.penalty,
            noise=make_published_noise(
                self.noise,
                settings,
                blocks=blocks,
                penalty=self.penalty,
                regulariser_weight=self.regulariser_weight,
                bound=self.bound,
            ),
            risk=Risk(scaling=self.scaling, regulariser_weight=self.regulariser_weight),
        )

    def stated(self, settings: Settings) -> dict[str, Any]:
        """Return the parameters that a certificate states, as its verifier reads them."""
        names = ("noise", "bound", "factor", "penalty", "regulariser_weight", "scaling", "parties")
        own = {name: getattr(self, name) for name in names}
        return own | {"epsilon": settings.epsilon, "delta": settings.delta}


def prepare_assumption1_search(settings: Settings, parameters: Assumption1Parameters) -> SearchCase:
    """Return the audit: the largest norm over runs, on the settings' data.

    Where the settings name no data, the records are those that come with scikit-learn.

    Examples
    --------
    >>> from numpy.random import default_rng
    >>> from dpaudit.extension.settings import Settings
    >>> case = prepare_assumption1_search(Settings(), Assumption1Parameters(noise="none"))
    >>> case.bound, case.attain(1, default_rng(0)).value > 1
    (1.0, True)
    """
    import dpaudit._check as check
    from dpaudit.algorithms.sharing.claims.hu2020 import norms
    from dpaudit.extension.case import SearchCase
    from dpaudit.refutation import searched

    check.require_positive("epsilon", settings.epsilon)
    check.require_probability("delta", settings.delta)
    data = norms.unit_records(settings, parameters.parties, parameters.records)
    algorithm = parameters.algorithm(settings, data)
    bound = parameters.factor * parameters.bound
    claim = norms.make_norm_inequality(CLAIM, algorithm, data, parameters.stated(settings))
    return SearchCase(
        bound=bound,
        attain=lambda trials, rng: searched(
            claim,
            lambda runs, draws: norms.measure_variable_norms(algorithm, data, runs, bound, draws),
            trials,
            rng,
            seed=settings.seed,
        ),
        view=f"x, x~, y and z of {parameters.iterations} iterations; noise: {parameters.noise}",
        data=f"{data.name}: {len(data.labels)} records, {data.dimension} features dealt to "
        f"{parameters.parties} parties; every party's rows divided by their norms",
        relation=CLAIM.relation,
        pair="none: the assumption is about single runs",
        default_trials=parameters.runs,
        parameters=parameters.model_dump(mode="json")
        | {"block_sizes": list(algorithm.block_sizes), "noise_scale": algorithm.noise.scale},
        quantity="norm of a variable",
        effort="runs",
        assumptions=(norms.unit_rows(data, algorithm),),
        notes=(norms.noise_note(algorithm, data, bound),),
    )


CLAIM = Claim(
    name="hu2020-assumption1",
    title="Iterates and duals stay bounded",
    statement=(
        "Throughout a run the norms of the models x_m, as solved and as sent, of the dual variable "
        "y and of z are at most b_1."
    ),
    source="Hu et al., ADMM sharing over vertically split features, NeurIPS 2020, Assumption 1.1",
    kind="property",
    relation="replace-column",
    assumptions={"unit rows": "every row of every D_m has norm 1 (Assumption 1.3)"},
    prepare=prepare_assumption1_search,
    parameters=Assumption1Parameters,
    scope="With noise no b_1 is safe, as it is Gaussian; for one run a larger b_1 would be true.",
    published={
        "noise on the message": Variant(
            settings={"parameters": {"noise": "message"}},
            scope="With noise no b_1 is safe, as it is Gaussian; for one run a larger b_1 would be "
            "true.",
            printed=True,
        ),
        "without noise": Variant(
            settings={"parameters": {"noise": "none", "iterations": 100}},
            scope="It does not fall if b_1 may be chosen after the run: without noise, on these "
            "records, some bound is true.",
        ),
        "whitened noise": Variant(
            settings={"parameters": {"noise": "whitened"}},
            scope="Of the noise of the earlier version of the paper, eq. (10).",
        ),
    },
)

"""Sensitivity of a party's message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from dpaudit.extension.claim import Claim, Variant
from dpaudit.extension.parameters import Parameters

if TYPE_CHECKING:
    from dpaudit.algorithms.sharing.claims.hu2020.update import UpdateSetting
    from dpaudit.extension.case import SearchCase
    from dpaudit.extension.settings import Settings


class UpdateParameters(Parameters):
    """Public parameters of one update of ADMM sharing, and the budget of the search."""

    factor: float = Field(1.0, gt=0, description="the claimed bound is multiplied by this")
    features: int = Field(16, ge=1, description="d_m")
    samples: int | None = Field(None, ge=1, description="N (by default 2 d_m)")
    penalty: float = Field(10.0, gt=0, description="rho")
    regulariser_weight: float = Field(1e-3, gt=0, description="lambda")
    bound: float = Field(1.0, gt=0, description="b_1, of every norm")
    parties: int = Field(1, ge=1, description="M")
    budget: int = Field(8_000, ge=100, description="evaluated instances, unless --trials is given")

    def setting(self) -> UpdateSetting:
        """Return the update itself; N is twice d_m unless given."""
        from dpaudit.algorithms.sharing.claims.hu2020.update import UpdateSetting

        return UpdateSetting(
            features=self.features,
            samples=self.samples or 2 * self.features,
            penalty=self.penalty,
            regulariser_weight=self.regulariser_weight,
            bound=self.bound,
            parties=self.parties,
        )


def prepare_hu2020_lemma1(settings: Settings, parameters: UpdateParameters) -> SearchCase:
    """Return the audit: a search over designs, neighbours and states.

    Examples
    --------
    >>> from dpaudit.extension.settings import Settings
    >>> case = prepare_hu2020_lemma1(Settings(), UpdateParameters(features=8))
    >>> round(case.bound, 4), case.proved[0]
    (0.4125, 1.1)
    """
    return update_case(CLAIM, settings, parameters)


def update_case(
    claim: Claim, settings: Settings, parameters: UpdateParameters, *, convex: bool = False
) -> SearchCase:
    """Return the audit of hu2020's Lemma 1, or of hu2019's with its convex subproblems."""
    from dataclasses import asdict
    from functools import partial

    from dpaudit.algorithms.problems.records import refuse_data
    from dpaudit.algorithms.sharing.claims.hu2020.search import find_worst_update, smallest_instance
    from dpaudit.algorithms.sharing.claims.hu2020.update import (
        condition_names,
        make_lemma1_sensitivity,
    )
    from dpaudit.extension.case import AssumptionOutcome, SearchCase
    from dpaudit.refutation import searched

    refuse_data(settings)
    setting, seed = parameters.setting(), settings.seed
    lemma = make_lemma1_sensitivity(setting, parameters.factor, claim, convex=convex)
    # The smallest instance is looked for without the condition on convexity, which it would have to
    # meet.
    small = None if convex else lambda _: smallest_instance(setting.bound, parameters.factor, seed)
    return SearchCase(
        bound=lemma.claimed,
        attain=lambda trials, rng: searched(
            lemma,
            partial(find_worst_update, setting, lemma, convex=convex),
            trials,
            rng,
            seed=seed,
            smallest=small,
        ),
        view="one update (6) of one party, given y, z and the other parties' models",
        data="designs with unit rows, drawn and improved by the search",
        relation=lemma.relation,
        pair="found by the search: the signs of some entries of one column are flipped",
        default_trials=parameters.budget,
        parameters=parameters.model_dump(mode="json") | asdict(setting),
        assumptions=tuple(
            AssumptionOutcome(name=name, holds=True, evidence=_format_checked_assumption(name))
            for name in condition_names(setting, convex=convex)
        ),
        proved=(lemma.proved, lemma.proof),
        notes=("R is half the squared norm, without a constraint: c_1 = 1.",),
    )


_UNIT_ROWS = ("unit rows", "unit rows of the neighbour", "unit rows of the others")


def _format_checked_assumption(name: str) -> str:
    rounding = " (up to 1e-12)" if name in _UNIT_ROWS else ""
    return f"checked on the instance found; its number is in the notes{rounding}"


ASSUMPTIONS = {
    "unit rows": "every row of D_m has norm 1",
    "unit rows of the neighbour": "every row of D_m' has norm 1",
    "one column differs": "D_m and D_m' differ in one column",
    "close neighbours": "||D_m - D_m'||_F is at most 1",
    "unit rows of the others": "every row of every other D_k has norm 1",
    "bounded model": "||x_m|| is at most b_1",
    "bounded model of the neighbour": "||x_m|| on D_m' is at most b_1",
    "bounded models of the others": "||x~_k|| is at most b_1 for every other party",
    "bounded dual": "||y|| is at most b_1",
    "bounded prediction": "||z|| is at most b_1",
}

SEPARATED = {
    "unit rows": "every row of D_m has norm 1",
    "unit rows of the neighbour": "every row of D_m' has norm 1",
    "one column differs": "D_m and D_m' differ in one column",
    "close neighbours": "||D_m - D_m'||_F is at most 1",
    "close neighbours entry by entry": "the distances of all entries sum to at most 1",
    "independent columns": "D_m'D_m can be inverted, on both datasets",
}

_SCOPE = (
    "It would stand with (1/rho + 1 + (M - 1) sqrt(N)) b_1 for the bound, where R_m is convex and "
    "least at 0, as here."
)

CLAIM = Claim(
    name="hu2020-lemma1",
    title="Sensitivity of a party's message",
    statement=(
        "Replacing one feature column moves D_m x_m of eq. (6) by at most "
        "3 / (d_m rho) [lambda c_1 + (1 + M rho) b_1] in L2 norm."
    ),
    source="Hu et al., ADMM sharing over vertically split features, NeurIPS 2020, Lemma 1",
    kind="sensitivity",
    relation="replace-column",
    assumptions=ASSUMPTIONS,
    prepare=prepare_hu2020_lemma1,
    parameters=UpdateParameters,
    scope=_SCOPE,
    published={
        "8 features": Variant(settings={"parameters": {"features": 8}}, scope=_SCOPE, printed=True),
        "32 features": Variant(
            settings={"parameters": {"features": 32}}, scope=_SCOPE, printed=True
        ),
        "2 parties": Variant(settings={"parameters": {"parties": 2}}, scope=_SCOPE, printed=True),
        "4 parties": Variant(settings={"parameters": {"parties": 4}}, scope=_SCOPE, printed=True),
    },
)

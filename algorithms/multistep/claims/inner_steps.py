r"""Whether more inner steps are more accurate.

Section 4.2: "When we set a larger l in our proposed algorithm, our approach can achieves better
accuracy." What falls with l is the bound of eq. (24), and only its first term without privacy. The
error itself does not: the loss and the graph decide whether the average of more inner steps is
nearer to the target. Read is: with the same loss, penalty, epsilon and delta, eta and sigma by
their formulas, the expected excess risk with more inner steps is at most that with fewer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from dpaudit.algorithms.multistep.claims.theorem7 import make_checked_assumptions, star_of
from dpaudit.extension.claim import Claim, Variant
from dpaudit.extension.parameters import Parameters

if TYPE_CHECKING:
    from dpaudit.extension.case import SearchCase
    from dpaudit.extension.settings import Settings


class InnerSteps(Parameters):
    """Public parameters: a star whose centre holds all the loss."""

    nodes: int = Field(10, ge=1, le=100_000, description="n: a centre and its leaves")
    iterations: int = Field(20, ge=1, le=400, description="t")
    inner_steps: int = Field(5, ge=1, le=100, description="l")
    fewer_steps: int = Field(1, ge=1, le=100, description="another l, below it")
    records: int = Field(10**8, ge=1, description="m, records of every node")
    lipschitz: Literal["sum", "node"] = Field("sum", description="whose c_2: as in theorem7")
    factor: float = Field(1.0, gt=0, description="the claimed bound is multiplied by this")


def prepare_inner_steps_search(settings: Settings, parameters: InnerSteps) -> SearchCase:
    """Return the audit on a star.

    Raises
    ------
    InvalidArgument
        The fewer steps are not fewer.

    Examples
    --------
    >>> from dpaudit.extension.settings import Settings
    >>> prepare_inner_steps_search(Settings(), InnerSteps()).quantity
    'expected excess risk with more inner steps'
    """
    from dataclasses import asdict
    from functools import partial

    from dpaudit.algorithms.multistep.claims.discussion import search_larger_risk
    from dpaudit.errors import InvalidArgument
    from dpaudit.extension.case import SearchCase

    star, few = star_of(settings, parameters), parameters.fewer_steps
    if few >= parameters.inner_steps:
        raise InvalidArgument("fewer_steps", few, f"below inner_steps = {parameters.inner_steps}")
    return SearchCase(
        bound=parameters.factor,
        attain=partial(search_larger_risk, CLAIM, star, few, parameters.factor, seed=settings.seed),
        view="the models that eq. (22) averages, with either number of inner steps",
        data="records of norm 1 at the centre of a star, and of norm 0 at its leaves",
        relation=CLAIM.relation,
        pair="none: the claim is about one dataset",
        default_trials=4_000,
        parameters=parameters.model_dump(mode="json") | asdict(star),
        quantity="expected excess risk with more inner steps",
        effort="evaluated losses and penalties",
        assumptions=make_checked_assumptions(CLAIM),
        notes=(
            "Of more steps a certain lower bound is compared, of fewer a certain upper one; the "
            "bound shown is theirs.",
        ),
    )


_RUN = {
    "Lipschitz objective": "the sum L of all L_i is c_2-Lipschitz, each loss c_1-Lipschitz",
    "bounded models": "all iterates, with their noise, and w* lie in a set of diameter D",
    "clear of kinks": "noise within the bounded sets changes no gradient",
    "noise stays inside": "runs leave the bounded sets with a negligible probability",
}

CLAIM = Claim(
    name="huang2020-inner-steps",
    title="More inner steps are more accurate",
    statement=(
        "When we set a larger l in our proposed algorithm, our approach can achieve better "
        "accuracy: the expected excess risk of the models of eq. (22) is no larger."
    ),
    source="Huang & Gong, multi-step DP-ADMM, section 4.2",
    kind="property",
    relation="none",
    assumptions=_RUN
    | {
        f"{name}, fewer steps": words
        for name, words in _RUN.items()
        if name != "Lipschitz objective"
    },
    prepare=prepare_inner_steps_search,
    parameters=InnerSteps,
    scope='It would stand of the bound of eq. (24), or if "can" says that there are data on which '
    "it is so.",
    published={
        "2 for 1": Variant(
            settings={"parameters": {"inner_steps": 2}},
            scope="It would stand of the bound of eq. (24).",
            printed=True,
        ),
        "one node": Variant(
            settings={"parameters": {"nodes": 1}},
            scope="It would stand of the bound of eq. (24).",
            printed=True,
        ),
    },
)

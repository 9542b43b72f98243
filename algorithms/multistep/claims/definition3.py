"""The meaning of (epsilon, delta)-differential privacy, in the words of the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from dpaudit.extension.claim import Claim, Variant
from dpaudit.extension.parameters import Parameters

if TYPE_CHECKING:
    from dpaudit.algorithms.multistep.claims.composition import CompositionSettings
    from dpaudit.extension.case import SearchCase
    from dpaudit.extension.settings import Settings


class Meaning(Parameters):
    """The mechanisms, and the version of the sentence; epsilon and delta are the settings'."""

    mechanism: Literal["finite", "gaussian"] = Field(
        "finite", description="four outcomes, or Gaussian with the noise of eq. (20) for one step"
    )
    version: Literal["published", "corrected"] = Field(
        "published", description="delta, or delta / (1 - e^-((multiple - 1) epsilon))"
    )
    multiple: float = Field(
        1.0, ge=1, le=100, description="the ratio is compared to e^(multiple epsilon)"
    )
    factor: float = Field(1.0, gt=0, description="the claimed probability is multiplied by this")


def prepare_definition3_search(settings: Settings, parameters: Meaning) -> SearchCase:
    """Return the audit at one epsilon and delta.

    Raises
    ------
    InvalidArgument
        Data was asked for, or the mechanism or version is not defined at this epsilon and delta.

    Examples
    --------
    >>> from dpaudit.extension.settings import Settings
    >>> case = prepare_definition3_search(Settings(delta=0.01), Meaning())
    >>> case.bound, round(case.proved[0], 4)
    (0.01, 0.7353)
    """
    from functools import partial

    from dpaudit.algorithms.multistep.claims.ratios import (
        Gloss,
        gaussian_exceeded,
        least_upper_bound,
    )
    from dpaudit.extension.case import SearchCase

    setting = _make_definition3_setting(settings, parameters)
    gloss = Gloss(setting=setting, **parameters.model_dump(exclude={"multiple"}))
    gaussian = parameters.mechanism == "gaussian"
    return SearchCase(
        bound=gloss.bound,
        attain=partial(gloss.attained, CLAIM, seed=settings.seed),
        view="one output",
        data="two neighbouring datasets, on each of which the output has a law",
        relation=CLAIM.relation,
        pair="Gaussian laws, shifted" if gaussian else "laws on four outcomes, found by search",
        default_trials=5_000,
        parameters=parameters.model_dump(mode="json")
        | {"epsilon": setting.epsilon, "delta": setting.delta},
        quantity="probability of an output whose ratio is above the claimed one",
        effort="evaluated pairs of laws",
        # Both are least upper bounds: every smaller probability occurs, and none above.
        proved=(gaussian_exceeded(setting), "the law of the privacy loss")
        if gaussian
        else (least_upper_bound(setting), "two outcomes suffice, and none does more"),
        notes=(
            f"The ratio is compared to e^{setting.claimed_epsilon:.6g}.",
            "The converse holds: where the ratio is above e^epsilon with probability at most "
            "delta, in both directions, the mechanism is (epsilon, delta)-DP.",
        ),
    )


def _make_definition3_setting(settings: Settings, parameters: Meaning) -> CompositionSettings:
    from dpaudit.algorithms.multistep.claims.composition import CompositionSettings
    from dpaudit.algorithms.problems.records import refuse_data
    from dpaudit.errors import InvalidArgument

    refuse_data(settings)
    epsilon, delta = settings.epsilon, settings.delta
    if delta >= 1:
        raise InvalidArgument("delta", delta, "below 1")
    if parameters.mechanism == "gaussian" and not (epsilon > 0 and delta > 0):
        raise InvalidArgument("mechanism", "gaussian", "finite where epsilon or delta is 0")
    # At a multiple of 1 the corrected bound is infinite and says nothing.
    if parameters.version == "corrected" and not (epsilon > 0 and parameters.multiple > 1):
        expected = "above 1, and epsilon above 0, in the corrected version"
        raise InvalidArgument("multiple", parameters.multiple, expected)
    return CompositionSettings(epsilon=epsilon, delta=delta, count=1, c0=parameters.multiple)


CLAIM = Claim(
    name="huang2020-definition3",
    title="What (epsilon, delta)-differential privacy means",
    statement=(
        "That Pr[M(D) in O] <= e^epsilon Pr[M(D') in O] + delta for all neighbours D, D' and all "
        'sets O "means, with probability of at least 1 - delta, the ratio of the probability '
        'distributions for two neighboring datasets is bounded by e^epsilon": if o is drawn from '
        "M(D), then Pr[M(D) = o] > e^epsilon Pr[M(D') = o] with probability at most delta."
    ),
    source="Huang & Gong, multi-step DP-ADMM, Definition 3, below eq. (10)",
    kind="property",
    relation="replace-record",
    assumptions={"private mechanism": "the mechanism is (epsilon, delta)-DP"},
    prepare=prepare_definition3_search,
    parameters=Meaning,
    scope="It would stand for delta = 0, and for Gaussian mechanisms with the noise of eq. (20) at "
    "a small epsilon; that the sentence implies Definition 3, its converse, is true.",
    published={
        "epsilon = 0": Variant(
            settings={"epsilon": 0.0},
            scope="It would stand for delta = 0.",
            printed=True,
        ),
        "delta = 0.1": Variant(
            settings={"delta": 0.1},
            scope="It would stand for delta = 0.",
            printed=True,
        ),
        "delta = 0": Variant(
            settings={"delta": 0.0},
            scope="Tried for delta = 0, where it is the definition itself.",
            printed=True,
        ),
        "Gaussian mechanism": Variant(
            settings={"parameters": {"mechanism": "gaussian"}},
            scope="Of Gaussian mechanisms with the noise of eq. (20) alone; tried at a small "
            "epsilon.",
        ),
        "Gaussian mechanism, epsilon = 8": Variant(
            settings={"epsilon": 8.0, "parameters": {"mechanism": "gaussian"}},
            scope="Of Gaussian mechanisms with the noise of eq. (20) alone; it would stand for an "
            "epsilon up to about 5.6.",
        ),
        "a ratio of e^(2 epsilon)": Variant(
            settings={"parameters": {"multiple": 2.0}},
            scope="Of a ratio of e^(2 epsilon), which delta does not bound either; delta / (1 - "
            "e^-epsilon) does.",
        ),
        "corrected": Variant(
            settings={"parameters": {"version": "corrected", "multiple": 2.0}},
            scope="Of a ratio of e^(2 epsilon), exceeded with probability at most delta / (1 - "
            "e^-epsilon): this has a proof, and is attained.",
        ),
    },
)

"""Advanced composition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from dpaudit.extension.claim import Claim, Variant
from dpaudit.extension.parameters import Parameters

if TYPE_CHECKING:
    from dpaudit.algorithms.multistep.claims.composition import CompositionSettings
    from dpaudit.extension.case import SearchCase
    from dpaudit.extension.settings import Settings


class CompositionParameters(Parameters):
    """Public parameters; epsilon and delta of one algorithm are the settings'.

    ``gaussian`` narrows the class to Gaussian mechanisms with the noise of eq. (20) for t = 1.
    """

    count: int = Field(10, ge=1, le=10_000, description="t, algorithms that are composed")
    c0: float = Field(1.0, gt=0, description="the constant of the theorem")
    c0_of_proof: bool = Field(
        False, description="c_0 = sqrt(ln(1/delta) / ln(1.25/delta)), as its proof has it"
    )
    algorithms: Literal["all", "gaussian"] = Field("all", description="which are composed")
    factor: float = Field(1.0, gt=0, description="the claimed delta is multiplied by this")


def prepare_theorem4_search(settings: Settings, parameters: CompositionParameters) -> SearchCase:
    """Return the audit at one epsilon and delta, t and c_0.

    Raises
    ------
    InvalidArgument
        Data was asked for, nothing is leaked (epsilon and delta are 0), or t is too large.

    Examples
    --------
    >>> from dpaudit.extension.settings import Settings
    >>> twice = CompositionParameters(count=2)
    >>> case = prepare_theorem4_search(Settings(epsilon=0.0, delta=0.1), twice)
    >>> case.bound, round(case.proved[0], 6)
    (0.1, 0.19)
    """
    from dataclasses import asdict
    from functools import partial

    from dpaudit.algorithms.multistep.claims import composition
    from dpaudit.extension.case import AssumptionOutcome, SearchCase

    setting, gaussian = (
        _make_composition_setting(settings, parameters),
        parameters.algorithms == "gaussian",
    )
    asked = CLAIM, setting, parameters.factor
    return SearchCase(
        bound=parameters.factor * setting.delta,
        attain=(lambda trials, rng: composition.compute_gaussian_attained(*asked))
        if gaussian
        else partial(composition.most_revealing, *asked, seed=settings.seed),
        view=f"the outputs of {setting.count} algorithms, run independently",
        data="two neighbouring datasets, on which every algorithm has the same pair of laws",
        relation=CLAIM.relation,
        pair="Gaussian laws, shifted" if gaussian else "laws on four outcomes, found by search",
        default_trials=100 if gaussian else 5_000,
        parameters=parameters.model_dump(mode="json")
        | asdict(setting)
        | {"claimed_epsilon": setting.claimed_epsilon},
        at_delta=setting.delta,
        quantity="delta at the claimed epsilon",
        effort="evaluated pairs of laws",
        assumptions=(
            AssumptionOutcome(
                name="private algorithms",
                holds=not gaussian or composition.gaussian_condition(setting).holds,
                evidence="checked on the pair found, in both directions",
            ),
        ),
        proved=composition.compute_proved_delta(setting, gaussian=gaussian),
        notes=(
            f"The claimed epsilon of the composition is {setting.claimed_epsilon:.6g}.",
            "Basic composition, (t epsilon, t delta), and optimal composition hold.",
        ),
    )


def _make_composition_setting(
    settings: Settings, parameters: CompositionParameters
) -> CompositionSettings:
    from dpaudit.algorithms.multistep.claims.composition import LONGEST, CompositionSettings
    from dpaudit.algorithms.multistep.guarantees import chosen_constant
    from dpaudit.errors import InvalidArgument
    from dpaudit.extension.settings import WORST_CASE

    gaussian = parameters.algorithms == "gaussian"
    if settings.data != WORST_CASE or settings.data_path is not None or settings.data_options:
        raise InvalidArgument("data", settings.data, f"{WORST_CASE}, without files or options")
    # With both at 0 two laws are equal, and every epsilon is met.
    if settings.epsilon == 0 and settings.delta == 0:
        raise InvalidArgument("delta", 0.0, "above 0 where epsilon is 0: nothing leaks otherwise")
    if gaussian and not (settings.epsilon > 0 and 0 < settings.delta < 1):
        raise InvalidArgument("algorithms", "gaussian", "all where epsilon or delta is 0")
    if settings.delta >= 1:
        raise InvalidArgument("delta", settings.delta, "below 1")
    # Counts of four outcomes are listed one by one, and their number grows with the cube of t.
    if not gaussian and parameters.count > LONGEST:
        expected = f"at most {LONGEST}, unless the algorithms are Gaussian"
        raise InvalidArgument("count", parameters.count, expected)
    if parameters.c0_of_proof and settings.delta == 0:
        raise InvalidArgument("c0_of_proof", True, "false where delta is 0")
    return CompositionSettings(
        epsilon=settings.epsilon,
        delta=settings.delta,
        count=parameters.count,
        c0=chosen_constant(settings.delta, parameters.c0, of_proof=parameters.c0_of_proof),
    )


CLAIM = Claim(
    name="huang2020-theorem4",
    title="Advanced composition",
    statement=(
        "The t-fold adaptive composition of (epsilon, delta)-DP algorithms is "
        "(c_0 sqrt(t) epsilon, delta)-DP for some constant c_0, for any epsilon, delta >= 0; "
        "audited as a bound on delta at epsilon' = c_0 sqrt(t) epsilon. c_0 = 1 unless given."
    ),
    source="Huang & Gong, multi-step DP-ADMM, Theorem 4",
    kind="property",
    relation="replace-record",
    assumptions={"private algorithms": "every algorithm is (epsilon, delta)-DP"},
    prepare=prepare_theorem4_search,
    parameters=CompositionParameters,
    scope="Another c_0 could suit this pair; at epsilon = 0, below, none does.",
    published={
        "epsilon = 0": Variant(
            settings={"epsilon": 0.0},
            scope="No c_0 changes it: t algorithms of delta each lose 1 - (1 - delta)^t. It would "
            "stand with t delta in place of delta.",
            printed=True,
        ),
        "c_0 = 100": Variant(
            settings={"parameters": {"c0": 100.0}},
            scope="It would stand with t delta in place of delta.",
            printed=True,
        ),
        "delta = 0": Variant(
            settings={"delta": 0.0},
            scope="For one t a c_0 of sqrt(t) would do; for every t none does.",
            printed=True,
        ),
        "c_0 of the proof": Variant(
            settings={"parameters": {"c0_of_proof": True}},
            scope="Of the constant that the proof arrives at, which the theorem does not name.",
        ),
        "Gaussian mechanisms": Variant(
            settings={"epsilon": 0.5, "parameters": {"algorithms": "gaussian"}},
            scope="Of Gaussian mechanisms alone, as the paper uses the theorem; tried with few.",
        ),
        "Gaussian mechanisms, many": Variant(
            settings={
                "epsilon": 0.5,
                "parameters": {"algorithms": "gaussian", "count": 1000},
            },
            scope="Of Gaussian mechanisms alone; a larger c_0 would suit so many, and not others.",
        ),
    },
)

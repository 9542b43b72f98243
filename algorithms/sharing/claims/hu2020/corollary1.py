"""Composition over iterations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from dpaudit.algorithms.sharing.claims.hu2020.lemma1 import SEPARATED
from dpaudit.extension.claim import Claim, Variant
from dpaudit.extension.parameters import Parameters

if TYPE_CHECKING:
    from dpaudit.algorithms.sharing.claims.hu2020.composition import Limits
    from dpaudit.extension.case import SearchCase
    from dpaudit.extension.settings import Settings


class MessageRunParameters(Parameters):
    """A run of T messages, and the search for a pair that the first one tells apart."""

    factor: float = Field(1.0, gt=0, description="the claimed bound is multiplied by this")
    rounds: int = Field(20, ge=1, description="T of the run")
    slack: float = Field(1e-5, gt=0, lt=1, description="delta' of the run")
    features: int = Field(4, ge=1, description="d_m")
    samples: int | None = Field(None, ge=1, description="N (by default 2 d_m)")


class Corollary1Parameters(MessageRunParameters):
    """The run, or the compositions that are searched up to the settings' epsilon and delta."""

    reading: Literal["printed", "composition"] = Field(
        "printed", description="of Algorithm 1, or of any T releases that are private"
    )
    iterations: int = Field(1_000, ge=1, le=10_000, description="composition: the largest T")
    least_slack: float = Field(1e-12, gt=0, lt=1, description="composition: the smallest delta'")
    least_epsilon: float = Field(
        1e-3, gt=0, description="composition: the smallest epsilon of an iteration"
    )
    budget: int = Field(2_000, ge=100, description="evaluated compositions, unless --trials")

    def limits(self, settings: Settings) -> Limits:
        """Return the limits between which every number of a composition is searched."""
        from dpaudit.algorithms.sharing.claims.hu2020.composition import Limits

        return Limits.of(
            epsilon=settings.epsilon,
            delta=settings.delta,
            count=self.iterations,
            slack=self.least_slack,
            least=self.least_epsilon,
        )


def prepare_hu2020_corollary1(settings: Settings, parameters: Corollary1Parameters) -> SearchCase:
    """Return the audit: the first message of Algorithm 1, or the composition alone.

    Examples
    --------
    >>> from dpaudit.extension.settings import Settings
    >>> case = prepare_hu2020_corollary1(Settings(), Corollary1Parameters())
    >>> round(case.bound, 2), round(case.at_delta, 6)
    (55.83, 0.00021)
    """
    from dpaudit.algorithms.sharing.claims.hu2020.column_space import run_case

    if parameters.reading == "printed":
        return run_case(CLAIM, settings, "parameter", parameters)
    return composition_case(settings, parameters)


def composition_case(settings: Settings, parameters: Corollary1Parameters) -> SearchCase:
    """Return the search for the composition on which eq. (10) is tightest.

    The search is made here, so that the proved number is that of the composition found.

    Examples
    --------
    >>> from dpaudit.extension.settings import Settings
    >>> case = composition_case(Settings(), Corollary1Parameters(iterations=50, budget=200))
    >>> 0.6 < case.proved[0] / case.bound < 1
    True
    """
    from numpy.random import Generator, default_rng

    import dpaudit._check as check
    from dpaudit.algorithms.problems.records import refuse_data
    from dpaudit.algorithms.sharing.claims.hu2020 import composition
    from dpaudit.errors import InvalidArgument
    from dpaudit.execution import one_thread, stream
    from dpaudit.extension.case import AssumptionOutcome, SearchCase
    from dpaudit.refutation import searched

    refuse_data(settings)
    if not 0 < settings.epsilon <= 1:
        raise InvalidArgument("epsilon", settings.epsilon, "in (0, 1]: Theorem 1's range")
    check.require_probability("delta", settings.delta)
    budget = parameters.budget if settings.trials is None else settings.trials
    limits = parameters.limits(settings)
    with one_thread():
        best = composition.find_tightest_composition(
            limits, budget, default_rng(stream(settings.seed, "search"))
        )

    def climb(trials: int, rng: Generator) -> composition.Composition:
        return (
            best if trials == budget else composition.find_tightest_composition(limits, trials, rng)
        )

    claim = composition.make_composition_inequality(CLAIM, parameters.factor)
    return SearchCase(
        bound=parameters.factor * best.claimed,
        attain=lambda trials, rng: searched(claim, climb, trials, rng, seed=settings.seed),
        view="T messages, each (epsilon, delta)-DP given those before",
        data="none: compositions of which only the epsilon and delta of each release are known",
        relation=CLAIM.relation,
        pair="T randomised responses that each tell the secret with probability delta: the pair "
        "of laws that dominates all others",
        default_trials=budget,
        parameters=parameters.model_dump(mode="json")
        | {"most_epsilon": settings.epsilon, "most_delta": settings.delta},
        at_delta=best.total,
        effort="evaluated compositions",
        assumptions=(
            AssumptionOutcome(
                name="private iterations",
                holds=True,
                evidence="taken for granted here: Theorem 1 is audited on its own",
            ),
        ),
        proved=(best.optimal, "optimal composition: Kairouz, Oh & Viswanath 2015, Theorem 3.3"),
        notes=(
            _TIGHT,
            f"With {composition.make_usual_composition(settings.epsilon, settings.delta).words()}.",
        ),
    )


_TIGHT = (
    "No factor below the ratio found is true. It tends to 1 for many releases of small epsilon and "
    "a vanishing delta': for all parameters at once, no smaller constant factor is true."
)

CLAIM = Claim(
    name="hu2020-corollary1",
    title="Privacy of a run",
    statement=(
        "For any delta' > 0, Algorithm 1 is (epsilon', T delta + delta')-DP within T epochs of "
        "updates, with epsilon' = sqrt(2 T ln(1/delta')) epsilon + T epsilon (e^epsilon - 1)."
    ),
    source=(
        "Hu et al., ADMM sharing over vertically split features, NeurIPS 2020, Corollary 1, "
        "eq. (10)"
    ),
    kind="privacy",
    relation="replace-column",
    assumptions=SEPARATED,
    prepare=prepare_hu2020_corollary1,
    parameters=Corollary1Parameters,
    scope="It falls with Theorem 1 for the noise that Algorithm 1 draws (7). It would stand if "
    "every iteration were (epsilon, delta)-DP, as below.",
    published={
        "composition alone": Variant(
            settings={"parameters": {"reading": "composition"}},
            scope="Of the composition theorem alone: if each of T iterations is (epsilon, "
            "delta)-DP given those before, so much is proved of all of them.",
        ),
    },
)

"""Privacy of the clients' features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from dpaudit.extension.claim import Claim, Variant
from dpaudit.extension.parameters import Parameters

if TYPE_CHECKING:
    from dpaudit.algorithms.tables.claims.noise import Theorem2
    from dpaudit.extension.case import Case, SearchCase
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
    removed: bool = Field(
        False, description="model view: the tuple is replaced by zeros, as if it were removed"
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

    def theorem(self, settings: Settings) -> Theorem2:
        """Return the theorem at these parameters, and the settings' epsilon and delta."""
        from dataclasses import fields

        from dpaudit.algorithms.tables.claims.noise import Theorem2

        own = {f.name for f in fields(Theorem2)} - {"epsilon", "delta"}
        return Theorem2(
            epsilon=settings.epsilon, delta=settings.delta, **self.model_dump(include=own)
        )


def prepare_feature_audit(settings: Settings, parameters: FeatureParameters) -> Case:
    """Return the audit in the view that the parameters name.

    Raises
    ------
    InvalidArgument
        Data are asked for, or the theorem says nothing of epsilon and delta; the server's view
        needs more tuples than columns, and two rounds to see a noisy model's prediction.

    Examples
    --------
    >>> from dpaudit.extension.settings import Settings
    >>> prepare_feature_audit(Settings(), FeatureParameters()).bound
    1.0
    >>> case = prepare_feature_audit(Settings(), FeatureParameters(view="model", joined=40))
    >>> round(case.proved.guarantee.epsilon(1e-5), 3)
    25.798
    """
    import dpaudit._check as check
    from dpaudit.algorithms.problems.records import refuse_data
    from dpaudit.algorithms.tables.claims.models import learning_rate, model_view

    refuse_data(settings, "the audit makes its own")
    check.require_positive("epsilon", settings.epsilon)
    check.require_probability("delta", settings.delta)
    if parameters.view == "server":
        return _server_view(settings, parameters)
    theorem, joined = parameters.theorem(settings), parameters.joined
    return model_view(
        CLAIM,
        theorem,
        joined,
        parameters.learning_rate or learning_rate(theorem, joined),
        seed=settings.seed,
        parameters=parameters.model_dump(mode="json"),
        removed=parameters.removed,
    )


def _server_view(settings: Settings, parameters: FeatureParameters) -> SearchCase:
    """Return the audit of the server's view: a search for tables that one prediction separates."""
    from functools import partial

    import dpaudit._check as check
    from dpaudit.algorithms.tables.claims.predictions import (
        build_prediction_space,
        search_prediction_leak,
    )
    from dpaudit.errors import InvalidArgument
    from dpaudit.extension.case import AssumptionOutcome, SearchCase

    theorem, (n, d) = parameters.theorem(settings), (parameters.tuples, parameters.features)
    if n <= d:
        expected = f"more than the {d} features: else no column space is left out"
        raise InvalidArgument("tuples", n, expected)
    check.require_integer("iterations", parameters.iterations, least=2)
    # The last two assumptions are about epsilon and the noise, whose outcomes the theorem gives
    # itself.
    *enforced, _, _ = CLAIM.assumptions
    return SearchCase(
        bound=theorem.claimed,
        attain=partial(
            search_prediction_leak,
            CLAIM,
            theorem,
            build_prediction_space(n, d, parameters.tuple_norm),
            parameters.learning_rate or 1.0,
            seed=settings.seed,
        ),
        view="server: the predictions h_ij of every tuple, one round",
        data=f"tables of {n} tuples and {d} columns, found by the search",
        relation=CLAIM.relation,
        pair="found by the search: the features of the first tuple are replaced",
        default_trials=parameters.budget,
        parameters=parameters.model_dump(mode="json")
        | {"noise_multiplier": theorem.noise_multiplier},
        at_delta=settings.delta,
        effort="evaluated pairs",
        assumptions=(
            *(
                AssumptionOutcome(name=name, holds=True, evidence="checked on the instance found")
                for name in enforced
            ),
            *theorem.outcomes(),
        ),
        notes=(
            "The appendix names no adversary. Its clients send the predictions h_ij to the server "
            "in every round, and its updates (32), (33) and (36) start from them.",
            "The verdict is the same for every c_1, c_2, sigma and epsilon, and with the labels' "
            "noise: no bound below delta = 1 can be proved for this view.",
        ),
    )


def _make_long_run_variant(steps: int, scope: str, *, removed: bool = False) -> Variant:
    """Return the audit of so many steps at the end of the range of epsilon."""
    own = {"view": "model", "iterations": steps, "removed": removed}
    settings = {"epsilon": float(steps), "trials": 1_000, "parameters": own}
    return Variant(settings=settings, scope=scope, printed=True)


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
    prepare=prepare_feature_audit,
    parameters=FeatureParameters,
    scope="In this run, of two steps, it would stand if nobody saw more than the models of one "
    "client; in longer ones, and of joined tables, these break it as well.",
    published={
        "model": Variant(
            settings={"parameters": {"view": "model"}},
            scope="Tried on all models of one client, two steps and c_1 = 1, c_2 = 4.",
            printed=True,
        ),
        "model across clients": Variant(
            settings={"parameters": {"view": "model", "joined": 40}},
            scope="It would stand for tables that are not joined: a tuple moves more sums the more "
            "facts it is joined with.",
            printed=True,
        ),
        # At the end of the range of epsilon mu grows with tau: no c_1 and c_2 suit every tau.
        "model, 200 steps": _make_long_run_variant(
            200,
            "It would stand further below the end of the range of epsilon, and if the tuple were "
            "removed, as below.",
        ),
        "model, 200 steps, a tuple removed": _make_long_run_variant(
            200, "Tried with tuples removed, as in Abadi et al. 2016, and 200 steps.", removed=True
        ),
        "model, 400 steps, a tuple removed": _make_long_run_variant(
            400,
            "It would stand for fewer steps or a larger c_2: with r = 1 every c_1 and c_2 fail "
            "once tau exceeds 2 c_2^2 ln(1/delta) / c_1.",
            removed=True,
        ),
    },
)

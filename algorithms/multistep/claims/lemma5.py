"""Sensitivity of one inner update."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpaudit.algorithms.multistep.claims.theorem6 import ASSUMPTIONS, Deployment
from dpaudit.extension.claim import Claim

if TYPE_CHECKING:
    from dpaudit.extension.case import SearchCase
    from dpaudit.extension.settings import Settings


def prepare_lemma5_search(settings: Settings, parameters: Deployment) -> SearchCase:
    """Return the audit on the settings' data; the worst case tries the whole class."""
    from dataclasses import replace
    from functools import partial

    from dpaudit.algorithms.multistep.claims.movement import make_lemma5_inequality, search_movement
    from dpaudit.extension.case import SearchCase
    from dpaudit.extension.settings import WORST_CASE

    # Lemma 5 is about one update: one pair is enough.
    instance = parameters.instances(replace(settings, candidate_pairs=None))[0]
    algorithm, data = instance.algorithm, instance.pair.dataset
    bound = float(algorithm.sensitivity(data, algorithm.eta(data, 1, 1))[instance.node])
    return SearchCase(
        bound=parameters.factor * bound,
        attain=partial(
            search_movement,
            make_lemma5_inequality(CLAIM, parameters.factor),
            instance,
            whole_class=settings.data == WORST_CASE,
            seed=settings.seed,
        ),
        view="one inner update (13a) of one node, given all earlier outputs",
        data=instance.data,
        relation=CLAIM.relation,
        pair=instance.words(),
        default_trials=10_000,
        parameters=parameters.model_dump(mode="json") | instance.public(),
        assumptions=instance.assumptions(),
        proved=(bound, "triangle inequality on two gradients of norm at most c_1 (eq. 19)"),
        notes=(
            "The bound shown is that of the first update; each state's ratio is to its own bound.",
        ),
    )


CLAIM = Claim(
    name="huang2020-lemma5",
    title="Sensitivity of one inner update",
    statement=(
        "Replacing one record moves the update (13a) of its node by at most "
        "2 c_1 / ((2 rho |V_i| + eta) m_i) in L2 norm."
    ),
    source="Huang & Gong, multi-step DP-ADMM, Lemma 5, eq. (16)",
    kind="sensitivity",
    relation="replace-record",
    assumptions=ASSUMPTIONS,
    prepare=prepare_lemma5_search,
    parameters=Deployment,
    scope="Attained: a loss of slope c_1 on either side moves the update by all but rounding.",
)

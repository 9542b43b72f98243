"""The instances that searches of claims draw and move are those of their seeds.

A certificate and a report name a seed; whoever repeats the search has to meet the same instances,
inside the claim's assumptions and of the same ratios. Pinned is, of each array, its sum with
weights ``cos 0, cos 1, ...``: of four instances that are drawn, moved by steps of four lengths, and
put inside; and their ratios, before the move and after it.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import default_rng

from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.consensus.claims import growing, networks, outputs, steps
from dpaudit.algorithms.consensus.claims.theorem31 import CLAIM
from dpaudit.algorithms.multistep.claims import composition, discussion, star, utility
from dpaudit.algorithms.problems.graphs import complete
from dpaudit.algorithms.problems.smooth_losses import LINEAR, LOGISTIC
from dpaudit.algorithms.sharing.claims.hu2019 import iterations
from dpaudit.algorithms.sharing.claims.hu2019 import search as iterated
from dpaudit.algorithms.sharing.claims.hu2019.growth import growth
from dpaudit.algorithms.sharing.claims.hu2019.lagrangian import make_decrease_measure
from dpaudit.algorithms.sharing.claims.hu2020 import column_space
from dpaudit.algorithms.sharing.claims.hu2020 import composition as composed
from dpaudit.algorithms.sharing.claims.hu2020 import search as updates
from dpaudit.algorithms.sharing.claims.hu2020.update import UpdateSetting
from dpaudit.algorithms.tables.claims import labels, predictions
from tests.claims.stated_instances import INSTANCES

STEPS = np.array([0.9, 0.3, 0.05, 0.6])
UPDATES = UpdateSetting(features=8, samples=20, parties=3)
CONVEX = UpdateSetting(features=6, samples=40, penalty=200.0)
PRIVATE = ConsensusADMM(graph=complete(3), iterations=3, noise_rate=3.0)
SEEN = outputs.Outputs(algorithm=PRIVATE, records=2, dimension=2)
OWN = networks.Family(nodes=4, dual_step=0.5, shared=False)
SHARED = networks.Family(nodes=3)
STAR = star.StarSetting(
    nodes=3, iterations=3, inner_steps=2, records=10**8, epsilon=1.0, delta=1e-5
)
LIMITS = composed.Limits.of(epsilon=1.0, delta=1e-5, count=50, slack=1e-9, least=1e-3)


def network(family, searchable):
    """Return the space of a statement on networks, with the ratios that it climbs."""
    _, climb = searchable
    _, ratios, _ = climb.args
    return networks.build_network_space(family, ratios)


def turning(family, searchable):
    """Return the same with the hint that it climbs."""
    _, climb = searchable
    return networks.build_network_space(family, climb.args[2])


SPACES = {
    "predictions": lambda: predictions.build_prediction_space(tuples=3, features=2, norm=2.0),
    **{
        f"labels {kind}": lambda kind=kind: labels.build_label_space(
            labels.Labels(epsilon=1.0, encoding=kind)
        )
        for kind in ("one-hot", "sign", "unit-l1")
    },
    "outputs from any start": lambda: SEEN.space(10.0),
    "outputs from 0": lambda: outputs.Outputs(
        algorithm=PRIVATE, records=2, dimension=2, any_start=False
    ).space(10.0),
    "(19)": lambda: network(OWN, steps.inequality_19(CLAIM, OWN, 1.0)),
    "modes": lambda: network(OWN, steps.make_bounded_modes_search(CLAIM, OWN, 1.0)),
    "turning modes": lambda: turning(OWN, steps.make_bounded_modes_search(CLAIM, OWN, 1.0)),
    **{
        f"contraction, {family.shared}, {proved}": lambda family=family, proved=proved: network(
            family, steps.contraction(CLAIM, family, 1.0, proved=proved)
        )
        for family in (OWN, SHARED)
        for proved in (False, True)
    },
    "growing": lambda: growing.build_growing_space(
        growing.GrowingPenaltyRun(nodes=3, loss=LOGISTIC, iterations=9), 0.5
    ),
    "growing, linear": lambda: growing.build_growing_space(
        growing.GrowingPenaltyRun(nodes=2, loss=LINEAR, first=(0.5, 2.0), growth=(1.5, 2.0)), 0.5
    ),
    "stars": lambda: utility.build_star_space(STAR),
    "risks of stars": lambda: discussion.space_of(STAR, lambda found: found.risk),
    "laws": lambda: composition.build_law_pair_space(
        composition.CompositionSettings(epsilon=0.5, delta=0.01, count=3)
    ),
    "iterations": lambda: iterated.build_lemma_space(
        iterations.IterationSetting(parties=3, loss="logistic"),
        make_decrease_measure("corrected"),
        iterated.Window(any_start=True),
    ),
    **{
        f"iterations from 0, {version}": lambda version=version: iterated.build_lemma_space(
            iterations.IterationSetting(parties=4, penalty=8.0),
            make_decrease_measure(version),
            iterated.Window(latest=3),
        )
        for version in ("published", "with-penalty", "corrected")
    },
    "growing iterations": lambda: iterated.build_lemma_space(
        iterations.IterationSetting(parties=3, penalty=10.0, loss_weight=4.0),
        growth(1.5),
        iterated.Window(),
    ),
    "updates": lambda: updates.build_update_space(UPDATES, 1.5),
    "convex updates": lambda: updates.build_update_space(CONVEX, 1.5, convex=True),
    "supports": lambda: column_space.support_space(UPDATES),
    "compositions": lambda: composed.composition_space(LIMITS, 2.0),
}


def seen(space):
    """Return the sums of the instances' arrays after a move, and the ratios before and after."""
    rng = default_rng(7)
    drawn, before = space.evaluate(space.start(len(STEPS), rng))
    inside, after = space.evaluate(space.move(drawn, STEPS, rng))
    sums = {name: weighted(values) for name, values in sorted(inside.items())}
    return sums | {"ratios": [*before.tolist(), *after.tolist()]}


def weighted(values):
    flat = np.ravel(values)
    return float(flat @ np.cos(np.arange(flat.size)))


@pytest.mark.parametrize("name", SPACES)
def test_instances_and_ratios_are_those_of_the_seed(name):
    found = seen(SPACES[name]())
    assert sorted(found) == sorted(INSTANCES[name])
    for part, numbers in INSTANCES[name].items():
        assert found[part] == pytest.approx(numbers, rel=1e-6, abs=1e-9), part


@pytest.mark.parametrize("name", SPACES)
def test_what_is_inside_stays_where_it_is(name):
    """Otherwise the instance of a certificate would not have the ratio that the search found."""
    space, rng = SPACES[name](), default_rng(8)
    inside, ratios = space.evaluate(space.start(6, rng))
    again, same = space.evaluate(inside)
    assert np.allclose(ratios, same, rtol=1e-6, atol=1e-9)
    for part in inside:
        assert np.allclose(inside[part], again[part], rtol=1e-6, atol=1e-9), part

"""Networks, observers and changes whose numbers are known: ``known_numbers.json``.

The numbers were written down by an earlier program that formed all coefficients as matrices of
rationals by hand, with nothing in common with the tracing of runs.
"""

import dataclasses
import math
from fractions import Fraction

import numpy as np

from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.multistep.algorithm import MultiStepADMM
from dpaudit.algorithms.problems.graphs import complete, path, ring, star
from dpaudit.algorithms.problems.losses import LINEAR as LINEAR_MARGIN
from dpaudit.algorithms.problems.losses import SQUARED as SQUARED_MARGIN
from dpaudit.algorithms.problems.sample_losses import SQUARED as SQUARED_SAMPLE
from dpaudit.algorithms.problems.schedules import Geometric
from dpaudit.algorithms.problems.smooth_losses import LINEAR, SQUARED
from dpaudit.algorithms.problems.step_sizes import ConstantStepSize, DecayingStepSize
from dpaudit.algorithms.sharing.algorithm import SharingADMM
from dpaudit.algorithms.sharing.noise import MessageNoise
from dpaudit.algorithms.sharing.vertical import Risk
from dpaudit.algorithms.views.consensus import GaussianConsensus
from dpaudit.algorithms.views.gossip import Gossip
from dpaudit.algorithms.views.multistep import LinearMultiStep
from dpaudit.algorithms.views.releases import ConsensusView, GossipView, MultiStepView, SharingView
from dpaudit.algorithms.views.sharing import LinearSharing
from dpaudit.datasets.dataset import Dataset

from .runs import make_data, observers, relabelled

GRAPHS = ("ring", "star", "path", "complete")
EPSILONS = (0.0, 0.3, 1.0)


def _cards():
    """Every card, of every graph, place of the noise and kind of message."""
    for graph in GRAPHS:
        for rounds in (1, 4):
            shape = {"graph": graph, "iterations": rounds, "nodes": 4}
            for noise in ("messages", "initial"):
                yield GossipView(**shape, noise=noise, noise_scale=0.7, sensitivity=1.5)
            for noise in ("primal", "dual"):
                yield ConsensusView(**shape, noise=noise)
                yield ConsensusView(**shape, noise=noise, penalty=0.3, records=7, loss_weight=2.5)
            for message in ("average", "last"):
                yield MultiStepView(**shape, message=message, inner_steps=3)
    yield GossipView(nodes=5, edges=((0, 1), (1, 2), (2, 3), (3, 4), (1, 3)), iterations=5)
    for rounds in (1, 2, 5):
        yield SharingView(iterations=rounds)
        yield SharingView(
            iterations=rounds, features=((0.5, 0.2), (0.1, -0.7)), blocks=(1, 1), penalty=2.0
        )


def _card_cases():
    for number, card in enumerate(_cards()):
        name = f"{type(card).__name__} {number}"
        for about in range(min(2, card.participants)):
            yield f"{name} about {about}", card.network(), card.change(about)


def _gossip_cases():
    third = np.full((3, 3), Fraction(1, 3), dtype=object)
    tilted = third.astype(float)
    tilted[2, 0] = np.nextafter(tilted[2, 0], 1)
    weights = {"thirds": third, "rounded": third.astype(float), "tilted": tilted}
    for name, given in weights.items():
        gossip = Gossip(ring(3), 4, (0, 0, 0), noise="initial", weights=given)
        for change in ([1, -1, 0], [1, 0, 0]):
            yield f"gossip {name} {change}", gossip.network(), change
    for rounds in (1, 2, 3, 6):
        gossip = Gossip(star(4), rounds, (1, 0, 0, 0), noise="initial")
        yield f"gossip star silent {rounds}", gossip.network(), [0, 1, 0, 0]
    quiet = Gossip(star(4), 2, (0, 0, 0, 0))
    for change in ([0, 1, -1, 0], [0, 1, 1, 0]):
        yield f"gossip quiet {change}", quiet.network(), change
    for scales in ((0, 1, 1), (1, 0, 0), (1e-200, 1, 1), Fraction(1, 7)):
        yield f"gossip {scales}", Gossip(complete(3), 2, scales).network(), [1, 0, 0]
    plane = Gossip(ring(4), 5, 1.0, dimension=2)
    yield "gossip plane", plane.network(), [3, 4, 0, 0, 0, 0, 0, Fraction(1, 3)]


def _consensus_cases():
    for loss in (SQUARED, LINEAR):
        for noise in ("primal", "dual"):
            for graph in (ring(4), star(4), path(3)):
                data = make_data(graph, dimension=2, records=3)
                algorithm = ConsensusADMM(
                    graph=graph,
                    iterations=5,
                    penalty=Geometric(0.5, 1.01),
                    loss=loss,
                    dual_step=0.4,
                )
                scales = np.random.default_rng(0).uniform(0.2, 1.0, (5, graph.nodes))
                for quiet in ((), (0, 0), (3, 0), (2, 1)):
                    if quiet:
                        scales = scales.copy()
                        scales[quiet] = 0.0
                    one = GaussianConsensus(algorithm, scales, noise)
                    name = f"consensus {loss.name} {noise} {graph.nodes} quiet {quiet}"
                    change = one.data(relabelled(data)) - one.data(data)
                    yield f"{name} of {graph.degrees[0]:g}", one.network(data), change.tolist()


def _multistep_cases():
    for loss in (SQUARED_MARGIN, LINEAR_MARGIN):
        for seen in ("broadcast", "inner"):
            for message in ("average", "last"):
                for graph in (ring(3), star(4)):
                    squared = loss == SQUARED_MARGIN
                    algorithm = MultiStepADMM(
                        graph=graph, iterations=3, inner_steps=2, noise_multiplier=2.0, loss=loss,
                        regulariser_weight=0.1, message=message,
                        step_size=ConstantStepSize(1.0) if squared else DecayingStepSize(),
                    )  # fmt: skip
                    data = make_data(graph, dimension=2)
                    one = LinearMultiStep(algorithm, 0.3 if squared else None, seen=seen)
                    change = one.data(relabelled(data)) - one.data(data)
                    name = f"multistep {loss.name} {seen} {message} {graph.nodes}"
                    yield name, one.network(data), change.tolist()
    data = make_data(complete(3))
    for first in (1.0, 0.0):
        scales = np.full((4, 3), 0.5)
        scales[:2, 0] = first
        algorithm = MultiStepADMM(
            graph=complete(3), iterations=2, inner_steps=2, noise_multiplier=2.0,
            loss=SQUARED_MARGIN, step_size=ConstantStepSize(1.0),
        )  # fmt: skip
        one = LinearMultiStep(algorithm, scales)
        change = one.data(relabelled(data)) - one.data(data)
        yield f"multistep first {first:g}", one.network(data), change.tolist()


def _sharing_data(blocks):
    rng = np.random.default_rng(1)
    return Dataset(rng.normal(size=(2, sum(blocks))) / 2, [1.0, -1.0])


def _sharing(blocks, rounds, noise):
    risk = Risk(loss=SQUARED_SAMPLE, scaling="sum", regulariser_weight=0.5)
    return LinearSharing(
        SharingADMM(block_sizes=blocks, iterations=rounds, penalty=2.0, risk=risk, noise=noise)
    )


def _sharing_cases():
    for blocks in ((1, 2), (1, 1, 1), (3, 1)):
        scales = tuple(0.5 + 0.1 * m for m in range(len(blocks)))
        for noise in (MessageNoise(scales), MessageNoise((0.0, *scales[1:]))):
            for rounds in (1, 2, 6):
                one = _sharing(blocks, rounds, noise)
                network = one.network(_sharing_data(blocks))
                name = f"sharing {blocks} {rounds} {noise.scale[0]:g}"
                for change in ([2, 0], [1, 3]):
                    yield f"{name} {change}", network, change


FAMILIES = {
    "cards": _card_cases,
    "gossip": _gossip_cases,
    "consensus": _consensus_cases,
    "multistep": _multistep_cases,
    "sharing": _sharing_cases,
}


def mus(family, view_of):
    """Return the upper end of mu by name, of everybody worth a look."""
    found = {}
    for name, network, change in FAMILIES[family]():
        for key, who in observers(network):
            found[f"{name}: {key}"] = view_of(network, who, change).mu.upper
    return found


# --- features ------------------------------------------------------------------------------------


def _halved(data, row=0):
    features = data.features.copy()
    features[row] *= 0.5
    return dataclasses.replace(data, features=features)


def feature_pairs():
    """Yield names, an algorithm, two datasets that differ in features, who looks, and whose."""
    for graph in (ring(4), star(4)):
        data = make_data(graph)
        quiet = np.full((4, 4), 0.4)
        quiet[2, 0] = 0.0
        for scales in (0.4, quiet):
            algorithm = ConsensusADMM(graph=graph, iterations=4, loss=SQUARED, dual_step=0.4)
            for noise in ("primal", "dual"):
                one = GaussianConsensus(algorithm, scales, noise)
                for who in ((), (0,), (1,), (2,), (1, 3)):
                    name = f"{graph.degrees[0]:g} {noise} {np.ndim(scales)} {who}"
                    yield f"consensus {name}", one, (data, _halved(data)), who, 0
    features = np.random.default_rng(4).normal(size=(2, 3)) / 2
    moved = features.copy()
    moved[:, 0] *= 0.8
    both = tuple(Dataset(each, [1.0, -1.0]) for each in (features, moved))
    sharing = _sharing((1, 2), 4, MessageNoise(0.5))
    for who in ((), (0,), (1,), (2,)):
        yield f"sharing {who}", sharing, both, who, 0


def deltas(delta_of):
    """Return both ends of delta by name, at every epsilon."""
    found = {}
    for name, one, both, who, whose in feature_pairs():
        for epsilon in EPSILONS:
            bracket = delta_of(one, both, who, whose, epsilon)
            found[f"{name} at {epsilon:g}"] = [bracket.lower, bracket.upper]
    return found


def to_text(number):
    """Return a number as JSON has it, infinity as a word."""
    return "inf" if math.isinf(number) else number

"""Views of observers of a network, to account for by name: exactly Gaussian, of any length.

The change of the data is that of one participant, in one direction; noise is the same in every
coordinate, so that a vector counts by its length alone. What is known without noise has no
guarantee: such an observer is refused in words.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, field_validator

from dpaudit.extension.parameters import Parameters
from dpaudit.extension.release import ReleaseCard

if TYPE_CHECKING:
    from dpaudit.accounting.events import Event
    from dpaudit.affine.network import Network
    from dpaudit.affine.program import Ids
    from dpaudit.algorithms.problems.graphs import Graph
    from dpaudit.datasets.dataset import Dataset
    from dpaudit.plots import Grid

_OBSERVER = "participants who share what they know; none: who reads all messages"
_NOTHING = "nothing is seen, mu = 0"
_SOURCE = "exact law of a linear view (dpaudit/affine/view.py)"


class _ObservedOwner(Parameters):
    """The owner of the data that change, and the observer."""

    kind_of_owner: ClassVar[str] = "node"
    about: int = Field(0, ge=0, description="the participant whose data change")
    observer: tuple[int, ...] = Field((1,), description=_OBSERVER)

    @field_validator("observer", mode="before")
    @classmethod
    def _of_one(cls, given: Any) -> Any:
        return (given,) if isinstance(given, int) else given


class _OnGraph(_ObservedOwner):
    """A network of nodes."""

    nodes: int = Field(5, ge=2, le=60, description="N")
    graph: Literal["complete", "path", "ring", "star"] = Field(
        "ring", description="its shape, unless edges are given"
    )
    edges: tuple[tuple[int, int], ...] | None = Field(None, description="pairs of nodes")
    iterations: int = Field(10, ge=1, le=1_000, description="T, messages of every node")

    def made(self) -> Graph:
        """Return the graph."""
        from dpaudit.algorithms.problems import graphs

        if self.edges is not None:
            return self._of_edges(self.edges)
        shapes = (graphs.complete, graphs.path, graphs.ring, graphs.star)
        return next(one(self.nodes) for one in shapes if one.__name__ == self.graph)

    def _of_edges(self, edges: tuple[tuple[int, int], ...]) -> Graph:
        from dpaudit.algorithms.problems.graphs import from_edges
        from dpaudit.errors import InvalidArgument

        try:
            return from_edges(self.nodes, edges)
        except InvalidArgument as error:
            expected = f"those of a connected graph without loops of nodes 0 to {self.nodes - 1}"
            raise InvalidArgument("edges", edges, expected) from error

    @property
    def participants(self) -> int:
        """The number of participants."""
        return self.nodes

    def change_of(self, one: int, size: float = 1.0) -> list[float]:
        """Return a change of a node's data, one number a node."""
        return [size if node == one else 0.0 for node in range(self.nodes)]


class GossipView(_OnGraph):
    """Gossip averaging (Xiao & Boyd 2004) with Metropolis' weights and Gaussian noise."""

    noise_scale: float = Field(1.0, gt=0, description="sigma, of every coordinate")
    noise: Literal["messages", "initial"] = Field(
        "messages", description="on every message, or once on the private vectors"
    )
    sensitivity: float = Field(1.0, ge=0, description="by how much a private vector changes")

    def network(self) -> Network:
        """Return the rounds of the iteration."""
        from dpaudit.algorithms.views.gossip import Gossip

        gossip = Gossip(
            self.made(), iterations=self.iterations, noise_scale=self.noise_scale, noise=self.noise
        )
        return gossip.network()

    def change(self, one: int) -> list[float]:
        """Return the largest change of a node's data."""
        return self.change_of(one, self.sensitivity)


class ConsensusView(_OnGraph):
    """Consensus ADMM with Gaussian noise and linear losses, a record of norm at most 1 replaced."""

    noise_scale: float = Field(0.1, gt=0, description="sigma, of every coordinate")
    noise: Literal["primal", "dual"] = Field("primal", description="its place: PVP's, or DVP's")
    penalty: float = Field(0.5, gt=0, description="eta, which is theta too")
    loss_weight: float = Field(1.0, gt=0, description="C")
    records: int = Field(100, ge=1, description="B, of the node")
    regulariser_weight: float = Field(1.0, ge=0, description="rho")

    def network(self) -> Network:
        """Return the rounds of the algorithm; of linear losses features do not matter."""
        from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
        from dpaudit.algorithms.problems.schedules import Constant
        from dpaudit.algorithms.problems.smooth_losses import LINEAR
        from dpaudit.algorithms.views.consensus import GaussianConsensus

        algorithm = ConsensusADMM(
            graph=self.made(),
            iterations=self.iterations,
            loss=LINEAR,
            dual_step=self.penalty,
            penalty=Constant(self.penalty),
            regulariser_weight=self.regulariser_weight,
        )
        view = GaussianConsensus(algorithm, self.noise_scale, self.noise)
        return view.network(_one_record_each(self.nodes))

    def change(self, one: int) -> list[Fraction]:
        """Return the largest change of b_i: ``2 C / B``."""
        size = 2 * Fraction(self.loss_weight) / self.records
        return [size if node == one else Fraction(0) for node in range(self.nodes)]


class MultiStepView(_OnGraph):
    """Multi-step DP-ADMM with linear losses and a constant eta, a record replaced."""

    inner_steps: int = Field(5, ge=1, le=100, description="l")
    noise_scale: float = Field(50.0, gt=0, description="sigma, in multiples of Lemma 5's s")
    penalty: float = Field(0.1, gt=0, description="rho")
    step_size: float = Field(1.0, gt=0, description="eta")
    regulariser_weight: float = Field(1e-4, ge=0, description="lambda")
    message: Literal["average", "last"] = Field("average", description="what an iteration sends")

    def network(self) -> Network:
        """Return the rounds of the algorithm: how many records a node has cancels."""
        from dpaudit.algorithms.multistep.algorithm import MultiStepADMM
        from dpaudit.algorithms.problems.losses import LINEAR
        from dpaudit.algorithms.problems.step_sizes import ConstantStepSize
        from dpaudit.algorithms.views.multistep import LinearMultiStep

        algorithm = MultiStepADMM(
            graph=self.made(),
            iterations=self.iterations,
            inner_steps=self.inner_steps,
            noise_multiplier=self.noise_scale,
            penalty=self.penalty,
            loss=LINEAR,
            regulariser_weight=self.regulariser_weight,
            step_size=ConstantStepSize(self.step_size),
            message=self.message,
        )
        return LinearMultiStep(algorithm).network(_one_record_each(self.nodes))

    def change(self, one: int) -> list[float]:
        """Return the largest change of b_i, of one record a node: 2."""
        return self.change_of(one, 2.0)


class SharingView(_ObservedOwner):
    """ADMM sharing with squared losses and Gaussian messages, a label turned; features public."""

    kind_of_owner: ClassVar[str] = "sample"
    features: tuple[tuple[float, ...], ...] = Field(
        ((0.6, 0.0, 0.8), (0.0, 1.0, 0.0), (0.8, 0.6, 0.0)),
        min_length=1,
        description="of all samples, by row",
    )
    blocks: tuple[int, ...] = Field((1, 1, 1), description="features of every party")
    iterations: int = Field(10, ge=1, le=1_000, description="T")
    noise_scale: float = Field(1.0, gt=0, description="sigma, of every message")
    penalty: float = Field(1.0, gt=0, description="rho")
    regulariser_weight: float = Field(1.0, gt=0, description="of the ridge")

    def network(self) -> Network:
        """Return the rounds of the algorithm."""
        import numpy as np

        from dpaudit.algorithms.problems.sample_losses import SQUARED
        from dpaudit.algorithms.sharing.algorithm import SharingADMM
        from dpaudit.algorithms.sharing.noise import MessageNoise
        from dpaudit.algorithms.sharing.vertical import Risk
        from dpaudit.algorithms.views.sharing import LinearSharing
        from dpaudit.datasets.dataset import Dataset
        from dpaudit.errors import InvalidArgument, VerbatimText

        lengths = sorted({len(row) for row in self.features})
        if lengths != [sum(self.blocks)]:
            expected = f"rows of {sum(self.blocks)} numbers, as blocks say"
            raise InvalidArgument("features", VerbatimText(f"rows of {lengths}"), expected)
        algorithm = SharingADMM(
            block_sizes=self.blocks,
            iterations=self.iterations,
            penalty=self.penalty,
            risk=Risk(loss=SQUARED, scaling="sum", regulariser_weight=self.regulariser_weight),
            noise=MessageNoise(self.noise_scale),
        )
        return LinearSharing(algorithm).network(
            Dataset(np.array(self.features), np.ones(len(self.features)))
        )

    @property
    def participants(self) -> int:
        """The number of samples: data are the centre's, sample by sample."""
        return len(self.features)

    def change(self, one: int) -> list[float]:
        """Return the change of a label: 2."""
        return [2.0 if sample == one else 0.0 for sample in range(self.participants)]


Viewed = GossipView | ConsensusView | MultiStepView | SharingView


def _one_record_each(nodes: int) -> Dataset:
    import numpy as np

    from dpaudit.datasets.dataset import Dataset

    return Dataset(np.ones((nodes, 1)), np.ones(nodes), node_sizes=(1,) * nodes)


def make_observer_event(given: Viewed) -> Event:
    """Return the observer's view, as one Gaussian release of the exact mu.

    Raises
    ------
    InvalidArgument
        No such participant, or the observer knows the data without error.

    Examples
    --------
    >>> make_observer_event(GossipView(iterations=1, noise_scale=2.0))
    GaussianRelease(sensitivity=0.5, noise_scale=1.0, count=1)
    >>> make_observer_event(GossipView(observer=(0, 1)))
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: observer: got (0, 1), expected an observer from whom noise \
hides the data of 0: this view determines them without error (mu is infinite)
    """
    from dpaudit.accounting.events import GaussianRelease

    mu = _compute_view_mu(given)  # a sensitivity, not 1 / noise, which would be rounded
    return GaussianRelease(sensitivity=mu, noise_scale=1.0, count=1 if mu else 0)


def format_observer_view(given: Viewed) -> str:
    """Return whose data these are, who looks, and the mu of it.

    Examples
    --------
    >>> format_observer_view(GossipView(iterations=1, noise_scale=2.0))
    'The data of node 0 alone, as seen by node 1: exactly Gaussian, mu = 0.5.'
    >>> format_observer_view(GossipView(iterations=1, observer=(2, 3)))
    'The data of node 0 alone, as seen by node 2 and node 3: nothing is seen, mu = 0.'
    """
    from decimal import ROUND_CEILING

    from dpaudit.report.formatting import format_significant

    names = given.network().roles.names
    looking = " and ".join(names[one] for one in given.observer) or "all who read the messages"
    mu = _compute_view_mu(given)
    seen = f"exactly Gaussian, mu = {format_significant(mu, 8, ROUND_CEILING)}" if mu else _NOTHING
    return f"The data of {given.kind_of_owner} {given.about} alone, as seen by {looking}: {seen}."


def _compute_view_mu(given: Viewed) -> float:
    from dpaudit.errors import InvalidArgument

    if given.about >= given.participants:
        raise InvalidArgument("about", given.about, f"0 to {given.participants - 1}")
    network = given.network()
    seen = network.view(_resolve_view_observer(given, network), given.change(given.about))
    if seen.infinite:
        expected = (
            f"an observer from whom noise hides the data of {given.about}: this view determines "
            "them without error (mu is infinite)"
        )
        raise InvalidArgument("observer", given.observer, expected)
    return seen.mu.upper


def _resolve_view_observer(given: Viewed, network: Network) -> Ids:
    from dpaudit.errors import InvalidArgument

    if not given.observer:
        return network.eavesdropper()
    most = len(network.roles.hears) - 1
    if not all(0 <= one <= most for one in given.observer):
        raise InvalidArgument("observer", given.observer, f"numbers from 0 to {most}, or none")
    return network.coalition(*given.observer)


def build_learning_grid(given: Viewed, delta: float) -> Grid:
    """Return who learns how much about whom: epsilon at this delta."""
    changes = {
        f"{given.kind_of_owner} {one}": given.change(one) for one in range(given.participants)
    }
    return given.network().who_learns(changes, delta)


def _make_view_card(name: str, title: str, parameters: type[Viewed], relation: str) -> ReleaseCard:
    return ReleaseCard(
        name=name,
        title=title,
        source=_SOURCE,
        relation=relation,
        parameters=parameters,
        event=make_observer_event,
        count="iterations",
        noise="noise_scale",
        grid=build_learning_grid,
        words=format_observer_view,
    )


GOSSIP = _make_view_card(
    "gossip-view", "Gossip averaging, what one observer sees", GossipView, "any"
)
CONSENSUS = _make_view_card(
    "consensus-view",
    "Consensus ADMM with Gaussian noise, what one observer sees",
    ConsensusView,
    "replace-record",
)
MULTISTEP = _make_view_card(
    "multistep-view", "Multi-step DP-ADMM, what one observer sees", MultiStepView, "replace-record"
)
SHARING = _make_view_card(
    "sharing-view", "ADMM sharing, what one observer sees of a label", SharingView, "replace-label"
)

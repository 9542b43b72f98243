r"""Releases of private consensus ADMM: PP, DVP, PVP and R-ADMM as events, node by node.

One record belongs to one node i, and given the past broadcasts the other nodes' laws do not depend
on it. So a run is as private as its worst node: one event a node, and the largest answer counts.
Notation as in `dpaudit.algorithms.consensus.algorithm`; u and w are the two signed records, of norm
at most 1, ``kappa = C / (2 eta V B)``, ``q = rho/N + 2 eta V``, and L bounds ``|l'|``. The slopes
of the loss have one sign, as convex losses that only fall do.

**The shift (PP, DVP).** By stationarity (eq. 58) the noise behind an output f is, on the other
dataset, ``e^ = e + kappa (l'(u'f) u - l'(w'f) w)``. The two factors depend on f, have fixed signs
and are at most ``kappa L`` in size. That is the premise of
`dpaudit.accounting.events.ObjectivePerturbation` with sensitivity ``2 kappa L = C L / (eta V B)``,
in the unit of e, whose noise has rate alpha.

**The determinant.** Let ``H = H_0 + c_u u u'`` and ``H^ = H_0 + c_w w w'`` be the two Hessians:
``H_0`` holds the terms of the records that both datasets share and the quadratic ones, so that
``H_0 >= q I``, and ``0 <= c_u, c_w <= C c_1 / B``. By the matrix determinant lemma

    1  <=  det H / det H_0  =  1 + c_u u' H_0^-1 u  <=  1 + a,        a = C c_1 / (B q),

and so for H^. Their ratio lies within ``(1 + a)^{-1}`` and ``1 + a``: the absolute log-ratio is at
most ``j = ln(1 + a)``. Theorem 4.1 has ``-2 ln(1 - a)`` for it, bounding two eigenvalues of
``H^-1 (H^ - H)`` apart, and needs ``a < 1/2`` for that; with one negative eigenvalue at most it
would be ``-ln(1 - a)``. Neither uses that H holds the term it loses; j needs no condition. It is
attained: one record, ``||u|| = 1``, ``w = 0`` and an output at which ``l''(u'f) = c_1``. Where l''
jumps, both changes of variables hold but for outputs of probability 0.

**One update, delta = 0.** The loss is at most ``alpha s + j``, where eq. (26) has
``alpha s + 1.4 c_1 C / (eta V B)``. As ``ln(1 + a) <= a <= c_1 C / (2 eta V B)``, the determinant
costs at most ``1 / 2.8`` of what was published. A loss can attain the sum: the smoothed hinge with
``w = -u`` has slopes -1 and curvatures 1 and 0 where ``u'f`` is just above 0.

**PVP.** ``f*`` minimises a q-strongly convex function F; on the other dataset, at the same f*, the
gradient is ``(C/B) (l'(w'f*) w - l'(u'f*) u)``, of norm at most ``2 C L / B``. So f* moves by at
most ``2 C L / (B q)``, whatever the past: an adaptive sequence of queries of bounded sensitivity
(`dpaudit.accounting.events.ExponentialNormRelease`). With one record, ``w = -u`` and the linear
loss it is attained. The broadcast has no change of variables, hence no determinant.

**R-ADMM.** Even broadcasts are functions of earlier ones, so only odd iterations release anything:
those of PP.
"""

from __future__ import annotations

import math
from collections.abc import Sequence as Several
from dataclasses import dataclass

import numpy as np

import dpaudit._check as check
from dpaudit.accounting.events import Event, ExponentialNormRelease, ObjectivePerturbation, Sequence
from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.consensus.law import compute_published_update_bound
from dpaudit.algorithms.consensus.process import noise_rates
from dpaudit.algorithms.consensus.views import (
    PenaltyPerturbation,
    PrimalPerturbation,
    RecycledPerturbation,
)
from dpaudit.algorithms.problems.smooth_losses import SmoothLoss
from dpaudit.errors import InvalidArgument, UnsupportedEvent, VerbatimText

Mechanism = PenaltyPerturbation | PrimalPerturbation | RecycledPerturbation


@dataclass(frozen=True, kw_only=True)
class NodeUpdate:
    """The public constants of one noisy update of one node.

    Formal guarantee: that of `perturbation` for a perturbed objective, of `primal_perturbation` for
    a perturbed minimiser, under replace-record, for records of norm at most 1.

    Parameters
    ----------
    loss
        A convex loss whose slopes have one sign.
    loss_weight, records
        ``C`` and ``B``.
    ridge
        ``rho / N``.
    stretch
        ``2 eta V``.
    noise_rate
        ``alpha``.

    Raises
    ------
    InvalidArgument
        A number is outside its domain, or the loss has slopes of both signs.

    Examples
    --------
    >>> from dpaudit.algorithms.problems.smooth_losses import LOGISTIC
    >>> update = NodeUpdate(
    ...     loss=LOGISTIC, loss_weight=1.0, records=10, ridge=0.5, stretch=2.0, noise_rate=3.0
    ... )
    >>> update.sensitivity, round(update.log_determinant, 6), round(update.pure_bound(), 6)
    (0.1, 0.00995, 0.30995)
    >>> round(update.published_bound, 6)
    0.335
    """

    loss: SmoothLoss
    loss_weight: float
    records: int
    ridge: float
    stretch: float
    noise_rate: float

    def __post_init__(self) -> None:
        for name in ("loss_weight", "stretch", "noise_rate"):
            check.require_positive(name, getattr(self, name))
        check.non_negative("ridge", self.ridge)
        check.require_integer("records", self.records, least=1)
        low, high = self.loss.margin.slope_range
        # With slopes of both signs the two factors of the shift could add up in one direction,
        # which the composition at a delta above 0 does not allow for.
        if low < 0 < high:
            given = VerbatimText(f"{self.loss.name} with slopes in [{low:g}, {high:g}]")
            raise InvalidArgument("loss", given, "a loss whose slopes have one sign")

    @property
    def sensitivity(self) -> float:
        """``s = C L / (eta V B)``: how far a record moves the noise behind an output."""
        # L / (eta V) is 2 L / `stretch`.
        return 2 * self.loss_weight * self.loss.lipschitz / (self.stretch * self.records)

    @property
    def log_determinant(self) -> float:
        """``j = ln(1 + a)``: bound on the log-ratio of the two changes of variables."""
        share = self.loss_weight * self.loss.largest_curvature / self.records
        return math.log1p(share / (self.ridge + self.stretch))

    @property
    def minimiser_sensitivity(self) -> float:
        """``2 C L / (B q)``: how far a record moves the exact minimiser."""
        reach = 2 * self.loss_weight * self.loss.lipschitz / self.records
        return reach / (self.ridge + self.stretch)

    @property
    def published_bound(self) -> float:
        """``C (1.4 c_1 + alpha) / (eta V B)``: the summand of eq. (26)."""
        summand = compute_published_update_bound(
            self.loss,
            loss_weight=self.loss_weight,
            records=np.array(self.records),
            stretch=np.array(self.stretch),
            rate=np.array(self.noise_rate),
        )
        return float(summand)

    def pure_bound(self, radius: float = math.inf) -> float:
        """Return ``alpha s + j``: a bound on the loss of every output of norm at most ``radius``.

        With a finite radius it is no guarantee by itself: longer outputs have a probability, which
        then belongs into delta.
        """
        # A constant loss has no slope to compare with, and its sensitivity is 0 in any case.
        share = slope_bound(self.loss, radius) / (self.loss.lipschitz or 1.0)
        return self.noise_rate * self.sensitivity * share + self.log_determinant

    def perturbation(self, dimension: int) -> ObjectivePerturbation:
        """Return the release of a minimiser of the perturbed objective: PP, DVP, R-ADMM."""
        return ObjectivePerturbation(
            sensitivity=self.sensitivity,
            noise_rate=self.noise_rate,
            dimension=dimension,
            log_determinant=self.log_determinant,
        )

    def primal_perturbation(self, dimension: int) -> ExponentialNormRelease:
        """Return the release of the perturbed minimiser: PVP."""
        return ExponentialNormRelease(
            sensitivity=self.minimiser_sensitivity,
            noise_rate=self.noise_rate,
            dimension=dimension,
        )


def slope_bound(loss: SmoothLoss, radius: float = math.inf) -> float:
    """Return the largest ``|l'(u'f)|`` over records and models of norms at most 1 and ``radius``.

    A convex loss has a slope that does not fall: it is largest in size at an end of the interval.
    For the logistic loss that is ``1 / (1 + exp(-radius))``.

    Examples
    --------
    >>> from dpaudit.algorithms.problems.smooth_losses import LOGISTIC
    >>> round(slope_bound(LOGISTIC, 2.0), 6), slope_bound(LOGISTIC)
    (0.880797, 1.0)
    """
    if radius == math.inf:
        # Slopes do not fall, so the largest in size is at an end.
        return loss.lipschitz
    check.non_negative("radius", radius)
    return float(np.abs(loss.margin.slope(np.array([-radius, radius]))).max())


def node_updates(
    algorithm: ConsensusADMM, node_sizes: Several[int]
) -> tuple[tuple[NodeUpdate, ...], ...]:
    """Return every node's updates in iterations 1 to T.

    Parameters
    ----------
    algorithm
        With noise.
    node_sizes
        Records of every node.

    Raises
    ------
    InvalidArgument
        There is no noise, or the sizes do not fit the graph.
    """
    nodes, rates = algorithm.graph.nodes, noise_rates(algorithm)
    if len(node_sizes) != nodes:
        given = VerbatimText(f"{len(node_sizes)} sizes")
        raise InvalidArgument("node_sizes", given, f"one for each of {nodes} nodes")

    # Iterations are counted from 0 here, as rows of the tables.
    def update(node: int, iteration: int) -> NodeUpdate:
        return NodeUpdate(
            loss=algorithm.loss,
            loss_weight=algorithm.loss_weight,
            records=node_sizes[node],
            ridge=algorithm.regulariser_weight / nodes,
            stretch=float(algorithm.stretch[iteration, node]),
            noise_rate=float(rates[iteration, node]),
        )

    return tuple(tuple(update(i, t) for t in range(algorithm.iterations)) for i in range(nodes))


def node_events(
    mechanism: Mechanism, *, node_sizes: Several[int], dimension: int
) -> tuple[Event, ...]:
    """Return the releases of the differing record's node, for every node that it may be.

    Formal guarantee: the run's, under replace-record, is the worst of these events' (module
    docstring; `dpaudit.accounting.strongest_guarantee.bound_worst_proved_epsilon`). Penalties and
    rates must not depend on the records, and the minimisers have to be exact.

    Parameters
    ----------
    mechanism
        Penalty, dual variable or primal perturbation, or the recycled variant, of a
        `ConsensusADMM`.
    node_sizes, dimension
        Records of every node, and their length d.

    Raises
    ------
    InvalidArgument
        There is no noise, the sizes do not fit the graph, or the loss has slopes of both signs.
    UnsupportedEvent
        No theorem here covers the mechanism.

    Examples
    --------
    >>> from dpaudit.algorithms.problems.graphs import star
    >>> from dpaudit.algorithms.problems.schedules import Constant
    >>> algorithm = ConsensusADMM(graph=star(3), iterations=5, noise_rate=Constant(3.0))
    >>> from dpaudit.accounting.strongest_guarantee import bound_worst_proved_epsilon
    >>> for variant in (algorithm.penalty_perturbation(), algorithm.recycled()):
    ...     events = node_events(variant, node_sizes=(90, 30, 60), dimension=10)
    ...     print(round(bound_worst_proved_epsilon(events, 0.0), 4))
    1.0414
    0.6248
    """
    algorithm = mechanism.algorithm
    if not isinstance(algorithm, ConsensusADMM):
        given = f"a process of type {type(algorithm).__name__}"
        raise UnsupportedEvent(f"event: got {given}, expected ConsensusADMM")
    updates = node_updates(algorithm, node_sizes)
    return tuple(run_event(mechanism, node, dimension) for node in updates)


def run_event(mechanism: Mechanism | str, updates: Several[NodeUpdate], dimension: int) -> Event:
    """Return the joint release of one node's updates.

    Parameters
    ----------
    mechanism
        As in `node_events`, or "penalty", "primal" or "recycled".
    updates
        Those of iterations 1 to T.
    dimension
        ``d``.

    Raises
    ------
    UnsupportedEvent
        No theorem here covers the mechanism.
    """
    match mechanism:
        case PrimalPerturbation() | "primal":
            return Sequence(tuple(each.primal_perturbation(dimension) for each in updates))
        case PenaltyPerturbation() | "penalty":
            return Sequence(tuple(each.perturbation(dimension) for each in updates))
        case RecycledPerturbation() | "recycled":
            # Odd iterations, counted from 1, are the entries of even index.
            return Sequence(tuple(each.perturbation(dimension) for each in updates[::2]))
    given = mechanism if isinstance(mechanism, str) else type(mechanism).__name__
    raise UnsupportedEvent(f"event: got {given}, expected PP, DVP, PVP or R-ADMM")

"""From a trace to a bound: the releases of every path, and their joint cost."""

from __future__ import annotations

import math
from collections.abc import Sequence as SequenceOf
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from dpaudit.accounting.events import Event, Release, Sequence
from dpaudit.accounting.strongest_guarantee import proved_guarantee
from dpaudit.errors import InvalidArgument, UnsupportedEvent
from dpaudit.guarantees import rounding
from dpaudit.guarantees.kinds import (
    ApproximateDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpaudit.proving.distances.analysis import Analysis
from dpaudit.proving.distances.shared_analysis import DistanceMemory, SharedAnalysis
from dpaudit.proving.events import drawings
from dpaudit.proving.events.coin_paths import join_coin_paths
from dpaudit.proving.events.composition import PathCost, Stacks, add_up
from dpaudit.proving.events.infinities import without_infinities
from dpaudit.proving.events.inverse_cdf import with_plain_laws
from dpaudit.proving.events.kinds import ReleaseReader
from dpaudit.proving.events.release_forms import Additive, RecordDraw, Selection
from dpaudit.proving.events.releases import AdditivePlan, Bounds, ReleaseCost
from dpaudit.proving.events.responses import Response, claim_responses
from dpaudit.proving.events.sampling import SampledPlan, sample_of
from dpaudit.proving.events.selection import SelectionPlan
from dpaudit.proving.events.sparse_vector import ThresholdComparisons, claim_comparisons
from dpaudit.proving.events.tournaments import join_tournament
from dpaudit.proving.events.types import require_ends, require_real_types
from dpaudit.proving.program import PathProgram
from dpaudit.proving.refusals import NotProved
from dpaudit.proving.trace import FunctionTrace, NodeKind, Path
from dpaudit.proving.universe import Universe

TOLERANCE = 1e-9  # of a claim, whose constants are rounded in the code
_MOST_KINDS = 64  # of releases that accountants are asked about


class ReleasePlan(Protocol):
    """Nodes of a draft whose distances bound the cost of a release."""

    def measure(self, bounds: Bounds) -> ReleaseCost:
        """Return the cost."""


@dataclass(frozen=True)
class Bound:
    """The cost of a function on all neighbours of a universe.

    Parameters
    ----------
    universe
        The datasets, and which are neighbours.
    paths
        What each way through the function costs.
    """

    universe: Universe
    paths: tuple[PathCost, ...]

    @property
    def events(self) -> tuple[tuple[Release, ...], ...]:
        """The events of every path, in order."""
        return tuple(tuple(one.event for one in path.releases) for path in self.paths)

    @property
    def pure(self) -> float:
        """Epsilon at delta 0, infinite where there is none."""
        # A Gaussian release has no epsilon at delta 0, and a release that is neither pure nor
        # Gaussian is missing from both sums.
        if any(not one.is_whole or one.mu for one in self.paths):
            return math.inf
        return max(one.epsilon for one in self.paths)

    @property
    def mu(self) -> float:
        """The mu of a Gaussian guarantee, infinite if none is known."""
        if any(not one.is_whole for one in self.paths):
            return math.inf
        # Without pure releases the paths are Gaussian throughout; mixed paths get mu by way of
        # epsilon.
        if all(one.epsilon == 0 for one in self.paths):
            return max(one.mu for one in self.paths)
        return PureDP(self.pure)._mu() if self.pure < math.inf else math.inf

    @property
    def rho(self) -> float:
        """The rho of a concentrated guarantee, infinite if none is known."""
        if any(one.is_by_path for path in self.paths for one in path.releases):
            return rounding.half_square_up(self.pure) if self.pure < math.inf else math.inf
        return max(one.rho for one in self.paths)

    def epsilon(self, delta: float = 0.0) -> float:
        """Return an epsilon that holds at a delta in [0, 1), the least of the proved ones.

        Parameters
        ----------
        delta
            Of (epsilon, delta)-differential privacy.
        """
        ways = [self._by_parts(delta), self._by_rho(delta)]
        if self._accountant_guarantee is not None:
            ways.append(self._accountant_guarantee.epsilon(delta))
        # Every way is a proof of its own, so the least is proved as well.
        return min(ways)

    def _by_parts(self, delta: float) -> float:
        if any(not one.is_whole for one in self.paths):
            return math.inf
        # Maxima over different paths are no more than looser; deltas of paths must not be
        # compared.
        epsilon, mu = max(p.epsilon for p in self.paths), max(p.mu for p in self.paths)
        far = GaussianDP(mu).epsilon(delta) if mu < math.inf else math.inf
        return rounding.sum_up([(1, epsilon), (1, far)])

    def _by_rho(self, delta: float) -> float:
        return ZeroConcentratedDP(self.rho).epsilon(delta) if self.rho < math.inf else math.inf

    @cached_property
    def _accountant_guarantee(self) -> Guarantee | None:
        """The guarantee that accountants prove if all paths release alike."""
        first = self.events[0]
        if any(one.is_by_path for path in self.paths for one in path.releases):
            return None
        # Accountants compose a fixed sequence. Where a path is chosen after looking, its
        # guarantee at one delta says nothing of the choice.
        if any(one != first for one in self.events[1:]) or len(set(first)) > _MOST_KINDS:
            return None
        event: Event = Sequence(first)
        try:
            return proved_guarantee(event)
        except UnsupportedEvent:
            return None

    def proves(self, claim: Guarantee) -> bool:
        """Return whether a claim about the function is proved.

        Parameters
        ----------
        claim
            (epsilon, delta), mu or rho; of another kind nothing is proved.
        """
        most = 1 + TOLERANCE
        match claim:
            case PureDP(at_epsilon=epsilon):
                return self.epsilon(0.0) <= epsilon * most
            case ApproximateDP(at_epsilon=epsilon, at_delta=delta):
                return self.epsilon(delta) <= epsilon * most
            case GaussianDP(mu=mu):
                return self.mu <= mu * most
            case ZeroConcentratedDP(rho=rho):
                return self.rho <= rho * most
            case RenyiDP(order=order, at_epsilon=epsilon):
                return min(self.rho * order, self.pure) <= epsilon * most
        return False

    @property
    def statement(self) -> str:
        """One sentence that states the proved guarantee."""
        what = f"epsilon {self.pure:.6g}"
        if self.pure == math.inf:
            what = f"mu {self.mu:.6g}" if self.mu < math.inf else f"rho {self.rho:.6g}"
        size = "" if self.universe.records is None else f" of {self.universe.records} records"
        return f"{what} for all datasets{size} and all neighbours by {self.universe.relation}"


def bound_trace(trace: FunctionTrace) -> Bound:
    """Return the cost of a function, from all its paths.

    Raises
    ------
    NotProved
        No theorem covers what some path shows.

    Examples
    --------
    >>> import numpy as np
    >>> from dpaudit.proving.trace import Path
    >>> from dpaudit.proving.universe import Part
    >>> program = PathProgram()
    >>> x = program.add("data", shape=(3,), part="")
    >>> total = program.add("sum", [x], shape=(), axis=None)
    >>> noise = program.add("draw", shape=(), law="laplace", number=0)
    >>> program.outputs = (program.add("add", [total, noise], shape=()),)
    >>> part = Part("", (3,), np.array(0.0), np.array(1.0))
    >>> bound = bound_trace(FunctionTrace(Universe((part,), 3, "replace"), (Path(program),)))
    >>> round(bound.epsilon(), 12)
    1.0
    """
    # A maximum over paths is a bound only if none is missing: one that was left out could cost
    # more.
    if not is_whole_tree([one.decisions for one in trace.paths]):
        decided = [one.decisions for one in trace.paths]
        raise InvalidArgument("trace.paths", decided, "a path for each way to decide")
    trace = without_infinities(trace)
    whole = _bound_selection(trace)
    try:
        found = _bound_paths(trace.universe, trace.paths)
    except NotProved:
        other = whole or _bound_joined(trace)
        if other is None:
            raise
        return other
    return found if whole is None or found.pure <= whole.pure else whole


def _bound_selection(trace: FunctionTrace) -> Bound | None:
    """Return the bound of a function that says which of its scores is the largest, if it is one."""
    joined = join_tournament(trace.paths, trace.skeletons)
    if joined is not None:
        with suppress(NotProved):
            return _bound_paths(trace.universe, joined)
    return None


def _bound_joined(trace: FunctionTrace) -> Bound | None:
    """Return the bound where paths that part at a coin are one, None where there is none."""
    joined = join_coin_paths(trace.paths, trace.skeletons)
    if len(joined) < len(trace.paths):
        with suppress(NotProved):
            return _bound_paths(trace.universe, joined)
    return None


def is_whole_tree(ways: SequenceOf[tuple[bool, ...]]) -> bool:
    """Return whether paths are all that there are: each is left at a decision by another one.

    Examples
    --------
    >>> is_whole_tree([(True,), (False, True), (False, False)]), is_whole_tree([(True,)])
    (True, False)
    """
    pending = [list(ways)]
    while pending:
        some = pending.pop()
        if some == [()]:
            continue
        # A side that no path takes, or a path that ends where another goes on, leaves a way
        # without a cost.
        if not some or () in some:
            return False
        pending += [[one[1:] for one in some if one[0] is side] for side in (True, False)]
    return True


def _bound_paths(universe: Universe, paths: SequenceOf[Path]) -> Bound:
    # With a single path, nothing would be found twice.
    memory = DistanceMemory() if len(paths) > 1 else None
    return Bound(universe, tuple(cost_of_path(one.program, universe, memory) for one in paths))


def cost_of_path(
    program: PathProgram, universe: Universe, memory: DistanceMemory | None = None
) -> PathCost:
    """Return the cost of one program's releases.

    Parameters
    ----------
    program, universe
        What is released of which datasets.
    memory
        Distances that are known from other paths, and where those of this one are noted.

    Raises
    ------
    NotProved
        It shows what no release covers, or nothing bounds one of its releases.
    """
    plain = with_plain_laws(program)
    reader = ReleaseReader(plain)
    if not claim_comparisons(reader):
        return _compute_path_cost(reader, universe, memory)
    # The two readings of the program share nearly all of their distances.
    memory = memory or DistanceMemory()
    # A claimed comparison costs more than plain noise in some programs, so both readings are
    # tried.
    alone = _cost_or_none(ReleaseReader(plain), universe, memory)
    try:
        found = _compute_path_cost(reader, universe, memory)
    except NotProved:
        if alone is None:
            raise
        return alone
    # Only a cost that is lower in every currency may replace another: mixtures of the two are
    # not proved.
    return alone if alone is not None and alone.is_below(found) else found


def _cost_or_none(
    reader: ReleaseReader, universe: Universe, memory: DistanceMemory
) -> PathCost | None:
    with suppress(NotProved):
        return _compute_path_cost(reader, universe, memory)
    return None


def _compute_path_cost(
    reader: ReleaseReader, universe: Universe, memory: DistanceMemory | None
) -> PathCost:
    """Return the cost of a program, with its earlier claims."""
    claim_responses(reader, universe)
    reading = reader.read()
    plans = [_make_release_plan(reader, one) for one in reading.releases]
    stacks = Stacks.of(reading.draft, plans)
    kinds = tuple(reader.all_kinds())
    bounds = _make_analysis(reading.draft.program, universe, kinds, memory)
    # Distances are of real numbers; a live value of a type that wraps around has none.
    require_real_types(reading.draft.program, reader.live, kinds[: reader.draft.own], bounds)
    require_ends(reading.draft.program, kinds[: reader.draft.own], bounds)
    return add_up([one.measure(bounds) for one in plans], stacks, bounds)


def _make_analysis(
    program: PathProgram,
    universe: Universe,
    kinds: tuple[NodeKind, ...],
    memory: DistanceMemory | None,
) -> Bounds:
    if memory is None:
        return Analysis(program, universe, kinds)
    return SharedAnalysis(program, universe, kinds, memory)


def _make_release_plan(reader: ReleaseReader, release: object) -> ReleasePlan:
    draft = reader.draft
    match release:
        case Additive():
            whole, sample = AdditivePlan.of(draft, release), sample_of(reader, release)
            return whole if sample is None else SampledPlan(whole, sample)
        case Selection():
            return SelectionPlan.of(draft, release)
        case RecordDraw():
            return drawings.plan_of(draft, release)
        case ThresholdComparisons() | Response():
            return release
    raise AssertionError(f"a {type(release).__name__} has no plan")

"""The attack on bounds of whole programs: what they release, replayed on neighbours."""

from __future__ import annotations

from dataclasses import dataclass

from dpaudit.proving.events.bound import Bound, bound_trace
from dpaudit.proving.program import PathProgram
from dpaudit.proving.refusals import NotProved
from dpaudit.proving.trace import FunctionTrace, Path
from dpaudit.proving.universe import Universe

from .choices import Stream
from .releases import grow_releases
from .replays import Release, are_normal, search_losses
from .search import CHEAP, Effort
from .universes import make_universe

SLACK = 1e-6  # of losses, whose draws are moved in doubles
LAWS = ("laplace", "normal")


@dataclass(frozen=True)
class Cost:
    """What a program is proved to cost, and what its replays show.

    Parameters
    ----------
    proved
        Epsilon, or mu where all noise is normal; None where it is refused.
    found
        The largest that was seen.
    """

    proved: float | None = None
    found: float = 0.0

    @property
    def is_beaten(self) -> bool:
        """Return whether more was seen than is proved."""
        return self.proved is not None and self.found > self.proved * (1 + SLACK) + SLACK


def make_releases(seed: int) -> tuple[Universe, PathProgram, tuple[Release, ...]]:
    """Return the universe, the program and the releases of a seed."""
    choices = Stream(seed)
    universe = make_universe(choices)
    return universe, *grow_releases(choices, universe, law=LAWS[choices.below(2)])


def attack_releases(seed: int, effort: Effort = CHEAP) -> Cost:
    """Return what the program of a seed is proved to cost, and what was seen."""
    universe, program, releases = make_releases(seed)
    if not releases:
        return Cost()
    try:
        with effort.spend():
            bound = bound_trace(FunctionTrace(universe, (Path(program),)))
    except NotProved:
        return Cost()
    try:
        found = search_losses(program, universe, releases, seed, rounds=effort.rounds)
    except (ValueError, IndexError):  # nothing to choose from
        return Cost()
    return compare_cost(program, bound, *found)


def compare_cost(program: PathProgram, bound: Bound, epsilon: float, mu: float) -> Cost:
    """Return what is proved beside what was seen."""
    return Cost(bound.mu, mu) if are_normal(program) else Cost(bound.pure, epsilon)

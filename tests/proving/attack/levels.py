"""What is attacked: values of core programs, costs of what programs release, whole functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dpaudit.proving.distances.analysis import Analysis
from dpaudit.proving.program import Node, PathProgram
from dpaudit.proving.universe import Universe

from .choices import Stream
from .costs import attack_releases, make_releases
from .grammar import grow
from .search import CHEAP, Attack, Effort, MakesProver, Outcome
from .selections import attack_choice
from .sources import as_seen, write_source
from .traced import attack_function
from .universes import make_universe


@dataclass(frozen=True)
class Level:
    """A kind of programs.

    Parameters
    ----------
    attack
        Attacks the program of a seed.
    show
        Returns that program as people read it.
    """

    attack: Callable[[int, Effort], Outcome]
    show: Callable[[int], str]


def make_program(seed: int) -> tuple[Universe, PathProgram]:
    """Return the universe and the program of a seed."""
    choices = Stream(seed)
    universe = make_universe(choices)
    return universe, grow(choices, universe)


def attack_program(
    seed: int, effort: Effort = CHEAP, make_prover: MakesProver = Analysis
) -> Outcome:
    """Return what the attack on the program of a seed came to."""
    universe, program = make_program(seed)
    return Attack(program, universe, make_prover, seed).run(effort)


def attack_cost(seed: int, effort: Effort = CHEAP) -> Outcome:
    """Return what the attack on the releases of a seed came to: every fourth one is a choice."""
    cost = attack_releases(seed, effort) if seed % 4 else attack_choice(seed, effort)
    if cost.proved is None:
        return Outcome(stage="refused")
    outcome = Outcome(stage="proved", tight=int(cost.found > 0.999 * cost.proved > 0))
    if cost.is_beaten:
        outcome.findings.append(f"a loss of {cost.found}, where {cost.proved} is proved")
    return outcome


def describe(universe: Universe, program: PathProgram) -> str:
    """Return a program line by line, below its datasets."""
    lines = [f"{universe.relation}, {universe.count} differ, {universe.records} records"]
    lines += [
        f"{one.name or 'data'}{one.shape} from {one.low.tolist()} to {one.high.tolist()}, "
        f"norm {one.norm}, integers {one.is_integer}, changed {one.is_changed}"
        for one in universe.parts
    ]
    return "\n".join(lines + [_describe_node(node) for node in program.nodes])


def _describe_node(node: Node) -> str:
    operands = ", ".join(f"n{one}" for one in node.operands)
    given = "".join(f", {name}={one!r}" for name, one in node.parameters.items())
    return f"n{node.index} = {node.operation}({operands}{given})  {node.shape} {node.dtype}"


LEVELS = {
    "core": Level(attack_program, lambda seed: describe(*make_program(seed))),
    "releases": Level(attack_cost, lambda seed: describe(*make_releases(seed)[:2])),
    "functions": Level(attack_function, lambda seed: as_seen(write_source(Stream(seed)))),
}

"""The largest of noisy scores, found by comparing them two at a time.

``max(noisy, key=noisy.get)``, or a loop that keeps the best so far, has a path for each way in
which the comparisons may end; on each, the differences that they tell would be paid for.

**Theorem.** Let all decisions of a function compare two of its noisy scores, let the outcomes on
each path imply that one score is above all others, and let what is returned be a public value that
this score alone says. Then the function is one of the place of the largest score, but for ties.
*Proof.* On every path the implied score is the largest, and paths are all that there are. []

Likewise for the smallest. Outcomes that contradict one another, as a circle of scores each above
the next, happen with probability 0 and are left out.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from dpaudit.proving.events.draft import Draft, size_of, write_parameters
from dpaudit.proving.program import Node, PathProgram
from dpaudit.proving.trace import Path

_COMPARISONS = frozenset({"less", "less_equal"})
# Under these laws two scores tie with probability 0; discrete noise ties often, and then the
# first or the last of them is returned, by the way that the comparisons are written.
_CONTINUOUS = frozenset("laplace normal gumbel exponential logistic cauchy uniform".split())
_MOST_SCORES = 64


@dataclass(eq=False)
class _Outcomes:
    """The end of the comparisons of a path.

    Parameters
    ----------
    draft
        The program of the path.
    names
        What each node is, alike on all paths.
    below
        By score, those that it was found to be above.
    nodes
        The node of each score.
    """

    draft: Draft
    names: list[int]
    below: dict[int, set[int]]
    nodes: dict[int, int]

    def reached(self, start: int) -> set[int]:
        """Return the scores that outcomes imply to be below one."""
        found, pending = set[int](), [start]
        while pending:
            fresh = self.below.get(pending.pop(), set()) - found
            found |= fresh
            pending.extend(fresh)
        return found

    def is_circular(self) -> bool:
        """Return whether a score would be above itself."""
        return any(one in self.reached(one) for one in self.below)

    def largest(self) -> int | None:
        """Return the score that is above all others, None where outcomes leave that open."""
        others = set(self.nodes)
        return next((one for one in others if self.reached(one) >= others - {one}), None)

    def turned(self) -> _Outcomes:
        """Return the outcomes of the negatives."""
        below: dict[int, set[int]] = {}
        for above, some in self.below.items():
            for one in some:
                below.setdefault(one, set()).add(above)
        return _Outcomes(self.draft, self.names, below, self.nodes)


def join_tournament(
    paths: Sequence[Path], skeletons: Sequence[object] = ()
) -> tuple[Path, ...] | None:
    """Return the one path of a function that returns the place of its largest noisy score.

    Parameters
    ----------
    paths
        All ways through the function.
    skeletons
        Of each, the nesting of what it returns.

    Returns
    -------
    tuple or None
        None where it is not of that form.
    """
    if len(paths) < 2:
        return None
    known = dict[Hashable, int]()
    found = [_find_comparison_outcomes(one.program, known) for one in paths]
    outcomes = [one for one in found if one is not None]
    if len(outcomes) < len(paths):
        return None
    told = [_format_public_output(one.draft, n, skeletons) for n, one in enumerate(outcomes)]
    for operation, turned in (("argmax", False), ("argmin", True)):
        ways = [one.turned() if turned else one for one in outcomes]
        if _is_tournament(ways, told):
            return (Path(_build_choice_program(ways[0], operation)),)
    return None


def _find_comparison_outcomes(program: PathProgram, known: dict[Hashable, int]) -> _Outcomes | None:
    """Return the outcomes of a path on which nothing but two scores is ever compared."""
    draft = Draft(program)
    names = _number_node_forms(program, known)
    found = _Outcomes(draft, names, {}, {})
    for above, below in _find_compared_nodes(draft):
        if above is None or below is None:
            return None
        for one in (above, below):
            found.nodes[names[one]] = one
        found.below.setdefault(names[above], set()).add(names[below])
    is_of_few = 1 < len(found.nodes) <= _MOST_SCORES
    return found if is_of_few and _is_continuous(program, found.nodes.values()) else None


def _is_continuous(program: PathProgram, scores: Iterable[int]) -> bool:
    """Return whether scores have noise under which no two of them are ever equal."""
    draws = [
        {k for k in program.slice(one) if program.nodes[k].operation == "draw"} for one in scores
    ]
    laws = {program.nodes[k].parameters["law"] for some in draws for k in some}
    return all(draws) and laws <= _CONTINUOUS


def _find_compared_nodes(draft: Draft) -> Iterator[tuple[int, int] | tuple[None, None]]:
    """Yield the node that is above and the one below for each decision, None for another one."""
    for node in draft.program.nodes:
        if node.operation != "decide":
            continue
        outcome, condition = bool(node.parameters["outcome"]), draft.node(node.operands[0])
        while condition.operation == "logical_not":
            outcome, condition = not outcome, draft.node(condition.operands[0])
        sizes = [size_of(draft.shape(one)) for one in condition.operands]
        if condition.operation not in _COMPARISONS or sizes != [1, 1]:
            yield None, None
            return
        left, right = condition.operands
        # `<` and `<=` differ at ties alone.
        yield (right, left) if outcome else (left, right)


def _number_node_forms(program: PathProgram, known: dict[Hashable, int]) -> list[int]:
    """Return numbers of nodes by their contents, the same for nodes that are formed alike."""
    names: list[int] = []
    for node in program.nodes:
        operands = tuple(names[one] for one in node.operands)
        made = node.operation, operands, write_parameters(node.parameters), node.shape, node.dtype
        names.append(known.setdefault(made, len(known)))
    return names


def _format_public_output(draft: Draft, number: int, skeletons: Sequence[object]) -> str | None:
    """Return the output of a path, as text, if that is public from the start."""
    values = [draft.value(one) for one in draft.program.outputs]
    # What is computed from a score tells more than its place.
    if any(one is None for one in values):
        return None
    nesting = repr(skeletons[number]) if skeletons else ""
    return nesting + repr([one.tolist() for one in values if one is not None])


def _is_tournament(ways: Sequence[_Outcomes], told: Sequence[str | None]) -> bool:
    """Return whether each path says which of the same scores is the largest, and returns that."""
    scores = {frozenset(one.nodes) for one in ways}
    if len(scores) != 1:
        return False
    by_winner: dict[int, str] = {}
    for way, text in zip(ways, told, strict=True):
        # A circle of scores has probability 0, so such a path may return anything.
        if way.is_circular():
            continue
        winner = way.largest()
        # Two outputs for one winner would tell more than the winner, such as the order of the
        # others.
        if winner is None or text is None or by_winner.setdefault(winner, text) != text:
            return False
    return True


def _build_choice_program(way: _Outcomes, operation: str) -> PathProgram:
    """Return the program that puts the scores in a row and returns the place of one."""
    program = PathProgram([_without_decision(one) for one in way.draft.program.nodes])
    first = next(iter(way.nodes.values()))
    place = way.draft.node(first).place
    pieces = [program.add("reshape", [one], shape=(1,), place=place) for one in way.nodes.values()]
    row = program.add("concatenate", pieces, shape=(len(pieces),), place=place, axis=0)
    best = program.add(operation, [row], shape=(), dtype="int64", place=place, axis=None)
    program.outputs = (best,)
    return program


def _without_decision(node: Node) -> Node:
    if node.operation != "decide":
        return node
    return Node(node.index, "constant", (), {"value": 0.0}, (), "float64", node.place)

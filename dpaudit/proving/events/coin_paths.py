"""Paths that part at a coin of their own, put together into one.

``x if coin else other`` has a path for each side. A coin that decides it may be hidden, as in
randomised response; on the path of its true side the value itself is shown, and nothing is proved.

**Theorem.** Let two paths have the same operations until a condition decides that depends on draws
alone, and let their outputs be functions of what precedes it and of draws that follow. The output
``where(condition, one, other)``, with draws of their own for each side, is the function's. Outputs
that are the same function on both sides, of draws of the same laws that no other output uses, may
be formed once for both. *Proof.* For either outcome, given what precedes the condition, the outputs
have the law that the function gives them: those that are formed once are independent of the
others given that, and have the same law on both sides. []
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from dpaudit.proving.events.draft import write_parameters
from dpaudit.proving.program import Node, PathProgram
from dpaudit.proving.trace import Path

# Each junction copies one side, so paths that part at many coins would grow without end.
_MOST_NODES = 5000
_DEPENDENT = frozenset({"data", "size"})


def join_coin_paths(paths: Sequence[Path], skeletons: Sequence[object] = ()) -> tuple[Path, ...]:
    """Return paths of which those that part at a coin are put together, where that is possible.

    Parameters
    ----------
    paths
        All ways through a function.
    skeletons
        Of each, the nesting of what it returns; paths of several nestings stay apart.
    """
    # Outputs of two nestings are told apart by their form alone, so the coin is shown.
    if len(set(map(repr, skeletons))) > 1 or len({len(p.program.outputs) for p in paths}) > 1:
        return tuple(paths)
    return tuple(_join_from(list(paths), 0))


def _join_from(paths: list[Path], depth: int) -> list[Path]:
    """Return paths that are alike in their first decisions, put together beyond these."""
    if len(paths) == 1 and len(paths[0].decisions) <= depth:
        return paths
    if any(len(one.decisions) <= depth for one in paths):
        return paths
    sides = [
        _join_from([one for one in paths if one.decisions[depth] is outcome], depth + 1)
        for outcome in (True, False)
        if any(one.decisions[depth] is outcome for one in paths)
    ]
    if len(sides) == 2 and len(sides[0]) == len(sides[1]) == 1:
        joined = _merge_coin_paths(sides[0][0], sides[1][0], depth)
        if joined is not None:
            return [joined]
    return [one for side in sides for one in side]


def _merge_coin_paths(one: Path, other: Path, depth: int) -> Path | None:
    at, also = (_find_decision_node(path.program, depth) for path in (one, other))
    if at is None or at != also or not _is_alike(one.program, other.program, at):
        return None
    condition = one.program.nodes[at].operands[0]
    before = one.program.slice(condition)
    # A decision by records is shown by what follows; only a coin may be integrated out.
    if any(one.program.nodes[k].operation in _DEPENDENT for k in before):
        return None
    if max(len(one.program.nodes), len(other.program.nodes)) > _MOST_NODES:
        return None
    program = _Junction(one.program, other.program, at).join(condition)
    return None if program is None else Path(program, one.decisions[:depth])


def _find_decision_node(program: PathProgram, depth: int) -> int | None:
    """Return the node of the decision that is the ``depth``-th, from 0."""
    found = [one.index for one in program.nodes if one.operation == "decide"]
    return found[depth] if depth < len(found) else None


def _is_alike(one: PathProgram, other: PathProgram, end: int) -> bool:
    """Return whether two programs have the same operations before a node."""
    pairs = zip(one.nodes[:end], other.nodes[:end], strict=True)
    return all(_is_same(a, b) and a.operands == b.operands for a, b in pairs)


def _is_same(one: Node, other: Node, *, but_number: bool = False) -> bool:
    first, second = dict(one.parameters), dict(other.parameters)
    if but_number:
        first.pop("number", None)
        second.pop("number", None)
    if write_parameters(first) != write_parameters(second):
        return False
    ours = one.operation, one.shape, one.dtype, len(one.operands)
    return ours == (other.operation, other.shape, other.dtype, len(other.operands))


@dataclass(eq=False)
class _Junction:
    """Two programs that are alike before a decision.

    Parameters
    ----------
    one, other
        The programs, of its true and of its false side.
    at
        The decision.
    """

    one: PathProgram
    other: PathProgram
    at: int
    alike: dict[int, int] = field(default_factory=dict)  # of the other, to one

    def join(self, condition: int) -> PathProgram | None:
        """Return one program for both sides."""
        together = [self._match(a, b) for a, b in self._outputs()]
        apart = [pair for pair, same in zip(self._outputs(), together, strict=True) if not same]
        if not self._are_independent(apart):
            return None
        program = PathProgram(list(self.one.nodes))
        # The decision gives way to a constant, so that all later nodes keep their numbers.
        nothing = Node(self.at, "constant", (), {"value": 0.0}, (), "float64", "?")
        program.nodes[self.at] = nothing
        moved = self._append(program, {b for _, b in apart})
        outputs = []
        for (a, b), same in zip(self._outputs(), together, strict=True):
            # The shape of an output would tell which side was taken.
            if self.one.nodes[a].shape != self.other.nodes[b].shape:
                return None
            outputs.append(a if same else self._choose(program, condition, a, moved[b]))
        program.outputs = tuple(outputs)
        return program

    def _outputs(self) -> Iterator[tuple[int, int]]:
        return zip(self.one.outputs, self.other.outputs, strict=True)

    def _choose(self, program: PathProgram, condition: int, a: int, b: int) -> int:
        one, other = program.nodes[a], program.nodes[b]
        dtype = one.dtype if one.dtype == other.dtype else "float64"
        return program.add(
            "where", [condition, a, b], shape=one.shape, dtype=dtype, place=one.place
        )

    def _match(self, one: int, other: int) -> bool:
        """Note that a node of each side are the same function, if they are."""
        # A match that fails half way must not leave its pairs behind.
        known = dict(self.alike)
        if self._is_match(one, other):
            return True
        self.alike = known
        return False

    def _is_match(self, one: int, other: int) -> bool:
        pending = [(one, other)]
        while pending:
            a, b = pending.pop()
            if a < self.at or b < self.at:
                if a != b:
                    return False
                continue
            if b in self.alike:
                if self.alike[b] != a:
                    return False
                continue
            first, second = self.one.nodes[a], self.other.nodes[b]
            # One node of a side stands for one of the other; two that share it would share its
            # draws.
            if a in self.alike.values() or not _is_same(first, second, but_number=True):
                return False
            self.alike[b] = a
            pending.extend(zip(first.operands, second.operands, strict=True))
        return True

    def _are_independent(self, apart: Sequence[tuple[int, int]]) -> bool:
        """Return whether outputs that differ use no draw of those that are the same."""
        ours, theirs = self.alike.values(), self.alike.keys()
        return not any(
            self._draws(self.one, a) & set(ours) or self._draws(self.other, b) & set(theirs)
            for a, b in apart
        )

    def _draws(self, program: PathProgram, index: int) -> set[int]:
        """Return the draws after the decision on which a node depends."""
        return {
            k for k in program.slice(index) if k > self.at and program.nodes[k].operation == "draw"
        }

    def _append(self, program: PathProgram, needed: set[int]) -> dict[int, int]:
        """Append the other side's steps, with its draws as draws of their own."""
        # Draws of either side are independent, so those of the other side get numbers of their
        # own.
        number = 1 + max((one.parameters.get("number", 0) for one in program.nodes), default=0)
        moved = {k: k for k in range(self.at)}
        for k in sorted({k for one in needed for k in self.other.slice(one)}):
            if k < self.at:
                continue
            node = self.other.nodes[k]
            given = dict(node.parameters)
            if node.operation == "draw":
                given["number"], number = number, number + 1
            index = len(program.nodes)
            operands = tuple(moved[one] for one in node.operands)
            program.nodes.append(replace(node, index=index, operands=operands, parameters=given))
            moved[k] = index
        return moved

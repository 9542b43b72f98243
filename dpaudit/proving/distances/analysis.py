"""The facts about every value of a program: by rules on its operands, and by refinements.

Facts are found on demand and remembered. What is refused is refused lazily: a value whose operand
has no facts has none either, with the cause of the first, unless a rule for a whole pattern knows
it (a clip by norm divides by a length that may be 0, and is bounded all the same).

A value that is no secret is the same for both neighbours: public numbers, noise, and what was made
of releases. A release may be any number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpaudit.proving.distances.facts import UNMOVED, Facts, of_nothing, of_public
from dpaudit.proving.distances.recall import key_of, share_public
from dpaudit.proving.distances.refinements import REFINEMENTS
from dpaudit.proving.distances.rules import RULES
from dpaudit.proving.distances.rules.patterns import PATTERNS
from dpaudit.proving.program import Node, PathProgram
from dpaudit.proving.refusals import ProofRefusal
from dpaudit.proving.trace import NodeKind
from dpaudit.proving.universe import NOWHERE_APART, Distance, Universe

# The rules bound real numbers and allow for the rounding of doubles. Narrower types round a
# thousand times more coarsely, complex numbers have no order, and objects run code of their
# own.
_NARROW = frozenset({"float16", "float32", "complex64", "complex128", "object"})
# Three doubles for each of these numbers are 1.2 GB, the most that movements by record may
# take.
_MOST_NUMBERS = 50_000_000
# Values without ends that are no overflow: noise, and data of which nobody states bounds.
_MAY_BE_ANY = frozenset(("draw", "data", "size", "constant"))
_ANYWHERE: Any = np.float64(np.inf)
RELEASED = of_public(-_ANYWHERE, _ANYWHERE)
"""The facts of a release, which may be any number."""

_NOTHING: Any = np.float64(0.0)
EMPTY = of_public(_NOTHING, _NOTHING, is_integer=True)
"""The facts of an array without entries."""


class Analysis:
    """The facts and distances of a program's values.

    Parameters
    ----------
    program
        What a function does.
    universe
        The datasets it is called with.
    kinds
        What each value depends on; without them everything that depends on data is private.

    Examples
    --------
    >>> from dpaudit.proving.universe import Part
    >>> part = Part("", (5,), np.zeros(()), np.ones(()))
    >>> program = PathProgram()
    >>> x = program.add("data", shape=(5,), part="")
    >>> mean = program.add("mean", [x], shape=(), axis=None)
    >>> analysis = Analysis(program, Universe((part,), 5, "replace"))
    >>> round(analysis.distance(mean).l1, 9)
    0.2
    """

    def __init__(
        self, program: PathProgram, universe: Universe, kinds: Sequence[NodeKind] | None = None
    ) -> None:
        self.program = program
        self.universe = universe
        self.kinds = depend_on_data(program) if kinds is None else kinds
        self.memory: dict[Any, Facts] = {}
        self._facts: dict[int, Facts] = {}
        self._distances: dict[int, Distance] = {}

    def facts(self, index: int) -> Facts:
        """Return the facts about a value."""
        found = self._facts.get(index)
        if found is not None:
            return found
        # Rules calculate with infinite ends on purpose; inf - inf and 0 * inf become refusals
        # or the widest ends, and are no faults to warn of.
        with np.errstate(all="ignore"):
            self._find(index)
        return self._facts[index]

    def _find(self, index: int) -> None:
        """Bound a value and all that it needs, without a recursion."""
        # An unrolled loop makes chains of tens of thousands of nodes, far deeper than Python's
        # recursion limit.
        pending = [index]
        while pending:
            node = self.program.nodes[pending[-1]]
            missing = [one for one in node.operands if one not in self._facts]
            if missing:
                pending.extend(missing)
                continue
            pending.pop()
            if node.index not in self._facts:
                self._facts[node.index] = self._bound(node)

    def distance(self, index: int) -> Distance:
        """Return how far neighbours move a value, by rules and by refinements."""
        if index not in self._distances:
            self._distances[index] = self._refine(index)
        return self._distances[index]

    def value(self, index: int) -> Any:
        """Return the numbers of a value that is a constant; None of others."""
        node = self.program.nodes[index]
        return node.parameters["value"] if node.operation == "constant" else None

    def _bound(self, node: Node) -> Facts:
        kind = self.kinds[node.index]
        if kind is NodeKind.NOISY:
            return RELEASED
        if 0 in node.shape:
            return EMPTY
        # Patterns come before the rule of the operation, because a pattern may bound a value of
        # which an operand is refused, such as a division by a length that may be 0.
        pattern = PATTERNS.get(node.operation)
        found = None if pattern is None else pattern(self, node)
        return self._finish(node, kind, found) if found is not None else self._recall(node, kind)

    def _recall(self, node: Node, kind: NodeKind) -> Facts:
        """Return the facts that rules give, from memory where operands are known alike."""
        key = key_of(self, node, kind)
        found = None if key is None else self.memory.get(key)
        if found is None:
            found = self._finish(node, kind, self._apply_rules(node))
            found = share_public(self.memory, found)
            if key is not None and found.refusal is None:
                self.memory[key] = found
        return found

    def _apply_rules(self, node: Node) -> Facts:
        for one in node.operands:
            refusal = self._facts[one].refusal
            if refusal is not None:
                return of_nothing(refusal)
        if node.shape.count(None) > 1:
            return of_nothing(_refuse_square(node))
        return RULES[node.operation](self, node)

    def _finish(self, node: Node, kind: NodeKind, facts: Facts) -> Facts:
        """Return facts of numbers that fit in their type, and that may be public."""
        is_noise = kind is NodeKind.NOISE or node.operation == "draw"
        # Noise has no ends, so it would fail the test of its type, although nobody's data
        # decide it.
        wrong = None if facts.refusal or is_noise else self._refuse_numbers(node, facts)
        facts = of_nothing(wrong) if wrong else self._spare(facts)
        is_private = kind is NodeKind.PRIVATE or counts_records(self.program, node)
        return facts if is_private else _remove_secrecy(facts)

    def _refuse_numbers(self, node: Node, facts: Facts) -> ProofRefusal | None:
        """Return why results are no numbers of their type, or may be infinite in doubles."""
        wrong = _refuse_type(node, facts)
        if wrong is not None or node.operation in _MAY_BE_ANY or is_bounded(facts):
            return wrong
        # Ends that nobody knows are those of real numbers; ends that operands have, and a
        # result lacks, are beyond all doubles, where inf - inf and 0 * inf are no numbers. A
        # sum over records has no ends where nobody knows how many there are.
        known = [self._facts[one] for one in node.operands]
        if counts_records(self.program, node) or not all(map(is_bounded, known)):
            return None
        return ProofRefusal(node.place, "may overflow to infinity", "clip the numbers before")

    def _spare(self, facts: Facts) -> Facts:
        """Return facts that hold no numbers by record where a program would have too many."""
        records = facts.moves.shape[1]
        if records == 1 or records * len(self.program.nodes) <= _MOST_NUMBERS:
            return facts
        # The largest movement of any record bounds the movement of each, so nothing is claimed
        # that the finer numbers would not show.
        return replace(facts, moves=facts.moves.max(axis=1, keepdims=True))

    def _refine(self, index: int) -> Distance:
        found = self.facts(index).distance
        # No refinement can improve on a value that does not move, and without records nothing
        # does.
        if found.linf == 0.0 or self.universe.records == 0:
            return found
        for refine in REFINEMENTS:
            found = found.tighten(refine(self, index))
        return found


def is_bounded(facts: Facts) -> bool:
    """Return whether both ends of all numbers are finite."""
    return bool(np.isfinite(facts.low).all() and np.isfinite(facts.high).all())


def counts_records(program: PathProgram, node: Node) -> bool:
    """Return whether a value tells how many records there are, of however public rows."""
    shapes = [program.nodes[one].shape for one in node.operands]
    return None not in node.shape and any(None in shape for shape in shapes)


def depend_on_data(program: PathProgram) -> list[NodeKind]:
    """Return PRIVATE for nodes that depend on data, PUBLIC for the rest."""
    kinds: list[NodeKind] = []
    for node in program.nodes:
        is_private = (
            node.operation in {"data", "size"}
            or counts_records(program, node)
            or any(kinds[one] is NodeKind.PRIVATE for one in node.operands)
        )
        kinds.append(NodeKind.PRIVATE if is_private else NodeKind.PUBLIC)
    return kinds


def _remove_secrecy(facts: Facts) -> Facts:
    """Return the facts of a value that is no secret: neighbours have it in common."""
    if facts.distance.linf == 0.0:
        return facts
    none = np.zeros(())
    return replace(facts, change=none, distance=NOWHERE_APART, moves=UNMOVED, rows=None)


def _refuse_square(node: Node) -> ProofRefusal:
    """Return why nothing is known of a value with an entry for each pair of records."""
    return ProofRefusal(
        node.place,
        "the code makes an entry for each pair of records, whose number is not public",
        "give the number of records",
    )


def _refuse_type(node: Node, facts: Facts) -> ProofRefusal | None:
    """Return why numbers of a type are no real numbers: they wrap around, or are rounded."""
    if node.dtype == "float64":
        return None
    if node.dtype in _NARROW:
        return ProofRefusal(
            node.place, f"the code computes with {node.dtype}", 'use .astype("float64")'
        )
    if not facts.is_integer and node.dtype.startswith(("int", "uint", "bool")):
        return ProofRefusal(
            node.place, f"the code converts numbers to {node.dtype}", "use np.trunc first"
        )
    # An integer that wraps around jumps by the whole range of its type, whatever the distance
    # of the real number that it stands for.
    lowest, highest = _range_of(node.dtype)
    if bool(np.all(facts.low >= lowest) and np.all(facts.high <= highest)):
        return None
    return ProofRefusal(
        node.place,
        f"the code makes {node.dtype} numbers that may be too large for this type and wrap around",
        'use .astype("float64") or clip the numbers first',
    )


def _range_of(dtype: str) -> tuple[float, float]:
    if dtype == "bool":
        return 0.0, 1.0
    if dtype.startswith(("int", "uint")):
        known = np.iinfo(dtype)
        # The double nearest to 2**63 - 1 is 2**63, which int64 does not hold; 2**63 - 1024 is
        # the largest double that it does.
        return float(known.min), float(known.max) - (1024.0 if known.bits == 64 else 0.0)
    return -np.inf, np.inf

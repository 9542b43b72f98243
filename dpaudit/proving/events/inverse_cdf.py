r"""Laplace and exponential noise that is made of uniform draws by the inverse of its cdf.

**Theorem.** Let u be uniform on (0, 1).

* ``-log(u)`` and ``-log(1 - u)`` are exponential of scale 1, as ``P(-log(u) >= t) = exp(-t)``.
* With ``v = u - 1/2`` or ``1/2 - u``, the sign of v is a fair coin that is independent of ``|v|``,
  and ``1 - 2|v|`` is uniform on (0, 1): so ``sign(v) log(1 - 2|v|)`` is Laplace noise of scale 1.
* An exponential variable times an independent fair sign is Laplace noise of its scale. []

Where a program computes such a value of a draw that nothing else uses, its nodes are exchanged for
a draw of that law, times the public numbers by which it is multiplied.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.proving.events.draft import Draft
from dpaudit.proving.events.norm_noise import match_norm_noise
from dpaudit.proving.events.usage import live_nodes
from dpaudit.proving.program import Node, PathProgram

_HALF = Fraction(1, 2)
_COMPARISONS = frozenset({"less", "less_equal"})


def with_plain_laws(program: PathProgram) -> PathProgram:
    """Return the program with draws in place of the code that computes them from uniform ones.

    Examples
    --------
    >>> program = PathProgram()
    >>> u = program.add("draw", shape=(), law="uniform", number=0)
    >>> log = program.add("log", [u], shape=())
    >>> program.outputs = (program.add("negative", [log], shape=()),)
    >>> [one.parameters.get("law") for one in with_plain_laws(program).nodes]
    ['exponential', None, None]
    """
    laws = {one.parameters.get("law") for one in program.nodes if one.operation == "draw"}
    # Only these laws are the raw material of the theorems.
    if not laws & {"uniform", "exponential", "gamma"}:
        return program
    return _Rewriting(program).run()


@dataclass(eq=False)
class _Product:
    """A value as public numbers times nodes, and the nodes by which it is formed.

    Parameters
    ----------
    numbers
        The public factors.
    factors
        The other ones.
    inside
        Nodes between the value and the factors.
    """

    numbers: list[NDArray[Any]] = field(default_factory=list)
    factors: list[int] = field(default_factory=list)
    inside: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class _Affine:
    """``slope * base + offset``, and the nodes by which it is formed, its base among them."""

    base: int
    slope: Fraction
    offset: Fraction
    inside: frozenset[int]


@dataclass(frozen=True, eq=False)
class _Match:
    """Noise of a law in place of a value: ``sign`` times the law of scale 1, made of a draw."""

    law: str
    sign: float
    draw: int
    inside: frozenset[int]
    parameters: Mapping[str, Any] = field(default_factory=dict)


class _Rewriting:
    """The exchange of values that are computed from uniform draws for draws."""

    def __init__(self, program: PathProgram) -> None:
        self.draft = Draft(program)
        self.live = live_nodes(program)
        self.users = program.uses()
        self.nodes = list(program.nodes)
        self.program = program

    def run(self) -> PathProgram:
        """Return the program with plain laws."""
        done: set[int] = set()
        # From the end, so that the largest product that is noise is exchanged as a whole,
        # before a part of it is.
        for node in reversed(self.program.nodes):
            if node.index in self.live and node.index not in done:
                done |= self._rewrite(node)
        return PathProgram(self.nodes, self.program.outputs)

    def _rewrite(self, node: Node) -> set[int]:
        """Exchange a value that is noise of a known law; return the nodes it was made of."""
        if node.operation not in ("multiply", "divide", "negative", "log", "log1p"):
            return set()
        product = self._product(node)
        match = self._match(product)
        if match is None or len(product.numbers) > 8:
            return set()
        inside = product.inside | match.inside | {node.index}
        # A second use of the draw, or of anything between, would be correlated with the noise.
        if not self._is_closed(inside, node.index, is_entrywise=not match.parameters):
            return set()
        if self.draft.shape(match.draw) != node.shape:
            return set()
        self._exchange(node, product, match)
        return inside

    def _is_closed(self, inside: set[int], root: int, *, is_entrywise: bool) -> bool:
        """Return whether nothing else uses the nodes from a value to its draw, in its shape."""
        shape = self.draft.shape(root)
        for one in inside - {root}:
            users = [user for user in self.users[one] if user in self.live]
            if not set(users) <= inside or one in self.program.outputs:
                return False
            # A draw that is broadcast on the way gives several entries the same noise.
            if is_entrywise and self.draft.shape(one) != shape:
                return False
        return True

    def _exchange(self, node: Node, product: _Product, match: _Match) -> None:
        """Have a draw of the law in place of the one that it is made of, and a scale beside."""
        old = self.nodes[match.draw]
        given = {"law": match.law, "number": old.parameters["number"], **match.parameters}
        self.nodes[match.draw] = Node(
            old.index, "draw", (), given, old.shape, "float64", node.place
        )
        scale = _product_of(product.numbers, match.sign)
        # The scale takes the place of a node that is no longer needed, so no node changes its
        # number.
        host = next(one for one in sorted(match.inside | product.inside) if one != match.draw)
        if host == node.index:  # a logarithm that nothing multiplies
            operation, operands = "negative", [match.draw]
        else:
            operation, operands = "multiply", [match.draw, host]
            self.nodes[host] = Node(
                host, "constant", (), {"value": scale.tolist()}, scale.shape, "float64", node.place
            )
        self.nodes[node.index] = Node(
            node.index, operation, tuple(operands), {}, node.shape, "float64", node.place
        )

    def _product(self, node: Node) -> _Product:
        """Return a value as a product."""
        found, pending = _Product(), [node.index]
        while pending:
            one = self.draft.node(pending.pop())
            value = self.draft.value(one.index)
            if value is not None:
                found.numbers.append(value)
            elif one.operation == "negative":
                found.numbers.append(np.asarray(-1.0))
                found.inside.add(one.index)
                pending.extend(one.operands)
            elif one.operation == "multiply":
                found.inside.add(one.index)
                pending.extend(one.operands)
            elif one.operation == "divide" and (self._divisor(one) is not None):
                # Towards 0: a scale that is too small makes the proof claim more privacy loss,
                # never less.
                found.numbers.append(np.nextafter(1.0 / np.asarray(self._divisor(one)), 0.0))
                found.inside.add(one.index)
                pending.append(one.operands[0])
            else:
                found.factors.append(one.index)
        return found

    def _divisor(self, node: Node) -> NDArray[Any] | None:
        value = self.draft.value(node.operands[1])
        return value if value is not None and bool(np.all(value != 0)) else None

    def _match(self, product: _Product) -> _Match | None:
        if len(product.factors) == 1:
            return self._exponential(product.factors[0])
        if len(product.factors) != 2:
            return None
        for one, other in (product.factors, product.factors[::-1]):
            found = self._laplace(one, other) or self._match_signed_draw(one, other)
            found = found or self._norm(product, one, other)
            if found is not None:
                return found
        return None

    def _exponential(self, index: int) -> _Match | None:
        """Match ``log(u)`` and ``log(1 - u)``, which are exponential but for their sign."""
        inner = self._logarithm(index)
        if inner is None or not self._is_draw(inner.base, "uniform"):
            return None
        if not (
            (inner.slope == 1 and inner.offset == 0) or (inner.slope == -1 and inner.offset == 1)
        ):
            return None
        return _Match("exponential", -1.0, inner.base, inner.inside | {index})

    def _logarithm(self, index: int) -> _Affine | None:
        """Return the argument of a logarithm."""
        node = self.draft.node(index)
        if node.operation not in ("log", "log1p"):
            return None
        inner = self._affine(node.operands[0])
        if inner is None or node.operation == "log":
            return inner
        return _Affine(inner.base, inner.slope, inner.offset + 1, inner.inside)

    def _laplace(self, sign: int, logarithm: int) -> _Match | None:
        """Match ``sign(v)`` and ``log(1 - 2 |v|)``, v a centred uniform draw."""
        inner, fair = self._logarithm(logarithm), self._fair_sign(sign)
        if inner is None or fair is None or self.draft.node(inner.base).operation != "absolute":
            return None
        centred = self._affine(self.draft.node(inner.base).operands[0])
        if centred is None or centred.base != fair.base or not _is_centred(centred):
            return None
        # In exact fractions: 1 - 1.999 |v| would be a logarithm of something that is not
        # uniform.
        if inner.offset != 1 or inner.slope * abs(centred.slope) != -2:
            return None
        if not self._is_draw(centred.base, "uniform"):
            return None
        inside = inner.inside | centred.inside | fair.inside | {sign, logarithm}
        return _Match("laplace", _size_of_sign(self.draft, sign), centred.base, inside)

    def _match_signed_draw(self, sign: int, size: int) -> _Match | None:
        """Match a fair sign and an exponential draw."""
        fair = self._fair_sign(sign)
        if fair is None or not self._is_draw(size, "exponential") or fair.base == size:
            return None
        if not self._is_draw(fair.base, "uniform"):
            return None
        return _Match("laplace", _size_of_sign(self.draft, sign), size, fair.inside | {sign, size})

    def _norm(self, product: _Product, unit: int, radius: int) -> _Match | None:
        """Match a direction and a radius, times one number."""
        found = match_norm_noise(self.draft, unit, radius)
        if found is None or any(one.size != 1 for one in product.numbers):
            return None
        given = {"dimension": found.dimension}
        return _Match("exponential-norm", 1.0, found.direction, found.inside, given)

    def _fair_sign(self, index: int) -> _Affine | None:
        """Return the uniform draw of which two opposites tell the side of 1/2."""
        node = self.draft.node(index)
        if node.operation == "sign":
            inner = self._affine(node.operands[0])
            return inner if inner is not None and _is_centred(inner) else None
        if node.operation != "where":
            return None
        one, other = (self.draft.value(k) for k in node.operands[1:])
        # Two numbers that are not opposite would make a skewed law.
        if one is None or other is None or one.shape or other.shape or one != -other or one == 0:
            return None
        return self._halved(node.operands[0])

    def _halved(self, index: int) -> _Affine | None:
        """Return the uniform draw of which a comparison tells on which side of 1/2 it is."""
        node = self.draft.node(index)
        if node.operation not in _COMPARISONS:
            return None
        for at in (0, 1):
            inner, edge = self._affine(node.operands[at]), self.draft.value(node.operands[1 - at])
            if inner is None or edge is None or edge.shape or not np.isfinite(edge):
                continue
            if inner.slope and (Fraction(float(edge)) - inner.offset) / inner.slope == _HALF:
                return _Affine(inner.base, inner.slope, inner.offset, inner.inside | {index})
        return None

    def _is_draw(self, index: int, law: str) -> bool:
        node = self.draft.node(index)
        return node.operation == "draw" and node.parameters["law"] == law and not node.operands

    def _affine(self, index: int) -> _Affine | None:
        """Return a value as an affine function of the node that is no sum or product any more."""
        slope, offset, inside = Fraction(1), Fraction(0), set[int]()
        # Affine chains that people write are short; the limit bounds the search.
        for _ in range(32):
            inside.add(index)
            step = self._step(self.draft.node(index))
            if step is None:
                return _Affine(index, slope, offset, frozenset(inside))
            index, own_slope, own_offset = step
            slope, offset = slope * own_slope, slope * own_offset + offset
        return None

    def _step(self, node: Node) -> tuple[int, Fraction, Fraction] | None:
        """Return an operand, and the slope and offset by which a node is made of it."""
        if node.operation == "negative":
            return node.operands[0], Fraction(-1), Fraction(0)
        if node.operation not in ("add", "subtract", "multiply", "divide"):
            return None
        for at in (0, 1):
            value = self.draft.value(node.operands[at])
            if value is not None and value.shape == () and np.isfinite(value):
                return _step_by(node, at, Fraction(float(value)))
        return None


def _step_by(node: Node, at: int, number: Fraction) -> tuple[int, Fraction, Fraction] | None:
    other = node.operands[1 - at]
    if node.operation == "add":
        return other, Fraction(1), number
    if node.operation == "subtract":
        return (other, Fraction(-1), number) if at == 0 else (other, Fraction(1), -number)
    if node.operation == "multiply":
        return other, number, Fraction(0)
    return (other, 1 / number, Fraction(0)) if at == 1 and number else None


def _is_centred(affine: _Affine) -> bool:
    """Return whether a function of a uniform draw is 0 at 1/2."""
    return bool(affine.slope) and affine.slope * _HALF + affine.offset == 0


def _size_of_sign(draft: Draft, index: int) -> float:
    """Return the size of the two opposites of a fair sign."""
    node = draft.node(index)
    if node.operation == "sign":
        return 1.0
    value = draft.value(node.operands[1])
    assert value is not None
    return abs(float(value))


def _product_of(numbers: list[NDArray[Any]], sign: float) -> NDArray[np.float64]:
    """Return a product, rounded towards 0 where it is not exact: the less noise, the safer."""
    plain = [one for one in numbers if not np.all(np.abs(one) == 1)]
    found = np.asarray(sign, dtype=float)
    for one in numbers:
        # Numbers of shape (1,) would give a scalar draw an axis that it has not.
        found = found * (one.reshape(()) if one.size == 1 else one)
    # A single factor other than 1 and -1 was not rounded.
    if len(plain) + (abs(sign) != 1) <= 1:
        return np.asarray(found)
    for _ in range(2 * len(numbers)):
        found = np.nextafter(found, 0.0)
    return np.asarray(found)

"""Products of matrices, and running sums, which are one.

**Theorem (public matrices).** x -> M x moves a value at most |M|_1 (largest sum of a column) times
as far in L1, |M|_inf (largest sum of a row) times in the largest entry, and in Euclidean length
|M|_2 <= min(|M|_F, sqrt(|M|_1 |M|_inf)) times. If the rows of x are those of records, row p that
moves by d moves M x by the outer product of column p and d, whose norms are the products of theirs.

*Proof.* Norms of operators; |M|_2^2 is the largest eigenvalue of M' M, which no norm of it is
below; (M x)_i = sum_p M_ip x_p. QED

**Theorem (products of rows).** A' B, contracted over records, is the sum over rows of outer
products a b' of the two rows. The L1 and the Euclidean length of a b' is the product of lengths;
|u u' - v v'|_F^2 = |u|^4 + |v|^4 - 2 (u.v)^2 <= 2 C^4 if |u|, |v| <= C, and no entry of it is above
C^2: a product u_i u_j lies between -C^2 / 2 and C^2 / 2, and a square between 0 and C^2. The same
holds of s u u' and t v v' for numbers s, t that are not negative, with s |u|^2, t |v|^2 <= C^2.

*Proof.* Expand; 2 |u_i u_j| <= u_i^2 + u_j^2. QED

**Two private matrices**: A B - A' B' = (A - A') B + A' (B - B'), each part bounded by the norms of
the other factor's largest entries.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpaudit.proving.distances.facts import ANYHOW, Ends, Facts, RowOrigins, of_nothing, of_public
from dpaudit.proving.distances.rounding import (
    multiply_up,
    round_array_down,
    sqrt_up,
    sum_ends,
    sum_up,
    up,
)
from dpaudit.proving.distances.rules.contract import Rule, RuleKnowledge
from dpaudit.proving.distances.rules.entrywise import add_distances, scale_distance
from dpaudit.proving.distances.rules.linear import row_norms
from dpaudit.proving.distances.rules.products import product_ends
from dpaudit.proving.distances.rules.sums import add_along, add_rows
from dpaudit.proving.distances.settling import (
    add_leading_axes,
    compute_magnitude,
    compute_width_up,
    merge_row_moves,
    row_movements,
    settle_facts,
    sum_moves,
)
from dpaudit.proving.distances.standing import find_entrywise_rows, is_fixed, rows_if_counted
from dpaudit.proving.program import Node, Shape
from dpaudit.proving.refusals import ProofRefusal
from dpaudit.proving.universe import UNBOUNDED, Distance

# Products of entries that are held at once: 8 MB for each end.
_MOST_PRODUCTS = 1_000_000
# A running sum is a triangular matrix, here of at most 32 MB.
_MOST_RUNNING = 2_048
_UNIT = 2.0**-52
_ROOT_OF_TWO = float(np.nextafter(math.sqrt(2.0), 2.0))


def multiply_sizes(sizes: Any, others: Any) -> Any:
    """Return products of matrices of sizes, rounded up: 0 times an unbounded size is 0."""
    # matmul would make NaN of 0 * inf in one term and so of the whole sum; infinite sizes are
    # counted apart.
    finite = np.where(np.isinf(sizes), 0.0, sizes), np.where(np.isinf(others), 0.0, others)
    with np.errstate(all="ignore"):
        found = np.matmul(*finite)
    slack = 1.0 + (np.shape(sizes)[-1] + 4) * _UNIT
    found = up(found * slack) + np.where(found > 0, 5e-324, 0.0)
    if np.isinf(sizes).any() or np.isinf(others).any():
        holes = np.matmul(np.isinf(sizes).astype(float), (np.asarray(others) > 0).astype(float))
        holes += np.matmul((np.asarray(sizes) > 0).astype(float), np.isinf(others).astype(float))
        found = np.where(holes > 0, math.inf, found)
    return found


@dataclass(frozen=True)
class OperatorNorms:
    """Bounds on the norms of a matrix as an operator, of L1, Euclidean length, largest entry."""

    l1: float
    l2: float
    linf: float


def operator_norms(sizes: Any) -> OperatorNorms:
    """Return bounds for every matrix whose entries are no larger.

    Examples
    --------
    >>> found = operator_norms(np.array([[3.0, 4.0]]))
    >>> found.l1, round(found.l2, 9), found.linf >= 7
    (4.0, 5.0, True)
    """
    columns, lines = sum_up(sizes, axis=0), sum_up(sizes, axis=1)
    l1, linf = float(columns.max(initial=0.0)), float(lines.max(initial=0.0))
    if l1 == 0.0 or linf == 0.0:
        return OperatorNorms(0.0, 0.0, 0.0)
    with np.errstate(over="ignore"):
        # The squares of very small entries vanish; 1e-300 outweighs all that did.
        squares = float(sum_up(up(np.square(sizes)))) + 1e-300
    joint = float(up(up(math.sqrt(l1)) * up(math.sqrt(linf))))
    return OperatorNorms(l1, min(float(sqrt_up(squares)), joint), linf)


@dataclass(frozen=True, eq=False)
class MatrixEffect:
    """The effect of a matrix along an axis on a value that moves."""

    change: Any
    rows: RowOrigins | None
    norms: dict[int, float]
    moves: Ends
    distance: Distance


def apply_along(
    knowledge: RuleKnowledge, one: Facts, shape: Shape, axis: int, sizes: Any
) -> MatrixEffect:
    """Return how far a matrix moves a value along an axis.

    Parameters
    ----------
    knowledge
        Of the datasets.
    one, shape
        The value that moves.
    axis
        Along which each vector is multiplied by the matrix.
    sizes
        How large its entries are, shape ``(after, before)``.
    """
    norm = operator_norms(sizes)
    distance = scale_distance(one.distance, norm.l1, norm.l2, norm.linf)
    factors = np.array([[norm.l1], [norm.l2], [norm.linf]])
    moves = multiply_up(factors, one.moves)
    # Each vector along the axis is of one row or of none, so the operator norms bound it.
    if one.rows is None or one.rows.axis != axis:
        change = _multiply_along(one.change, shape, axis, sizes)
        lengths = {1: norm.l1, 2: norm.l2}
        norms = {kind: float(multiply_up(n, lengths[kind])) for kind, n in one.norms.items()}
        return MatrixEffect(change, one.rows, norms, moves, distance)
    change, by_record = _scatter_rows(knowledge, one, shape, sizes)
    return MatrixEffect(change, None, {}, np.minimum(moves, by_record), distance)


def _multiply_along(ends: Any, shape: Shape, axis: int, sizes: Any) -> Any:
    array = np.moveaxis(add_leading_axes(ends, len(shape)), axis, 0)
    whole = np.broadcast_to(array, (sizes.shape[1], *array.shape[1:])).reshape(sizes.shape[1], -1)
    found = multiply_sizes(sizes, whole).reshape(sizes.shape[0], *array.shape[1:])
    return np.moveaxis(found, 0, axis)


def _scatter_rows(
    knowledge: RuleKnowledge, one: Facts, shape: Shape, sizes: Any
) -> tuple[Any, Ends]:
    """Return how far entries move that are weighted sums of rows, and each record's part."""
    assert one.rows is not None
    axis, universe = one.rows.axis, knowledge.universe
    columns = np.stack(
        [
            sum_up(sizes, axis=0),
            euclidean_lengths(sizes),
            sizes.max(axis=0, initial=0.0),
        ]
    )
    movements = multiply_up(columns, row_movements(one, shape, universe))
    by_record = merge_row_moves(movements, one.rows, universe, is_sum=True)
    inner = np.moveaxis(add_leading_axes(one.change, len(shape)), axis, 0)
    # The movements by record bound the whole; what single entries do is left unknown.
    if sizes.size * inner[:1].size > _MOST_PRODUCTS:
        return math.inf, by_record
    each = np.broadcast_to(inner, (sizes.shape[1], *inner.shape[1:]))
    weights = sizes.T.reshape(sizes.shape[1], sizes.shape[0], *[1] * (inner.ndim - 1))
    change = add_rows(universe, multiply_up(weights, each[:, None]), one.rows, sizes.shape[1])
    return np.moveaxis(change, 0, axis), by_record


def euclidean_lengths(sizes: Any) -> Any:
    """Return the lengths of columns; of very small numbers, whose squares vanish, the L1 length."""
    with np.errstate(over="ignore"):
        squares = sum_up(up(np.square(sizes)), axis=0)
    return np.where(squares < 1e-280, sum_up(sizes, axis=0), sqrt_up(squares))


def bound_matmul(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of a product of two vectors or matrices.

    Of truth values it is whether any is true, which is no sum of them.
    """
    if node.dtype == "bool":
        reason, cure = "the code multiplies truth values", "use .astype(int)"
        return of_nothing(ProofRefusal(node.place, reason, cure))
    one, other = (knowledge.facts(index) for index in node.operands)
    shapes = [knowledge.program.nodes[index].shape for index in node.operands]
    if max(len(shape) for shape in shapes) > 2:
        reason, cure = "the code multiplies stacks of matrices", "use a loop"
        return of_nothing(ProofRefusal(node.place, reason, cure))
    left, right = len(shapes[0]) - 1, max(len(shapes[1]) - 2, 0)
    # One record moves its rows of both factors at once: the rule of products of rows counts the
    # two movements together.
    if shapes[0][left] is None or _meet_in_records(one, other, left, right):
        return _contract_records(knowledge, node, one, other)
    low, high = _ends_of_product(one, other, shapes[0], shapes[1])
    is_integer = one.is_integer and other.is_integer
    if is_fixed(one) and is_fixed(other):
        return of_public(low, high, is_integer=is_integer)
    parts = _map_both(knowledge, node, (one, other), (shapes[0], shapes[1]))
    rows, norms = _rows_of_product(parts)
    return settle_facts(
        node.shape,
        knowledge.universe,
        low,
        high,
        _add_changes([part.change for part in parts]),
        is_integer=is_integer,
        rows=rows,
        norms=norms,
        moves=sum_moves([part.moves for part in parts]),
        distance=add_distances([part.distance for part in parts]),
    )


def _add_changes(changes: list[Any]) -> Any:
    return changes[0] if len(changes) == 1 else up(changes[0] + changes[1])


def _meet_in_records(one: Facts, other: Facts, left: int, right: int) -> bool:
    """Return whether the axis that is contracted is that of the records of both."""
    return (
        one.rows is not None
        and other.rows is not None
        and one.rows.axis == left
        and other.rows.axis == right
    )


def _map_both(
    knowledge: RuleKnowledge, node: Node, operands: tuple[Facts, Facts], shapes: tuple[Shape, Shape]
) -> list[MatrixEffect]:
    """Return the effect of each operand that moves, with the other anywhere within its ends."""
    one, other = operands
    parts = []
    if not is_fixed(one):
        axis = len(shapes[0]) - 1
        sizes = _as_matrix(compute_magnitude(other), shapes[1]).T
        part = apply_along(knowledge, one, shapes[0], axis, sizes)
        parts.append(_drop_axis(part, shapes[1], axis))
    if not is_fixed(other):
        axis = max(len(shapes[1]) - 2, 0)
        sizes = _as_matrix(compute_magnitude(one), (1, *shapes[0])[-2:])
        part = apply_along(knowledge, other, shapes[1], axis, sizes)
        parts.append(_drop_axis(part, shapes[0], axis))
    return parts


def _as_matrix(sizes: Any, shape: Shape) -> Any:
    """Return sizes as a matrix; of rows of any number, one stands for all."""
    lengths = tuple(1 if one is None else one for one in shape)
    whole = np.broadcast_to(add_leading_axes(sizes, len(shape)), lengths)
    return whole.reshape(-1, 1) if len(shape) == 1 else whole


def _drop_axis(part: MatrixEffect, shape: Shape, axis: int) -> MatrixEffect:
    """Return the same without the axis that a product with a vector does not have."""
    if len(shape) == 2:
        return part
    change = np.squeeze(part.change, axis=axis) if np.ndim(part.change) else part.change
    rows = part.rows
    if rows is not None and rows.axis > axis:
        rows = RowOrigins(rows.records, rows.axis - 1)
    return MatrixEffect(change, rows, part.norms, part.moves, part.distance)


def _rows_of_product(
    parts: list[MatrixEffect],
) -> tuple[RowOrigins | None, dict[int, float] | None]:
    """Return the rows of the only operand that moves."""
    # If both factors move, an entry depends on a row of each, and no single axis has the
    # records.
    return (parts[0].rows, parts[0].norms) if len(parts) == 1 else (None, None)


def _ends_of_product(one: Facts, other: Facts, shape: Shape, target: Shape) -> tuple[Any, Any]:
    """Return the ends of products of matrices between ends."""
    length = shape[-1] or 0
    first = [
        _broadcast_along_axis(end, len(shape), len(shape) - 1, length)
        for end in (one.low, one.high)
    ]
    axis = max(len(target) - 2, 0)
    second = [
        _broadcast_along_axis(end, len(target), axis, length) for end in (other.low, other.high)
    ]
    size = first[0].size * max(second[0].size // max(length, 1), 1)
    # Sizes alone are products of two matrices, which need no array of all products of entries.
    if size > _MOST_PRODUCTS:
        most = multiply_sizes(
            *(np.maximum(np.abs(ends[0]), np.abs(ends[1])) for ends in (first, second))
        )
        return -most, most
    columns = [np.moveaxis(end, -1, 0) for end in first]
    if len(target) == 2:
        columns = [end[..., None] for end in columns]
        if len(shape) == 2:
            second = [end[:, None, :] for end in second]
    elif len(shape) == 2:
        second = [end[:, None] for end in second]
    low, high = product_ends(*columns, *second)
    return sum_ends(low, high, 0)


def _broadcast_along_axis(ends: Any, dimensions: int, axis: int, length: int) -> Ends:
    array = add_leading_axes(ends, dimensions)
    target = list(array.shape)
    target[axis] = length
    return np.broadcast_to(array, target)


def _contract_records(knowledge: RuleKnowledge, node: Node, one: Facts, other: Facts) -> Facts:
    """Return the facts of a sum over records of products of two rows."""
    left, right = (knowledge.program.nodes[index].shape for index in node.operands)
    # With a private number of records, public rows come and go too.
    if left[-1] is None:
        one, other = rows_if_counted(one, left), rows_if_counted(other, right)
    first = _put_rows_first(one, left, len(left) - 1, [-1] if len(right) == 2 else [])
    second = _put_rows_first(other, right, 0, [1] if len(left) == 2 else [])
    shape = (left[-1], *left[:-1], *right[1:])
    rows = find_entrywise_rows([first, second], shape)
    # Without known records nothing says how many of the terms one record moves.
    if rows is None or rows.axis != 0:
        return _refuse_contraction(node)
    is_square = is_gram(knowledge, node)
    lengths = (
        row_norms(one, replace(node, shape=left), len(left) - 1),
        row_norms(other, replace(node, shape=right), 0),
    )
    product = _multiply_rows((first, second), rows, lengths, is_square=is_square)
    low, high = _add_ends_of_rows(product, shape)
    has_sign = is_square or is_weighted_gram(knowledge, node)
    movements = _movements_of_gram(lengths) if has_sign else ANYHOW
    return add_along(knowledge.universe, node, product, shape, (0,), low, high, movements)


def _refuse_contraction(node: Node) -> Facts:
    reason = "the code adds up a private number of rows that are not the records' own"
    cure = "multiply rows of records by rows of the same records"
    return of_nothing(ProofRefusal(node.place, reason, cure))


def _is_turned(node: Node) -> bool:
    """Return whether a value is a matrix with lines for columns."""
    axes = node.parameters.get("axes")
    return node.operation == "transpose" and len(node.shape) == 2 and axes in (None, [1, 0], (1, 0))


def _put_rows_first(facts: Facts, shape: Shape, axis: int, extra: list[int]) -> Facts:
    """Return the facts of an array whose rows are axis 0, with axes of length 1 put in."""
    ends = [
        np.expand_dims(np.moveaxis(add_leading_axes(each, len(shape)), axis, 0), extra)
        for each in (facts.low, facts.high, facts.change)
    ]
    rows = facts.rows
    if rows is not None:
        rows = RowOrigins(rows.records, 0) if rows.axis == axis else None
    return replace(facts, low=ends[0], high=ends[1], change=ends[2], rows=rows)


def is_gram(knowledge: RuleKnowledge, node: Node) -> bool:
    """Return whether a matrix is multiplied by its own transpose."""
    nodes = knowledge.program.nodes
    left, right = node.operands
    # x @ x of a matrix multiplies lines by columns, which are not the same rows; of a vector it
    # is the sum of squares.
    if left == right:
        return len(nodes[left].shape) == 1
    return _is_turned(nodes[left]) and nodes[left].operands[0] == right


def is_weighted_gram(knowledge: RuleKnowledge, node: Node) -> bool:
    """Return whether rows meet themselves times a number of each row that is not negative."""
    nodes = knowledge.program.nodes
    left, right = (nodes[index] for index in node.operands)
    if not _is_turned(left):
        return False
    inner = nodes[left.operands[0]]
    return _is_multiple(knowledge, right, inner) or _is_multiple(knowledge, inner, right)


def _is_multiple(knowledge: RuleKnowledge, node: Node, rows: Node) -> bool:
    """Return whether a matrix is another one, each row times a number that is not negative."""
    if node.operation != "multiply" or rows.index not in node.operands:
        return False
    one, other = node.operands
    factor = knowledge.program.nodes[other if one == rows.index else one]
    facts = knowledge.facts(factor.index)
    # A number for each column would change the direction of a row, and s u u' would no longer
    # be positive semidefinite.
    is_for_row = node.shape == rows.shape and factor.shape in {(), (1,), (*rows.shape[:1], 1)}
    return is_for_row and facts.refusal is None and bool(np.all(facts.low >= 0))


def _multiply_rows(
    factors: tuple[Facts, Facts],
    rows: RowOrigins,
    lengths: tuple[dict[int, float], dict[int, float]],
    *,
    is_square: bool,
) -> Facts:
    """Return the facts of the outer products of two rows each."""
    first, second = factors
    low, high = product_ends(first.low, first.high, second.low, second.high)
    sizes = compute_magnitude(first), compute_magnitude(second)
    change = up(multiply_up(sizes[1], first.change) + multiply_up(sizes[0], second.change))
    norms = {kind: float(multiply_up(lengths[0][kind], lengths[1][kind])) for kind in (1, 2)}
    if is_square:
        low, high = _ends_of_gram(low, high, norms[2])
    low, high = np.maximum(low, -norms[2]), np.minimum(high, norms[2])
    return Facts(
        low,
        high,
        np.minimum(change, compute_width_up(low, high)),
        UNBOUNDED,
        first.is_integer and second.is_integer,
        rows,
        {kind: one for kind, one in norms.items() if math.isfinite(one)},
        None,
        ANYHOW,
    )


def _ends_of_gram(low: Any, high: Any, square: float) -> tuple[Any, Any]:
    """Return ends of products of entries of one row: squares are not negative."""
    if np.ndim(low) == 1:
        return np.maximum(low, 0.0), high
    size = max(low.shape[-2:])
    # With one column the only product is a square, or axes of length 1 hide which entries meet.
    if size == 1:
        return low, high
    is_square = np.eye(size, dtype=bool)[None]
    # 2 |u_i u_j| is at most u_i^2 + u_j^2, and that at most the square of the length.
    half = float(up(square / 2))
    low = np.where(is_square, np.maximum(low, 0.0), np.maximum(low, -half))
    return low, np.where(is_square, high, np.minimum(high, half))


def _movements_of_gram(lengths: tuple[dict[int, float], dict[int, float]]) -> Ends:
    """Return how far the outer product of a row with a multiple of itself moves, by lengths."""
    first, second = (float(multiply_up(lengths[0][kind], lengths[1][kind])) for kind in (1, 2))
    return np.array([[2 * first], [float(up(_ROOT_OF_TWO * second))], [second]])


def _add_ends_of_rows(product: Facts, shape: Shape) -> tuple[Any, Any]:
    low, high = np.broadcast_arrays(
        add_leading_axes(product.low, len(shape)), add_leading_axes(product.high, len(shape))
    )
    # A sum of any number of rows, among them none, is 0 or reaches as far as its terms have
    # signs.
    if shape[0] is None:
        below = np.where(low.min(axis=0) < 0, -math.inf, 0.0)
        return below, np.where(high.max(axis=0) > 0, math.inf, 0.0)
    return sum_ends(low, high, 0, shape[0] / max(len(low), 1))


def bound_running_sum(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of running sums along one axis."""
    index = node.operands[0]
    one, shape = knowledge.facts(index), knowledge.program.nodes[index].shape
    axis = _axis_of_running(node, shape)
    if axis is None or shape[axis] is None or (shape[axis] or 0) > _MOST_RUNNING:
        return _refuse_running(node)
    length = shape[axis] or 0
    ends = [_broadcast_along_axis(end, len(shape), axis, length) for end in (one.low, one.high)]
    # cumsum adds one entry after the other, and each addition may lose a unit in the last place
    # of the absolute values so far.
    slack = [np.cumsum(np.abs(end), axis=axis) * (length + 4) * _UNIT for end in ends]
    low = round_array_down(np.cumsum(ends[0], axis=axis) - slack[0])
    high = up(np.cumsum(ends[1], axis=axis) + slack[1])
    if is_fixed(one):
        return of_public(low, high, is_integer=one.is_integer)
    part = apply_along(knowledge, one, shape, axis, np.tri(length))
    return settle_facts(
        node.shape,
        knowledge.universe,
        low,
        high,
        part.change,
        is_integer=one.is_integer,
        rows=part.rows,
        norms=part.norms,
        moves=part.moves,
        distance=part.distance,
    )


def _axis_of_running(node: Node, shape: Shape) -> int | None:
    axis = node.parameters["axis"]
    if axis is None:
        return 0 if len(shape) == 1 else None
    return int(axis if not isinstance(axis, list | tuple) else axis[0]) % len(shape)


def _refuse_running(node: Node) -> Facts:
    return of_nothing(
        ProofRefusal(
            node.place,
            "the code takes running sums of too many values, without an axis, or of records "
            "whose number is private",
            "count records in bins first, and give axis=",
        )
    )


RULES: dict[str, Rule] = {"matmul": bound_matmul, "cumsum": bound_running_sum}

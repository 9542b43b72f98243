"""Phrases of several operations that rules know by their form, right ones and bent ones."""

from __future__ import annotations

from collections.abc import Callable

from .grammar import CONSTANTS, UNKNOWN, Growth, Unfit


def _clip(growth: Growth) -> int:
    """Append a clip by value, in one order or the other, at times with crossed ends."""
    node, choices = growth.any_node(), growth.choices
    low, high = growth.number(), growth.number()
    if choices.happens(50):
        return growth.add("minimum", growth.add("maximum", node, low), high)
    return growth.add("maximum", growth.add("minimum", node, high), low)


def _norm(growth: Growth, node: int) -> tuple[int, int]:
    """Append the length of rows, or of the whole, with axes to be broadcast; also bent ones."""
    choices, value = growth.choices, growth.samples[node]
    if value.ndim == 0:
        raise Unfit
    powers = growth.add("absolute", node) if choices.happens(20) else _square(growth, node)
    axis = None if choices.happens(25) else choices.one_of((-1, value.ndim - 1, 0))
    total = growth.add("sum", powers, axis=axis)
    if value.ndim == 1 and choices.happens(15):
        total = growth.add("matmul", node, node)
    if choices.happens(15):
        total = growth.add("add", total, growth.number((0.5, 0.1, -0.3)))
    length = total if choices.happens(15) else _root(growth, total)
    if axis is not None and (value.ndim > 1 or choices.happens(30)):
        shape = list(growth.program.nodes[node].shape)
        shape[axis] = 1
        return length, growth.add("reshape", length, shape=shape)
    return length, length


def _root(growth: Growth, total: int) -> int:
    if growth.choices.happens(15):
        return growth.add("power", total, growth.constant(0.5))
    return growth.add("sqrt", total)


def _square(growth: Growth, node: int) -> int:
    if growth.choices.happens(60):
        return growth.add("multiply", node, node)
    return growth.add("power", node, growth.constant(growth.choices.one_of((2, 2.0, 3, 0.5))))


def _row_clip(growth: Growth) -> int:
    """Append a clip by norm in one of its forms; now and then of another value's norm."""
    choices = growth.choices
    node = growth.any_array()
    measured = growth.any_array() if choices.happens(15) else node
    _, length = _norm(growth, measured)
    bound = growth.number((1.0, 2.0, 0.5, 1.0))
    one = growth.constant(choices.one_of((1.0, 1.0, 1.0, 2.0, 0.5)))
    form = choices.below(7)
    if form > 3:
        return _rare_clip(growth, node, length, bound, form)
    if form == 0:
        factor = growth.add("minimum", one, growth.add("divide", bound, length))
        return growth.add("multiply", node, factor)
    if form == 1:
        divisor = growth.add("maximum", one, growth.add("divide", length, bound))
        return growth.add("divide", node, divisor)
    if form == 2:
        other = growth.number((1.0, 2.0)) if choices.happens(25) else bound
        longer = growth.add("maximum", length, other)
        return growth.add("multiply", node, growth.add("divide", bound, longer))
    return growth.add("divide", node, length)


def _rare_clip(growth: Growth, node: int, length: int, bound: int, form: int) -> int:
    """Append a clip by norm that chooses, or that divides a multiple."""
    choices = growth.choices
    if form == 4:
        divisor = growth.add("maximum", length, bound if choices.happens(75) else growth.number())
        return growth.add("divide", growth.add("multiply", node, bound), divisor)
    shrunk = growth.add("divide", bound, length)
    one = growth.constant(choices.one_of((1.0, 1.0, 2.0)))
    test = growth.add(
        choices.one_of(("less", "less_equal")),
        *((bound, length) if form == 5 else (length, bound)),
    )
    branches = (shrunk, one) if form == 5 else (one, shrunk)
    if choices.happens(15):
        branches = branches[::-1]
    return growth.add("multiply", node, growth.add("where", test, *branches))


def _deviations(growth: Growth) -> int:
    """Append a variance or a sum of deviations, as written in textbooks."""
    node = growth.any_array()
    middle = growth.add(growth.choices.one_of(("mean", "median", "min")), node, axis=None)
    moved = growth.add("subtract", node, middle)
    name = growth.choices.one_of(("square", "absolute"))
    size = _square(growth, moved) if name == "square" else growth.add("absolute", moved)
    total = growth.add(growth.choices.one_of(("mean", "sum", "max")), size, axis=None)
    return growth.add("sqrt", total) if growth.choices.happens(30) else total


def _masked(growth: Growth) -> int:
    """Append a sum over the records that a condition on a part holds for."""
    node = growth.any_node()
    name = growth.choices.one_of(("less", "less_equal", "equal", "not_equal"))
    mask = growth.add(name, growth.any_node(), growth.number())
    if growth.choices.happens(50):
        chosen = growth.add("where", mask, node, growth.number((0.0, 0.0, 1.0)))
    else:
        chosen = growth.add("multiply", mask, node)
    return growth.add("sum", chosen, axis=None)


def _softmax(growth: Growth) -> int:
    """Append sums over sums."""
    node = growth.any_array()
    weights = growth.add(growth.choices.one_of(("exp", "absolute")), node)
    total = growth.add("sum", weights, axis=None)
    if growth.choices.happens(50):
        return growth.add("divide", weights, growth.add("add", total, growth.number((1.0, 2.0))))
    above = growth.add("sum", growth.add("multiply", node, weights), axis=None)
    return growth.add("divide", above, total)


def _gram(growth: Growth) -> int:
    """Append a product of a matrix with itself or with labels."""
    node = growth.any_array()
    ndim = growth.samples[node].ndim
    if ndim != 2:
        raise Unfit
    turned = growth.add("transpose", node, axes=[1, 0])
    other = growth.any_array() if growth.choices.happens(40) else node
    if growth.choices.happens(15):
        return growth.add("matmul", node, turned)
    return growth.add("matmul", turned, other)


def _differences(growth: Growth) -> int:
    """Append the differences, products or sums of rows and the rows after them."""
    node = growth.any_array()
    shape = growth.samples[node].shape
    if not shape or shape[0] in (0, UNKNOWN):
        raise Unfit
    rest: list[list[int] | None] = [None] * (len(shape) - 1)
    whole = list(range(shape[0]))
    after, before = growth.choices.one_of(
        ((whole[1:], whole[:-1]), ([*whole[1:], 0], whole), (whole, [0]), (whole, whole[::-1]))
    )
    one = growth.add("take", node, key=[after, *rest])
    other = growth.add("take", node, key=[before, *rest])
    found = growth.add(
        growth.choices.one_of(("subtract", "subtract", "multiply", "add")), one, other
    )
    if growth.choices.happens(40):
        found = growth.add("absolute", found)
    return growth.add("sum", found, axis=None) if growth.choices.happens(60) else found


def _first(growth: Growth) -> int:
    """Append something of all records and of the first one."""
    node = growth.any_array()
    shape = growth.samples[node].shape
    if not shape or shape[0] in (0, UNKNOWN):
        raise Unfit
    key: list[list[int] | None] = [[growth.choices.below(shape[0])], *[None] * (len(shape) - 1)]
    name = growth.choices.one_of(("less", "multiply", "subtract", "less_equal"))
    compared = growth.add(name, node, growth.add("take", node, key=key))
    return growth.add("sum", compared, axis=growth.choices.one_of((None, 0)))


def _spread(growth: Growth) -> int:
    """Append the difference of two order statistics, at times of different values."""
    node, choices = growth.any_array(), growth.choices
    other = growth.any_array() if choices.happens(25) else node
    low, high = (_order(growth, one) for one in (node, other))
    return growth.add("subtract", high, low)


def _order(growth: Growth, node: int) -> int:
    choices = growth.choices
    if choices.happens(50):
        return growth.add(choices.one_of(("max", "min", "median")), node, axis=None)
    q = choices.one_of((0.25, 0.75, 0.5, 0.9))
    return growth.add("quantile", node, axis=None, q=q, method="linear")


def _curve(growth: Growth) -> int:
    """Append a polynomial of one value: its range is not that of its parts."""
    node, choices = growth.any_node(), growth.choices
    if choices.happens(40):
        rest = growth.add("subtract", growth.number((1.0, 1.0, 2.0)), node)
    else:
        rest = growth.add("add", growth.number(CONSTANTS), node)
    found = growth.add("multiply", node, rest)
    if choices.happens(30):
        found = growth.add("multiply", found, found)
    return growth.add("sum", found, axis=None) if choices.happens(50) else found


def _smooth(growth: Growth) -> int:
    """Append a function of a sum that is steepest at one end."""
    node, choices = growth.any_array(), growth.choices
    total = growth.add("sum", _square(growth, node), axis=None)
    name = choices.one_of(("log1p", "sqrt", "exp", "tanh", "arctan"))
    if name == "exp":
        total = growth.add("negative", total)
    found = growth.add(name, total)
    if choices.happens(30):
        return growth.add("divide", growth.constant(1.0), growth.add("add", found, growth.number()))
    return found


def _ratio(growth: Growth) -> int:
    """Append a quotient whose divisor stays off 0, or nearly."""
    divisor = growth.add("absolute", growth.any_node())
    divisor = growth.add("add", divisor, growth.number((1.0, 0.5, 0.0, 1.0)))
    return growth.add("divide", growth.any_node(), divisor)


def _parity(growth: Growth) -> int:
    """Append a remainder of a count."""
    condition = growth.add("less", growth.any_node(), growth.number())
    count = growth.add("sum", condition, axis=None)
    return growth.add(
        "remainder", count, growth.constant(growth.choices.one_of((2, 3, 2.0, 0.7, -2)))
    )


def _joined(growth: Growth) -> int:
    """Append statistics of columns, next to each other."""
    choices, node = growth.choices, growth.any_array()
    value = growth.samples[node]
    if value.ndim != 2 or value.shape[1] in (0, UNKNOWN):
        raise Unfit
    found = []
    for column in range(value.shape[1]):
        one = growth.add("take", node, key=[None, [column]])
        total = growth.add(choices.one_of(("sum", "max", "sum")), one, axis=None)
        found.append(growth.add("reshape", total, shape=[1]))
    return growth.add("concatenate", *found, axis=0)


def _group(growth: Growth) -> int:
    """Append sums over groups of records, side by side; at times groups overlap, or rows differ."""
    choices = growth.choices
    number, node = growth.any_node(), growth.any_node()
    ends = sorted(choices.one_of(CONSTANTS) for _ in range(4))
    found = []
    for group in range(choices.between(2, 3)):
        if choices.happens(15):
            number = growth.any_node()
        mask = _mask_of_group(growth, number, ends, group)
        if choices.happens(20) and growth.samples[mask].ndim:
            mask = growth.add("reshape", mask, shape=[*growth.program.nodes[mask].shape, 1])
        if choices.happens(60):
            chosen = growth.add("where", mask, node, growth.number((0.0, 0.0, 0.0, 1.0)))
        else:
            chosen = growth.add("multiply", node, mask)
        total = growth.add("sum", chosen, axis=choices.one_of((None, None, 0)))
        if choices.happens(30):
            total = growth.add("multiply", total, growth.number())
        flat = [growth.samples[total].size]
        found.append(growth.add("reshape", total, shape=flat))
    return growth.add("concatenate", *found, axis=0)


def _mask_of_group(growth: Growth, number: int, ends: list[float], group: int) -> int:
    """Append the truth of a number being one of few, or between two ends."""
    choices = growth.choices
    if choices.happens(50):
        value = choices.below(3) if choices.happens(20) else group
        return growth.add("equal", number, growth.constant(float(value)))
    names = [choices.one_of(("less", "less_equal")) for _ in range(2)]
    first = growth.add(names[0], growth.constant(ends[group]), number)
    if choices.happens(30):
        return first
    second = growth.add(names[1], number, growth.constant(ends[group + 1]))
    return growth.add("logical_and", first, second)


def _one_hot(growth: Growth) -> int:
    """Append codes of whole numbers, at times with a number twice."""
    node, choices = growth.any_array(), growth.choices
    column = growth.add("reshape", node, shape=[*growth.program.nodes[node].shape, 1])
    values = [float(choices.below(4)) for _ in range(choices.between(1, 3))]
    if choices.happens(70):
        values = [0.0, 1.0, 2.0]
    codes = growth.add("equal", column, growth.constant(values))
    if choices.happens(50):
        return growth.add("sum", codes, axis=0)
    return codes


PHRASES: tuple[tuple[int, Callable[[Growth], object]], ...] = (
    (10, _clip),
    (9, _row_clip),
    (6, _deviations),
    (5, _masked),
    (3, _softmax),
    (4, _gram),
    (5, _differences),
    (3, _first),
    (3, _spread),
    (4, _curve),
    (3, _smooth),
    (4, _ratio),
    (2, _parity),
    (3, _joined),
    (6, _group),
    (2, _one_hot),
)

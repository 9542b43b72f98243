"""Events as Python expressions of ``out``: a person evaluates them to see a finding again.

A scan certifies an event of encoded outputs (`dpaudit.estimation`). For a reproduction the plainest
event is looked for among what a line of Python can ask of an output: its type, its length, its
shape, whether a part is NaN, equals a value, exceeds one, or is a multiple of a power of two. What
is chosen here certifies nothing: the counts of the reproduction's own run do
(`is_guarantee_refuted`).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit._typing import Array
from dpaudit.estimation.joint import joint_lower_bound
from dpaudit.guarantees.guarantee import Guarantee
from dpaudit.guarantees.kinds import ApproximateDP
from dpaudit.scan.finding import SeenEvent

Run = dict[str, list[Any]]  # the parts of one output, as `dpaudit.scan.remote.probe` tells them
RAISED = "type(out).__name__"
ONLY_IF_RETURNED = "not isinstance(out, Exception)"
# Standard errors. Dozens of events are compared on the same outputs, so that the luckiest one
# looks about this much better than it is.
_SPREAD = 3.0
_MASSES = 6
_THRESHOLDS = 40
_GAPS = 5
# The limits on candidates keep the choice to the commonest values, of which a reproduction of a
# few hundred runs sees enough.
_CODES = 8
_KEYS = 64
_ALIKE = 0.1  # nats: events that promise so nearly the same are chosen by how plain they are
_DELTAS = (1e-9, 1e-6, 1e-4, 1e-3, 1e-2, 0.05, 0.2)


@dataclass(frozen=True)
class ExpressionEvent:
    """An expression of ``out``, and how often it was true on the dataset and on its neighbour.

    ``promised`` is about the epsilon that it shows, by rates a few standard errors worse than what
    was seen; ``plain`` is lower for what says more. ``topic`` is what it asks of which part: events
    of another topic show another thing.
    """

    expression: str
    hits: tuple[int, int]
    runs: tuple[int, int]
    promised: float
    plain: int
    topic: str


def is_guarantee_refuted(
    hits: tuple[int, int], runs: tuple[int, int], guarantee: Guarantee, alpha: float
) -> bool:
    """Return whether counts of one event, fixed beforehand, refute a guarantee.

    A guarantee with a curve is tried at several deltas, which share ``alpha``; so do the two
    directions, as it is not said beforehand which dataset the event favours.

    Formal guarantee: of a guarantee that holds it says yes with probability at most ``alpha``.

    Examples
    --------
    >>> from dpaudit.guarantees.kinds import PureDP
    >>> is_guarantee_refuted((100, 0), (100, 100), PureDP(1.0), 1e-3)
    True
    >>> is_guarantee_refuted((60, 50), (100, 100), PureDP(1.0), 1e-3)
    False
    """
    points = deltas_of(guarantee)
    share = alpha / (2 * len(points))
    sides = ((0, 1), (1, 0))
    return any(
        joint_lower_bound(hits[p], hits[q], runs[p], runs[q], delta=delta, alpha=share)
        > guarantee.epsilon(delta)
        for p, q in sides
        # The rates are compared by products of integers. The other direction bounds epsilon by
        # 0 at most, and skipping it uses no error probability, as the share of either direction
        # is paid for.
        if hits[p] * runs[q] > hits[q] * runs[p]
        for delta in points
    )


def deltas_of(guarantee: Guarantee) -> tuple[float, ...]:
    """Return at which deltas a guarantee is tried: those where it says something finite."""
    if isinstance(guarantee, ApproximateDP):
        return (guarantee.at_delta,)
    # A guarantee with a finite epsilon at delta 0 is pure; a larger delta could only spend a
    # share of alpha on a weaker statement.
    if math.isfinite(guarantee.epsilon(0.0)):
        return (0.0,)
    return tuple(one for one in _DELTAS if math.isfinite(guarantee.epsilon(one)))


def best_event(
    sides: Sequence[Sequence[Run]], delta: float, *, bits: bool = False, part: str = ""
) -> ExpressionEvent | None:
    """Return the plainest of the events that promise most, None if there is nothing to ask.

    Parameters
    ----------
    sides
        The parts of outputs on the dataset, and on its neighbour.
    delta
        At which epsilon is promised.
    bits
        Whether to ask of which power of two a number is a multiple.
    part
        The part that a scan's event asks of: preferred among those that promise as much.

    Examples
    --------
    >>> number = lambda value: {"out": ["number", value]}
    >>> sides = [number(0.5)] * 50, [number(float("nan"))] * 50
    >>> best_event(sides, 0.0).expression
    'out != out'
    """
    found = [
        _count_candidate_event(one, sides, delta) for one in _generate_event_candidates(sides, bits)
    ]
    if not found:
        return None
    most = max(one.promised for one in found) - _ALIKE
    alike = [one for one in found if one.promised >= most]
    names = set(_NAME.findall(part)) - _USUAL
    return min(
        alike,
        key=lambda one: (
            one.plain,
            not names <= set(_NAME.findall(one.expression)),
            len(one.expression),
            -one.promised,
        ),
    )


# Expression, how plain, where it is true, and its topic.
Candidate = tuple[str, int, list[NDArray[np.bool_]], str]
_NAME = re.compile(r"[A-Za-z_]\w*")
_USUAL = {"output", "len", "shape", "dtype", "raised", "keys"}
_PLACE = re.compile(r"\[[\d, ]+\]")
_NAMES = re.compile(
    r"(?:sorted|list)\((map\(str, .+\))\)"
)  # as `dpaudit.scan.remote.probe` lists them


def is_of_kind(expression: str, seen: SeenEvent) -> bool:
    """Return whether an expression asks for the same oddity or part as a scan's event.

    Warnings are asked for by no expression.

    Examples
    --------
    >>> seen = SeenEvent(words="", part="output", test="equals", value="nan", on_dataset=0,
    ...     on_neighbour=9, runs=9)
    >>> is_of_kind("out != out", seen), is_of_kind("type(out).__name__ == 'KeyError'", seen)
    (True, False)
    """
    if "warnings" in seen.part or "warnings" in seen.words:
        return False
    value = str(seen.value).lstrip("-")
    odd = "raised" if seen.test == "raised" else value if value in ("nan", "inf") else ""
    asked = expression.removeprefix(f"{ONLY_IF_RETURNED} and ")
    names = set(_NAME.findall(seen.part)) - _USUAL
    return _classify_oddity(asked) == odd and (odd != "" or names <= set(_NAME.findall(asked)))


def _classify_oddity(expression: str) -> str:
    """Return whether an expression is about an error, NaN or infinity; empty if about none."""
    if RAISED in expression or "str(out)" in expression:
        return "raised"
    # NaN alone differs from itself, so that a comparison of a part with itself is a test for
    # NaN.
    if re.fullmatch(r"(.+) [!=]= \1", expression) is not None:
        return "nan"
    return "inf" if 'float("inf")' in expression else ""


def _count_candidate_event(
    candidate: Candidate, sides: Sequence[Any], delta: float
) -> ExpressionEvent:
    expression, plain, true, topic = candidate
    hits, runs = [int(one.sum()) for one in true], [len(one) for one in sides]
    (a, b), (n, m) = hits, runs
    promised = max(
        _estimate_promised_epsilon(a, b, n, m, delta), _estimate_promised_epsilon(b, a, m, n, delta)
    )
    return ExpressionEvent(
        expression, (hits[0], hits[1]), (runs[0], runs[1]), promised, plain, topic
    )


def _estimate_promised_epsilon(
    hits: int, other: int, runs: int, others: int, delta: float
) -> float:
    """Return the epsilon of two rates that are a few standard errors worse than seen."""
    low, high = _wilson(hits, runs)[0] - delta, _wilson(other, others)[1]
    return math.log(low / high) if low > 0 else -math.inf


def _wilson(hits: int, runs: int) -> tuple[float, float]:
    rate, z = hits / runs, _SPREAD
    centre = (rate + z**2 / (2 * runs)) / (1 + z**2 / runs)
    half = z / (1 + z**2 / runs) * math.sqrt(rate * (1 - rate) / runs + z**2 / (4 * runs**2))
    return centre - half, centre + half


def _generate_event_candidates(sides: Sequence[Sequence[Run]], bits: bool) -> Iterator[Candidate]:
    together = [run for side in sides for run in side]
    raised = [run for run in together if "str(out)" in run]
    returned = [run for run in together if "str(out)" not in run]
    for path in dict.fromkeys(path for run in together for path in run):
        there = [path in run for run in together]
        if all(there):
            yield from _of_part(path, "", sides, bits)
        elif raised and all(path in run for run in returned) and path != "str(out)":
            yield from _of_part(path, f"{ONLY_IF_RETURNED} and ", sides, bits)


def _of_part(
    path: str, guard: str, sides: Sequence[Sequence[Run]], bits: bool
) -> Iterator[Candidate]:
    """Yield the events of one part; where a guard is needed, they are false if it is absent."""
    there = [np.array([path in run for run in side], dtype=bool) for side in sides]
    cells = [[run.get(path, ["code", None]) for run in side] for side in sides]
    kinds = {cell[0] for side in cells for cell in side}
    values = [[cell[1] for cell in side] for side in cells]
    if kinds == {"number"} or (guard and "number" in kinds):
        numbers = [
            np.array([one if isinstance(one, int | float) else 0 for one in side], float)
            for side in values
        ]
        made = _of_numbers(path, values, numbers, bits)
    else:
        made = _of_codes(path, values, sides)
    where = _PLACE.sub("[]", path)
    for expression, plain, true, topic in made:
        kept = [one & here for one, here in zip(true, there, strict=True)]
        yield f"{guard}{expression}", plain + (1 if guard else 0), kept, f"{topic} {where}"


def _of_codes(
    path: str, values: list[list[Any]], sides: Sequence[Sequence[Run]]
) -> Iterator[Candidate]:
    keys = [[repr(_convert_shape_code(one, path)) for one in side] for side in values]
    raised = {repr(run[RAISED][1]) for side in sides for run in side if "str(out)" in run}
    usual = Counter(key for side in keys for key in side)
    for key, _ in usual.most_common(_CODES):
        true = [np.array([one == key for one in side], dtype=bool) for side in keys]
        plain = (0 if key in raised else 1) if path == RAISED else 2
        topic = f"raised {key}" if path == RAISED and key in raised else "code"
        yield (f"{path} is None" if key == "None" else f"{path} == {key}"), plain, true, topic
        other = f"{path} is not None" if key == "None" else f"{path} != {key}"
        yield other, plain, [~one for one in true], topic
    if (names := _NAMES.fullmatch(path)) is not None:
        yield from _of_names(names[1], values)


def _of_names(names: str, values: list[list[Any]]) -> Iterator[Candidate]:
    """Yield for names of keys or columns whether each is there."""
    held = [[set(one) if isinstance(one, list) else set() for one in side] for side in values]
    usual = Counter(name for side in held for one in side for name in one)
    for name, _ in usual.most_common(_KEYS):
        true = [np.array([name in one for one in side], dtype=bool) for side in held]
        if not all(map(np.all, true)):
            yield f"{name!r} in {names}", 2, true, "code"
            yield f"{name!r} not in {names}", 2, [~one for one in true], "code"


def _convert_shape_code(code: Any, path: str) -> Any:
    """Return a code as its expression gives it: a shape is a tuple."""
    return tuple(code) if isinstance(code, list) and path.endswith(".shape") else code


def _of_numbers(
    path: str, values: list[list[Any]], sides: list[Array], bits: bool
) -> Iterator[Candidate]:
    pooled = np.concatenate(sides)
    finite = pooled[np.isfinite(pooled)]
    if np.isnan(pooled).any():
        true = [np.isnan(one) for one in sides]
        yield f"{path} != {path}", 1, true, "NaN"
        yield f"{path} == {path}", 1, [~one for one in true], "NaN"
    if np.isinf(pooled).any():
        true = [np.isinf(one) for one in sides]
        yield f'abs({path}) == float("inf")', 1, true, "infinite"
        yield f'abs({path}) != float("inf")', 1, [~one for one in true], "infinite"
    length = 2 if path.startswith("len(") else 3
    for value in _find_repeated_values(values):
        true = [np.array([one == value for one in side], dtype=bool) for side in values]
        yield f"{path} == {value!r}", length, true, "value"
        yield f"{path} != {value!r}", length, [~one for one in true], "value"
    for threshold in _choose_short_thresholds(finite):
        yield f"{path} > {threshold!r}", 4, [one > threshold for one in sides], "number"
        yield f"{path} <= {threshold!r}", 4, [one <= threshold for one in sides], "number"
    if bits:
        yield from _of_bits(path, sides, finite)


def _find_repeated_values(values: list[list[Any]]) -> list[Any]:
    """Return values that are seen again and again."""
    usual = Counter(one for side in values for one in side if isinstance(one, int | float))
    least = 0.02 * sum(map(len, values))
    return [one for one, seen in usual.most_common(_MASSES) if seen > max(least, 1)]


def _choose_short_thresholds(finite: Array) -> list[float]:
    """Return numbers of few digits that part the outputs, at their quantiles and widest gaps."""
    ordered = np.unique(finite)
    if len(ordered) < 2:
        return []
    # The ends have a finer grid: with a small delta the best threshold lies in a tail.
    ends = np.array([0.001, 0.003, 0.01, 0.02])
    shares = np.concatenate([ends, np.linspace(0.03, 0.97, _THRESHOLDS), 1 - ends])
    quantiles = (shares * (len(ordered) - 1)).astype(int).clip(0, len(ordered) - 2)
    gaps = np.argsort(np.diff(ordered))[-_GAPS:]
    places = np.unique(np.concatenate([quantiles, gaps]))
    return [_find_shortest_number(float(ordered[one]), float(ordered[one + 1])) for one in places]


def _find_shortest_number(low: float, high: float) -> float:
    """Return the number of fewest digits in ``[low, high)``."""
    for digits in range(1, 17):
        # Both halves are taken before they are added, as the sum of two large doubles may
        # overflow.
        for found in (float(f"{low:.{digits}g}"), float(f"{(low / 2 + high / 2):.{digits}g}")):
            if low <= found < high:
                return found
    return low


def _of_bits(path: str, sides: list[Array], finite: Array) -> Iterator[Candidate]:
    if not len(finite):
        return
    # A double near 1 is a multiple of 2^-53; smaller units tell smaller outputs apart.
    for power in range(-70, 2):
        unit = 2.0**power
        true = [
            # The remainder of an infinity raises a warning, so that a finite number stands in
            # and is masked.
            np.isfinite(one) & (np.fmod(np.where(np.isfinite(one), one, 0.5), unit) == 0)
            for one in sides
        ]
        rate = np.concatenate(true).mean()
        if 0 < rate < 1:
            yield f"{path} % 2.0**{power} == 0", 5, true, "bits"
            yield f"{path} % 2.0**{power} != 0", 5, [~one for one in true], "bits"

"""The runs that a verifier of replays looks at, in the process where the code is.

Lines are found by trying pairs of runs: the one that most runs lie on. Nothing here is shared with
`dpaudit.replaying`, which looks for the draw that a number follows and fits through the ends.
"""

from __future__ import annotations

import itertools
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dpaudit.freezing import patching, primitives, recorder
from dpaudit.freezing.observing import really
from dpaudit.freezing.outputs import Output, flatten_output
from dpaudit.freezing.recorder import Run
from dpaudit.freezing.states import after_others
from dpaudit.verification.stated_draws import entries_of, parse_subtrahend
from dpaudit.watching.clocks import Clocks

# Runs with ordinary noise: enough that a line through most of them cannot be a coincidence.
_RANDOM = 24
# Runs whose noise is many scales out: they show where a number is clipped, as ordinary noise
# seldom does.
_FAR = 6
_FIRST = 9  # runs that choose which value is counted, on others
_ON_LINE = 0.4  # of the runs with ordinary noise that a line has to explain
Function = Callable[[Any, Any], Any]


def run_replay_task(task: Mapping[str, Any]) -> str:
    """Return the evidence of the runs that a verifier asks for, as JSON."""
    if task.get("ahead"):
        Clocks(task["ahead"]).install()
    given, drawn, copied = task["code"], 0, False
    if isinstance(given, str | bytes):
        with patching.patch_primitives():
            own = task.get("own", 0)
            loaded = recorder.load_recorded(lambda: _load_task_code(task["code"]), own)
            given, drawn, copied = loaded
    function = _make_called_function(given, task["form"], task["read"])
    if "unmoved" in task:
        first = 1 + int(task["seed"]) % 2**40
        asked = tuple(task["data"]), task["own"], first, task["unmoved"]
        return json.dumps({"values": after_others(function, *asked)})
    found: dict[str, Any] = {"sha256": _compute_code_hash(given)}
    with patching.patch_primitives(function):
        first = 1 + int(task["seed"]) % 2**40
        # The same frozen noise twice: code that draws less the second time has kept something
        # of the first.
        runs = [_run_recorded(function, task["data"][0], first)[0] for _ in range(2)]
        fewer = len(runs[0].calls) > len(runs[1].calls)
        found["keeps_state"] = drawn > 0 or fewer
        found["copies"] = copied or any(run.copied for run in runs)
        if "conditions" in task:
            found["laws"] = _fit_condition_laws(function, task, first)
        if "declared" in task:
            found["declaration"] = _measure_declared_movement(function, task, first)
    if task.get("count"):
        # The counted runs use real noise, so they come after the block in which primitives are
        # replaced.
        found["hits"], found["value"] = _count_fresh_hits(function, task)
    return json.dumps(found)


def _load_task_code(code: str | bytes) -> Any:
    import cloudpickle

    from dpaudit._references import load_reference

    return load_reference("mechanism", code) if isinstance(code, str) else cloudpickle.loads(code)


def _make_called_function(given: Any, form: str | None, read: Any) -> Function:
    from dpaudit.errors import InvalidArgument
    from dpaudit.mechanisms.foreign.calling import Calls, form_of

    try:
        how = form_of(given, form)
    except InvalidArgument:
        given = given()
        how = form_of(given, form)
    calls = Calls(given, how, read)
    return lambda data, rng: calls.one(data, rng)


def _compute_code_hash(given: Any) -> str | None:
    from dpaudit.mechanisms.foreign.code_identity import make_code, place_of

    place = place_of(given)
    code = None if place is None else make_code(*place)
    return None if code is None else code.sha256


def _run_recorded(
    function: Function, data: Any, seed: int, spared: frozenset[tuple[str, int]] = frozenset()
) -> tuple[Run, Output]:
    run = recorder.call_recorded(function, data, seed, primitives.generator(), spared=spared)
    return run, flatten_output(run.value, run.error)


# Laws


def _fit_condition_laws(
    function: Function, task: Mapping[str, Any], first: int
) -> list[list[dict[str, Any]]]:
    # The recorder takes a negative seed as one of noise far out, and tells the two signs of
    # that noise by the seed's parity; consecutive seeds have both.
    seeds = [*range(first, first + _RANDOM), *range(-2 * first - _FAR + 1, -2 * first + 1)]
    sides = []
    for which, data in enumerate(task["data"]):
        runs = [_run_recorded(function, data, seed) for seed in seeds]
        stated = [(place, draws[which], posts[which]) for place, draws, posts in task["conditions"]]
        laws = [_fit_number_law(runs, *one) for one in stated]
        entries = [entries_of(draw) for _, draw, _ in stated]
        # Noise that the file does not name is sent far out while the named draws stay ordinary.
        # A number that moves then depends on noise of which the law says nothing.
        for kept in {frozenset[tuple[str, int]]().union(*entries), *entries[:3]}:
            others = [
                _run_recorded(function, data, seed, kept) for seed in _get_sparing_seeds(first)
            ]
            laws = [
                _require_unmoved_law(law, others, *one[:2])
                for law, one in zip(laws, stated, strict=True)
            ]
        sides.append(laws)
    return sides


def _get_sparing_seeds(first: int) -> range:
    return range(-4 * first - 2 * _RANDOM + 1, -4 * first - _RANDOM + 1)


def _require_unmoved_law(
    law: dict[str, Any], runs: Sequence[tuple[Run, Output]], place: int, draw: Any
) -> dict[str, Any]:
    """Return a law, or the problem of it where all noise but its own is far out."""
    if law["problem"] is not None:
        return law
    wrong = {**law, "problem": "event: other noise changes a number, which has no law then"}
    drawn = [_find_standard_draw(run, *draw) for run, _ in runs]
    if any(place >= len(output.numbers) for _, output in runs) or None in drawn:
        return wrong
    o = np.array([output.numbers[place] for _, output in runs])
    z = np.array([one[0] for one in drawn if one is not None])
    line, ends = (law["centre"], law["factor"]), (law["low"], law["high"])
    return law if _is_line_accounted(line, ends, o, z, law["post"]) else wrong


def _is_line_accounted(
    line: tuple[float, float], ends: Sequence[Any], o: Any, z: Any, post: str
) -> bool:
    """Return whether every number is its line's, or the end that it is clipped to."""
    if not np.isfinite(o).all():
        return False
    value = line[0] + line[1] * z
    value = getattr(np, post)(value) if post else value
    low, high = (
        math.inf * sign if end is None else end for sign, end in zip((-1, 1), ends, strict=True)
    )
    missed = np.abs(np.clip(value, low, high) - o)
    # Rounded numbers have no last digits to forgive: one that misses its line misses it by a
    # whole unit.
    if post:
        return bool((missed == 0).all())
    allowed = 1e-8 * abs(line[1]) * (1 + np.abs(z)) + 10 * _estimate_rounding_unit(o) * (
        np.abs(o) + abs(line[0])
    )
    return bool((missed <= allowed).all())


def _fit_number_law(
    runs: Sequence[tuple[Run, Output]], place: int, draw: Any, post: str
) -> dict[str, Any]:
    found: dict[str, Any] = {"problem": None, "post": post, "declared": False}
    if len({output.structure for _, output in runs}) > 1:
        return {**found, "problem": "event: the structure of the output varies with the noise"}
    if any(place >= len(output.numbers) for _, output in runs):
        return {**found, "problem": "event: the output has no such number"}
    o = np.array([output.numbers[place] for _, output in runs])
    draws = [_find_standard_draw(run, *draw) for run, _ in runs]
    if any(one is None for one in draws) or not np.isfinite(o).all():
        return {**found, "problem": "event: a call has no such draw, or a number is not finite"}
    kinds = {one[1] for one in draws if one is not None}
    z = np.array([one[0] for one in draws if one is not None])
    hints = {_get_draw_hint(run, draw) for run, _ in runs}
    # Rounding hides the line of a number, so that only the sum in the code itself shows centre
    # and factor.
    line = _through_most(o, z) if not post else _get_single_hint(hints)
    if line is None or len(kinds) > 1 or not _is_line_explaining(line, o, z, post):
        return {**found, "problem": "event: a number is no line of the draw that the file names"}
    unit = _estimate_rounding_unit(o) if _estimate_rounding_unit(o) > 1e-10 else 1e-15
    error = unit * float(np.abs(o[:_RANDOM]).max() + np.abs(line[1] * z[:_RANDOM]).max())
    if (ends := _find_clip_ends(line, o, z, post)) is None:
        return {**found, "problem": "event: a number is no line of its draw where that is far out"}
    if not _is_line_accounted(line, ends, o, z, post):
        return {**found, "problem": "event: a number is no line of its draw in every call"}
    return {
        **found,
        "low": ends[0],
        "high": ends[1],
        "centre": line[0],
        "factor": line[1],
        "kind": kinds.pop(),
        "error": error,
        "numbers": o.tolist(),
        "draws": z.tolist(),
        "declared": any(call.key == draw[0] and bool(call.declared) for call in runs[0][0].calls),
    }


def _find_standard_draw(run: Run, key: str, entry: int, made: str) -> tuple[float, str] | None:
    """Return a standard draw of a run and its law, as the file says that it was made."""
    raw = _find_raw_draw(run, key, entry)
    if raw is None:
        return None
    value, kind = raw
    match made:
        case "":
            return raw
        case "inverted" if kind == "uniform":
            return (math.log(2 * value) if value < 0.5 else -math.log(2 - 2 * value)), "laplace"
        case "-log(u)" if kind == "uniform":
            return -math.log(value), "exponential"
        case "-log(1-u)" if kind == "uniform":
            return -math.log1p(-value), "exponential"
    other = parse_subtrahend(made)
    second = None if other is None else _find_raw_draw(run, *other)
    if second is None or not second[1] == kind in ("uniform", "exponential"):
        return None
    both = [-math.log(x) if kind == "uniform" else x for x in (value, second[0])]
    return both[0] - both[1], "laplace"


def _find_raw_draw(run: Run, key: str, entry: int) -> tuple[float, str] | None:
    for call in run.calls:
        if call.key == key and call.draw is not None and 0 <= entry < np.size(call.draw):
            value = float(np.ravel(call.draw)[entry])
            law = _get_documented_law(call.kind, call.declared)
            return (value, call.kind) if law is None else (value / law[1], law[0])
    return None


def _get_documented_law(kind: str, declared: Mapping[str, float]) -> tuple[str, float] | None:
    """Return law and scale that diffprivlib documents for its mechanisms."""
    if kind not in ("diffprivlib.Laplace", "diffprivlib.Gaussian"):
        return None
    epsilon, delta, sensitivity = (declared.get(n, 0) for n in ("epsilon", "delta", "sensitivity"))
    if not epsilon > 0 or not sensitivity > 0:
        return None
    if kind == "diffprivlib.Laplace":
        return "laplace", sensitivity / (epsilon - math.log(1 - delta))
    return "normal", sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def _through_most(o: Any, z: Any) -> tuple[float, float] | None:
    """Return centre and factor of the line that most runs with ordinary noise lie on."""
    best: tuple[int, tuple[float, float]] | None = None
    # Some runs are clipped and lie on no line. Ten runs make 45 pairs, of which one has two
    # good runs unless nearly all are clipped.
    for p, q in itertools.combinations(range(min(10, len(o))), 2):
        if z[p] == z[q] or o[p] == o[q]:
            continue
        factor = (o[q] - o[p]) / (z[q] - z[p])
        on = _select_values_on_line(o, z, (o[p] - factor * z[p], factor))[:_RANDOM]
        if best is None or on.sum() > best[0]:
            chosen = np.flatnonzero(on)
            # The two runs that are furthest apart fix the slope with the least rounding, and
            # the median of centres heeds no single run.
            wide = chosen[np.argmin(z[chosen])], chosen[np.argmax(z[chosen])]
            factor = (o[wide[1]] - o[wide[0]]) / (z[wide[1]] - z[wide[0]])
            centres = o[chosen] - factor * z[chosen]
            best = int(on.sum()), (float(np.median(centres)), float(factor))
    return None if best is None else best[1]


def _find_clip_ends(
    line: tuple[float, float], o: Any, z: Any, post: str
) -> list[float | None] | None:
    """Return the ends that numbers do not leave where their line does; None for no such end.

    Returns None where what is beyond an end is not that end: then it is no clipping.
    """
    value = line[0] + line[1] * z
    slack = 1e-6 * (abs(line[1]) + np.abs(o).max()) + (1.0 if post else 0.0)
    found: list[float | None] = []
    for end, beyond in ((o.min(), value < o.min() - slack), (o.max(), value > o.max() + slack)):
        # Clipping returns the end itself. Two different values beyond it, or a single run, show
        # some other function that no clipped law describes.
        if beyond.any() and (beyond.sum() < 2 or (o[beyond] != end).any()):
            return None
        found.append(float(end) if beyond.any() else None)
    return found


def _select_values_on_line(o: Any, z: Any, line: tuple[float, float]) -> Any:
    missed = np.abs(line[0] + line[1] * z - o)
    return missed <= 1e-8 * abs(line[1]) * (1 + np.abs(z)) + 10 * _estimate_rounding_unit(
        o
    ) * np.abs(o)


def _estimate_rounding_unit(o: Any) -> float:
    """Return the relative rounding of numbers, which may be in single precision."""
    # Whole numbers are single-precision numbers too, and say nothing of how they were computed.
    single = bool((o == o.astype(np.float32)).all()) and not (o == np.round(o)).all()
    return 6e-8 if single else 1e-13


def _get_draw_hint(run: Run, draw: Any) -> tuple[float, float] | None:
    """Return centre and factor of a draw, as the sum with it was seen."""
    for call in run.calls:
        if call.key != draw[0]:
            continue
        scale = 1.0 if call.scale is None else call.scale
        centre, factor = call.location, 1.0
        if call.meetings:
            centre, factor = call.meetings[-1].centre, call.meetings[-1].factor
        if centre is None:
            return None
        shape = np.shape(call.draw)
        wide = [np.broadcast_to(np.asarray(x, float), shape) for x in (centre, factor * scale)]
        entry = draw[1]
        return float(wide[0].ravel()[entry]), float(wide[1].ravel()[entry])
    return None


def _get_single_hint(hints: set[tuple[float, float] | None]) -> tuple[float, float] | None:
    return hints.pop() if len(hints) == 1 else None


def _is_line_explaining(line: tuple[float, float], o: Any, z: Any, post: str) -> bool:
    if line[1] == 0 or not all(map(math.isfinite, line)):
        return False
    if not post:
        return bool(_select_values_on_line(o, z, line)[:_RANDOM].mean() >= _ON_LINE)
    value = getattr(np, post)(line[0] + line[1] * z)
    return bool((value == o)[:_RANDOM].mean() >= _ON_LINE)


# Declarations and counts


def _measure_declared_movement(
    function: Function, task: Mapping[str, Any], first: int
) -> tuple[float, float] | None:
    """Return movement and declared sensitivity of a call whose value no noise moves.

    The movement is the largest of any entry: in whichever norm the call measures, it is no less.
    """
    centres: list[set[tuple[float, ...]]] = [set(), set()]
    declared = set()
    for side, data in zip(centres, task["data"], strict=True):
        for seed in range(first, first + 8):
            run, _ = _run_recorded(function, data, seed)
            calls = [one for one in run.calls if one.key == task["declared"]]
            if len(calls) != 1 or calls[0].location is None:
                return None
            side.add(tuple(np.ravel(calls[0].location).tolist()))
            declared.add(calls[0].declared.get("sensitivity"))
    # Eight runs with different noise have to show one value each: a value that noise moves has
    # no movement between neighbours that a declaration could be held to.
    if any(len(side) != 1 for side in centres) or len(declared) != 1 or None in declared:
        return None
    one, other = (np.array(side.pop()) for side in centres)
    if one.shape != other.shape or not np.isfinite([*one, *other]).all():
        return None
    return float(np.abs(one - other).max(initial=0.0)), float(declared.pop() or 0.0)


def _count_fresh_hits(
    function: Function, task: Mapping[str, Any]
) -> tuple[tuple[int, int, int], float | None]:
    """Return how many fresh outputs of either dataset are in an event, and of how many.

    And the value that the event is about, where it is a number.
    """
    data = task["data"][::-1] if task["favours"] else task["data"]
    seed = 10**6 + 2 * (int(task["seed"]) % 2**40)
    # The value is chosen on outputs that are not counted, since an event that fits the counted
    # outputs has no error probability.
    value = _find_commonest_value(
        [_get_counted_value(really(function, data[0], seed - n), task) for n in range(_FIRST)]
    )
    hits, made, end = [0, 0], 0, time.monotonic() + float(task["seconds"])
    while made < task["count"] and time.monotonic() < end:
        # In an order by chance: of every other call some code keeps count.
        turn = int(np.random.default_rng((seed, made)).integers(2))
        for which, one in [*enumerate(data)][:: 1 - 2 * turn]:
            made_value = _get_counted_value(
                really(function, one, seed + 2 + 2 * made + which), task
            )
            hits[which] += _is_counted_equal(made_value, value, task)
        made += 1
    return (hits[0], hits[1], made), value if isinstance(value, float) else None


def _find_commonest_value(values: Sequence[Any]) -> Any:
    """Return the value of most runs: one of them alone may be among the few that differ."""
    return max(values, key=values.count)


def _get_counted_value(output: Output, task: Mapping[str, Any]) -> Any:
    if "contrast" in task:
        p, q, weight, _ = task["contrast"]
        if max(p, q) >= len(output.numbers):
            return None
        return output.numbers[p] + weight * output.numbers[q]
    what, place = task["counted"]
    if what == "structure":
        return output.structure
    held: Sequence[Any] = output.texts if what == "text" else output.numbers
    found = held[place] if place < len(held) else None
    # NaN does not equal itself, so that an output of NaN would never be counted as the same.
    return "nan" if isinstance(found, float) and math.isnan(found) else found


def _is_counted_equal(one: Any, other: Any, task: Mapping[str, Any]) -> bool:
    if "contrast" in task and one is not None and other is not None:
        return bool(abs(one - other) <= task["contrast"][3])
    return bool(one == other)

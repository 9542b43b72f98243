"""Findings of two replays, each with the label of its kind.

*proof*
    Two laws, or counts of real runs, contradict the claim on this pair. Laws are those of the
    primitives as their documentation has them, and the code is taken to treat all noise as it
    treated that of the runs; counts need neither, and are right with their confidence.
*violation*
    Something that the code or a mechanism states of itself does not hold on this pair, whatever the
    noise is: a declared sensitivity, or that a released value has noise.
*withheld*
    What would be a proof, or a violation, of code that may keep its noise past a call: nothing can
    be said before it draws noise in every call. Or nothing is released.
*hint*
    A place to look at. Nothing is refuted yet: an output may still be private.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_FLOOR
from typing import Any, Literal, get_args

import dpaudit.faults.codes as codes
from dpaudit.freezing.observing import Function, SideRuns
from dpaudit.replaying.confirming import (
    exceeds,
    is_unmoved_by_far_draws,
    select_confirmed_laws,
    without_constants,
)
from dpaudit.replaying.counting import (
    ALPHA,
    GUIDED,
    OutputEvent,
    OutputEventCount,
    constants,
    count_event,
    count_needed_runs,
    find_guided_event,
)
from dpaudit.replaying.digits import in_four_digits
from dpaudit.replaying.events import ReplayEvent, same_law
from dpaudit.replaying.laws import Laws, laws_of
from dpaudit.replaying.movement import CallMovement
from dpaudit.replaying.no_release import KIND, nothing_released
from dpaudit.replaying.request import ReplayRequest
from dpaudit.replaying.spending import Spending, measure_spending
from dpaudit.report.formatting import as_certain

Tier = Literal["proof", "violation", "withheld", "hint"]
_MARGIN = 1e-9
# Packages that draw past everything that is intercepted.
OWN_SAMPLERS = ("opendp", "pydp", "jax", "tensorflow", "cupy", "tumult", "qrandom")
COUNTED = "counted event"  # what varies, and is counted
# Kinds of fault, by the kind of a finding; others do not say which it is.
_FAULTS = {
    "scale from data": codes.SCALE_FROM_DATA,
    "range from data": codes.RANGE_FROM_DATA,
    "noise from data": codes.NOISE_FROM_DATA,
    "shared noise": codes.NOISE_USED_TWICE,
    "budget": codes.BUDGET_EXCEEDED,
    "sensitivity": codes.NOISE_TOO_SMALL,
    "declared sensitivity": codes.DECLARED_SENSITIVITY,
    "raw value": codes.WITHOUT_NOISE,
    "raw structure": codes.STRUCTURE_FROM_DATA,
    "raw exception": codes.EXCEPTION_FROM_DATA,
    "missing number": codes.MISSING_VALUE,
    "fixed seed": codes.FIXED_SEED,
    "seed in the source": codes.FIXED_SEED,
    "warnings": codes.WARNING_FROM_DATA,
    "control flow": codes.DRAWS_FROM_DATA,
    KIND: codes.NOTHING_RELEASED,
}
_IF_RELEASED = ("budget", "sensitivity")  # as hints, of values that an output may not show


@dataclass(frozen=True)
class CallFinding:
    """One finding.

    Parameters
    ----------
    kind
        A few words that name the sort.
    tier
        What it is worth.
    words
        What was seen, in a sentence; it holds no value of a record or an output.
    epsilon
        What it proves at the claimed delta, where it proves something.
    place
        Where in the source.
    event, seen
        What a verifier looks at again.
    reads
        What a count of runs that vary is about, and in which place.
    held
        Whether the import or a first call drew what later calls may reuse: then it stands only
        where that does not reach the output.
    """

    kind: str
    tier: Tier
    words: str
    epsilon: float | None = None
    place: str | None = None
    event: ReplayEvent | None = None
    seen: OutputEvent | None = None
    call: int | None = None
    reads: tuple[str, int] | None = None
    held: bool = False

    @property
    def fault(self) -> str | None:
        """The code of the kind of fault, None where the finding does not decide it."""
        if self.tier == "hint" and self.kind in _IF_RELEASED:
            return None
        return _FAULTS.get(self.kind)


@dataclass
class ReplayComparison:
    """Two replays, compared."""

    findings: list[CallFinding]
    moved: list[CallMovement]
    laws: tuple[Laws, Laws]
    spending: Spending
    unread: list[str] = field(default_factory=list)


def collect_findings(
    function: Function,
    data: tuple[Any, Any],
    sides: tuple[SideRuns, SideRuns],
    asked: ReplayRequest,
) -> ReplayComparison:
    """Return the evidence of the runs on two datasets about a claim."""
    read = (laws_of(sides[0]), laws_of(sides[1]))
    # Before anything is accused: a law that ordinary noise shows may break where noise is far out.
    laws = select_confirmed_laws(read, function, data, asked.claimed, asked.seed + 1)
    moved, spending = measure_spending(
        function, data, sides, laws, asked.claimed, seed=asked.seed, hidden_state=asked.hidden_state
    )
    total = spending.epsilon
    found = [
        *_by_laws(laws, moved, asked),
        *_by_counting(function, data, sides, asked, laws),
        *_declared(moved, asked),
    ]
    found += _hints(sides, moved, asked, laws)
    if (why := nothing_released(function, data[0], sides)) is not None:
        found.append(CallFinding(KIND, "withheld", why))
    over = total is None or total > asked.epsilon * (1 + 1e-6)
    unread = [asked.shown(path) for path in _unread(laws)]
    worth = over and (unread or _structure_moves(sides))
    # Guided counts take thousands of calls: only where something was not read, and nothing is
    # proved yet.
    if worth and not _has_proof(found) and not asked.hidden_state:
        found += _count_guided_events(function, data, asked)
    if not _has_proof(found):
        found += _budget(moved, total, asked)
    return ReplayComparison(_sort_findings(found), moved, laws, spending, unread)


def _has_proof(found: Sequence[CallFinding]) -> bool:
    return any(one.tier == "proof" for one in found)


def _sort_findings(found: list[CallFinding]) -> list[CallFinding]:
    order = get_args(Tier)
    return sorted(found, key=lambda one: (order.index(one.tier), -(one.epsilon or 0.0)))


def _unread(laws: tuple[Laws, Laws]) -> list[str]:
    """Return the numbers of the output that have no law on one of the two."""
    if laws[0].structure is None or laws[0].structure != laws[1].structure:
        return []
    both = zip(laws[0].paths, laws[0].numbers, laws[1].numbers, strict=True)
    return [path for path, p, q in both if p is None or q is None]


# Laws


def _by_laws(
    laws: tuple[Laws, Laws], moved: Sequence[CallMovement], asked: ReplayRequest
) -> Iterator[CallFinding]:
    event = without_constants(laws, asked.delta)
    if event is None:
        return
    epsilon = event.epsilon(asked.delta)
    if not exceeds(event, laws, asked.claimed):
        return
    kind, words = _of_event(event, laws)
    paths = ", ".join(asked.shown(laws[0].paths[one.place]) for one in event.conditions[:3])
    more = f" and {len(event.conditions) - 3} more" if len(event.conditions) > 3 else ""
    if asked.copies:
        words += " (of calls that copy a generator: see docs/replay.md)"
    yield CallFinding(
        kind,
        "withheld" if asked.copies else "proof",
        f"{paths}{more}: {words}: epsilon is {_number(epsilon)} on this pair "
        f"(claimed {asked.epsilon:g})",
        epsilon,
        _place(event, laws, moved),
        event,
        held=asked.hidden_state,
    )


def _of_event(event: ReplayEvent, laws: tuple[Laws, Laws]) -> tuple[str, str]:
    pairs = [(laws[0].numbers[c.place], laws[1].numbers[c.place]) for c in event.conditions]
    both = [(p, q) for p, q in pairs if p is not None and q is not None]
    declared = any(law.declared for pair in both for law in pair)
    by = ", if the package's samplers have the laws that it documents" if declared else ""
    if event.kind == "equal":
        return "shared noise", "the same noise cancels in their difference, which moved"
    if any(abs(abs(p.factor) - abs(q.factor)) > 1e-9 * abs(p.factor) for p, q in both):
        return "scale from data", f"the scale of the noise depends on the data{by}"
    if any((p.low, p.high) != (q.low, q.high) for p, q in both):
        return "range from data", f"the range to which it is clipped depends on the data{by}"
    if any(p.kind != q.kind or p.post != q.post for p, q in both):
        return "noise from data", f"which noise is added depends on the data{by}"
    if len(both) > 1:
        return "budget", f"together they moved by more than their noise allows{by}"
    return "sensitivity", f"it moved by more than its noise allows{by}"


def _place(
    event: ReplayEvent, laws: tuple[Laws, Laws], moved: Sequence[CallMovement]
) -> str | None:
    law = laws[0].numbers[event.conditions[0].place]
    if law is None or law.draw is None:
        return None
    key = law.draw.key
    return next((one.place for one in moved if one.key == key), None)


# Counts


def _by_counting(
    function: Function,
    data: tuple[Any, Any],
    sides: tuple[SideRuns, SideRuns],
    asked: ReplayRequest,
    laws: tuple[Laws, Laws],
) -> Iterator[CallFinding]:
    """Yield values that are constant on one dataset in real runs and never seen on the other."""
    runs = count_needed_runs(asked.epsilon, asked.delta, asked.alpha)
    for seen in _worth_counting(sides, asked, laws):
        if asked.copies:
            words = "is the same in every call, but a generator is copied: noise may come again"
            yield CallFinding("hidden state", "withheld", f"{_named(seen, sides, asked)} {words}")
            return
        seed = 7_000_000 + asked.seed
        found = count_event(function, data, seen, runs, asked.delta, seed, asked.alpha)
        if found.epsilon > asked.epsilon:
            yield replace(_of_count(found, sides, asked), held=asked.hidden_state)
            return
        if found.hits == found.runs and not found.other_hits and _is_unreached_constant(seen, laws):
            fixed = not asked.samplers and is_unmoved_by_far_draws(
                seen, function, data, sides, asked.seed + 1
            )
            yield CallFinding(
                "raw value",
                "violation" if fixed else "hint",
                f"{_named(seen, sides, asked)} is another on the two datasets, and no noise "
                f"reaches it: {2 * found.runs} outputs certify an epsilon of {found.epsilon:.3g}",
                seen=seen,
                held=asked.hidden_state,
            )
            return


def _worth_counting(
    sides: tuple[SideRuns, SideRuns], asked: ReplayRequest, laws: tuple[Laws, Laws]
) -> Iterator[OutputEvent]:
    """Yield a few constants, those first that no noise reaches in replays either."""
    found = list(constants(sides[0].plain, sides[1].plain))
    found.sort(key=lambda seen: not _is_unreached_constant(seen, laws))
    yield from found[:3]


def _is_unreached_constant(seen: OutputEvent, laws: tuple[Laws, Laws]) -> bool:
    """Return whether the seen value is constant, and another, in all replays too."""
    own, other = laws if seen.favours == "dataset" else laws[::-1]
    if seen.what == "structure":
        return own.structure is not None and other.structure not in (None, own.structure)
    if own.structure is None or own.structure != other.structure:
        return False
    if seen.what == "text":
        return own.texts is not None and other.texts is not None
    p, q = own.numbers[seen.place], other.numbers[seen.place]
    return p is not None and q is not None and p.constant and not same_law(p, q)


def _of_count(
    found: OutputEventCount, sides: tuple[SideRuns, SideRuns], asked: ReplayRequest
) -> CallFinding:
    seen = found.seen
    seeds = _find_fixed_seeds(sides)
    kind, why = "raw value", "the same whatever the noise"
    if found.hits < found.runs or found.other_hits:
        kind, why = COUNTED, "nearly always the same"
    elif seen.what == "structure":
        kind = (
            "raw exception"
            if any(side.plain[0].raised is not None for side in sides)
            else "raw structure"
        )
    elif seen.what == "number" and seen.value == "nan":
        kind = "missing number"
    if seeds and _varies(sides, seen):
        kind, why = "fixed seed", f"the same in every call, as a seed is fixed at {seeds[0][1]}"
    return CallFinding(
        kind,
        "proof",
        f"{_named(seen, sides, asked)} is {why}, and different on the other dataset: "
        f"{_counts(found, asked)}",
        found.epsilon,
        seeds[0][1] if kind == "fixed seed" else None,
        seen=seen,
        reads=(seen.what, seen.place) if kind == COUNTED else None,
    )


def _counts(found: OutputEventCount, asked: ReplayRequest) -> str:
    counted = f"{found.hits} of {found.runs} and {found.other_hits} of {found.runs} outputs"
    return (
        f"seen in {counted}, which certifies an epsilon of {_down(found.epsilon)} (claimed "
        f"{asked.epsilon:g}; confidence {as_certain(1 - ALPHA)})"
    )


def _named(seen: OutputEvent, sides: tuple[SideRuns, SideRuns], asked: ReplayRequest) -> str:
    own = sides[0 if seen.favours == "dataset" else 1].plain[0]
    if seen.what == "structure":
        return "the structure of the output (keys, shapes, kinds, exceptions)"
    return asked.shown((own.text_paths if seen.what == "text" else own.paths)[seen.place])


def _find_fixed_seeds(sides: tuple[SideRuns, SideRuns]) -> list[tuple[str, str]]:
    """Return the seeds that the source gives in every call, whatever the noise."""
    runs = [run for side in sides for run in side.runs]
    found = set(runs[0].seeds)
    for run in runs[1:]:
        found &= set(run.seeds)
    return sorted(found)


def _varies(sides: tuple[SideRuns, SideRuns], seen: OutputEvent) -> bool:
    """Return whether replays with other noise give another than the one that is seen."""
    own = sides[0 if seen.favours == "dataset" else 1]
    return not all(seen.happened(output) for output in own.outputs)


def _structure_moves(sides: tuple[SideRuns, SideRuns]) -> bool:
    return any(
        a.structure != b.structure or a.texts != b.texts
        for a, b in zip(sides[0].outputs, sides[1].outputs, strict=True)
    )


def _count_guided_events(
    function: Function, data: tuple[Any, Any], asked: ReplayRequest
) -> Iterator[CallFinding]:
    """Yield the findings of counts of the events to which the movements point."""
    seed = 9_000_000 + asked.seed
    chosen = find_guided_event(function, data, asked.delta, GUIDED, seed, asked.alpha)
    if chosen is None or chosen[1].epsilon <= asked.epsilon:
        return
    words, found = chosen
    yield CallFinding(
        COUNTED,
        "proof",
        f"{words}: {_counts(found, asked)}",
        found.epsilon,
        reads=(found.seen.what, found.seen.place),
    )


# What is stated, and what only points at something


def _declared(moved: Sequence[CallMovement], asked: ReplayRequest) -> Iterator[CallFinding]:
    a_unit = "" if asked.apart is None else " a unit of distance"
    for one in moved:
        if one.declared is None or one.moved is None or not one.steady:
            continue
        if one.moved > one.declared * (asked.apart or 1.0) * (1 + 1e-9) + 1e-12:
            yield CallFinding(
                "declared sensitivity",
                "violation",
                f"{one.name} declares a sensitivity of {one.declared:.4g}{a_unit}, and its value "
                f"moved by more on this pair, {one.moved:.4g}",
                place=one.place,
                call=one.index,
            )


def _hints(
    sides: tuple[SideRuns, SideRuns],
    moved: Sequence[CallMovement],
    asked: ReplayRequest,
    laws: tuple[Laws, Laws],
) -> Iterator[CallFinding]:
    yield from _not_intercepted(sides, asked)
    yield from _control_flow(sides)
    for one in moved:
        if one.scale_moved and one.steady:
            yield CallFinding(
                "scale from data",
                "hint",
                f"the scale of {one.name} differs on the neighbour, whatever the noise",
                place=one.place,
                call=one.index,
            )
    for text, place in _find_fixed_seeds(sides)[:3]:
        words = f"a generator is made with the seed {text}"
        yield CallFinding("seed in the source", "hint", words, place=place)
    warned = [set(side.runs[0].warned) for side in sides]
    if warned[0] != warned[1]:
        yield CallFinding("warnings", "hint", "the two calls do not raise the same warnings")
    if laws[0].cut or laws[1].cut:
        yield CallFinding("size", "hint", "there were more draws than laws are read of")


def _not_intercepted(
    sides: tuple[SideRuns, SideRuns], asked: ReplayRequest
) -> Iterator[CallFinding]:
    if not all(side.repeated for side in sides):
        yield CallFinding(
            "not intercepted",
            "hint",
            "two calls with the same frozen noise differ: some randomness is not intercepted, and "
            "what it reaches has no law here",
        )
    if any(run.elsewhere for side in sides for run in side.runs):
        words = "primitives are called in other threads, and what they reach has no law here"
        yield CallFinding("not intercepted", "hint", words)
    for name in asked.samplers:
        words = f"{name} draws with a sampler of its own, which goes on"
        yield CallFinding("not intercepted", "hint", words)


def _control_flow(sides: tuple[SideRuns, SideRuns]) -> Iterator[CallFinding]:
    """Yield how the calls of primitives differ: in number, order, kind, shape or place."""
    lists = [side.runs[0].calls for side in sides]
    signs = [[(c.place, c.name, c.shape, c.parameters.get("size")) for c in one] for one in lists]
    if signs[0] == signs[1]:
        return
    counts = [Counter((place, name) for place, name, _, _ in one) for one in signs]
    differing = sorted((counts[0] - counts[1]) | (counts[1] - counts[0]))
    if differing:
        place, name = differing[0]
        times = [count[place, name] for count in counts]
        words = f"{name} is called {times[0]} times on the dataset and {times[1]} on the neighbour"
    else:
        place, words = "", "the calls of primitives differ in order or shape"
    yield CallFinding("control flow", "hint", words, place=place or None)


def _budget(
    moved: Sequence[CallMovement], total: float | None, asked: ReplayRequest
) -> Iterator[CallFinding]:
    for one in moved:
        if one.spent is None or one.kind == "normal" or one.spent <= asked.epsilon * (1 + 1e-9):
            continue
        yield CallFinding(
            "sensitivity",
            "hint",
            f"the value with noise of {one.name} moved by {one.moved:.4g} at a scale of "
            f"{one.scale:.4g}: if the code releases it, it spends an epsilon of {one.spent:.4g} "
            f"(claimed {asked.epsilon:g})",
            one.spent,
            one.place,
            call=one.index,
        )
    if total is not None and total > asked.epsilon * (1 + 1e-6):
        yield CallFinding(
            "budget",
            "hint",
            f"all noisy values together spend an epsilon of {total:.4g} on this pair, if the "
            f"code releases each of them (claimed {asked.epsilon:g})",
            total,
        )
    stated = [one.epsilon for one in moved if one.epsilon is not None and one.moved != 0]
    if sum(stated) > asked.epsilon * (1 + 1e-9):
        words = f"the mechanisms whose values moved declare a total epsilon of {sum(stated):.4g}"
        yield CallFinding("budget", "hint", f"{words} (claimed {asked.epsilon:g})")


def _number(value: float) -> str:
    return "infinite" if math.isinf(value) else f"at least {_down(value)}"


def _down(value: float) -> str:
    return f"{in_four_digits(value, ROUND_FLOOR):.4g}"

"""The total that all noisy values of a replay spend, or the reason why it is unknown.

The number is that of releasing every noisy value itself, with the movements of this pair as the
sensitivities: what the pair cannot exceed, if nothing else looks at the data. It stands only where
a movement of replays is a sensitivity: a centre that depends on earlier noise has none, as its
noise also moves the centres after it (`dpaudit.replaying.dependence`). And it stands only where
every part of the output is read: what moves with noise otherwise than by a law may show the noise
itself, beside a value that it hides. Noise with a seed that several runs have is no noise.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dpaudit.accounting.events import GaussianRelease, LaplaceRelease, Release
from dpaudit.accounting.events import Sequence as EventSequence
from dpaudit.accounting.strongest_guarantee import proved_guarantee
from dpaudit.errors import DpauditError
from dpaudit.freezing.observing import Function, SideRuns, same
from dpaudit.guarantees.kinds import GaussianDP
from dpaudit.replaying.dependence import DependenceCheck, look_again, look_for_dependence
from dpaudit.replaying.laws import Laws
from dpaudit.replaying.movement import MECHANISMS, CallMovement, compute_movements
from dpaudit.replaying.shifts import Unknown

# Beside those of a call: runs make other calls, what they draw is not all intercepted, an output
# looks at the data past the noise, a part of it moves with noise and has no law that was read,
# noise has a seed that several runs have, calls are too slow for runs with noise of every size, or
# no epsilon is finite at the claimed delta.
Why = Unknown | Literal["calls", "elsewhere", "outputs", "unread", "seeded", "slow", "infinite"]
_TOLERANCE = 1e-9
_HALVINGS = 100


@dataclass(frozen=True)
class Reason:
    """Why there is no number: the sort, how many calls it is about, and where the first one is."""

    why: Why
    calls: int = 0
    place: str | None = None


@dataclass(frozen=True)
class Spending:
    """The total that all noisy values spend on a pair.

    Parameters
    ----------
    epsilon
        At the claimed delta; None if it is unknown.
    reasons
        Why it is.
    mu
        Of all of it, where all noise that meets a value that moved is Gaussian.
    excess
        How many times smaller all noise could be, for the values to spend no more than is claimed.
    ordinary, graded
        Runs on each dataset in which centres were the same: with ordinary noise, and with noise
        that was made large on purpose.

    Examples
    --------
    >>> Spending().epsilon is None
    True
    """

    epsilon: float | None = None
    reasons: tuple[Reason, ...] = ()
    mu: float | None = None
    excess: float | None = None
    ordinary: int = 0
    graded: int = 0


def measure_spending(
    function: Function,
    data: tuple[Any, Any],
    sides: tuple[SideRuns, SideRuns],
    laws: tuple[Laws, Laws],
    claimed: tuple[float, float],
    *,
    seed: int,
    hidden_state: bool,
) -> tuple[list[CallMovement], Spending]:
    """Return the movements and their total; if there is a number, after more runs.

    Parameters
    ----------
    function, data
        What is replayed, and on which two datasets.
    sides, laws
        The runs that are there, and the laws of their outputs.
    claimed
        Epsilon and delta.
    seed
        Of the runs that are made.
    hidden_state
        Whether the first call, or the import, drew what later calls do not.
    """

    def judge_check(looked: DependenceCheck) -> tuple[list[CallMovement], Spending]:
        moved = compute_movements(*sides, laws, looked.steady)
        return moved, spending_of(moved, sides, laws, looked, claimed, hidden_state)

    looked = look_for_dependence(sides)
    moved, found = judge_check(looked)
    # Further runs can take a number away and never give one: without a number they are not made.
    if found.epsilon is None and found.mu is None and not any(one.declared for one in moved):
        return moved, found
    return judge_check(look_again(looked, function, data, (sides, laws), seed + 1))


def spending_of(
    moved: Sequence[CallMovement],
    sides: tuple[SideRuns, SideRuns],
    laws: tuple[Laws, Laws],
    looked: DependenceCheck,
    claimed: tuple[float, float],
    hidden_state: bool = False,
) -> Spending:
    """Return the total of all noisy values at the claimed delta, or why it is unknown.

    Parameters
    ----------
    moved
        All calls that both runs made.
    sides, laws, looked
        The runs, the laws of their outputs, and whether centres depend on noise.
    claimed
        Epsilon and delta.
    hidden_state
        Whether the first call, or the import, drew what later calls do not.
    """
    reasons = [*_of_calls(moved), *_of_all(sides, laws, looked, hidden_state)]
    runs = (looked.ordinary, looked.graded)
    if any(one.spent for one in moved):
        reasons += _of_noise_that_shows(sides, laws, looked)
    elif not reasons and _has_differing_outputs(sides):
        reasons = [Reason("outputs")]
    if reasons:
        return Spending(None, tuple(reasons), None, None, *runs)
    epsilon = compose_moved_epsilon(moved, claimed[1])
    reasons = [Reason("infinite")] if epsilon is None else []
    mu = total_mu(moved)
    return Spending(epsilon, tuple(reasons), mu, _compute_noise_excess(moved, mu, *claimed), *runs)


def _of_calls(moved: Sequence[CallMovement]) -> Iterator[Reason]:
    """Yield why calls have no number, each sort once."""
    counts: Counter[Unknown] = Counter(one.unknown for one in moved if one.unknown is not None)
    for why, count in counts.items():
        place = next(one.place for one in moved if one.unknown == why)
        yield Reason(why, count, place)


def _of_all(
    sides: tuple[SideRuns, SideRuns],
    laws: tuple[Laws, Laws],
    looked: DependenceCheck,
    hidden_state: bool,
) -> Iterator[Reason]:
    if not looked.same_calls:
        yield Reason("calls")
    threads = any(run.elsewhere for side in sides for run in [*side.runs, *side.far])
    if hidden_state or threads or not all(side.repeated for side in sides):
        yield Reason("elsewhere")
    if _past_noise(laws):
        yield Reason("outputs")


def _of_noise_that_shows(
    sides: tuple[SideRuns, SideRuns], laws: tuple[Laws, Laws], looked: DependenceCheck
) -> Iterator[Reason]:
    """Yield why noise may hide less than its scale says: it is seen itself, or comes again."""
    if not looked.lawful or any(map(_is_unread, laws)):
        yield Reason("unread")
    if any(map(_seeds_come_again, sides)):
        yield Reason("seeded")
    if not looked.every_size:
        yield Reason("slow")


def _is_unread(laws: Laws) -> bool:
    """Return whether a part of the output moves with noise, and not by a law that was read."""
    return laws.structure is None or laws.texts is None or laws.cut or None in laws.numbers


def _seeds_come_again(side: SideRuns) -> bool:
    """Return whether two replays with other noise gave a generator one seed: it is no noise's."""
    given = [{text for text, _ in run.seeds} for run in side.runs]  # far draws are at ends
    return any(count > 1 for count in Counter(text for one in given for text in one).values())


def _past_noise(laws: tuple[Laws, Laws]) -> bool:
    """Return whether a number of the output is made of data otherwise than through its centre."""
    if laws[0].structure != laws[1].structure or laws[0].texts != laws[1].texts:
        return True
    for p, q in zip(laws[0].numbers, laws[1].numbers, strict=True):
        if p is None or q is None:
            continue
        if p.constant != q.constant or (p.constant and not _is_same_number(p.centre, q.centre)):
            return True
        if (p.low, p.high, p.post, p.kind) != (q.low, q.high, q.post, q.kind):
            return True
    return False


def _is_same_number(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))


def _has_differing_outputs(sides: tuple[SideRuns, SideRuns]) -> bool:
    """Return whether outputs with the same noise differ."""
    return any(not same(a, b) for a, b in zip(sides[0].outputs, sides[1].outputs, strict=True))


def compose_moved_epsilon(moved: Sequence[CallMovement], delta: float) -> float | None:
    """Return the epsilon of all calls that moved, by the accountant; None if one is unknown.

    Examples
    --------
    >>> from dataclasses import replace
    >>> one = CallMovement(index=0, key="k", place="a.py:3 in f", name="laplace", kind="laplace",
    ...     shape=(), scale=2.0, other_scale=2.0, moved=1.0, seen="sum", steady=True,
    ...     declared=None, epsilon=None, spent=0.5)
    >>> compose_moved_epsilon([one, one], 0.0)
    1.0
    >>> compose_moved_epsilon(
    ...     [one, replace(one, steady=False, spent=None, unknown="feedback")], 0.0
    ... )
    """
    counts: Counter[tuple[bool, float]] = Counter()
    for one in moved:
        if one.spent is None:
            return None
        if one.spent > 0:
            counts[_is_gaussian(one), one.spent] += 1
    events: list[Release] = [
        (GaussianRelease if gaussian else LaplaceRelease)(
            sensitivity=spent, noise_scale=1.0, count=count
        )
        for (gaussian, spent), count in counts.items()
    ]
    if not events:
        return 0.0
    try:
        found = proved_guarantee(EventSequence(tuple(events))).epsilon(delta)
    except DpauditError:
        return None
    return found if math.isfinite(found) else None


def _is_gaussian(one: CallMovement) -> bool:
    return MECHANISMS.get(one.kind, one.kind) == "normal"


def total_mu(moved: Sequence[CallMovement]) -> float | None:
    """Return the mu of all calls that moved, if all of them have Gaussian noise and one moved."""
    spent = [one.spent or 0.0 for one in moved if one.spent]
    if not spent or not all(_is_gaussian(one) for one in moved if one.spent):
        return None
    return math.hypot(*spent)


def _compute_noise_excess(
    moved: Sequence[CallMovement], mu: float | None, epsilon: float, delta: float
) -> float | None:
    """Return by how much all noise may shrink at least; None where nothing moved."""
    if mu is not None:
        return (
            None
            if delta == 0
            else _search_largest_factor(lambda t: GaussianDP(t * mu), epsilon, delta)
        )
    pure = sum(one.spent or 0.0 for one in moved if not _is_gaussian(one))
    if any(one.spent and _is_gaussian(one) for one in moved) or pure == 0:
        return None
    return epsilon / pure


def _search_largest_factor(
    guarantee: Callable[[float], GaussianDP], epsilon: float, delta: float
) -> float | None:
    """Return the largest factor at which a guarantee still implies a claim."""
    low, high = 1e-9, 1e9
    if guarantee(low).epsilon(delta) > epsilon:
        return None
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if guarantee(middle).epsilon(delta) <= epsilon else (low, middle)
        if high <= low * (1 + _TOLERANCE):
            break
    return low

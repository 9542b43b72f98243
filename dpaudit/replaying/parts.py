"""An end-to-end number of parts: the proof for each primitive, and the bound of its audit.

Each kind of primitive that a replay saw is drawn alone, with the parameters that it had and its
value moved by as much as it moved, and audited as any mechanism is. The parts add up to what all
noisy values spend on this pair, if each is released and nothing else looks at the data: an upper
number, which refutes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

import dpaudit.guarantees.rounding as rounding
from dpaudit.auditing.api import audit
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.execution import Executor
from dpaudit.mechanisms.foreign.isolation import Isolation
from dpaudit.replaying.movement import MECHANISMS
from dpaudit.replaying.result import Replay
from dpaudit.replaying.shifts import Unknown
from dpaudit.replaying.spending import Reason, Why
from dpaudit.report.schema import Result

Label = Literal["proved by its law", "audited", "unknown"]
_LAPLACE = {"laplace"}


@dataclass(frozen=True, kw_only=True)
class PrimitiveGroup:
    """One kind of primitive, at one scale, with one movement.

    Parameters
    ----------
    name, kind
        Of the primitive, and its law.
    scale, moved
        Of its noise, and of its value on the pair.
    count
        How many calls are of this kind.
    epsilon
        What one spends at ``delta`` by its law or its audit; None where it has none.
    label
        What that rests on: a law that the primitive documents, an audit of it, or nothing.
    audited
        The audit of the primitive alone.
    unknown
        Why what it spends is unknown, where a replay cannot say: its centre depends on noise
        (``"feedback"``), for instance, so that its movement is no sensitivity.
    delta
        At which it spends that epsilon: 0 by its law, and what its audit claims.
    """

    name: str
    kind: str
    scale: float | None
    moved: float | None
    count: int
    epsilon: float | None
    label: Label
    audited: Result | None = None
    unknown: Why | None = None
    delta: float = 0.0


def make_replay_parts(found: Replay) -> tuple[PrimitiveGroup, ...]:
    """Return the parts of a replay, calls that are alike together.

    What did not move is left out, unless nobody can say whether it would.

    Examples
    --------
    >>> import numpy as np
    >>> from dpaudit import replay
    >>> def release(data, rng):
    ...     return [data.sum() + rng.laplace(scale=4.0) for _ in range(3)]
    >>> found = replay(release, np.array([0.0]), np.array([1.0]), epsilon=1.0)
    >>> [(one.name, one.count, one.epsilon, one.label) for one in make_replay_parts(found)]
    [('numpy.random.Generator.laplace', 3, 0.25, 'proved by its law')]
    >>> total(make_replay_parts(found))
    0.75
    """
    counts: Counter[tuple[Any, ...]] = Counter()
    for one in found.calls:
        if one.moved != 0 or one.unknown is not None:
            counts[one.name, one.kind, one.scale, one.moved, one.spent, one.unknown] += 1
    listed = [_make_replay_part(*key, count=count) for key, count in counts.items()]
    return (*listed, *(_make_unknown_part(one) for one in found.spending.reasons if _of_run(one)))


def _of_run(reason: Reason) -> bool:
    """Return whether a reason is about the run, and neither about calls nor about delta."""
    return not reason.calls and reason.why != "infinite"


def _make_replay_part(
    name: str,
    kind: str,
    scale: float | None,
    moved: float | None,
    spent: float | None,
    unknown: Unknown | None,
    *,
    count: int,
) -> PrimitiveGroup:
    pure = MECHANISMS.get(kind, kind) in _LAPLACE
    epsilon = spent if pure and unknown is None else None
    return PrimitiveGroup(
        name=name,
        kind=kind,
        scale=scale,
        moved=moved,
        count=count,
        epsilon=epsilon,
        label="unknown" if epsilon is None else "proved by its law",
        unknown=unknown,
    )


def _make_unknown_part(reason: Reason) -> PrimitiveGroup:
    """Return findings about no single call, as a part that nobody knows."""
    return PrimitiveGroup(
        name="the rest of the run",
        kind=reason.why,
        scale=None,
        moved=None,
        count=1,
        epsilon=None,
        label="unknown",
        unknown=reason.why,
    )


def total(listed: Sequence[PrimitiveGroup]) -> float | None:
    """Return the sum of the parts' spending at delta = 0; None where one is unknown there."""
    if any(one.epsilon is None or one.delta > 0 for one in listed):
        return None
    return rounding.sum_up((one.count, one.epsilon or 0.0) for one in listed)


def audit_part(
    part: PrimitiveGroup,
    primitive: Callable[[float, np.random.Generator], float],
    *,
    epsilon: float,
    delta: float = 0.0,
    trials: int = 10_000,
    seed: int = 0,
    executor: Executor | None = None,
    isolation: Isolation | None = None,
) -> PrimitiveGroup:
    """Return a part whose primitive was audited alone, at an epsilon that it is said to have.

    A part whose centre depends on noise has no movement to audit it at, and is refused.

    Parameters
    ----------
    part
        Of a replay.
    primitive
        Draws one output for a value, with the parameters that the mechanism gives it.
    epsilon, delta
        What the primitive claims when its value moves by as much as it moved.
    trials, seed, executor, isolation
        As `dpaudit.audit` takes them.

    Raises
    ------
    InvalidArgument
        No movement of the part was seen.

    Notes
    -----
    Formal guarantee: that of `dpaudit.audit`: a refuted primitive is wrong with the confidence of
    the audit. One that is not refuted is labelled as audited, which is no proof; one whose verdict
    is withheld spends what nobody knows.
    """
    if part.unknown is not None and part.unknown != "no law":
        expected = "one whose movement is a sensitivity"
        raise InvalidArgument(
            "part", VerbatimText(f"one that is unknown ({part.unknown})"), expected
        )
    if part.moved is None:
        raise InvalidArgument(
            "part", VerbatimText("one whose value was not seen"), "one with a movement"
        )
    result = audit(
        _PrimitiveMechanism(primitive),
        np.array([0.0]),
        np.array([part.moved]),
        epsilon=epsilon,
        delta=delta,
        trials=trials,
        seed=seed,
        executor=executor,
        isolation=isolation,
        relation="replace-record",
        form="f(data, rng)",
    )
    if result.verdict == "withheld":
        return replace(part, epsilon=None, label="unknown", audited=result)
    # A refuted primitive spends at least what was measured, and an upper number must not be below
    # that.
    spent = max(epsilon, result.measured.lower) if result.verdict == "refuted" else epsilon
    return replace(part, epsilon=spent, delta=delta, label="audited", audited=result)


@dataclass(frozen=True)
class _PrimitiveMechanism:
    """A primitive as a mechanism of one record, its value."""

    primitive: Callable[[float, np.random.Generator], float]

    def __call__(self, data: Any, rng: np.random.Generator) -> float:
        return self.primitive(float(data[0]), rng)

"""Small instances that still break a claim, by Hypothesis' targeted generation and shrinking."""

from __future__ import annotations

import contextlib
import math
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, Verbosity, given, settings, target
from hypothesis import seed as seeded
from hypothesis.strategies import SearchStrategy

import dpaudit._validate as check
from dpaudit.refutation.inequality import Inequality

InstanceT = TypeVar("InstanceT")

_OPTIONS: dict[str, Any] = {
    "phases": (Phase.generate, Phase.target, Phase.shrink),
    "database": None,
    "deadline": None,
    "verbosity": Verbosity.quiet,
    "report_multiple_bugs": False,
    "suppress_health_check": list(HealthCheck),
}


def minimal(
    instances: SearchStrategy[InstanceT],
    claim: Inequality[InstanceT],
    *,
    budget: int = 500,
    seed: int = 0,
) -> InstanceT | None:
    """Return the simplest instance of a strategy that breaks the claim, or None if none is found.

    Simple is what Hypothesis shrinks to: fewer rows before more, small whole numbers before
    others. Generation is steered towards larger ratios
    inside the assumptions.

    Parameters
    ----------
    instances
        Public parameters and data together; shrinks towards what comes first in it.
    claim
        Its ``refuted_by`` decides, its ``ratio`` steers.
    budget
        Instances to generate before giving up; shrinking comes on top.
    seed
        The only source of randomness.

    Raises
    ------
    InvalidArgument
        The budget is not an integer of at least 1.

    Examples
    --------
    >>> from hypothesis import strategies
    >>> from dpaudit.refutation import Inequality
    >>> sums = Inequality(
    ...     name="sum",
    ...     source="an example",
    ...     sides=lambda values: (float(sum(values)), 10.0),
    ...     conditions=lambda values: (),
    ... )
    >>> minimal(strategies.lists(strategies.integers(0, 9)), sums)
    [2, 9]
    """
    check.integer("budget", budget, least=1)
    smallest: list[InstanceT] = []

    @seeded(seed)
    @settings(max_examples=budget, **_OPTIONS)
    @given(instances)
    def attempt(instance: InstanceT) -> None:
        ratio = claim.ratio(instance)
        if math.isfinite(ratio) and not claim.broken(instance):
            target(ratio)
        if claim.refuted_by(instance):
            smallest[:] = [instance]
            raise _Refuted

    with contextlib.suppress(_Refuted):
        attempt()
    return smallest[0] if smallest else None


class _Refuted(Exception):
    """Tells Hypothesis that an instance is worth shrinking."""

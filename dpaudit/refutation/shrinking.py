"""Small instances that still break a claim, by Hypothesis' targeted generation and shrinking."""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Any, TypeVar

import dpaudit._check as check
from dpaudit.domains.generation import nothing_kept, quiet_options
from dpaudit.refutation.inequality import Inequality

if TYPE_CHECKING:  # loaded where something is shrunk: an audit by drawing does without it
    from hypothesis.strategies import SearchStrategy

InstanceT = TypeVar("InstanceT")


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
        Its ``is_refuted_by`` decides, its ``ratio`` steers.
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
    import hypothesis

    check.require_integer("budget", budget, least=1)
    smallest: list[InstanceT] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(max_examples=budget, phases=_get_hypothesis_phases(), **quiet_options())
    @hypothesis.given(instances)
    def attempt(instance: InstanceT) -> None:
        ratio = claim.ratio(instance)
        # Outside the assumptions a large ratio breaks nothing, and would steer generation away from
        # what does.
        if math.isfinite(ratio) and not claim.broken(instance):
            hypothesis.target(ratio)
        if claim.is_refuted_by(instance):
            # Hypothesis runs the simplest failure last.
            smallest[:] = [instance]
            raise _Refutation

    with contextlib.suppress(_Refutation), nothing_kept():
        attempt()
    return smallest[0] if smallest else None


def _get_hypothesis_phases() -> tuple[Any, ...]:
    from hypothesis import Phase

    return (Phase.generate, Phase.target, Phase.shrink)


class _Refutation(Exception):
    """Tells Hypothesis that an instance is worth shrinking."""

"""Small instances that still break a claim, by Hypothesis' targeted generation and shrinking."""

from __future__ import annotations

import contextlib
import math
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import dpaudit._validate as check
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
    import hypothesis

    check.integer("budget", budget, least=1)
    smallest: list[InstanceT] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(max_examples=budget, **_options())
    @hypothesis.given(instances)
    def attempt(instance: InstanceT) -> None:
        ratio = claim.ratio(instance)
        if math.isfinite(ratio) and not claim.broken(instance):
            hypothesis.target(ratio)
        if claim.refuted_by(instance):
            smallest[:] = [instance]
            raise _Refuted

    with contextlib.suppress(_Refuted), _nothing_kept():
        attempt()
    return smallest[0] if smallest else None


def _options() -> dict[str, Any]:
    from hypothesis import HealthCheck, Phase, Verbosity

    return {
        "phases": (Phase.generate, Phase.target, Phase.shrink),
        "database": None,
        "deadline": None,
        "verbosity": Verbosity.quiet,
        "report_multiple_bugs": False,
        "suppress_health_check": list(HealthCheck),
    }


@contextlib.contextmanager
def _nothing_kept() -> Iterator[None]:
    """Let Hypothesis keep its files elsewhere than in the folder one stands in, and not for long.

    It writes down the constants of all modules that are no installed package's, which may be a
    user's, and what is in them.
    """
    from hypothesis import configuration

    before = getattr(configuration, "__hypothesis_home_directory", None)
    with tempfile.TemporaryDirectory() as home:
        configuration.set_hypothesis_home_dir(home)
        try:
            yield
        finally:
            configuration.set_hypothesis_home_dir(before)


class _Refuted(Exception):
    """Tells Hypothesis that an instance is worth shrinking."""

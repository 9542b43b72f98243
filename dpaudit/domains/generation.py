"""Hypothesis, without the files that it keeps and the noise that it makes."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.random import Generator

if TYPE_CHECKING:  # loaded where something is generated
    from hypothesis.strategies import SearchStrategy

_SIMPLE = 3  # examples that come before any others


def quiet_options() -> dict[str, Any]:
    """Return settings under which nothing is remembered, timed, printed or refused as unhealthy."""
    from hypothesis import HealthCheck, Verbosity

    return {
        "database": None,
        "deadline": None,
        "verbosity": Verbosity.quiet,
        "report_multiple_bugs": False,
        "suppress_health_check": list(HealthCheck),
    }


@contextlib.contextmanager
def nothing_kept() -> Iterator[None]:
    """Let Hypothesis keep its files elsewhere than in the folder one stands in, and not for long.

    It writes down the constants of all modules that are no installed package's, which may be a
    user's, and what is in them.
    """
    from hypothesis import configuration

    # The function of Hypothesis that returns the folder would set one where none was set.
    before = getattr(configuration, "__hypothesis_home_directory", None)
    with tempfile.TemporaryDirectory() as home:
        configuration.set_hypothesis_home_dir(home)
        try:
            yield
        finally:
            configuration.set_hypothesis_home_dir(before)


@dataclass(frozen=True)
class ExampleSampler:
    """A function of a generator that makes examples of a strategy, many at once as well."""

    strategy: SearchStrategy[Any]

    def __call__(self, rng: Generator) -> Any:
        """Return one example."""
        return self.several(rng, 1)[0]

    def several(self, rng: Generator, count: int) -> list[Any]:
        """Return so many examples, or fewer where there are not more: of those the last ones."""
        seed = int(rng.integers(2**32))
        # Hypothesis begins with the simplest examples, which are alike in every run.
        return examples_of(self.strategy, count + _SIMPLE, seed)[-count:]


def examples_of(strategy: SearchStrategy[Any], count: int, seed: int = 0) -> list[Any]:
    """Return so many examples of a strategy, or fewer where it has not more; the simplest first.

    Parameters
    ----------
    strategy
        Of Hypothesis.
    count, seed
        How many at most, and the only source of randomness.

    Examples
    --------
    >>> from hypothesis import strategies
    >>> examples_of(strategies.integers(3, 5), 9)[0]
    3
    """
    import hypothesis

    found = list[Any]()

    @hypothesis.seed(seed)
    # The other phases replay, shrink and explain failures, of which there are none.
    @hypothesis.settings(max_examples=count, phases=(hypothesis.Phase.generate,), **quiet_options())
    @hypothesis.given(strategy)
    def take(example: Any) -> None:
        found.append(example)

    with nothing_kept():
        take()
    return found

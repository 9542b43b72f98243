"""Known answers: mechanisms whose exact epsilon is known, found through entry points.

`dpaudit` has none of its own. A package registers a `Suite` in the group
``dpaudit.known_answers``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, Protocol, runtime_checkable

from dpaudit._references import load_reference
from dpaudit.errors import DpauditError, InvalidArgument
from dpaudit.extension.distinguisher import Distinguisher
from dpaudit.neighbours import Pair

GROUP = "dpaudit.known_answers"


@runtime_checkable
class KnownAnswer(Protocol):
    """A mechanism, its worst pair, and the result that an audit of it should have."""

    @property
    def name(self) -> str:
        """The name in tables."""
        ...

    @property
    def mechanism(self) -> Any:
        """Something with ``sample(dataset, trials, rng)``."""
        ...

    @property
    def pair(self) -> Pair[Any]:
        """The neighbours it is audited on."""
        ...

    @property
    def delta(self) -> float:
        """At which all epsilons are meant."""
        ...

    @property
    def claimed(self) -> float:
        """The epsilon that the mechanism's source claims."""
        ...

    @property
    def true(self) -> float:
        """The least epsilon that holds for all neighbours; may be infinite."""
        ...

    @property
    def event(self) -> float:
        """The most that any event on the pair shows; may be infinite."""
        ...

    @property
    def published(self) -> float | None:
        """The result that another tool has published for these parameters."""
        ...

    @property
    def quick(self) -> bool:
        """Whether a quick self-test audits it."""
        ...


@dataclass(frozen=True)
class Learner:
    """An attack that sees outputs only, and the outputs of each dataset it learns on at most.

    What is slow to fit gets few; what counts gets all there are, which None says.
    """

    attack: Distinguisher
    most: int | None = None


@dataclass(frozen=True)
class Suite:
    """Mechanisms with a known answer, and the attacks to try on all of them.

    ``answers(published=False)`` returns them by name at parameters that a quick audit can see, with
    True at those for which another tool has published what it found.
    """

    answers: Callable[..., Mapping[str, KnownAnswer]]
    learners: tuple[Learner, ...]


def load_known_answers(*, published: bool) -> list[tuple[KnownAnswer, tuple[Learner, ...]]]:
    """Return the known answers of every installed package, each with the attacks to try on it.

    Raises
    ------
    DpauditError
        There are none.
    InvalidArgument
        A package registers something else.
    """
    found = list[tuple[KnownAnswer, tuple[Learner, ...]]]()
    for entry in entry_points(group=GROUP):
        suite = load_reference(f"entry point {entry.name} of {entry.group}", entry.value)
        if not isinstance(suite, Suite):
            raise InvalidArgument(f"entry point {entry.name}", suite, "a Suite of known answers")
        found += [(one, suite.learners) for one in suite.answers(published=published).values()]
    if not found:
        raise DpauditError(f"no installed package has known answers (entry points of {GROUP})")
    return found

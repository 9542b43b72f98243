"""Parts of an output that say only which process answered: its number, a name drawn at import.

Such a part is one value in every answer of a process, whatever the data, and another one in another
process. It is no noise; but outputs of one process have it in common, and so would be taken for
dependent by whatever reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.random import Generator

import dpaudit.mechanisms.foreign.answers as answers
from dpaudit.errors import MechanismError
from dpaudit.execution.failures import TakesNoMore
from dpaudit.execution.pool import Crew
from dpaudit.mechanisms.foreign.isolated import Isolated

# Answers of a process: fair coins in so many of two processes would be taken for a mark of these
# once in eight million times.
ANSWERS = 12


def marks_of_processes(
    mechanism: Isolated, datasets: Sequence[Any], trials: int, rngs: Sequence[Generator]
) -> list[str]:
    """Return the paths of parts that are one value in a process and another one in another.

    What an observer sees without them is a function of what he sees, so a bound on the rest holds.

    Parameters
    ----------
    mechanism, datasets, trials, rngs
        Other people's code, and how many answers it gives on each dataset, with which generators:
        in a process that it has, and in one more if anything is the same in all of the first.

    Raises
    ------
    MechanismError
        The code failed, or its process ended.
    """
    given = list(datasets), trials, list(rngs)
    try:
        here = mechanism.crew.call(answers.answer_fixed_parts, mechanism, *given)
        if not here:
            return []
        with Crew(mechanism.crew.limits) as another, another.by(mechanism.crew.until):
            there = another.call(answers.answer_fixed_parts, mechanism, *given)
    except TakesNoMore as error:
        raise MechanismError(error.after_calls()) from error
    return [path for path, value in here.items() if there.get(path, value) != value]

"""What a mechanism reaches beside its arguments: seen in a new interpreter that ends thereafter."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from dpaudit._typing import Array
from dpaudit.errors import MechanismError
from dpaudit.execution.failures import CodeFailed, WorkerEnded
from dpaudit.execution.pool import Crew
from dpaudit.laws.isolated import Isolated, unpickled
from dpaudit.laws.observed import made_with_layout, without_parts
from dpaudit.laws.touching import Touch, libraries_beside, watched


def touched(
    mechanism: Isolated, datasets: Sequence[Any], calls: int, entropy: int, ahead: int
) -> tuple[list[Touch], list[Array] | None, str]:
    """Return what import and some calls touch, what these return, and why they failed.

    As `dpaudit.laws.touching.watched` says; an interpreter that ends has failed.

    Parameters
    ----------
    mechanism
        Whose code is looked at.
    datasets, calls, entropy
        On which it is called, how often on each, and with which generators.
    ahead
        Steps that the clocks are set forward; 0 leaves them alone.
    """
    try:
        libraries = mechanism.crew.call(libraries_beside, mechanism)
        asked = list(datasets), calls, entropy, ahead, _travelled(mechanism), libraries
        with Crew(mechanism.crew.limits, python=sys.executable) as crew:
            touches, rows, failed = crew.call(watched, *mechanism.made, *asked)
    except (MechanismError, WorkerEnded, CodeFailed) as error:
        return [], None, type(error).__name__
    return [(kind, name) for kind, name in touches], rows, failed


def _travelled(mechanism: Isolated) -> bool:
    """Return whether what is called came by value, and was not made where it is."""
    make, given = mechanism.made
    while make in (made_with_layout, without_parts):
        make, given = given[:2]
    return make is unpickled and bool(mechanism.carried)

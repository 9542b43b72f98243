r"""A stationary point within a number of iterations that grows like 1/epsilon.

The supplement proves (42) for V^t and T(epsilon), whose definitions were in a theorem that is
missing from the text ("Theorem ??"). From the proof V^t is the sum of the squared terms that
(33) to (37) bound, and T(epsilon) the first t with ``V^t <= epsilon``; C is some constant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from dpaudit.algorithms.sharing.claims.hu2019.lemma2 import PAPER
from dpaudit.algorithms.sharing.claims.hu2019.lemma5 import (
    PUBLISHED,
    REACHED,
    SCOPE,
    Lemma5Parameters,
    run_case,
)
from dpaudit.extension.claim import Claim

if TYPE_CHECKING:
    from dpaudit.extension.case import SearchCase
    from dpaudit.extension.settings import Settings


class LongRunParameters(Lemma5Parameters):
    """Public parameters of the problems, which are quadratic, and the budget."""

    last: int = Field(200, ge=40, le=400, description="T, the last iteration of the run")


def prepare_equation42_search(settings: Settings, parameters: LongRunParameters) -> SearchCase:
    """Return the audit: a search for quadratic problems whose iterations grow.

    Examples
    --------
    >>> import numpy as np
    >>> from dpaudit.extension.settings import Settings
    >>> case = prepare_equation42_search(Settings(), LongRunParameters())
    >>> case.attain(400, np.random.default_rng(0)).ratio > 1.8
    True
    """
    from dpaudit.algorithms.sharing.claims.hu2019.horizon import RESIDUAL

    because = (
        "(40) rests on Lemma 4; with parallel updates of three or more parties V^t can grow in "
        "every iteration, so that a small epsilon is never reached."
    )
    notes = (
        "Where (M - 1) rho is below 2 it is true, with C_2 = min_m (gamma_m - (M - 1) rho "
        "sigma_max) / 2 or gamma/2 - L^2/rho in place of the C_2 that is printed.",
    )
    return run_case(CLAIM, settings, parameters, RESIDUAL, because, notes)


CLAIM = Claim(
    name="hu2019-equation42",
    title="A stationary point within a number of iterations",
    statement=(
        "Under Assumption 1 there is a constant C with sum_{t <= T} V^t <= C (L^1 - f) for every "
        "T, and so T(epsilon) epsilon <= C (L^1 - f): V^t measures how far x, z and y are from "
        "stationary, and T(epsilon) is the first t at which it is at most epsilon."
    ),
    source=f"{PAPER}, supplement 7.2, eq. (41) and (42)",
    kind="property",
    relation="none",
    assumptions=REACHED,
    prepare=prepare_equation42_search,
    parameters=LongRunParameters,
    scope=SCOPE,
    published=PUBLISHED,
)

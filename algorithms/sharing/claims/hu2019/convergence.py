"""The iterations settle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpaudit.algorithms.sharing.claims.hu2019.lemma2 import PAPER
from dpaudit.algorithms.sharing.claims.hu2019.lemma5 import (
    PUBLISHED,
    REACHED,
    SCOPE,
    RunParameters,
    run_case,
)
from dpaudit.extension.claim import Claim

if TYPE_CHECKING:
    from dpaudit.extension.case import SearchCase
    from dpaudit.extension.settings import Settings


def prepare(settings: Settings, parameters: RunParameters) -> SearchCase:
    """Return the audit: a search for quadratic problems whose iterations grow.

    Examples
    --------
    >>> import numpy as np
    >>> from dpaudit.extension.settings import Settings
    >>> case = prepare(Settings(), RunParameters())
    >>> case.attain(400, np.random.default_rng(0)).ratio > 1.8
    True
    """
    from dpaudit.algorithms.sharing.claims.hu2019.horizon import STEP

    because = (
        "The proof needs Lemmas 4 and 5; with parallel updates of three or more parties steps can "
        "grow in every iteration."
    )
    notes = (
        "Where (M - 1) rho is below 2 it is true: the Lagrangian then falls by at least a fixed "
        "multiple of the squared steps and is bounded below, so that steps vanish.",
        "Parts 2 and 3 of the theorem, on limit points, need Part 1; its number and statement are "
        "missing from the text (Theorem ??).",
    )
    return run_case(CLAIM, settings, parameters, STEP, because, notes)


CLAIM = Claim(
    name="hu2019-convergence",
    title="The iterations settle",
    statement=(
        "Under Assumption 1, as t grows ||x_m^{t+1} - x_m^t|| tends to 0 for every m, and "
        "||z^{t+1} - z^t||, ||y^{t+1} - y^t|| and sum_m D_m x_m^{t+1} - z^{t+1} tend to 0."
    ),
    source=f"{PAPER}, supplement 7.1, Part 1",
    kind="property",
    relation="none",
    assumptions=REACHED,
    prepare=prepare,
    parameters=RunParameters,
    scope=SCOPE,
    published=PUBLISHED,
)

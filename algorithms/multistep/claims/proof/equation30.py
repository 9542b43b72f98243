"""Equation (30): the noise as a part of the gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpaudit.algorithms.multistep.claims.proof.common import (
    CORRECTED,
    SOURCE,
    IterationSizes,
    make_equation_case,
)
from dpaudit.extension.claim import Claim

if TYPE_CHECKING:
    from dpaudit.extension.case import SearchCase
    from dpaudit.extension.settings import Settings


def prepare_equation30_search(settings: Settings, parameters: IterationSizes) -> SearchCase:
    """Return the audit: a search over iterations of small whole numbers.

    Examples
    --------
    >>> from numpy.random import default_rng
    >>> from dpaudit.extension.settings import Settings
    >>> found = prepare_equation30_search(Settings(), IterationSizes()).attain(200, default_rng(0))
    >>> found.ratio > 1 + 1e-9
    True
    """
    return make_equation_case(CLAIM, 30, settings, parameters)


CLAIM = Claim(
    name="huang2020-equation30",
    title="Noise as a part of the gradient",
    statement=(
        "With xi_i = xi_i^{k,r} / (2 rho |N_i| + eta_i^{k,r}), <grad L_i(w~_i^{k,r}) + xi_i, "
        "w~_i^{k,r+1} - w*> = (eta_i^{k,r+1} + 2 rho |N_i|) <w~_i^{k,r} - w~_i^{k,r+1}, "
        "w~_i^{k,r+1} - w*> + 2 <gamma_i^{k-1} - rho sum_j (w~_i^{k,r} - (w~_i^{k-1} + "
        "w~_j^{k-1}) / 2), w~_i^{k,r+1} - w*>."
    ),
    source=SOURCE.format(number=30),
    kind="property",
    relation="none",
    assumptions={},
    prepare=prepare_equation30_search,
    parameters=IterationSizes,
    scope="It would stand with xi_i = -(2 rho |N_i| + eta_i^{k,r+1}) xi_i^{k,r+1}, as eq. "
    "(39) takes its size to be.",
    published={
        "corrected": CORRECTED,
    },
)

"""Equation (32): the pull of the neighbours, averaged over an iteration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpaudit.algorithms.multistep.claims.proof.common import (
    LARGER,
    SOURCE,
    IterationSizes,
    make_equation_case,
)
from dpaudit.extension.claim import Claim

if TYPE_CHECKING:
    from dpaudit.extension.case import SearchCase
    from dpaudit.extension.settings import Settings


def prepare_equation32_search(settings: Settings, parameters: IterationSizes) -> SearchCase:
    """Return the audit: a search over iterations of small whole numbers.

    Examples
    --------
    >>> from numpy.random import default_rng
    >>> from dpaudit.extension.settings import Settings
    >>> found = prepare_equation32_search(Settings(), IterationSizes()).attain(200, default_rng(0))
    >>> found.ratio < 1 + 1e-9
    True
    """
    return make_equation_case(CLAIM, 32, settings, parameters)


CLAIM = Claim(
    name="huang2020-equation32",
    title="The pull of the neighbours over one iteration",
    statement=(
        "1/l sum_r 2 <gamma_i^{k-1} - rho sum_j (w~_i^{k,r} - (w~_i^{k-1} + w~_j^{k-1}) / 2), "
        "w~_i^{k,r+1} - w*> = 1/l sum_r 2 rho sum_j <w~_i^{k,r+1} - w~_i^k, w* - w~_i^{k,r+1}> + "
        "2 sum_j <gamma_ij^k, w~_i^k - w*> + 1/l sum_r 2 rho sum_j <w~_i^{k,r} - w~_i^{k,r+1}, "
        "w* - w~_i^{k,r+1}> + 2 rho sum_j <(w~_i^k + w~_j^k) / 2 - (w~_i^{k-1} + w~_j^{k-1}) / 2, "
        "w* - w~_i^k>."
    ),
    source=SOURCE.format(number=32),
    kind="property",
    relation="none",
    assumptions={},
    prepare=prepare_equation32_search,
    parameters=IterationSizes,
    scope="The proof is for any number of steps, neighbours and features.",
    published={
        "more of everything": LARGER,
    },
)

"""Equation (34): the point that neighbours agree on moves."""

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


def prepare_equation34_search(settings: Settings, parameters: IterationSizes) -> SearchCase:
    """Return the audit: a search over iterations of small whole numbers.

    Examples
    --------
    >>> from numpy.random import default_rng
    >>> from dpaudit.extension.settings import Settings
    >>> found = prepare_equation34_search(Settings(), IterationSizes()).attain(200, default_rng(0))
    >>> found.ratio < 1 + 1e-9
    True
    """
    return make_equation_case(CLAIM, 34, settings, parameters)


CLAIM = Claim(
    name="huang2020-equation34",
    title="What neighbours agree on moves",
    statement=(
        "<(w~_i^k + w~_j^k) / 2 - (w~_i^{k-1} + w~_j^{k-1}) / 2, w* - w~_i^k> <= "
        "(||(w~_i^{k-1} + w~_j^{k-1}) / 2 - w*||^2 - ||(w~_i^k + w~_j^k) / 2 - w*||^2) / 2 + "
        "||gamma_ij^{k-1} - gamma_ij^k||^2 / (2 rho^2)."
    ),
    source=SOURCE.format(number=34),
    kind="property",
    relation="none",
    assumptions={},
    prepare=prepare_equation34_search,
    parameters=IterationSizes,
    scope="The proof is for any number of steps, neighbours and features.",
    published={
        "more of everything": LARGER,
    },
)

"""Equation (29): the remainder when noise joins the gradient."""

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


def prepare_equation29_search(settings: Settings, parameters: IterationSizes) -> SearchCase:
    """Return the audit: a search over iterations of small whole numbers.

    Examples
    --------
    >>> from numpy.random import default_rng
    >>> from dpaudit.extension.settings import Settings
    >>> found = prepare_equation29_search(Settings(), IterationSizes()).attain(200, default_rng(0))
    >>> found.ratio > 1 + 1e-9
    True
    """
    return make_equation_case(CLAIM, 29, settings, parameters)


CLAIM = Claim(
    name="huang2020-equation29",
    title="Noise joins the gradient",
    statement=(
        "<grad L_i(w~_i^{k,r}), w~_i^{k,r} - w*> = <grad L_i(w~_i^{k,r}) + xi_i, "
        "w~_i^{k,r+1} - w*> + <xi_i, w* - w_i^{k,r+1}> + <grad L_i(w~_i^{k,r}) + xi_i, "
        "w~_i^{k,r} - w~_i^{k,r+1}>."
    ),
    source=SOURCE.format(number=29),
    kind="property",
    relation="none",
    assumptions={},
    prepare=prepare_equation29_search,
    parameters=IterationSizes,
    scope="It would stand in expectation, and with w~_i^{k,r} in place of w_i^{k,r+1}, as "
    "eq. (39) has it.",
    published={
        "corrected": CORRECTED,
    },
)
